"""The measures by name: each is declared in its own file of this folder."""

from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from math import inf, isfinite
from numbers import Real
from typing import Any, ClassVar, TypeVar

import numpy as np
import numpy.typing as npt

from aggopt.core.plugins.function import UserFunction
from aggopt.core.plugins.loading import Origin
from aggopt.core.registry import Method, Registry
from aggopt.core.types import Floats, Labels, WishValues
from aggopt.errors import JobError
from aggopt.measure._pair import Pair
from aggopt.measure._typed_pair import AttributePair, TypedPair, Types

WHOLE = 5000
"""Records that are assigned at once, by default: 5 to 10 s, 400 MB."""

BLOCK = 1000  # records of a block if the table has more: .1 s each


def split_rows(rows: Floats, sizes: Labels, max_entries: int) -> list[Labels]:
    """Return the parts of distinct rows (m, v), each the indices of its rows.

    A part has rows of at most `max_entries` records, or is one row; `sizes` (m,) are
    the numbers of records of each row.  Rows are halved in the attribute with the
    largest spread, as near to half of the records as possible.  Rows that are equal in
    that attribute stay together, so that the order of the rows does not matter.
    """
    waiting = [np.arange(len(rows))]
    done = []
    while waiting:
        part = waiting.pop()
        if len(part) == 1 or sizes[part].sum() <= max_entries:
            done.append(part)
        else:
            waiting.extend(_split_in_half(part, rows[part], sizes[part]))
    return done


def _split_in_half(part: Labels, rows: Floats, sizes: Labels) -> tuple[Labels, Labels]:
    """Return the groups of a part in two halves, by its widest attribute."""
    values = rows[:, np.argmax(np.ptp(rows, axis=0))]
    order = np.argsort(values)
    ends = np.flatnonzero(np.diff(values[order]))  # the last row before a step
    below = np.cumsum(sizes[order])
    cut = ends[np.argmin(np.abs(2 * below[ends] - below[-1]))] + 1
    return part[order[:cut]], part[order[cut:]]


@dataclass(frozen=True)
class OwnMeasure(UserFunction):
    """A function f(original, released) of the user's."""

    data: ClassVar[tuple[str, ...]] = ("original", "released")

    def __call__(self, original: Any, released: Any) -> float:
        """Return the function's result; it receives deep copies of both tables.

        Raises
        ------
        JobError
            The function fails, or does not return a finite number.
        """
        figure = self.run(deepcopy(original), deepcopy(released))
        number = self.origin.run(
            _read_number, figure
        )  # which may be code of the user's
        if number is None:
            raise self._no_number(f"something of type {type(figure).__name__}")
        if not isfinite(number):
            raise self._no_number("a number that is not finite")
        return number

    def _no_number(self, problem: str) -> JobError:
        return JobError(
            f"The measure {self.origin.name} returns {problem}.",
            fix="return one finite number.",
        )


def _read_number(result: Any) -> float | None:
    """Return a number as a float; None for anything else."""
    if isinstance(result, bool) or not isinstance(result, Real):
        return None
    return float(result)


Found = TypeVar("Found")
TAKEN = {  # by an `Assessment` and the arguments of `assess`
    *(
        "n",
        "d",
        "varying",
        "linkage_limit",
        "linkage_chance",
        "linkage_blocks",
        "further",
        "types",
    ),
    *("original", "released", "attributes", "safety", "delta", "importance"),
    *("weights", "whole", "known", "added", "units", "extra", "own"),
}


class Heading(Enum):
    """Headings of the sections of the table that `assess` prints, in order."""

    RISK = "Risk (lower is better)"
    LOSS = "Loss (lower is better)"
    PAIRS = "Tables of two attributes that are no numbers"
    LITERATURE = "Figures of the literature (lower is better)"
    SATISFACTION = "Satisfaction (higher is better)"


@dataclass(frozen=True, eq=False)
class Comparison:
    """Two tables and the arguments of `assess`; each result is computed once.

    `by_weight` is the pair on the scale of sampling weights, if the records have them.
    """

    pair: Pair
    safety: float = 0.05
    delta: WishValues = 0.1
    importance: WishValues = 1.0
    whole: int = WHOLE
    by_weight: Pair | None = None
    _cache: dict[Callable[..., Any], Any] = field(default_factory=dict, repr=False)

    @property
    def numbers(self) -> Pair | None:
        """The numeric attributes; None if none of them varies."""
        return self.pair

    @property
    def weighed(self) -> Pair:
        """The pair for measuring losses: by weight, if the records have weights."""
        return self.by_weight or self.pair

    @property
    def weighed_numbers(self) -> Pair | None:
        """The numeric attributes of `weighed`; None if none of them varies."""
        return self.weighed

    def of_numbers(
        self, figure: Callable[[Pair], Found], *, weighed: bool = False
    ) -> Found | None:
        """Return a figure of the numeric attributes; None if none varies.

        With `weighed`, they are by weight if the records have weights.
        """
        numbers = self.weighed_numbers if weighed else self.numbers
        return None if numbers is None else figure(numbers)

    def once(self, compute: Callable[[Any], Found]) -> Found:
        """Return the result of `compute`, which is called the first time only."""
        if compute not in self._cache:
            self._cache[compute] = compute(self)
        result: Found = self._cache[compute]
        return result

    def figure(self, measure: "Measure") -> Any:
        """Return a measure of these tables, computed once.

        Raises
        ------
        JobError
            The measure has no `of`, which `assess` calls.
        """
        if measure.of is None:
            raise JobError(
                f"{measure.name} is not found by a comparison.",
                fix=f"call aggopt.measure.{measure.name}.",
            )
        return self.once(measure.of)


@dataclass(frozen=True, eq=False, kw_only=True)
class TypedComparison(Comparison):
    """Comparison of attributes of any types: `pair` has their coordinates.

    `typed_by_weight` has them on the scale of sampling weights, if there are any.
    """

    typed: TypedPair
    typed_by_weight: TypedPair | None = None

    @classmethod
    def of(
        cls,
        original: Any,
        released: Any,
        attributes: Types = None,
        *,
        safety: float = 0.05,
        weights: npt.ArrayLike | None = None,
        known: Any = None,
        units: Any = None,
        added: Any = None,
        **others: Any,
    ) -> "TypedComparison":
        """Return the comparison of a table and its release; see `TypedPair.of`."""
        make_pair = partial(TypedPair.of, original, released, attributes, safety)
        typed = make_pair(known=known, units=units, added=added)
        weighed = None if weights is None else make_pair(weights)
        return cls(
            pair=typed.embedded,
            typed=typed,
            typed_by_weight=weighed,
            by_weight=weighed.embedded if weighed else None,
            safety=safety,
            **others,
        )

    @property
    def typed_weighed(self) -> TypedPair:
        """The attributes for measuring losses: by weight, if records have weights."""
        return self.typed_by_weight or self.typed

    @property
    def weighed_numbers(self) -> Pair | None:
        """The numeric attributes, by weight if the records have weights."""
        return self.typed_weighed.numbers

    @property
    def numbers(self) -> Pair | None:
        """The numeric attributes; None if none of them varies."""
        return self.typed.numbers


@dataclass(frozen=True, kw_only=True)
class Declared(Method):
    """Description of a measure, which is a pure function of two tables.

    Attributes
    ----------
    function
        Takes the original and the released table, and its own arguments.
    range
        From least to largest value, such as "0..1"; "0.." has no largest.
    better
        "lower" or "higher"; "-" if neither is better.
    source
        Publication that defines it.
    heading
        Section of the table that `assess` prints; None if it is not printed.
    label
        Its name in that section.
    percent
        Whether it is printed as a percentage.
    """

    function: Callable[..., Any]
    range: str
    better: str
    source: str
    heading: Heading | None = None
    label: str = ""
    percent: bool = True

    @property
    def highest(self) -> float:
        """The largest value it can have."""
        largest = self.range.partition("..")[2]
        return float(largest) if largest.isdigit() else inf


@dataclass(frozen=True, kw_only=True)
class Measure(Declared):
    """A measure of numbers, in the original units, and in `assess` of any attributes.

    Attributes
    ----------
    needs
        "both" tables, or one of "original" and "released".
    of
        Function of a comparison that computes it; None if `assess` leaves it out.
    says
        Function of an `Assessment` that returns its meaning.
    parts
        Function of an `Assessment` that returns its parts by name, printed below it.
    """

    needs: str = "both"
    of: Callable[[Comparison], Any] | None = None
    says: Callable[[Any], str] | None = None
    parts: Callable[[Any], Iterable[tuple[str, float | None]]] | None = None

    def __post_init__(self) -> None:
        if self.name in TAKEN:
            raise JobError(
                f"A measure is called {self.name!r}, as a part of every assessment is.",
                fix="give it another name.",
            )


def describe_numbers_only(result: Any) -> str:
    """Return the remark of an `Assessment` on a figure of its numbers alone."""
    return "" if result.types is None else ", of the numbers"


def _adopt_measure(thing: object, origin: Origin) -> Measure:
    """Return the measure that a function of the user's is; its range is not known."""
    return Measure(
        name=origin.name,
        when="a measure of your own",
        origin=origin,
        function=OwnMeasure.of(thing, origin, frozenset()),
        range="..",
        better="-",
        source=str(origin),
    )


MEASURES = Registry(
    "aggopt.measure", Measure, "measure", plugin_kind="measures", adopt=_adopt_measure
)


def adopt_user_measures(extra: Mapping[str, Any] | Iterable[Any]) -> dict[str, Measure]:
    """Return measures of the user's by the names that they go by.

    Raises
    ------
    JobError
        Two have one name, or that of something else of an assessment; or one cannot
        be used, or needs settings.
    """
    named_measures = (
        extra.items() if isinstance(extra, Mapping) else ((None, e) for e in extra)
    )
    measures: dict[str, Measure] = {}
    for name, user_measure in named_measures:
        measure = MEASURES.adopt(user_measure)
        called = measure.name if name is None else name
        if called in (*measures, *MEASURES, *TAKEN):
            raise JobError(
                f"An extra measure is called {called!r}, which an assessment has "
                "already.",
                fix="give it another name; those of this package are measured anyway.",
            )
        measure.function.check_arguments({})  # type: ignore[attr-defined]
        measures[called] = measure
    return measures


Figure = float | None  # None if it is not defined


@dataclass(frozen=True, kw_only=True)
class TypedMeasure(Declared):
    """A measure of attributes of any types, by attribute or of all together.

    Attributes
    ----------
    by_attribute, of_table
        Function that computes it for one attribute, which may have `weights`, or else
        for all attributes together.
    optional
        Whether an assessment leaves it out where it is not defined.
    """

    by_attribute: Callable[[AttributePair], Figure] | None = None
    of_table: Callable[[TypedComparison], Figure] | None = None
    optional: bool = False

    def shown(self, figure: Figure) -> str:
        """Return a figure in its printed form; "" if it is not defined."""
        if figure is None:
            return ""
        return f"{100 * figure:.2f} %" if self.percent else f"{figure:.4g}"


TYPED = Registry("aggopt.measure.types", TypedMeasure, "measure of typed attributes")
