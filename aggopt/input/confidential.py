"""Confidential attributes as a job says that they are compared.

The same table in memory and in a file gives the same: entries are compared as the
numbers they are or spell, and otherwise as text.
"""

from dataclasses import dataclass, field
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from aggopt.core.types import I64
from aggopt.errors import JobError, TableError, naming
from aggopt.input.entries import Entry, Values, entry_of, is_date, is_doubtful, tree_of
from aggopt.job import Privacy, Treatment
from aggopt.job._roles import Roles
from aggopt.privacy._distance import Distance
from aggopt.privacy._levels import levels_of
from aggopt.privacy._metric import Metric
from aggopt.privacy._promise import Promise
from aggopt.privacy._values import OWN
from aggopt.privacy._values import codes as coded


@dataclass(frozen=True, eq=False)
class Confidential:
    """One confidential attribute, ready to be promised something.

    Attributes
    ----------
    codes : (n,)
        What l counts: distinct values, or levels of them.
    distance
        What t measures, if it is promised.
    values
        How many distinct values there are, if the codes are levels of them.
    notes
        What a data steward should look at; counts and names, no values.
    """

    name: str
    codes: I64 = field(repr=False)
    distance: Distance | None = field(repr=False)
    values: int | None = None
    notes: tuple[str, ...] = ()

    def promises(self, privacy: Privacy) -> tuple[Promise, ...]:
        """Return what a job promises of this attribute."""
        made = []
        if privacy.l is not None:
            made.append(
                Promise(
                    self.name,
                    self.codes,
                    diversity=privacy.diversity,
                    least=privacy.l,
                    c=privacy.c,
                    values=self.values,
                )
            )
        if privacy.t is not None:
            kind = str(privacy.treatment(self.name).distance)
            made.append(
                Promise(self.name, self.codes, self.distance, kind, t=privacy.t)
            )
        return tuple(made)


def confidential_of(
    frame: nw.DataFrame[Any], roles: Roles, privacy: Privacy, decimal: str
) -> tuple[Confidential, ...]:
    """Return the confidential attributes of a table, in memory or as it was written.

    Nothing if neither l nor t is promised.  Errors name the attribute, never a value.

    Raises
    ------
    TableError, JobError
        Values are missing, or fit neither the distance nor the levels of the job.
    """
    if privacy.asked == {"k"}:
        return ()
    found = []
    for name in roles.confidential:
        with naming(repr(name)):
            treatment = privacy.treatment(name)
            found.append(_read(frame[name], treatment, privacy, entry_of(decimal)))
    return tuple(found)


def _read(
    column: nw.Series[Any], treatment: Treatment, privacy: Privacy, entry: Entry
) -> Confidential:
    values = Values.of(column, entry)
    codes = coded(values.all, treatment.missing)
    distance = behind = None
    if privacy.t is not None:
        distance = _distance(values, codes, treatment, entry)
    if treatment.levels is not None:
        behind = int(codes.max()) + 1
        codes = _levels(values, treatment, treatment.levels)
    notes = _notes(column.name, values)
    return Confidential(column.name, codes, distance, behind, notes)


def _distance(
    values: Values, codes: I64, treatment: Treatment, entry: Entry
) -> Distance:
    order, tree = treatment.order, treatment.tree
    metric = Metric(
        str(treatment.distance),
        order=None if order is None else [entry(value) for value in order],
        tree=None if tree is None else tree_of(tree, entry),
        missing=treatment.missing,
    )
    if metric.distance != "equal":
        _require_no_dates(values, f"the {metric.distance} distance")
    if metric.distance == "ordered" and order is None:
        _require_numbers(values)
    return metric.of(values.all, codes)


def _levels(
    values: Values, treatment: Treatment, levels: int | tuple[float, ...]
) -> I64:
    if treatment.missing == OWN:
        raise JobError(
            "levels are of numbers, and what is missing has none.",
            fix='leave out levels or missing = "own value".',
        )
    _require_no_dates(values, "levels")
    _require_numbers(values)
    numbers = np.array(values.distinct.tolist())
    if numbers.dtype == object or len(np.unique(numbers)) < len(numbers):
        raise TableError(
            "The values have more digits than can be told apart.",
            fix="subtract a base from them, or divide them.",
        )
    return levels_of(numbers[values.which], levels)


def _require_no_dates(values: Values, way: str) -> None:
    dates = values.count(is_date)
    if dates:
        raise TableError(
            f"{dates} of {len(values.which)} values are dates or times, which {way} "
            "cannot compare.",
            fix="recode them as numbers, such as days since a day; or, for t, choose "
            'distance = "equal".',
        )


def _require_numbers(values: Values) -> None:
    words = values.count(lambda value: not isinstance(value, int | float | None))
    if words:
        raise TableError(
            f"{words} of {len(values.which)} values are no numbers, and no order is "
            "given.",
            fix='say how they are compared: order = ["low", "middle", "high"], '
            'distance = "equal", or distance = "hierarchical" with a tree; under '
            "[privacy.confidential.NAME]. Recode dates as days since a day.",
        )


def _notes(name: str, values: Values) -> tuple[str, ...]:
    count = values.count(is_doubtful)
    if not count:
        return ()
    return (
        f"{name!r}: {count} entries are text that often stands for what is missing "
        '("-", "unknown", "inf", ...); they count as values of their own.',
    )
