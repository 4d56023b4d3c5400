"""Confidential attributes, compared as the job specifies.

A table in memory and its file give equal results: entries are compared as the numbers
that they are or spell, and otherwise as text.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt

from aggopt.core.column_names import count_alike
from aggopt.core.columns import OWN
from aggopt.core.columns import encode_values as coded
from aggopt.core.plural import agree
from aggopt.core.types import I64
from aggopt.data.parsing.entries import (
    Entries,
    Entry,
    Values,
    is_date,
    is_doubtful,
    make_entry_reader,
    read_tree,
)
from aggopt.errors import JobError, TableError, naming
from aggopt.job import Privacy, Roles, Treatment
from aggopt.privacy import find_groups
from aggopt.privacy.distance import Distance
from aggopt.privacy.exact_order import Numbers
from aggopt.privacy.metric import Metric
from aggopt.privacy.requirement import Check, Requirement
from aggopt.privacy.value_levels import assign_levels

NO_LEVELS = (
    "leave levels out under [privacy.confidential.NAME]: l then counts different values"
)
COMPARED = (
    'say how they are compared: order = ["low", "middle", "high"], distance = "equal", '
    'or distance = "hierarchical" with a tree; under [privacy.confidential.NAME]. '
    "Recode dates as days since a day."
)


@dataclass(frozen=True, eq=False)
class Confidential:
    """One confidential attribute, and its requirements.

    Attributes
    ----------
    codes : (n,)
        Index of each record's value among the distinct values.
    requirements
        One of each privacy model that the job requires.
    notes
        Notes for a data steward; counts and names, no values.
    """

    name: str
    codes: I64 = field(repr=False)
    requirements: tuple[Requirement, ...] = ()
    notes: tuple[str, ...] = ()


def list_requirements(attributes: Sequence[Confidential]) -> tuple[Requirement, ...]:
    """Return the requirements of all attributes."""
    return tuple(
        requirement
        for attribute in attributes
        for requirement in attribute.requirements
    )


def check_requirements(
    frame: nw.DataFrame[Any], names: Sequence[str], attributes: Sequence[Confidential]
) -> tuple[Check, ...]:
    """Return the checks of groups of records with equal values in columns `names`."""
    if not attributes:
        return ()
    published = find_groups(frame.select(*names).to_native())
    return tuple(
        requirement.check(published) for requirement in list_requirements(attributes)
    )


def read_confidential_attributes(
    frame: nw.DataFrame[Any], roles: Roles, privacy: Privacy, decimal: str
) -> tuple[Confidential, ...]:
    """Return the confidential attributes of a table, in memory or in a file.

    Empty if only k is required.  Errors name the attribute, never a value.

    Raises
    ------
    TableError, JobError
        Values are missing, or fit neither the distance nor the levels of the job.
    """
    if not privacy.models:
        return ()
    attributes = []
    for name in roles.confidential:
        with naming(repr(name), name):
            entry = make_entry_reader(decimal)
            values = Values.of(frame[name], entry)
            attributes.append(make_confidential(name, values, privacy, entry))
    return tuple(attributes)


def make_confidential(
    name: str,
    values: Values,
    privacy: Privacy,
    entry: Entry,
    counts: I64 | None = None,
) -> Confidential:
    """Return a confidential attribute of these values, and its requirements.

    With `counts`, each value has that number of records, and requirements are measured
    against all of them.  Raises as `read_confidential_attributes`.
    """
    treatment = privacy.treatment(name)
    codes = coded(values.all, treatment.missing)
    column = _Column(name, treatment, codes, values, entry, counts)
    concerned = (model for model in privacy.models if model.concerns(name))
    makers = (model.requirement for model in concerned)
    requirements = tuple(
        require(column, privacy) for require in makers if require is not None
    )
    spellings = sum(value is None for value in values.distinct)
    if spellings > 1 and requirements:
        raise TableError(
            f"Missing entries have {spellings} spellings, which a requirement would "
            "count as one value, and the release has them apart.",
            fix='spell what is missing in one way (no "NA" beside an empty entry), or '
            "as a value of its own, such as not asked, if it differs in meaning.",
        )
    alike = _count_alike(values.distinct)
    if alike and requirements and treatment.alike == "refuse":
        raise TableError(
            f"{alike} of {len(values.distinct)} different entries differ from another "
            "one only in case, in invisible characters or in how Unicode writes them, "
            "and a requirement would count them as different values.",
            fix="spell each value in one way; if they do differ in meaning, as alleles "
            f'A and a do, set alike = "different" under [privacy.confidential.{name}].',
        )
    return Confidential(name, codes, requirements, _describe_alike(name, values, alike))


@dataclass(frozen=True, eq=False)
class _Column:
    """A column as privacy models read it: an `aggopt.privacy.model.Attribute`."""

    name: str
    treatment: Treatment
    codes: I64 = field(repr=False)
    values: Values = field(repr=False)
    entry: Entry = field(repr=False)
    counts: I64 | None = field(default=None, repr=False)

    def distance(self) -> Distance:
        """Return the distance between values, by the job's settings."""
        order = self.treatment.order
        tree = self.treatment.tree
        metric = Metric(
            str(self.treatment.distance),
            order=None if order is None else [self.entry(value) for value in order],
            tree=None if tree is None else read_tree(tree, self.entry),
            missing=self.treatment.missing,
        )
        if metric.distance != "equal":
            way = f"the {metric.distance} distance"
            _require_no_dates(self.values, way, '; or choose distance = "equal"')
        if metric.distance == "ordered" and order is None:
            _require_numbers(self.values)
        distance = metric.of(self.values.all, self.codes)
        return distance if self.counts is None else distance.counted(self.counts)

    def levels(self) -> I64:
        """Return the level of each number (n,), by the job's settings."""
        if self.treatment.missing == OWN:
            raise JobError(
                "levels are of numbers, and what is missing has none.",
                fix='leave out levels or missing = "own value".',
            )
        _require_no_dates(self.values, "levels", f"; or {NO_LEVELS}")
        words = self.values.count(_is_word)
        if words:
            raise TableError(
                f"{words} of {len(self.values.which)} values "
                f"{agree(words, 'is no number', 'are no numbers')}, and levels are of "
                "numbers.",
                fix=f"recode them as numbers; or {NO_LEVELS}.",
            )
        numbers = np.array(self.values.distinct.tolist())
        if numbers.dtype == object or len(np.unique(numbers)) < len(numbers):
            raise TableError(
                "The values have more digits than can be distinguished.",
                fix="subtract a base from them, or divide them.",
            )
        levels = self.treatment.levels
        return assign_levels(numbers[self.values.which], levels, self.counts)

    def numbers(self) -> Numbers:
        """Return the values as numbers, exactly."""
        _require_no_dates(self.values, "a distance between numbers")
        return Numbers.of(self.values.distinct.tolist(), self.values.which)

    def entries(self) -> npt.NDArray[Any]:
        """Return the values (n,): numbers if all are numbers, else unchanged."""
        _require_no_dates(self.values, "a privacy model of yours")
        return _to_typed_array(self.values.distinct)[self.values.which]


def _to_typed_array(distinct: Entries) -> npt.NDArray[Any]:
    """Return values as an array of numbers, if it can hold them all."""
    kinds = {type(value) for value in distinct}
    try:
        if kinds == {int}:
            return np.array(distinct.tolist(), np.int64)
        if kinds <= {int, float}:
            return np.array(distinct.tolist(), np.float64)
    except OverflowError:
        pass
    return distinct


def _require_no_dates(values: Values, way: str, otherwise: str = "") -> None:
    dates = values.count(is_date)
    if dates:
        raise TableError(
            f"{dates} of {len(values.which)} values "
            f"{agree(dates, 'is a date or time', 'are dates or times')}, which {way} "
            "cannot compare.",
            fix=f"recode them as numbers, such as days since a day{otherwise}.",
        )


def _is_word(value: object) -> bool:
    return not isinstance(value, int | float | None)


def _require_numbers(values: Values) -> None:
    words = values.count(_is_word)
    if words:
        raise TableError(
            f"{words} of {len(values.which)} values "
            f"{agree(words, 'is no number', 'are no numbers')}, and no order is given.",
            fix=COMPARED,
        )


def _count_alike(distinct: Entries) -> int:
    """Return how many texts look like another one: their folded form is equal."""
    return count_alike(value for value in distinct if isinstance(value, str))


def _describe_alike(name: str, values: Values, alike: int) -> tuple[str, ...]:
    """Return notes on entries that differ in case only, or look doubtful."""
    notes = []
    if alike:
        notes.append(
            f"{name!r}: {alike} of {len(values.distinct)} different entries differ "
            "from another one only in case, in invisible characters or in how Unicode "
            "writes them; they count as different values."
        )
    doubtful = values.count(is_doubtful)
    if doubtful:
        notes.append(
            f"{name!r}: {doubtful} entries are text that often stands for what is "
            'missing ("-", "unknown", "inf", ...); they count as values of their own.'
        )
    return tuple(notes)
