"""Confidential attributes as a job says that they are compared.

The same table in memory and in a file gives the same: entries are compared as the
numbers they are or spell, and otherwise as text.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd

from aggopt.errors import JobError, TableError, naming
from aggopt.input.files import MISSING
from aggopt.input.roles import Roles
from aggopt.job import Privacy, Treatment
from aggopt.privacy._metric import Metric
from aggopt.privacy._distance import Distance, Ints
from aggopt.privacy._levels import levels_of
from aggopt.privacy._promise import Promise
from aggopt.privacy._values import OWN
from aggopt.privacy._values import codes as coded

_WHOLE = re.compile(r"[+-]?\d{1,1000}")
_NUMBER = r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?"
Entry = Callable[[Any], Any]


@dataclass(frozen=True)
class Confidential:
    """One confidential attribute, ready to be promised something.

    Attributes
    ----------
    codes : (n,)
        What l counts: distinct values, or levels of them.
    distance
        What t measures, if it is promised.
    """

    name: str
    codes: Ints = field(repr=False)
    distance: Distance | None = field(repr=False)

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
            found.append(_read(frame[name], treatment, privacy, _entry(decimal)))
    return tuple(found)


def _read(
    column: nw.Series[Any], treatment: Treatment, privacy: Privacy, entry: Entry
) -> Confidential:
    raw, distinct = pd.factorize(_entries(column), use_na_sentinel=False)
    plain = np.empty(len(distinct), dtype=object)
    plain[:] = [entry(v) for v in distinct]
    _require_apart(plain)
    codes = coded(plain[raw], treatment.missing)
    order, tree = treatment.order, treatment.tree
    metric = Metric(
        str(treatment.distance),
        order=None if order is None else [entry(v) for v in order],
        tree=None if tree is None else _plain_tree(tree, entry),
        missing=treatment.missing,
    )
    wanted = privacy.t is not None
    distance = metric.of(_spelled(plain[raw], metric), codes) if wanted else None
    if treatment.levels is not None:
        if treatment.missing == OWN:
            raise JobError(
                "levels are of numbers, and what is missing has none.",
                fix='leave out levels or missing = "own value".',
            )
        codes = levels_of(_numbers(plain[raw]), treatment.levels)
    return Confidential(column.name, codes, distance)


def _entries(column: nw.Series[Any]) -> Any:
    """Return entries (n,) as they are: large whole numbers do not become floats."""
    try:
        entries = np.empty(len(column), dtype=object)
        entries[:] = column.to_list()
        set(entries)
    except (TypeError, ValueError):  # lists, times of a day in parts of a microsecond
        pass
    else:
        return entries
    raise TableError(
        "The values are of a type that cannot be compared.",
        fix="make them plain numbers or text first.",
    )


def _require_apart(distinct: Any) -> None:
    """Refuse entries that differ and are read as one: the release has them apart."""
    there = [value for value in distinct if value is not None]
    merged = len(there) - len(set(there))
    if merged:
        raise TableError(
            f"{merged} of {len(there)} different entries are read as a value that "
            "another one has, too.",
            fix="spell each value in one way (no 1 beside 01 or 1.0, no blanks around "
            "text), or shorten numbers of more digits than a float has.",
        )


def _entry(decimal: str) -> Entry:
    """Return what makes of an entry the number that it is or spells, or text."""
    number = re.compile(_NUMBER.replace(r"\.", re.escape(decimal)))

    def entry(value: Any) -> Any:
        if value is None or value != value:
            return None
        if isinstance(value, bool | np.bool_):
            return str(bool(value))
        if not isinstance(value, str):
            return _python(value)
        text = value.strip()
        if text in MISSING:
            return None
        if _WHOLE.fullmatch(text):
            return int(text)
        if number.fullmatch(text):
            return float(text.replace(decimal, "."))
        return text

    return entry


def _python(value: Any) -> Any:
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    return value.item() if isinstance(value, np.generic) else value


def _plain_tree(tree: Any, entry: Entry) -> Any:
    if isinstance(tree, Mapping):
        below = {entry(name): _plain_tree(part, entry) for name, part in tree.items()}
        if len(below) < len(tree):
            raise JobError(
                "The tree names one value twice, in two spellings.",
                fix="name it once.",
            )
        return below
    if isinstance(tree, list | tuple):
        return [entry(value) for value in tree]
    return entry(tree)


def _spelled(values: Any, metric: Metric) -> Any:
    """Return values; as numbers, if they are to be ordered and have no order given."""
    plain = metric.distance == "ordered" and metric.order is None
    return _numbers(values) if plain else values


def _numbers(values: Any) -> Any:
    words = sum(not isinstance(v, int | float) for v in values if v is not None)
    if words:
        raise TableError(
            f"{words} of {len(values)} values are no numbers, and no order is given.",
            fix='say how they are compared: order = ["low", "middle", "high"], '
            'distance = "equal", or distance = "hierarchical" with a tree; under '
            "[privacy.confidential.NAME].",
        )
    numbers = np.array(values.tolist())
    if numbers.dtype == object or len(np.unique(numbers)) < len(set(values.tolist())):
        raise TableError(
            "The values have more digits than can be told apart.",
            fix="subtract a base from them, or divide them.",
        )
    return numbers
