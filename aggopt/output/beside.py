"""What a promise does not cover: columns that are published as they are."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw

from aggopt.core.types import AnyInt
from aggopt.core.validation import Labels
from aggopt.output.counts import Count, together

SHARED = 20  # records per value, on average: others may know such a column of a person
NAMED = 6  # columns that a sentence lists by name


@dataclass(frozen=True)
class Beside:
    """How often combinations of quasi-identifiers and other columns occur.

    Attributes
    ----------
    columns
        Published as they are, beside the quasi-identifiers.
    few
        Whether each of these columns has few different values, see `few`.
    count
        The combinations of all quasi-identifiers with these columns.
    """

    columns: tuple[str, ...]
    few: bool
    count: Count

    def said(self, records: int, k: int) -> str:
        """Say how many records are alone, and share with fewer than k - 1 others."""
        alone, rare = self.count.unique, self.count.rare
        one = "they are" if self.columns[1:] else "it is"
        said = (
            f"With {self._listed}, published as {one}: {alone} of {records} records "
            f"{'is' if alone == 1 else 'are'} alone"
        )
        if k == 2:
            return f"{said}."
        shares = "shares its own" if rare == 1 else "share theirs"
        among = {0: "", 1: " this one included,"}.get(alone, " these included,")
        return f"{said};{among} {rare} {shares} with fewer than {k - 1} others."

    @property
    def short(self) -> str:
        """A row's name: with few, or with all."""
        return f"with {'few' if self.few else 'all'}"

    @property
    def what(self) -> str:
        """Which columns, in two words."""
        return "columns of few values" if self.few else "all other columns"

    @property
    def _listed(self) -> str:
        names = [repr(name) for name in self.columns]
        if not self.few:
            return f"all {len(names)} other columns" if names[1:] else names[0]
        more = len(names) - NAMED
        rest = f" and {more} more" if more > 0 else ""
        return f"{', '.join(names[:NAMED])}{rest}"


def few(records: int) -> int:
    """Return how many different values are few.

    20, or one for every 20 records: sex, region or postcode are then among what
    others may know of a person, and an income to the cent is not.

    Examples
    --------
    >>> few(100), few(4000)
    (20, 200)
    """
    return max(20, records // SHARED)


def beside(
    quasi: Sequence[str], published: Labels, columns: Mapping[str, AnyInt], k: int
) -> tuple[Beside, ...]:
    """Return the counts with columns of few values, and with all; none twice.

    Where those of few values leave all records alone, the others add nothing.

    `published` says which combination of `quasi` each record has, (n,), and `columns`
    the same of each column that is published as it is.
    """
    most = few(len(published))
    common = [name for name, codes in columns.items() if codes.max() < most]
    found: list[Beside] = []
    for names, is_few in ((common, True), (list(columns), False)):
        if not names or (not is_few and len(names) == len(common)):
            continue
        if found and found[0].count.unique == len(published):
            continue  # nobody can be more alone
        new = [name for name in names if is_few or name not in common]
        published = together([published, *(columns[name] for name in new)])
        count = Count.of([*quasi, *names], published, k)
        found.append(Beside(tuple(names), is_few, count))
    return tuple(found)


def telling(frame: nw.DataFrame[Any], others: Mapping[str, AnyInt]) -> list[str]:
    """Name attributes without protection that tell every record apart."""
    return [
        f"{name!r} (other) differs in every record: is it an identifier?"
        for name, codes in others.items()
        if (frame[name].dtype == nw.String or frame[name].dtype.is_integer())
        and 1 < len(frame) == codes.max() + 1
    ]
