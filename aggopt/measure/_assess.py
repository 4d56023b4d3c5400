"""Every measure of one release at once."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from aggopt.core.frame import to_frame
from aggopt.core.html import render_html_lines
from aggopt.core.plural import format_percent
from aggopt.core.text_formats import format_json
from aggopt.core.types import WishValues
from aggopt.core.validation import check_matrix
from aggopt.encoding import Encoded
from aggopt.errors import JobError, TableError, require_known
from aggopt.measure._interval import check_safety
from aggopt.measure._linkage import WHOLE, check_whole, get_linkage
from aggopt.measure._pair import Attacker, Pair
from aggopt.measure._pil import PilParts
from aggopt.measure._sl import SL
from aggopt.measure._typed_pair import Types
from aggopt.measure.registry import (
    MEASURES,
    Comparison,
    Heading,
    Measure,
    TypedComparison,
    adopt_user_measures,
)
from aggopt.measure.types import TypedAssessment


@dataclass(frozen=True)
class Assessment:
    """Risk, loss and satisfaction of one release; printed, it is a table.

    If attributes are of any types, all of them count in each figure, with the distances
    of `aggopt.encode`.  Only `il1s` and `sl` cover the numbers alone, and are None if
    no number varies.

    Attributes
    ----------
    highest_risk, average_risk, reidentifications
        Chance that a record is re-identified in its group, and the expected number of
        re-identifications; lower is better.
    linkage, linkage_limit, linkage_chance, linkage_blocks
        Records linked by the best one-to-one assignment; the limit of any linkage; the
        share that a guess among the records that share known columns reaches; and the
        number of blocks of the assignment.  Lower is better.
    dld
        Records linked to the nearest; lower is better.
    sdid, sdid_chance
        Disclosed values, and their number by chance; lower is better.  For any types,
        the mean over attributes that vary.
    sse, sst, il, il1s
        Distances from the original to the released values; lower is better.
    pil, pil_parts
        Probabilistic information loss and its five parts, seven for any types; lower is
        better.
    dr
        Mean of `dld` and `sdid`; lower is better.
    si
        Mean of `dr` and `pil`; lower is better.
    sl
        Satisfaction level; higher is better.
    n, d, varying
        Numbers of records, of attributes, and of those that vary in the original:
        the others count for the groups of equal records, and in no other measure.
    safety, delta
        The arguments of `assess`; delta is None when it was not one number.
    types
        Loss and disclosure by attribute, and the change of tables of two attributes;
        None if all attributes are numbers.
    further
        Name and value of each measure of `MEASURES` that has no attribute here.
    own
        Name and value of each measure of the user's, in the order of `extra`.

    All but `reidentifications`, `sse` and `sst` are fractions, not percentages; `il`
    and `il1s` alone may exceed 1.  Each is defined at the function of its name in
    `aggopt.measure`.
    """

    highest_risk: float
    average_risk: float
    reidentifications: int
    linkage: float
    linkage_limit: float
    linkage_chance: float
    linkage_blocks: int
    dld: float
    sdid: float
    sdid_chance: float
    sse: float
    sst: float
    il: float
    il1s: float | None
    pil: float
    pil_parts: PilParts
    correlation_error: float | None
    mean_correlation_error: float | None
    dr: float
    si: float
    sl: float | None
    n: int
    d: int
    varying: int
    safety: float
    delta: float | None
    further: tuple[tuple[str, Any], ...] = ()
    types: TypedAssessment | None = None
    own: tuple[tuple[str, float], ...] = ()

    def __getitem__(self, name: str) -> Any:
        """Return the result of the measure of this name.

        `found.types["il"]` is `il` by attribute.

        Raises
        ------
        UnknownNameError
            No measure of `assess` has the name.
        """
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        measures = {n: values[n] for n in values if n in MEASURES} | dict(self.further)
        measures |= dict(self.own)
        require_known("measure of an assessment", name, measures)
        return measures[name]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON; with `types` a map by attribute."""
        values = asdict(replace(self, types=None))
        del values["types"]
        user_figures = dict(values.pop("own"))
        plain = (
            values
            | dict(values.pop("further"))
            | ({"own": user_figures} if user_figures else {})
        )
        return plain if self.types is None else plain | self.types.to_dict()

    def to_json(self) -> str:
        """Return all attributes as JSON text; null replaces nan and inf."""
        return format_json(self.to_dict())

    def __str__(self) -> str:
        """Return a table in plain text."""
        return self.table()

    def _repr_html_(self) -> str:
        """Return the printed table as HTML for a notebook."""
        return render_html_lines(str(self))

    def table(self, risks: Sequence[tuple[str, float, str]] = ()) -> str:
        """Return a table in plain text.

        `risks` are name, share and meaning of risks that others measured.
        """
        sections = {heading: list[tuple[str, str, str]]() for heading in Heading}
        for measure in MEASURES.values():
            if measure.heading is not None:
                sections[measure.heading] += self._rows(measure)
        of_others = [(name, format_percent(share), says) for name, share, says in risks]
        sections[Heading.RISK] += of_others
        lines = [
            f"Records: {self.n}. Attributes: {self.d}, {self.varying} of them vary."
        ]
        if self.types is not None:
            lines += ["", self.types.by_attribute()]
            for heading, label, shown, says in self.types.rest():
                sections[heading].append((label, shown, says))
        for heading, rows in sections.items():
            lines += ["", heading.value] if rows else []
            lines += [f"  {name:<14}{v:>9}  {says}".rstrip() for name, v, says in rows]
        lines += ["", "Of your own"] if self.own else []
        lines += [f"  {name:<14}{_format_plain(value):>9}" for name, value in self.own]
        return "\n".join(lines)

    def _rows(self, measure: Measure) -> Iterator[tuple[str, str, str]]:
        """Yield name, value and meaning of a measure, and of its parts below it."""
        figure = self[measure.name]
        says = measure.says or (lambda _: measure.when)
        shown = format_percent(figure) if measure.percent else _format_plain(figure)
        yield measure.label or measure.name, shown, says(self)
        for name, part in measure.parts(self) if measure.parts else ():
            yield f"  {name}", format_percent(part), ""


def _format_plain(value: float | None) -> str:
    """Return a number with six digits, an integer in full, or "none"."""
    if value is None:
        return "none"
    return str(value) if isinstance(value, int) else f"{value:.6g}"


def assess(
    original: Any,
    released: Any,
    attributes: Types = None,
    *,
    safety: float = 0.05,
    delta: WishValues = 0.1,
    importance: WishValues = 1.0,
    weights: npt.ArrayLike | None = None,
    whole: int = WHOLE,
    known: Any = None,
    added: Any = None,
    units: Any = None,
    extra: Mapping[str, Any] | Iterable[Any] = (),
) -> Assessment:
    """Return every measure of a release, each computed once.

    `linkage` takes nearly all the time: seconds for 5000 records, which are assigned
    at once.  More than `whole` records are assigned in blocks, which is faster and
    mostly gives a little more.  The result contains the number of blocks.

    Parameters
    ----------
    original, released : (n, d)
        Same records and quasi-identifiers, in the original units.  Arrays of numbers
        and tables of columns of numbers are measured in the original's standard
        deviations.  A table with other columns, or an encoded one, is measured in the
        distances of `aggopt.encode`.  The release then has levels, or nodes of their
        trees, and the result has `types`, too.
    attributes
        Settings of attributes that are not inferred from a table, as in
        `aggopt.encode`.  If given, the result has `types`.
    safety
        As in `sdid`.
    delta, importance
        As in `sl`: of the columns that are numbers.
    weights : (n,), optional
        Sampling weights, above 0 and of any scale: SSE, SST, IL, IL1s and PIL, of typed
        attributes all losses, are by weight.  All else counts records: risk is each
        one's own.
    whole
        As in `linkage`.
    known : (n,) or (n, q), optional
        Columns that are published unchanged and that an intruder knows, such as strata:
        the intruder looks for a record among the records that share them.
    added : (n,) or (n, q), optional
        Columns that the release adds to its groups, such as their mean weight.  The
        intruder looks among records that share them, too; chance is within `known`
        alone.
    units : (n,) or (n, q), optional
        Unit of each record: a link is right if it reaches a record of the unit.
    extra
        Your own measures: functions f(original, released) that return one number, by
        name, or a list of functions, whose names are used.  They receive copies: the
        numbers (n, d), or tables with other columns unchanged.

    Raises
    ------
    TableError
        Not matrices of finite numbers, unequal shapes, or no attribute varies; or as
        in `assess_types`.
    JobError
        safety, delta, importance or whole cannot be used; see `sdid`, `sl`, `linkage`.
        A measure of `extra` fails, returns no finite number, or has a name that is
        taken.
    InfeasibleInputError
        The memory does not suffice; see `linkage`.

    Source: each at the function of its name.

    Examples
    --------
    >>> result = assess([[0.0], [2.0], [4.0], [6.0]], [[1.0], [1.0], [5.0], [5.0]])
    >>> round(result.il, 6), result.average_risk, result.linkage, result.sl
    (0.2, 0.5, 0.5, 1.0)
    """
    width = check_safety(safety)
    largest = check_whole(whole)
    user_measures = adopt_user_measures(extra)
    arguments: dict[str, Any] = {
        "safety": width,
        "delta": delta,
        "importance": importance,
        "whole": largest,
    }
    if attributes is None and _has_only_numbers(original):
        pair = Pair.of(original, released)
        pair = pair.add_attacker(Attacker.of(pair.n, known, units, added))
        by_weight = None if weights is None else Pair.of(original, released, weights)
        tables = Comparison(pair, by_weight=by_weight, **arguments)
        return _make_assessment(
            tables,
            _evaluate_user_measures(
                user_measures, check_matrix(original), check_matrix(released)
            ),
        )
    arguments |= {"weights": weights, "known": known, "units": units, "added": added}
    typed = TypedComparison.of(original, released, attributes, **arguments)
    numeric = any(
        attribute_pair.of.numbers is not None
        for attribute_pair in typed.typed.attributes
    )
    if not numeric and not (_is_for_all(delta) and _is_for_all(importance)):
        raise JobError(
            "delta or importance is given by attribute, and no attribute is numeric.",
            fix="leave them out: distances are requested of numbers only.",
        )
    if not typed.pair.varying.any():
        raise TableError(
            f"No attribute of the original varies ({typed.pair.n} record(s), "
            f"{len(typed.pair.varying)} attribute(s)), so nothing can be lost.",
            fix="pass at least two records that differ.",
        )
    return _make_assessment(
        typed, _evaluate_user_measures(user_measures, original, released)
    )


def _evaluate_user_measures(
    measures: Mapping[str, Measure], *tables: Any
) -> tuple[tuple[str, Any], ...]:
    """Return the results of the user's measures, before linkage takes its time."""
    return tuple(
        (name, measure.function(*tables)) for name, measure in measures.items()
    )


def _has_only_numbers(original: Any) -> bool:
    """Whether the original is an array, or a table whose columns are all numbers."""
    if isinstance(original, Encoded | np.ndarray):
        return not isinstance(original, Encoded)
    try:
        columns = to_frame(original).schema
    except TableError:  # numbers nonetheless, or refused as numbers
        return True
    return all(kind.is_numeric() for kind in columns.values())


def _make_assessment(
    tables: Comparison, mine: tuple[tuple[str, Any], ...]
) -> Assessment:
    """Return all measures of two tables; `mine` are the user's, by name."""
    tables.figure(SL)  # its arguments: before linkage takes its time
    figures = {name: tables.figure(m) for name, m in MEASURES.items() if m.of}
    field_names = {f.name for f in fields(Assessment)}
    linkage = tables.once(get_linkage)
    pair = tables.pair
    types = TypedAssessment.of(tables) if isinstance(tables, TypedComparison) else None
    return Assessment(
        **{name: figures[name] for name in figures if name in field_names},
        linkage_limit=linkage.limit,
        linkage_chance=pair.attacker.chance(pair.n),
        linkage_blocks=linkage.blocks,
        n=pair.n,
        d=len(pair.varying),
        varying=int(pair.varying.sum()),
        safety=tables.safety,
        delta=_read_number(tables.delta),
        further=tuple(
            (name, figures[name]) for name in figures if name not in field_names
        ),
        types=types,
        own=mine,
    )


def _is_for_all(wish: WishValues) -> bool:
    """Return whether a wish is one number, or one share, for all values."""
    if isinstance(wish, Mapping):
        return all(np.size(share) == 1 for share in wish.values())
    return np.size(wish) == 1


def _read_number(delta: WishValues) -> float | None:
    """Return a requested distance if it is one number for all, else None."""
    if isinstance(delta, Mapping):
        return None
    array = np.asarray(delta)
    return float(array) if array.ndim == 0 else None
