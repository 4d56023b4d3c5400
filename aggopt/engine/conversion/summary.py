"""Summary of CSV files that were written as Parquet files."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from aggopt.core.plural import plural

POINT = "."
COMMA = ","


def find_other_point(decimal: str) -> str:
    """Return the decimal point that another one is not."""
    return COMMA if decimal == POINT else POINT


@dataclass(frozen=True)
class ConvertedColumn:
    """Summary of one converted column.

    Attributes
    ----------
    name, type
        Name of the column, and its type, in words.
    missing
        Number of entries that represented a missing value.
    words
        Number of entries that are not numbers, if others are: so it is text.
    coded
        Whether it is text because numbers would not preserve the spelling of entries.
    respelled
        Whether it is numbers all the same, because the job masks it as numbers.
    other_point
        Number of entries that are numbers by the other decimal point, if all entries
        that are not numbers by the decimal point of the files are: so it is text.
    """

    name: str
    type: str
    missing: int
    words: int = 0
    coded: bool = False
    respelled: bool = False
    other_point: int = 0

    def __str__(self) -> str:
        missing = f", {self.missing} missing" if self.missing else ""
        return f"{self.name!r}: {self.type}{missing}"


@dataclass(frozen=True)
class ConversionSummary:
    """A folder of Parquet files that were CSV.

    Attributes
    ----------
    path, files
        The folder, and the names of its files, in the order of the records.
    records
        Number of records.
    separator, decimal
        Separator and decimal point of the CSV files.
    columns
        Summary of each column.
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
            present = self.records - column.missing
            if column.other_point:
                points = f"{find_other_point(self.decimal)!r}, and not {self.decimal!r}"
                yield (
                    f"{column.name!r} is text: {column.other_point} of "
                    f"{plural(present, 'entry', 'entries')} would be numbers if the "
                    f"decimal point were {points}. If they are, write all columns with "
                    "one decimal point, and nothing between thousands; if all have "
                    "that one, say so: --decimal, decimal=..., or under [input] of the "
                    "job."
                )
            elif column.words:
                be = "is no number" if column.words == 1 else "are no numbers"
                yield (
                    f"{column.name!r} is text: {column.words} of "
                    f"{plural(present, 'entry', 'entries')} {be}."
                )
            if column.coded:
                yield (
                    f"{column.name!r} is text: numbers would lose the spelling of some "
                    "entries (01, 1.10 beside 1.1, 1E5, many digits, blanks "
                    "around). If it is to have numbers, name it: --numbers, or "
                    "numbers=[...]."
                )
            if column.respelled:
                yield (
                    f"{column.name!r} is numbers, as the job masks it, which lose "
                    "the spelling of some entries (01, 1.10 beside 1.1, 1E5, many "
                    "digits, blanks around). If they are codes, say so: kind = "
                    f'"nominal" under [attributes], for {column.name!r}.'
                )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        return {**asdict(self), "path": str(self.path), "notes": list(self.notes)}

    def __str__(self) -> str:
        size = (
            f"{plural(self.records, 'record')}, {plural(len(self.columns), 'column')}"
        )
        return "\n".join(
            (
                f"{size}, in {plural(len(self.files), 'file')}",
                *(f"  {column}" for column in self.columns),
                *(f"Note: {note}" for note in self.notes),
            )
        )
