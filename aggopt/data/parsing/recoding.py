"""Recoded quasi-identifiers: cells, bounds, rounded numbers and merged labels.

Each record is recoded by itself, so that a table in memory and the parts of a folder
are recoded alike.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from aggopt.core.plural import is_or_are, plural
from aggopt.core.types import Floats
from aggopt.core.validation import is_merging_values
from aggopt.data.parsing.columns import to_floats
from aggopt.data.restore_types import replace_values, take_rows
from aggopt.encoding.typed_column import NAME, WORDS, TypedColumn
from aggopt.errors import JobError, TableError, naming
from aggopt.job import AttributeSection

Sections = Mapping[str, AttributeSection]


def recode_columns(frame: nw.DataFrame[Any], sections: Sections) -> nw.DataFrame[Any]:
    """Return a table with the recoded values of its columns that have recodings.

    Missing values stay missing.

    Raises
    ------
    JobError
        A column has no numbers, or no labels, although these are recoded.
    TableError
        Numbers are infinite, or between the cells of whole numbers.
    """
    columns = []
    for name in select_recoded(frame.columns, sections):
        with naming(f"Column {name!r}", name):
            section = sections[name]
            recode = _recode_numbers if section.recodes_numbers else _merge_labels
            columns.append(recode(frame[name], section))
    return frame.with_columns(*columns) if columns else frame


def select_recoded(names: Iterable[str], sections: Sections) -> list[str]:
    """Return the columns among these names that have recodings."""
    return [name for name in names if name in sections and sections[name].is_recoded]


def _recode_numbers(column: nw.Series[Any], section: AttributeSection) -> Any:
    """Return a column of numbers within bounds, rounded, or as labels of cells."""
    if not column.dtype.is_numeric():
        raise JobError(
            f"{section.number_keys[0]} recodes numbers, and the column has none.",
            fix="leave it out of [attributes.NAME], or make the column numbers.",
        )
    x = _read_as_printed(column)
    _require_countable(column, x, section)
    is_missing = np.isnan(x)
    if section.cell_cuts is not None:
        cell = np.searchsorted(np.array(section.cell_cuts, np.float64), x, side="right")
        return _label(column, section.cells or (), np.where(is_missing, -1, cell))
    x = round_within(x, section)
    if section.cells is not None:
        level = np.where(is_missing, 0, (x - (section.bottom or 0)) / section.step)
        level = np.where(is_missing, -1, np.rint(level))
        return _label(column, section.cells, level.astype(np.int64))
    return _replace_widened(column, x)


def _read_as_printed(column: nw.Series[Any]) -> Floats:
    """Return a column as floats (n,), a 32-bit 0.7 as 0.7, and nan where missing."""
    x = to_floats(column)
    if column.dtype == nw.Float32:
        x = x.astype(np.float32).astype(str).astype(np.float64)
    return x


def _replace_widened(column: nw.Series[Any], x: Floats) -> nw.Series[Any]:
    """Return a copy of a column with values x (n,) as 64-bit numbers, nan as missing.

    A multiple of `round` may be outside the range of the column's own type.
    """
    if column.dtype.is_integer():
        outside = int((np.abs(x) >= 2.0**63).sum())
        if outside:
            raise TableError(
                f"{plural(outside, 'number')} {is_or_are(outside)} too large for "
                "64-bit whole numbers, when recoded.",
                fix="subtract a base from them, or divide them, before masking.",
            )
        zeros = nw.new_series(
            column.name,
            np.zeros(len(x), np.int64),
            column.dtype,
            backend=column.implementation,
        )  # a cast of large whole numbers may be refused
        column = column.scatter(np.arange(len(x)), zeros).cast(nw.Int64)
    elif column.dtype == nw.Float32:
        column = column.cast(nw.Float64)
    return replace_values(column, x, round_integers=True)


def round_within(x: Floats, section: AttributeSection) -> Floats:
    """Return numbers (n,) within the bounds of a section, as multiples of `round`.

    >>> round_within(np.array([0.26, 7.5]), AttributeSection(top=5, round=0.1))
    array([0.3, 5. ])
    """
    x = np.clip(x, section.bottom, section.top)
    if section.round is None:
        return x
    decimals = len(f"{section.round:.15f}".rstrip("0").partition(".")[2])
    return np.asarray(np.round(np.rint(x / section.round) * section.round, decimals))


def _require_countable(
    column: nw.Series[Any], x: Floats, section: AttributeSection
) -> None:
    """Refuse numbers that have no cell, and keys that whole numbers cannot have."""
    infinite = int(np.isinf(x).sum())
    if infinite:
        raise TableError(
            f"{plural(infinite, 'number')} {is_or_are(infinite)} infinite.",
            fix="correct them, or remove those records.",
        )
    entries = np.asarray(column.drop_nulls().to_numpy())
    if is_merging_values(entries, entries.astype(np.float64)):
        raise TableError(
            "Numbers have more digits than a float can tell apart.",
            fix="subtract a base from them, or divide them, before masking.",
        )
    if section.needs_whole_numbers:
        between = int((x[~np.isnan(x)] % 1 != 0).sum())
        if between:
            raise TableError(
                f"{plural(between, 'number')} {is_or_are(between)} not whole, and the "
                "cells are of whole numbers.",
                fix="write the cuts with decimals, cuts = [18.0, 65.0]; or round them "
                "before masking.",
            )
    elif section.cell_cuts is None and column.dtype.is_integer():
        odd = [k for k in section.number_keys if getattr(section, k) % 1 != 0]
        if odd:
            raise JobError(
                f"{odd[0]} = {getattr(section, odd[0])}, and the column has whole "
                "numbers.",
                fix="write a whole number.",
            )


def _label(column: nw.Series[Any], labels: tuple[str, ...], place: Any) -> Any:
    """Return a column with a label (n,) in place of each entry; -1 is missing."""
    entries = np.array([*labels, None], dtype=object)[place].tolist()
    fresh = nw.new_series(
        column.name, entries, nw.String, backend=column.implementation
    )
    return take_rows(fresh, np.arange(len(entries)), like=column)


def _merge_labels(column: nw.Series[Any], section: AttributeSection) -> Any:
    """Return a column with the group of each label in place of the label.

    Whole numbers stay whole numbers if all groups are called so, and become text else.
    """
    if _is_ordered(column) and section.order is None and section.tree is None:
        raise JobError(
            "The column has an order, which merged labels have not.",
            fix="name their order under [attributes.NAME], or a tree; or make the "
            "column text.",
        )
    if not (column.dtype in WORDS or column.dtype.is_integer()):
        raise JobError(
            "groups merges labels, and the column has neither text nor whole numbers.",
            fix="leave groups out; or make the column text, or whole numbers.",
        )
    keeps_numbers = column.dtype.is_integer() and all(
        map(_is_whole, section.groups or ())
    )
    if not len(column):  # of which only the type is read
        nothing = np.empty(0, np.int64)
        if keeps_numbers:
            return column.cast(nw.Int64)
        return _label(column, (), nothing)
    codes, distinct = TypedColumn(column, NAME).coded
    group = section.label_groups
    labels = tuple(group.get(str(label), str(label)) for label in distinct)
    if keeps_numbers:
        numbers = np.array([*map(int, labels), np.nan], np.float64)
        return _replace_widened(column, numbers[codes])
    return _label(column, labels, codes)


def _is_whole(name: str) -> bool:
    """Whether a name is spelled as a whole number."""
    return name.removeprefix("-").isdecimal() and str(int(name)) == name


def _is_ordered(column: nw.Series[Any]) -> bool:
    """Whether a categorical column has an order."""
    if column.dtype != nw.Categorical:
        return isinstance(column.dtype, nw.Enum)
    native = column.to_native()
    if column.implementation.is_pandas():
        return bool(getattr(native.dtype, "ordered", False))
    return column.implementation.is_pyarrow() and bool(native.type.ordered)


def require_group_labels(
    frames: Iterable[nw.DataFrame[Any]], sections: Sections
) -> None:
    """Refuse labels that no record has, and groups that are also labels of records.

    `frames` are the parts of a table before it is recoded.

    Raises
    ------
    JobError
        The message has counts, and never a label.
    """
    present: dict[str, set[str]] = {
        name: set() for name, section in sections.items() if section.groups is not None
    }
    for frame in frames if present else ():
        for name in present.keys() & set(frame.columns):
            distinct = TypedColumn(frame[name], NAME).coded[1]
            present[name] |= set(map(str, distinct))
    for name, labels in present.items():
        group = sections[name].label_groups
        absent = len(group.keys() - labels)
        if absent:
            raise JobError(
                f"[attributes.{name}] groups names {plural(len(group), 'label')}, and "
                f"no record has {absent} of them.",
                fix="write labels as the table spells them, and leave the others out.",
            )
        taken = len((set(group.values()) - group.keys()) & labels)
        if taken:
            raise JobError(
                f"[attributes.{name}] groups has {plural(taken, 'group')} with the "
                "name of a label of records.",
                fix="give the group another name, or name that label in it, too.",
            )


def describe_recodings(sections: Sections, *, in_parts: bool) -> tuple[str, ...]:
    """Return a note on the recoding of each attribute, and what losses compare with.

    The parts of a folder have recoded values only.
    """
    notes = []
    for name, section in sections.items():
        if section.is_recoded:
            steps = "; ".join(section.describe_recoding())
            before = "before" if section.stays_numeric and not in_parts else "after"
            notes.append(
                f"{name!r} was recoded before masking: {steps}. Losses compare with "
                f"its values {before} that."
            )
    return tuple(notes)
