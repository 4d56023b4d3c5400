"""What `aggopt risk` prints: names and figures, no value of a record."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from aggopt.command import show
from aggopt.command.console import line, table
from aggopt.command.show_release import sdid_by_kind
from aggopt.core.plural import plural

if TYPE_CHECKING:
    from aggopt.measure import Assessment
    from aggopt.pipeline.review.original_risk import OriginalRisk
    from aggopt.pipeline.review.review_release import Review
    from aggopt.release.audit.counts import Count

Row = tuple[str, str, str]
DIS_COUNTS = "  by records that are unique, in pairs"
SHOWN = 20  # sets of quasi-identifiers: a screen


def risk(found: "Review") -> None:
    """Print the audit, the risks before and after, and those compared with chance."""
    show.audit(found.audit)
    if found.warning:
        line(f"WARNING: {found.warning}", style="bold red")
    totals = {} if found.risks is None else found.risks.totals
    both = ("figure", "original", "released")
    _print("Risk of re-identification", both, before_after(totals))
    own = compared(found.measures, totals)
    _print("Risk of the release", ("figure", "found", "compared with"), own)
    if found.audit.unchanged:
        said = found.audit.unchanged.said(found.audit.records)
        line(said or "No record is published unchanged.")


def original(found: "OriginalRisk") -> None:
    """Print the risk of a table that is not masked, and by which columns it is."""
    names = ", ".join(map(repr, found.whole.attributes))
    line(f"Before masking, by {names}: {found.whole.rarity(found.k)}.")
    _print("Risk of the original", ("figure", "original"), of_original(found))
    columns = ("combinations", "rarest", "unique", f"smaller than {found.k}")
    telling = _telling(found.sets)
    shown = telling[:SHOWN]
    title = f"If others know fewer attributes ({found.whole.what}s)"
    _print(title, ("known", *columns), map(_counted, shown))
    more = len(telling) - len(shown)
    if more:
        line(f"--json has {plural(more, 'more set')} of quasi-identifiers.")
    same = len(found.sets) - len(telling)
    if same:
        line(
            f"--json has {plural(same, 'more set')} with the figures of a smaller set."
        )


def _telling(sets: Sequence["Count"]) -> list["Count"]:
    """Return the sets of columns but those with the figures of a subset of theirs."""
    by_figures: dict[tuple[int, ...], list[Count]] = {}
    for count in sets:
        by_figures.setdefault(_figures(count), []).append(count)
    return [
        count
        for count in sets
        if not any(
            set(other.attributes) < set(count.attributes)
            for other in by_figures[_figures(count)]
        )
    ]


def of_original(found: "OriginalRisk") -> Iterator[tuple[str, str]]:
    """Yield the risks of a table that is not masked."""
    for name, what in (("individual", "records"), ("household", "units")):
        if name in found.totals:
            own = found.totals[name]
            yield f"{name} risk, largest", _percent(own["largest"])
            yield f"{name} risk, average", _percent(own["average"])
            yield f"{what} re-identified, expected", _number(own["expected"])
    if "suda" in found.totals:
        own = found.totals["suda"]
        of = f"by up to {own['attributes']} attributes (SUDA)"
        yield f"records special {of}", str(own["records"])
        yield "largest SUDA score", str(own["largest"])
    if "dis" in found.totals:
        yield "a unique match is right (DIS)", _percent(found.totals["dis"])
        yield DIS_COUNTS, _unique_and_paired(found.totals["dis_counts"])


def _counted(count: "Count") -> tuple[str, ...]:
    return ", ".join(count.attributes), *(f"{each:,}" for each in _figures(count))


def _figures(count: "Count") -> tuple[int, ...]:
    return count.combinations, count.rarest, count.unique, count.rare


def before_after(totals: Mapping[str, Any]) -> Iterator[Row]:
    """Yield the risks of both tables."""
    for name, what in (("individual", "records"), ("household", "units")):
        if name in totals:
            yield _row(totals[name], "largest", f"{name} risk, largest", _percent)
            yield _row(
                totals[name], "expected", f"{what} re-identified, expected", _number
            )
    if "suda" in totals:
        of = f"by up to {totals['suda']['attributes']} attributes (SUDA)"
        yield _row(totals["suda"], "records", f"records special {of}", str)
        yield _row(totals["suda"], "largest", "largest SUDA score", str)
        yield _row(totals["suda"], "total", "sum of SUDA scores", str)
    if "dis" in totals:
        shown = {side: {"dis": found} for side, found in totals["dis"].items()}
        yield _row(shown, "dis", "a unique match is right (DIS)", _percent)
        counts = totals["dis_counts"].items()
        shown = {side: {"counts": _unique_and_paired(of)} for side, of in counts}
        yield _row(shown, "counts", DIS_COUNTS, str)


def _unique_and_paired(counts: Mapping[str, int]) -> str:
    return f"{counts['unique']}, {counts['paired']}"


def compared(measures: "Assessment | None", totals: Mapping[str, Any]) -> Iterator[Row]:
    """Yield the risks that are of both tables, and what they are compared with."""
    if measures is not None:
        limit = f"at most {_percent(measures.linkage_limit)}"
        yield "linked one to one", _percent(measures.linkage), limit
        for what, (success, by_chance) in sdid_by_kind(measures):
            yield what, _percent(success), f"by chance {_percent(by_chance)}"
    for name, found in totals.get("attribution", {}).items():
        without = found["undefined"]
        more = f", {without} without a guess" if without else ""
        chance = f"by chance {_percent(found['chance'])}{more}"
        yield f"{name!r} guessed from the group", _percent(found["share"]), chance
    if "dominance" in totals:
        found = totals["dominance"]
        what = f"groups in which one record has more than {_percent(found['above'])}"
        largest = f"at most {_percent(found['largest'])}"
        yield f"{what} of the weight", str(found["groups"]), largest


def _row(found: Mapping[str, Any], key: str, what: str, shown: Any) -> Row:
    return what, shown(found["original"][key]), shown(found["released"][key])


def _print(
    title: str, headings: Sequence[str], rows: Iterable[tuple[str, ...]]
) -> None:
    shown = list(rows)
    if shown:
        table(headings, shown, title=title, right=range(1, len(headings)))


def _percent(share: float | None) -> str:
    return "none" if share is None else f"{100 * share:.2f} %"


def _number(found: float) -> str:
    return f"{found:.2f}"
