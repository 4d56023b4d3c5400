"""Attribution: how often a group gives away confidential values of its members."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from aggopt.core.columns import code_entries, find_groups, iter_columns, read_labels
from aggopt.core.types import I64, Floats, Labels
from aggopt.errors import TableError
from aggopt.measure._interval import check_safety, is_within
from aggopt.measure._pair import Attacker


@dataclass(frozen=True)
class Attribution:
    """Share of confidential values guessed right from a group, and by chance.

    Attributes
    ----------
    share
        Share of guesses from the other records of the group that are right, a fraction;
        None if no record has another one in its group.
    chance
        Share of guesses that are right from the table, or from all records that share
        the known columns.  Numbers are guessed by the other records, other values by
        the most frequent value of all.
    undefined
        Number of records without a guess: no other record of the group has a value.
    """

    share: float | None
    chance: float | None
    undefined: int

    @property
    def gain(self) -> float | None:
        """Share less chance: the information of the group beyond that of the table."""
        if self.share is None or self.chance is None:
            return None
        return self.share - self.chance


def attribution(
    released: Any, target: Any, *, safety: float = 0.05, known: Any = None
) -> Attribution:
    """Return the share of records whose group gives their confidential value away.

    Each record is left out in turn, and its value is guessed from the others of its
    group.  Numbers are guessed by their median, right within `safety` standard
    deviations (divisor n - 1).  Anything else is guessed by the most frequent value; if
    there are several, each is as likely.  Such guesses also hold for persons outside
    the table.  Only the excess over guesses from the whole table, or from the records
    that share the `known` columns, is due to the release.  The chance covers the
    records that have a guess.  A record is not left out of the table for it, except
    among numbers: two equally frequent values would never be guessed.  Lower is better.

    Parameters
    ----------
    released
        The released quasi-identifiers, a table (n, d), or the group of each record.
    target
        The confidential values (n,).  Missing numbers are left out; a missing other
        value counts as one more value.
    safety
        Half the width of the interval about a guess, in standard deviations, 0 or more.
    known : (n,) or (n, q), optional
        Columns that are published unchanged and known without the release, such as
        strata.  Values are guessed from records that share them.

    Raises
    ------
    TableError, JobError
        The table has no records, or `target` or `known` has another number of them; or
        safety is not a number of at least 0.

    Source: correct attribution probability of Elliot (2014) and Taub et al. (2018),
    each record left out.

    Examples
    --------
    >>> attribution([0, 0, 0, 1, 1], ["flu", "flu", "none", "none", "none"])
    Attribution(share=0.6, chance=0.6, undefined=0)
    """
    width = check_safety(safety)
    labels = read_labels(released)
    values = _read_one_column(target)
    classes = Attacker.of(len(labels), known).before
    if classes is None:
        classes = np.zeros(len(labels), np.intp)
    else:
        labels = find_groups(np.column_stack([labels, classes]))
    if len(values) != len(labels):
        raise TableError(
            f"There are {len(values)} values, but {len(labels)} records.",
            fix="pass one value per record.",
        )
    if values.dtype.kind in "iuf":
        numbers = values.astype(np.float64)
        present = ~np.isnan(numbers)
        groups = np.unique(labels[present], return_inverse=True)[1]
        classes = np.unique(classes[present], return_inverse=True)[1]
        guess = by_table = partial(_guess_by_median, numbers[present], width=width)
    else:
        codes = code_entries(values)[0] + 1
        groups = labels
        guess = partial(_guess_by_mode, codes)
        by_table = partial(_guess_by_mode, codes, left_out=False)
    guessed = np.bincount(groups)[groups] > 1
    if not guessed.any():
        return Attribution(None, None, len(labels))
    share = guess(groups)[guessed].mean()
    chance = by_table(classes)[guessed].mean()
    undefined = len(labels) - int(guessed.sum())
    return Attribution(float(share), float(chance), undefined)


def _read_one_column(target: Any) -> npt.NDArray[Any]:
    """Return the one column of values, or refuse several."""
    columns = [
        values for _, values in iter_columns(target, "The confidential attribute")
    ]
    if len(columns) != 1:
        raise TableError(
            f"There are {len(columns)} confidential attributes.",
            fix="pass one column at a time.",
        )
    return columns[0]


def _guess_by_median(x: Floats, labels: Labels, width: float) -> Floats:
    """Return how right numbers x (n,) are guessed by the median of others, (n,).

    The others are of their group.  The figure of a record alone is meaningless.
    """
    order = np.lexsort((x, labels))
    sizes = np.bincount(labels)
    first = np.cumsum(sizes) - sizes
    group = labels[order]
    rank = np.arange(len(x)) - first[group]
    others = sizes[group] - 1
    ranked = x[order]
    start = first[group]

    def other(place: Labels) -> Floats:
        """Return the value in this place among the others."""
        at = np.minimum(start + place + (place >= rank), len(x) - 1)
        return np.asarray(ranked[at])

    low = other((others - 1) // 2)
    high = other(others // 2)
    right = np.empty(len(x))
    off = np.abs(low + (high - low) / 2 - ranked)
    right[order] = is_within(off, width * x.std(ddof=1))
    return right


def _guess_by_mode(codes: I64, labels: Labels, left_out: bool = True) -> Floats:
    """Return how right codes (n,) are guessed by the most frequent of others, (n,).

    The guess is the record's own code if that alone was most frequent in its group;
    codes that occur once less are then as likely.  If not `left_out`, the record counts
    itself.
    """
    pair, count = np.unique(
        labels * (codes.max() + 1) + codes, return_inverse=True, return_counts=True
    )[1:]
    group = np.empty(len(count), np.intp)
    group[pair] = labels
    counts = np.zeros_like(np.bincount(labels))
    np.maximum.at(counts, group, count)
    tops = np.bincount(group, count == counts[group])
    if not left_out:
        return np.asarray(np.where(count == counts[group], 1 / tops[group], 0.0)[pair])
    seconds = np.bincount(group, count == counts[group] - 1)
    alone = (count == counts[group]) & (tops[group] == 1)
    right = np.where(alone, 1 / (1 + seconds[group]), 0.0)
    return right[pair]
