"""The commands that look at releases that are written, and write nothing."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from aggopt.command import console, show
from aggopt.command.arguments import (
    AsJson,
    Control,
    JobBehind,
    JobFile,
    MaskedOrParts,
    PrivateFolder,
    SameOrder,
    TableOrFolder,
    Trust,
    require_in_memory,
    require_no_table,
    split_words,
)
from aggopt.command.causes import NO
from aggopt.command.console import print_line, print_table
from aggopt.command.show_release import list_sdid_by_kind
from aggopt.core.plural import format_percent, plural
from aggopt.errors import JobError

if TYPE_CHECKING:
    from aggopt.job import Job
    from aggopt.measure import Assessment
    from aggopt.measure.criteria import Criteria
    from aggopt.pipeline.review.original_risk import KeyTable, OriginalRisk
    from aggopt.pipeline.review.review_release import ReleaseSource, Review
    from aggopt.release.audit.counts import Count
if TYPE_CHECKING:
    from aggopt.measure.utility import Utility
    from aggopt.pipeline.review.compare_public import PublicComparison
    from aggopt.pipeline.review.comparison import ReleaseComparison

SIZE = 3  # attributes of a combination that makes a record special

Weight = Annotated[
    str, typer.Option(help="The column of sampling weights. Default: that of the job.")
]
Unit = Annotated[
    str,
    typer.Option(help="The columns that number households. Default: those of the job."),
]
Target = Annotated[
    str,
    typer.Option(
        help="Confidential columns to guess. Default: those of the job, or all."
    ),
]
Suda = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Search for records that are special by up to so many attributes. "
        "Default: that of the job, or 3.",
    ),
]
Releases = Annotated[
    list[Path],
    typer.Argument(
        metavar="MASKED...", help="Two releases or more.", callback=require_in_memory
    ),
]
Originals = Annotated[
    list[Path],
    typer.Option(
        help="The original table of all releases; or the table of each, in their "
        "order.",
        default_factory=list,
        show_default=False,
        callback=require_in_memory,
    ),
]
Manifests = Annotated[
    list[Path],
    typer.Option(
        help="The manifest of each release, in their order. Default: the manifests "
        "next to the releases.",
        default_factory=list,
        show_default=False,
    ),
]
Person = Annotated[
    str, typer.Option(help="The column that identifies a person in all tables.")
]
WithoutKeys = Annotated[
    bool,
    typer.Option(
        "--without-keys",
        help="Count only what everybody can count from the public files.",
    ),
]


def run_assess(
    table: TableOrFolder,
    masked: MaskedOrParts,
    job: JobFile,
    trust: Trust,
    same_order: SameOrder = False,
    private: PrivateFolder = None,
    as_json: AsJson = False,
) -> None:
    """Recount MASKED from its values, and measure its risk and loss against TABLE.

    Both may be folders of an engine.  aggopt reads them into memory.
    """
    from aggopt.engine.folder_review import find_release
    from aggopt.job.release_job import read_job_of_release
    from aggopt.pipeline.prepare.inputs import load_job
    from aggopt.pipeline.review.review_release import assess_source

    loaded_job = load_job(read_job_of_release(job), trust)
    both = find_release(table, masked, same_order=same_order, private=private)
    review = assess_source(both, loaded_job)
    _print_result(review, show.print_review, as_json=as_json, holds=review.holds)


def run_risk(
    context: typer.Context,
    table: TableOrFolder,
    masked: Annotated[
        Path,
        typer.Argument(
            metavar="MASKED",
            help="The released table, or an engine's folder. Without it, JOB is "
            "second: aggopt risk TABLE JOB.",
        ),
    ],
    trust: Trust,
    job: JobBehind = None,
    weight: Weight = "",
    unit: Unit = "",
    target: Target = "",
    suda: Suda = None,
    control: Control = "",
    same_order: SameOrder = False,
    private: PrivateFolder = None,
    as_json: AsJson = False,
) -> None:
    """Measure the disclosure risk of MASKED, and of TABLE before masking.

    It prints individual and household risk, special records (SUDA), confidential values
    that a group gives away, linkage and intervals, each compared with chance.  Options
    replace keys under risk in JOB.  If neither names a target, all confidential columns
    are targets.

    Without MASKED, it prints the risk of TABLE before masking: the records that are
    unique, or in groups smaller than k, and the quasi-identifiers that make them so.
    aggopt reads folders into memory.
    """
    from aggopt.command import assessments
    from aggopt.engine.folder_review import find_release, read_original
    from aggopt.job.release_job import read_job_of_release
    from aggopt.pipeline.prepare.inputs import load_job
    from aggopt.pipeline.review.original_risk import measure_original_risk
    from aggopt.pipeline.review.review_release import assess_source

    path = masked if job is None else job
    require_no_table(context, path)
    loaded_job = load_job(read_job_of_release(path), trust)
    loaded_job = _replace_risk_keys(loaded_job, weight, unit, target, suda)
    if job is None:
        _require_release(
            target=target, control=control, same_order=same_order, private=private
        )
        risks = measure_original_risk(read_original(table, loaded_job), loaded_job)
        _print_result(risks, assessments.print_original_risk, as_json=as_json)
        return
    both = find_release(table, masked, same_order=same_order, private=private)
    reviewed = assess_source(both, loaded_job)
    if control:
        attacks = measure_with_control(table, both, loaded_job, control)
        reviewed = replace(reviewed, criteria=attacks)
    _print_result(
        reviewed, assessments.print_risk, as_json=as_json, holds=reviewed.holds
    )


def measure_with_control(
    table: Path, source: "ReleaseSource", job: "Job", control: str
) -> "Criteria":
    """Return the three criteria of a written release, with a control."""
    from aggopt.pipeline.review import criteria

    outside = criteria.read_control(control, table)
    if isinstance(outside, float):
        return criteria.measure_on_second_masking(table, job, outside)
    return criteria.measure_on_file(source, job, outside)


def _replace_risk_keys(
    job: "Job", weight: str, unit: str, target: str, suda: int | None
) -> "Job":
    """Return the job with the keys under risk that options replace."""
    from aggopt.job import Risk

    risk = Risk(
        weight=weight or job.risk.weight,
        unit=tuple(split_words(unit)) or job.risk.unit,
        target=tuple(split_words(target)) or job.risk.target or job.roles.confidential,
        suda=suda or job.risk.suda or SIZE,
    )
    risk.require(job.roles)
    return job.model_copy(update={"risk": risk})


def _require_release(**options: Any) -> None:
    """Refuse options that are of a release if none is named."""
    names = [name.replace("_", "-") for name, value in options.items() if value]
    if names:
        raise JobError(
            f"--{names[0]} is of a release, and none is named.",
            fix="write aggopt risk TABLE MASKED JOB; or leave the option out.",
        )


def run_utility(
    table: TableOrFolder,
    masked: MaskedOrParts,
    job: JobFile,
    trust: Trust,
    model: Annotated[
        list[str],
        typer.Option(
            help='A regression, such as "y ~ age + income". Repeat it for more.',
            default_factory=list,
            show_default=False,
        ),
    ],
    weight: Annotated[
        str,
        typer.Option(help="The column of sampling weights. Default: that of the job."),
    ] = "",
    strata: Annotated[
        str,
        typer.Option(help="Columns: each of their combinations has totals of its own."),
    ] = "",
    same_order: SameOrder = False,
    private: PrivateFolder = None,
    as_json: AsJson = False,
) -> None:
    """Measure how well analyses of MASKED agree with those of TABLE.

    It compares distributions, correlations, regressions, tables of categories and
    weighted totals, and tries whether a classifier can separate the two tables (pMSE).
    aggopt reads folders into memory.
    """
    from aggopt.command import assessments
    from aggopt.engine.folder_review import find_release
    from aggopt.job.release_job import read_job_of_release
    from aggopt.pipeline.prepare.inputs import load_job
    from aggopt.pipeline.review.utility import measure_utility_of

    loaded_job = load_job(read_job_of_release(job), trust)
    both = find_release(table, masked, same_order=same_order, private=private)
    with console.track_progress(quiet=as_json) as report:
        measured = measure_utility_of(
            both,
            loaded_job,
            model=model,
            weight=weight or loaded_job.risk.weight,
            strata=split_words(strata),
            progress=report,
        )
    _print_result(measured, assessments.print_utility, as_json=as_json)


def run_compare(
    releases: Releases,
    original: Originals,
    manifests: Manifests,
    person: Person = "",
    without_keys: WithoutKeys = False,
    as_json: AsJson = False,
) -> None:
    """Count the records that several releases of the same people disclose together.

    If an intruder knows the group of a person in each release, the person is in their
    intersection.  The exit code is 1 if an intersection has fewer records than the
    smallest k: do not publish all of these releases.  It is also 1 if private keys are
    missing, so that aggopt cannot count.  If the releases are of several tables of the
    same people, name each table (--original) and an identifier (--person).
    """
    from aggopt.command import assessments
    from aggopt.release.files.output_paths import ReleaseFiles

    tables = [path for path in releases if path.suffix != ".json"]
    named_manifests = [
        *manifests,
        *(path for path in releases if path.suffix == ".json"),
    ]
    manifest_paths = named_manifests or [
        ReleaseFiles.of_table(path).manifest for path in tables
    ]
    comparison: Any = None
    if without_keys:
        from aggopt.pipeline.review.compare_public import compare_published

        _require_no_original(original, person)
        comparison = compare_published(tables, manifest_paths)
    else:
        from aggopt.pipeline.review.compare_with_keys import compare_releases

        comparison = compare_releases(
            tables, original, manifest_paths, person=person or None
        )
    _print_result(
        comparison,
        assessments.print_releases,
        as_json=as_json,
        holds=comparison.holds,
    )


def _require_no_original(original: Sequence[Path], person: str) -> None:
    """Refuse options that need private keys if none are given."""
    if original or person:
        raise JobError(
            "Without private keys nobody knows which record of a table is which.",
            fix="leave --original and --person out; or --without-keys.",
        )


def _print_result(
    result: Any,
    show_result: Callable[[Any], None],
    *,
    as_json: bool,
    holds: bool = True,
) -> None:
    """Print a review; end with exit code 1 if a requirement does not hold."""
    if as_json:
        console.print_json(result.to_dict())
    else:
        show_result(result)
    if not holds:
        raise typer.Exit(NO)


Row = tuple[str, str, str]
DIS_COUNTS = "  by records that are unique, in pairs"
MAX_SETS = 20  # sets of quasi-identifiers: a screen


def print_risk(review: "Review") -> None:
    """Print the audit, and the risks before, after and by chance."""
    show.print_audit(review.audit)
    if review.warning:
        print_line(f"WARNING: {review.warning}", style="bold red")
    totals = {} if review.risks is None else review.risks.totals
    both = ("figure", "original", "released")
    _print_rows("Risk of re-identification", both, list_risks_of_both(totals))
    rows = list_release_risks(review.measures, totals)
    _print_rows("Risk of the release", ("figure", "found", "compared with"), rows)
    if review.criteria is not None:
        show.print_criteria(review.criteria)
    if review.audit.unchanged:
        sentence = review.audit.unchanged.describe(review.audit.records)
        print_line(sentence or "No record is published unchanged.")


def print_original_risk(risk: "OriginalRisk") -> None:
    """Print the risk of a table that is not masked, and the columns that cause it."""
    names = ", ".join(map(repr, risk.whole.attributes))
    print_line(f"Before masking, by {names}: {risk.whole.rarity(risk.k)}.")
    if risk.recoded:
        recoded = ", ".join(map(repr, risk.recoded))
        print_line(f"Counted after the recoding of {recoded}.")
    if risk.keys:
        heading = ("keys", "combinations", "unsafe", "records in unsafe", "unique")
        title = f"Tables of keys: unsafe combinations have fewer than {risk.k} records"
        _print_rows(title, heading, map(_format_key_table, risk.keys))
    _print_rows(
        "Risk of the original", ("figure", "original"), list_original_risks(risk)
    )
    columns = ("combinations", "rarest", "unique", f"smaller than {risk.k}")
    telling = _select_distinct(risk.sets)
    shown = telling[:MAX_SETS]
    title = f"If others know fewer attributes ({risk.whole.what}s)"
    _print_rows(title, ("known", *columns), map(_format_count, shown))
    more = len(telling) - len(shown)
    if more:
        print_line(f"--json has {plural(more, 'more set')} of quasi-identifiers.")
    same = len(risk.sets) - len(telling)
    if same:
        print_line(
            f"--json has {plural(same, 'more set')} with the figures of a smaller set."
        )


def _select_distinct(sets: Sequence["Count"]) -> list["Count"]:
    """Return the sets of columns whose figures differ from each subset of theirs."""
    by_figures: dict[tuple[int, ...], list[Count]] = {}
    for count in sets:
        by_figures.setdefault(_get_count_figures(count), []).append(count)
    return [
        count
        for count in sets
        if not any(
            set(other.attributes) < set(count.attributes)
            for other in by_figures[_get_count_figures(count)]
        )
    ]


def list_original_risks(risk: "OriginalRisk") -> Iterator[tuple[str, str]]:
    """Yield the risks of a table that is not masked."""
    for name, what in (("individual", "records"), ("household", "units")):
        if name in risk.totals:
            figures = risk.totals[name]
            yield f"{name} risk, largest", format_percent(figures["largest"])
            yield f"{name} risk, average", format_percent(figures["average"])
            yield f"{what} re-identified, expected", _format_number(figures["expected"])
    if "suda" in risk.totals:
        figures = risk.totals["suda"]
        of = f"by up to {figures['attributes']} attributes (SUDA)"
        yield f"records special {of}", str(figures["records"])
        yield "largest SUDA score", str(figures["largest"])
    if "dis" in risk.totals:
        yield "a unique match is right (DIS)", format_percent(risk.totals["dis"])
        yield DIS_COUNTS, _format_dis_counts(risk.totals["dis_counts"])


def _format_key_table(table: "KeyTable") -> tuple[str, ...]:
    """Return a row of the printed table: the attributes and their counts."""
    count = table.count
    figures = count.combinations, table.unsafe, count.rare, count.unique
    return ", ".join(count.attributes), *(f"{figure:,}" for figure in figures)


def _format_count(count: "Count") -> tuple[str, ...]:
    return ", ".join(count.attributes), *(
        f"{figure:,}" for figure in _get_count_figures(count)
    )


def _get_count_figures(count: "Count") -> tuple[int, ...]:
    return count.combinations, count.rarest, count.unique, count.rare


def list_risks_of_both(totals: Mapping[str, Any]) -> Iterator[Row]:
    """Yield the risks of both tables."""
    for name, what in (("individual", "records"), ("household", "units")):
        if name in totals:
            yield _format_row(
                totals[name], "largest", f"{name} risk, largest", format_percent
            )
            yield _format_row(
                totals[name],
                "expected",
                f"{what} re-identified, expected",
                _format_number,
            )
    if "suda" in totals:
        of = f"by up to {totals['suda']['attributes']} attributes (SUDA)"
        yield _format_row(totals["suda"], "records", f"records special {of}", str)
        yield _format_row(totals["suda"], "largest", "largest SUDA score", str)
        yield _format_row(totals["suda"], "total", "sum of SUDA scores", str)
    if "dis" in totals:
        shown = {side: {"dis": share} for side, share in totals["dis"].items()}
        yield _format_row(shown, "dis", "a unique match is right (DIS)", format_percent)
        counts = totals["dis_counts"].items()
        shown = {side: {"counts": _format_dis_counts(of)} for side, of in counts}
        yield _format_row(shown, "counts", DIS_COUNTS, str)


def _format_dis_counts(counts: Mapping[str, int]) -> str:
    return f"{counts['unique']}, {counts['paired']}"


def list_release_risks(
    measures: "Assessment | None", totals: Mapping[str, Any]
) -> Iterator[Row]:
    """Yield the risks of both tables, and the values that they are compared with."""
    if measures is not None:
        limit = f"at most {format_percent(measures.linkage_limit)}"
        yield "linked one to one", format_percent(measures.linkage), limit
        for what, (success, by_chance) in list_sdid_by_kind(measures):
            yield (
                what,
                format_percent(success),
                f"by chance {format_percent(by_chance)}",
            )
    for name, figures in totals.get("attribution", {}).items():
        without = figures["undefined"]
        more = f", {without} without a guess" if without else ""
        chance = f"by chance {format_percent(figures['chance'])}{more}"
        yield (
            f"{name!r} guessed from the group",
            format_percent(figures["share"]),
            chance,
        )
    if "dominance" in totals:
        figures = totals["dominance"]
        above = format_percent(figures["above"])
        what = f"groups in which one record has more than {above}"
        largest = f"largest share {format_percent(figures['largest'])}"
        yield f"{what} of the weight", str(figures["groups"]), largest


def _format_row(figures: Mapping[str, Any], key: str, what: str, shown: Any) -> Row:
    return what, shown(figures["original"][key]), shown(figures["released"][key])


def _print_rows(
    title: str, headings: Sequence[str], rows: Iterable[tuple[str, ...]]
) -> None:
    shown = list(rows)
    if shown:
        print_table(headings, shown, title=title, right=range(1, len(headings)))


def _format_number(value: float) -> str:
    return f"{value:.2f}"


COMPARED_FIGURES = {
    "k": ("k", "d"),
    "smallest": ("smallest group", "d"),
    "il": ("information loss (IL)", ".2%"),
    "linkage": ("linked one to one", ".2%"),
    "pmse_ratio": ("pMSE, ratio to an independent table", ".3g"),
    "pmse_tree": ("pMSE, tree", ".4f"),
    "gap": ("largest gap", ".1e"),
}


def print_utility(utility: "Utility") -> None:
    """Print the utility of a release."""
    print_line(str(utility))


def print_releases(comparison: "ReleaseComparison | PublicComparison") -> None:
    """Print releases side by side, and the verdict on all of them."""
    rows = []
    for name, (label, form) in COMPARED_FIGURES.items():
        best = comparison.best.get(name, [])
        cells = []
        for release in comparison.figures:
            value = getattr(release, name)
            shown = "none" if value is None else format(value, form)
            cells.append(f"{shown} *" if release.file in best else shown)
        rows.append((label, *cells))
    header = ("figure", *(release.file for release in comparison.figures))
    title = "Releases side by side (* the better)"
    print_table(header, rows, title=title, right=range(1, len(header)))
    print_line(comparison.verdict, style=None if comparison.holds else "bold red")
    for note in comparison.notes:
        print_line(f"Note: {note}")
