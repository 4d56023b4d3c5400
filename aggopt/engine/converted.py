"""What became of CSV files that were written as Parquet files."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from aggopt.core.plural import many
from aggopt.input.look import NUMBERS, TEXT, TRUTH, WHOLE
from aggopt.input.spelling import Spelling

_WORDS = {pa.bool_(): TRUTH, pa.int64(): WHOLE, pa.float64(): NUMBERS}


@dataclass(frozen=True)
class ConvertedColumn:
    """What a column became.

    Attributes
    ----------
    name, type
        What it is called, and what it is, in words.
    missing
        How many entries stood for a missing value.
    words
        How many of its entries are no numbers, where others are: so it is text.
    coded
        Whether it is text because a number would lose digits.
    """

    name: str
    type: str
    missing: int
    words: int = 0
    coded: bool = False

    @classmethod
    def of(
        cls, name: str, type: pa.DataType, spelling: Spelling, records: int
    ) -> "ConvertedColumn":
        """Return what a column became, by what it spells and its type."""
        text = type == pa.string()
        among = 0 < spelling.mixed < spelling.there
        return cls(
            name,
            _WORDS.get(type, TEXT),
            records - spelling.there,
            words=spelling.mixed if text and among else 0,
            coded=text and spelling.loses and not spelling.mixed,
        )

    def __str__(self) -> str:
        missing = f", {self.missing} missing" if self.missing else ""
        return f"{self.name!r}: {self.type}{missing}"


@dataclass(frozen=True)
class Converted:
    """A folder of Parquet files that were CSV.

    Attributes
    ----------
    path, files
        The folder, and the names of its files, in the order of the records.
    records
        How many there are.
    separator, decimal
        How the CSV files were read.
    columns
        What each became.
    """

    path: Path
    files: tuple[str, ...]
    records: int
    separator: str
    decimal: str
    columns: tuple[ConvertedColumn, ...]

    @property
    def notes(self) -> tuple[str, ...]:
        """What may be other than was meant."""
        return tuple(self._notes())

    def _notes(self) -> Iterator[str]:
        for column in self.columns:
            there = self.records - column.missing
            if column.words:
                be = "is no number" if column.words == 1 else "are no numbers"
                yield (
                    f"{column.name!r} is text: {column.words} of "
                    f"{many(there, 'entry', 'entries')} {be}."
                )
            if column.coded:
                yield (
                    f"{column.name!r} is text: some entries have zeros in front, or "
                    "more digits than a number keeps."
                )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        return {**asdict(self), "path": str(self.path), "notes": list(self.notes)}

    def __str__(self) -> str:
        size = f"{many(self.records, 'record')}, {many(len(self.columns), 'column')}"
        return "\n".join(
            (
                f"{size}, in {many(len(self.files), 'file')}",
                *(f"  {column}" for column in self.columns),
                *(f"Note: {note}" for note in self.notes),
            )
        )
