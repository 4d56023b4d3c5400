"""What an intruder computes of two published files, with pandas and NumPy alone.

The intruder knows who is in which group of each file, and who of both has the same
values.  Each group publishes its mean, so that its sum is known.  A sum of these sums,
each times a number, is of some people: those who do not cancel out.  The least number
of people of such a sum is found by brute force over all sets of groups for small files;
a set is enough, as the people that a sum has are at least those of one of its levels.
"""

from itertools import combinations

import numpy as np
import pandas as pd


def sums(published: pd.Series, groups: pd.Series) -> pd.Series:
    """Return the sum of each group, of what is published for each person."""
    return published.groupby(groups).agg(lambda column: column.iloc[0] * len(column))


def known(first, second, before, after):
    """Yield the people of each difference of sets of groups, and its sum.

    `first` and `second` are the groups of people in each file, by name; `before` and
    `after` what is published for them.  A difference is of groups of the second less
    groups of the first.  People with `before` and `after` in both count if only one of
    their groups is taken.
    """
    one, other = sums(before, first), sums(after, second)
    for h in _some(other.index):
        there = set(second.index[second.isin(h)])
        near = first[first.index.isin(there)].unique()
        for g in _some(near):
            gone = set(first.index[first.isin(g)])
            yield gone ^ there, other[list(h)].sum() - one[list(g)].sum()


def _some(groups, most=2):
    for size in range(1, most + 1):
        yield from combinations(sorted(groups), size)


def fewest(first, second, unchanged) -> int:
    """Return the fewest people that a sum of both files is of, 0 if of none.

    That is a least cut: groups are nodes, an unchanged person of both files is an edge,
    and whoever is in one file alone, or changed, an edge to one more node.
    """
    nodes = [("a", g) for g in first.unique()] + [("b", g) for g in second.unique()]
    at = {node: i for i, node in enumerate(nodes)}
    people = sorted(set(first.index) | set(second.index))
    ends = []
    for name in people:
        own = [at["a", first[name]]] if name in first.index else []
        own += [at["b", second[name]]] if name in second.index else []
        ends.append((own, len(own) == 2 and name in unchanged))
    best = 0
    for mask in range(1, 1 << len(nodes)):
        inside = [mask >> i & 1 for i in range(len(nodes))]
        count = 0
        for own, same in ends:
            taken = [inside[i] for i in own]
            count += taken[0] != taken[1] if same else any(taken)
        if count and (not best or count < best):
            best = count
    return best


def groups_in_common(first, second) -> pd.Series:
    """Return how many people share each pair of groups; -1 of those not in a file."""
    both = pd.concat([first, second], axis=1).fillna(-1)
    return both.value_counts()


def of_release(folder, table, name):
    """Return the groups of people, and what is published of them, by name."""
    people = pd.read_csv(folder / f"{table}.csv")
    key = pd.read_csv(folder / f"{name}.private.csv")
    there = key["released_record"].notna()
    released = pd.read_csv(folder / f"{name}.csv")
    rows = key["released_record"][there].astype(int)
    published = released.iloc[rows].set_index(people["name"][there].to_numpy())
    columns = list(published.columns)
    groups = published.groupby(["age", "income"], sort=False).ngroup()
    assert np.isfinite(published[["age", "income"]].to_numpy()).all(), columns
    return groups, published
