"""Print risks, utility and comparisons: names and figures, no value of a record."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from aggopt.command import show
from aggopt.command.console import print_line, print_table
from aggopt.command.show_release import list_sdid_by_kind
from aggopt.core.plural import plural

if TYPE_CHECKING:
    from aggopt.measure import Assessment
    from aggopt.pipeline.review.original_risk import OriginalRisk
    from aggopt.pipeline.review.review_release import Review
    from aggopt.release.audit.counts import Count
if TYPE_CHECKING:
    from aggopt.measure.utility import Utility
    from aggopt.pipeline.review.compare_public import PublicComparison
    from aggopt.pipeline.review.comparison import ReleaseComparison

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
    _print("Risk of re-identification", both, list_risks_of_both(totals))
    rows = list_release_risks(review.measures, totals)
    _print("Risk of the release", ("figure", "found", "compared with"), rows)
    if review.audit.unchanged:
        sentence = review.audit.unchanged.said(review.audit.records)
        print_line(sentence or "No record is published unchanged.")


def print_original_risk(risk: "OriginalRisk") -> None:
    """Print the risk of a table that is not masked, and the columns that cause it."""
    names = ", ".join(map(repr, risk.whole.attributes))
    print_line(f"Before masking, by {names}: {risk.whole.rarity(risk.k)}.")
    _print("Risk of the original", ("figure", "original"), list_original_risks(risk))
    columns = ("combinations", "rarest", "unique", f"smaller than {risk.k}")
    telling = _select_distinct(risk.sets)
    shown = telling[:MAX_SETS]
    title = f"If others know fewer attributes ({risk.whole.what}s)"
    _print(title, ("known", *columns), map(_format_count, shown))
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
            yield f"{name} risk, largest", _format_share(figures["largest"])
            yield f"{name} risk, average", _format_share(figures["average"])
            yield f"{what} re-identified, expected", _format_number(figures["expected"])
    if "suda" in risk.totals:
        figures = risk.totals["suda"]
        of = f"by up to {figures['attributes']} attributes (SUDA)"
        yield f"records special {of}", str(figures["records"])
        yield "largest SUDA score", str(figures["largest"])
    if "dis" in risk.totals:
        yield "a unique match is right (DIS)", _format_share(risk.totals["dis"])
        yield DIS_COUNTS, _format_dis_counts(risk.totals["dis_counts"])


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
                totals[name], "largest", f"{name} risk, largest", _format_share
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
        yield _format_row(shown, "dis", "a unique match is right (DIS)", _format_share)
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
        limit = f"at most {_format_share(measures.linkage_limit)}"
        yield "linked one to one", _format_share(measures.linkage), limit
        for what, (success, by_chance) in list_sdid_by_kind(measures):
            yield what, _format_share(success), f"by chance {_format_share(by_chance)}"
    for name, figures in totals.get("attribution", {}).items():
        without = figures["undefined"]
        more = f", {without} without a guess" if without else ""
        chance = f"by chance {_format_share(figures['chance'])}{more}"
        yield (
            f"{name!r} guessed from the group",
            _format_share(figures["share"]),
            chance,
        )
    if "dominance" in totals:
        figures = totals["dominance"]
        above = _format_share(figures["above"])
        what = f"groups in which one record has more than {above}"
        largest = f"at most {_format_share(figures['largest'])}"
        yield f"{what} of the weight", str(figures["groups"]), largest


def _format_row(figures: Mapping[str, Any], key: str, what: str, shown: Any) -> Row:
    return what, shown(figures["original"][key]), shown(figures["released"][key])


def _print(
    title: str, headings: Sequence[str], rows: Iterable[tuple[str, ...]]
) -> None:
    shown = list(rows)
    if shown:
        print_table(headings, shown, title=title, right=range(1, len(headings)))


def _format_share(share: float | None) -> str:
    return "none" if share is None else f"{100 * share:.2f} %"


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
