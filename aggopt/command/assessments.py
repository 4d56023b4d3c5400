"""The commands that look at releases that are written, and write nothing."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from aggopt.command import console, show
from aggopt.command.arguments import (
    AsJson,
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
from aggopt.errors import JobError

if TYPE_CHECKING:
    from aggopt.job import Job

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


def assess(
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


def risk(
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
    from aggopt.command import show_assessments
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
        _require_release(target=target, same_order=same_order, private=private)
        risks = measure_original_risk(read_original(table, loaded_job), loaded_job)
        _print_result(risks, show_assessments.print_original_risk, as_json=as_json)
        return
    both = find_release(table, masked, same_order=same_order, private=private)
    reviewed = assess_source(both, loaded_job)
    _print_result(
        reviewed, show_assessments.print_risk, as_json=as_json, holds=reviewed.holds
    )


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


def utility(
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
    from aggopt.command import show_assessments
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
    _print_result(measured, show_assessments.print_utility, as_json=as_json)


def compare(
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
    from aggopt.command import show_assessments
    from aggopt.release.files.output_paths import ReleaseFiles

    tables = [path for path in releases if path.suffix != ".json"]
    named_manifests = [
        *manifests,
        *(path for path in releases if path.suffix == ".json"),
    ]
    manifest_paths = named_manifests or [
        ReleaseFiles.beside(path).manifest for path in tables
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
        show_assessments.print_releases,
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
