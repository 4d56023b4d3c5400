"""The seal of a release: green, amber or red, and the risks that remain, in sentences.

Whatever shows a verdict (console, JSON, report, notebook) takes it from here.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from aggopt.core.plural import is_or_are, plural
from aggopt.release.audit.counts import Count, describe_small_groups
from aggopt.release.audit.unchanged import Unchanged
from aggopt.release.audit.unprotected_columns import UnprotectedColumns

GREEN = "green"
AMBER = "amber"
RED = "red"


class Audited(Protocol):
    """The part of an `Audit` that its seal depends on."""

    @property
    def records(self) -> int: ...  # noqa: D102
    @property
    def k(self) -> int: ...  # noqa: D102
    @property
    def smallest(self) -> int: ...  # noqa: D102
    @property
    def holds(self) -> bool: ...  # noqa: D102
    @property
    def whole(self) -> Count: ...  # noqa: D102
    @property
    def beside(self) -> tuple[UnprotectedColumns, ...]: ...  # noqa: D102
    @property
    def unchanged(self) -> Unchanged | None: ...  # noqa: D102
    @property
    def warning(self) -> str | None: ...  # noqa: D102


@dataclass(frozen=True)
class Seal:
    """Summary of an audit.

    Attributes
    ----------
    state
        "green": the requirements hold.  "amber": they hold, but columns that others may
        know single records out.  "red": a requirement does not hold.
    heading
        The state in one line, with counts.
    risks
        The risks that the requirements leave open, each a sentence.
    advice
        Whether the file may be published, to the extent of this audit.
    """

    state: str
    heading: str
    risks: tuple[str, ...]
    advice: str


def make_seal(audit: Audited) -> Seal:
    """Return the seal of an audit."""
    reason = explain_amber(audit)
    risks = (*open_risks(audit), *([audit.warning] if audit.warning else []))
    if not audit.holds:
        what = f"k = {audit.k}" if audit.smallest < audit.k else "What was promised"
        return Seal(RED, f"{what} does not hold", risks, "Do not publish this file.")
    heading = f"k = {audit.k} holds"
    if reason is not None:
        return Seal(AMBER, f"{heading}, but {reason}", risks, _choose_advice(audit))
    return Seal(
        GREEN,
        heading,
        risks,
        "As far as these requirements go, the file may be published.",
    )


def _choose_advice(audit: Audited) -> str:
    """Return what to do where columns that others may know single records out."""
    gravest = _find_gravest(audit.beside)
    if gravest is None:
        return (
            "Publish this file only if nobody can know columns of several blocks of a "
            "person: otherwise mask them together, or drop those of all blocks but one."
        )
    return (
        "Publish this file only if nobody can know these columns of a person: "
        "otherwise mask them as quasi-identifiers, or drop them."
        f"{_count_unnamed(gravest)}"
    )


def _count_unnamed(each: UnprotectedColumns) -> str:
    """Return a sentence on the number of columns without a name in the heading."""
    more = len(each.columns) - len(each.sufficient or each.columns)
    if not more:
        return ""
    return (
        f" {plural(more, 'more column')} of the role other may single records out, "
        "too: recount after a change."
    )


def explain_amber(audit: Audited) -> str | None:
    """Return the number that known columns single out, in words; None if none.

    These are columns with the role other, the records of a unit linked by pseudonyms,
    and quasi-identifiers of different blocks.  Strata and published weights need no
    further count: k covers them as well.
    """
    gravest = _find_gravest(audit.beside)
    if gravest is not None:
        return _count_exposed(gravest, audit.k)
    if audit.warning is None:
        return None
    combination = audit.whole
    total = f"{combination.total:,} {combination.what}s"
    columns = f"with all {len(combination.attributes)} masked columns"
    if combination.unique:
        are_unique = f"{is_or_are(combination.unique)} unique"
        return f"{combination.unique:,} of {total} {are_unique} {columns}"
    small = describe_small_groups(combination.rare, audit.k)
    return f"{combination.rare:,} of {total} {small} {columns}"


def _find_gravest(counts: tuple[UnprotectedColumns, ...]) -> UnprotectedColumns | None:
    """Return the count of known columns with the most unique records, or None."""
    exposed = [columns for columns in counts if columns.known and columns.count.rare]
    return max(exposed, key=_compute_unique_share, default=None)


def _compute_unique_share(columns: UnprotectedColumns) -> tuple[float, float]:
    return (
        columns.count.unique / columns.count.total,
        columns.count.rare / columns.count.total,
    )


def _count_exposed(columns: UnprotectedColumns, k: int) -> str:
    count = columns.count
    total = f"{columns.count.total:,} {columns.count.what}s"
    if count.unique:
        verb = is_or_are(count.unique)
        return f"{count.unique:,} of {total} {verb} unique with {columns.names}"
    small = describe_small_groups(count.rare, k)
    return f"{count.rare:,} of {total} {small} with {columns.names}"


def open_risks(audit: Audited) -> Iterator[str]:
    """Yield the risks that the requirements leave open, in sentences."""
    public = {
        columns.count.what: columns.count for columns in audit.beside if columns.known
    }
    for columns in audit.beside:
        first = public.get(columns.count.what)
        nobody_left = first is not None and first.unique == first.total
        if not columns.known and not nobody_left:
            yield _with_confidential(columns, audit.k, also=first is not None)
    in_heading = _find_gravest(audit.beside) if audit.holds else None
    for columns in audit.beside:
        if not (columns.known and columns.count.rare):
            continue
        if columns is not in_heading:
            yield f"With {columns.names}, {columns.count.rarity(audit.k)}."
        elif columns.count.rare > columns.count.unique > 0:
            yield _describe_below_k(columns, audit.k)
    if audit.unchanged and (sentence := audit.unchanged.describe(audit.records)):
        yield sentence


def _with_confidential(columns: UnprotectedColumns, k: int, *, also: bool) -> str:
    """Return a sentence on records that become unique with confidential columns."""
    count = columns.count
    total = f"{columns.count.total:,} {columns.count.what}s"
    premise = f"If somebody {'also ' if also else ''}knew {columns.names},"
    if count.unique:
        return f"{premise} {count.unique:,} of {total} would be unique."
    if count.rare:
        return (
            f"{premise} no {count.what} would be unique, and {count.rare:,} of {total} "
            f"would be in groups smaller than {k}."
        )
    return f"{premise} no {count.what} would be in a group smaller than {k}."


def _describe_below_k(columns: UnprotectedColumns, k: int) -> str:
    """Say how many are below k with columns that others may know."""
    count = columns.count
    amount = "all" if count.rare == count.total else f"{count.rare:,} of"
    small = describe_small_groups(count.rare, k)
    return f"With {columns.names}, {amount} {count.total:,} {count.what}s {small}."
