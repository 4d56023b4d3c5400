"""Compiled exact pricing: every group whose reduced cost is low, by branch and bound.

A group S of s records is sought from its medoid m, the record whose squared distances D
to the others add up to least; of equals, the first in the table.  P is the part of S
that is chosen, R the rest, r = s - p.  With W(P) the sum of the squared distances
within P, g_j that from j to P, and near_j(q) that from j to the q nearest candidates,

    (a)  c(S) >= 1/2 sum_{j in S} D(m, j)
    (b)  c(S) >= (W(P) + sum_{j in R} (g_j + near_j(r - 1) / 2)) / s

since c(S) = W(S) / s.  Both are sums over R, so that the r least terms bound every
choice of R, and a candidate whose own term exceeds what they leave is dropped.
Penalties of cuts only grow with S.  Of copies, records at one place, the first are
taken, so that groups that differ in copies only are found once.

Importing this imports numba: do so late.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from aggopt.arrays import Floats
from aggopt.compiled import compiled, inlined

Whole = npt.NDArray[np.int64]
Rows = npt.NDArray[np.int32]
Flags = npt.NDArray[np.bool_]
FAR = 1e150  # more than any sum of terms
LOCAL = 1500  # so many candidates at most have their nearest among themselves
ROUNDS = 6  # of dropping candidates before the search


class Prices(NamedTuple):
    """Duals: of records, u (n,), and of cuts.

    Attributes
    ----------
    penalty : (cuts,)
        What each pair of a cut's records costs a group, -s_l >= 0.
    inside : (cuts, n)
        Which records a cut counts.
    first, cuts : (n + 1,), (c,)
        The cuts that count record i and cost something: cuts[first[i] : first[i + 1]].
    mate_first, mates
        Likewise the records that must be in one group with record i.
    before : (n,)
        A record without which record i is not taken, its copy; -1 without one.
    """

    u: Floats
    penalty: Floats
    inside: Flags
    first: Whole
    cuts: Whole
    mate_first: Whole
    mates: Whole
    before: Whole


class Limits(NamedTuple):
    """What is looked for, and how much work may be spent.

    Attributes
    ----------
    most
        Groups of a larger reduced cost are not wanted.
    keep, room
        Groups that are returned, for each medoid and in all.
    candidates, nodes, all_nodes
        Candidates and nodes for each medoid, nodes in all; 0 for all of them.
    """

    most: float
    keep: int
    room: int
    candidates: int
    nodes: int
    all_nodes: int


class Found(NamedTuple):
    """Groups (room, 2k - 1), their reduced costs, and how far the search came.

    Attributes
    ----------
    least : (n,)
        The least reduced cost found from each medoid; `most` if none.
    done : (n,)
        Which medoids have no other groups that are wanted.
    counts : (4,)
        Groups returned, groups seen, nodes and candidates, medoids seen to.
    """

    members: Rows
    reduced: Floats
    least: Floats
    done: Flags
    counts: Whole


class Tree(NamedTuple):
    """One medoid's search: the medoid is 0, its candidates are 1, 2, ...

    Attributes
    ----------
    who : (c,)
        Record of each.
    D : (c, c)
        Squared distances among them.
    u, v : (c,)
        Price, and D(m, j) / 2 less it.
    near : (c, 2k)
        Sum of the q least distances to others.
    part : (2k,)
        P, in the order of choice.
    open, number, next, end : (2k, c), (2k,)
        Candidates after so many choices, how many, the next, and where to stop.
    g : (2k, c)
        Distance from each of them to P.
    W, U, V, penalty : (2k,)
        Of P: W, sums of u and v, penalties.
    """

    who: Whole
    D: Floats
    u: Floats
    v: Floats
    near: Floats
    part: Whole
    open: Rows
    number: Whole
    next: Whole
    end: Whole
    g: Floats
    W: Floats
    U: Floats
    V: Floats
    penalty: Floats


@compiled
def distances(Z: Floats) -> Floats:
    """Return the squared distances among records (n, d), (n, n)."""
    n, d = Z.shape
    D = np.zeros((n, n))
    for i in range(n):
        for j in range(i):
            total = 0.0
            for t in range(d):
                total += (Z[i, t] - Z[j, t]) ** 2
            D[i, j] = D[j, i] = total
    return D


@compiled
def near_sums(D: Floats, most: int) -> Floats:
    """Return the sum of the q least distances from each record, (n, most + 1)."""
    n = len(D)
    sums, least = np.empty((n, most + 1)), np.empty(most + 1)
    for i in range(n):
        least[:] = FAR
        for j in range(n):
            if j != i:
                _insert(least, most, D[i, j])
        _add_up(sums[i], least, most)
    return sums


@compiled
def price(
    D: Floats, near: Floats, k: int, prices: Prices, medoids: Whole, limits: Limits
) -> Found:
    """Return groups of low reduced cost whose medoid is one of these."""
    n = len(D)
    found = Found(
        np.full((limits.room, 2 * k - 1), -1, np.int32),
        np.empty(limits.room),
        np.full(n, limits.most),
        np.zeros(n, np.bool_),
        np.zeros(4, np.int64),
    )
    for m in medoids:
        _from_medoid(D, near, k, prices, m, limits, found)
        if limits.all_nodes and found.counts[2] > limits.all_nodes:
            found.counts[3] += found.done[m]
            break
        found.counts[3] += 1
    return found


@compiled
def _from_medoid(
    D: Floats,
    near: Floats,
    k: int,
    prices: Prices,
    m: int,
    limits: Limits,
    found: Found,
) -> None:
    candidates, own_near = _candidates(D, near, k, prices.u, m, limits.most)
    if len(candidates) < k - 1:
        found.done[m] = True
        return
    whole = True
    value = np.empty(len(candidates))
    for y in range(len(candidates)):
        value[y] = 0.5 * D[m, candidates[y]] - prices.u[candidates[y]]
    order = np.argsort(value, kind="mergesort")
    if limits.candidates and len(order) > limits.candidates:
        order, whole = order[: limits.candidates], False
    found.counts[2] += len(order)
    tree = _plant(D, k, prices, m, candidates[order], own_near[order])
    _require_mate(tree, prices, 1, _missing(tree, prices, 1))
    found.done[m] = _search(D, tree, k, prices, m, limits, found) and whole


@compiled
def _candidates(
    D: Floats, near: Floats, k: int, u: Floats, m: int, most: float
) -> tuple[Whole, Floats]:
    """Return records that may be in a wanted group of medoid m, and their near sums."""
    n, width = len(D), 2 * k - 1
    least, sums = np.empty(width + 1), np.empty(width + 1)
    least[:] = FAR
    for j in range(n):
        if j != m:
            _insert(least, width - 1, 0.5 * D[m, j] - u[j])
    _add_up(sums, least, width - 1)
    others = FAR  # the least that the others of a group add
    for r in range(k - 1, width):
        others = min(others, sums[r - 1])
    kept, count = np.empty(n, np.int64), 0
    for j in range(n):
        if j != m and 0.5 * D[m, j] - u[j] + others - u[m] <= most:
            kept[count] = j
            count += 1
    kept = kept[:count]
    own = near[kept]
    for _ in range(ROUNDS):
        before = len(kept)
        if before < k - 1:
            break
        if before <= LOCAL:
            _near_among(D, kept, width, own)
        keep = _may_belong(D, own, k, u, m, most, kept)
        kept, own = kept[keep], own[keep]
        if len(kept) == before and before <= LOCAL:
            break
    return kept, own


@compiled
def _near_among(D: Floats, kept: Whole, width: int, own: Floats) -> None:
    least = np.empty(width + 1)
    for y in range(len(kept)):
        least[:] = FAR
        row = D[kept[y]]
        for w in range(len(kept)):
            if w != y:
                _insert(least, width - 1, row[kept[w]])
        _add_up(own[y], least, width - 1)


@compiled
def _may_belong(
    D: Floats, own: Floats, k: int, u: Floats, m: int, most: float, kept: Whole
) -> Flags:
    count = len(kept)
    keep = np.zeros(count, np.bool_)
    a, b = np.empty(count), np.empty(count)
    least_a, least_b = np.empty(2 * k), np.empty(2 * k)
    for s in range(k, 2 * k):
        r = s - 1
        if r > count:
            break
        least_a[:], least_b[:] = FAR, FAR
        for y in range(count):
            j = kept[y]
            a[y] = 0.5 * D[m, j] - u[j]
            b[y] = (D[m, j] + 0.5 * own[y, r - 1]) / s - u[j]
            _insert(least_a, r, a[y])
            _insert(least_b, r, b[y])
        full_a, less_a = _sums(least_a, r, -u[m])
        full_b, less_b = _sums(least_b, r, -u[m])
        if full_a > most or full_b > most:
            continue
        for y in range(count):
            if a[y] + less_a <= most and b[y] + less_b <= most:
                keep[y] = True
    return keep


@inlined
def _insert(least: Floats, size: int, x: float) -> None:
    """Put x among the `size` least so far, which ascend."""
    if x < least[size - 1]:
        at = size - 1
        while at > 0 and least[at - 1] > x:
            least[at] = least[at - 1]
            at -= 1
        least[at] = x


@inlined
def _add_up(sums: Floats, least: Floats, most: int) -> None:
    sums[0] = 0.0
    for q in range(most):
        sums[q + 1] = sums[q] + least[q]


@inlined
def _sums(least: Floats, r: int, base: float) -> tuple[float, float]:
    """Return base plus the r least, and plus the r - 1 least."""
    less = base
    for q in range(r - 1):
        less += least[q]
    return less + least[r - 1], less


@compiled
def _plant(D: Floats, k: int, prices: Prices, m: int, kept: Whole, own: Floats) -> Tree:
    count, levels = len(kept) + 1, 2 * k
    who = np.empty(count, np.int64)
    who[0], who[1:] = m, kept
    local = np.empty((count, count))
    for y in range(count):
        for w in range(count):
            local[y, w] = D[who[y], who[w]]
    near = np.empty((count, own.shape[1]))
    near[1:] = own
    u = prices.u[who]
    v = 0.5 * local[0] - u
    tree = Tree(
        who,
        local,
        u,
        v,
        near,
        np.zeros(levels, np.int64),
        np.empty((levels, count), np.int32),
        np.zeros(levels, np.int64),
        np.zeros(levels, np.int64),
        np.zeros(levels, np.int64),
        np.empty((levels, count)),
        np.zeros(levels),
        np.zeros(levels),
        np.zeros(levels),
        np.zeros(levels),
    )
    tree.U[1], tree.V[1] = u[0], v[0]
    for y in range(1, count):
        tree.open[1, y - 1], tree.g[1, y - 1] = y, local[0, y]
    tree.number[1] = tree.end[1] = count - 1
    return tree


@compiled
def _search(
    D: Floats,
    tree: Tree,
    k: int,
    prices: Prices,
    m: int,
    limits: Limits,
    found: Found,
) -> bool:
    """Look at all groups of this medoid; return whether there was time for all."""
    level, nodes, begin = 1, 0, found.counts[0]
    least = np.empty(2 * k)
    terms = np.empty(len(tree.who))
    keep = np.empty(len(tree.who), np.bool_)
    while level >= 1:
        if tree.next[level] >= tree.end[level]:
            level -= 1
            continue
        nodes += 1
        found.counts[2] += 1
        if limits.nodes and nodes > limits.nodes:
            return False
        if limits.all_nodes and found.counts[2] > limits.all_nodes:
            return False
        at = tree.next[level]
        tree.next[level] += 1
        if _skips_a_copy(tree, prices, level, at):
            continue
        _choose(tree, prices, level, at)
        level += 1
        reduced = tree.W[level] / level - tree.U[level] + tree.penalty[level]
        missing = _missing(tree, prices, level)
        if level >= k and missing < 0 and reduced <= limits.most:
            _record(D, tree, level, reduced, m, limits, found, begin)
        opened = level < 2 * k - 1 and _open(
            tree, k, level, at, limits.most, least, terms, keep
        )
        if not (opened and _require_mate(tree, prices, level, missing)):
            level -= 1
    return True


@inlined
def _skips_a_copy(tree: Tree, prices: Prices, level: int, at: int) -> bool:
    needed = prices.before[tree.who[tree.open[level, at]]]
    held = needed < 0
    for y in range(level):
        held |= tree.who[tree.part[y]] == needed
    return not held


@inlined
def _choose(tree: Tree, prices: Prices, level: int, at: int) -> None:
    y = tree.open[level, at]
    tree.part[level] = y
    tree.W[level + 1] = tree.W[level] + tree.g[level, at]
    tree.U[level + 1] = tree.U[level] + tree.u[y]
    tree.V[level + 1] = tree.V[level] + tree.v[y]
    penalty, i = tree.penalty[level], tree.who[y]
    for w in range(prices.first[i], prices.first[i + 1]):
        cut = prices.cuts[w]
        held = 0
        for z in range(level):
            held += prices.inside[cut, tree.who[tree.part[z]]]
        if held % 2 == 1:
            penalty += prices.penalty[cut]
    tree.penalty[level + 1] = penalty


@inlined
def _open(
    tree: Tree,
    k: int,
    level: int,
    at: int,
    most: float,
    least: Floats,
    terms: Floats,
    keep: Flags,
) -> bool:
    """Find the candidates that are left after a choice; return whether any are."""
    before = level - 1
    rest = tree.number[before] - (at + 1)
    if rest < 1 or level + rest < k:
        return False
    chosen = tree.open[before, at]
    for y in range(rest):
        keep[y] = False
        j = tree.open[before, at + 1 + y]
        tree.g[level, y] = tree.g[before, at + 1 + y] + tree.D[chosen, j]
    some = False
    for s in range(max(k, level + 1), 2 * k):
        if s - level > rest:
            break
        some |= _open_for(tree, level, at, s, most, rest, least, terms, keep)
    if not some:
        return False
    count = 0
    for y in range(rest):
        if keep[y]:
            tree.open[level, count] = tree.open[before, at + 1 + y]
            tree.g[level, count] = tree.g[level, y]
            count += 1
    tree.number[level] = tree.end[level] = count
    tree.next[level] = 0
    return level + count >= k


@inlined
def _open_for(
    tree: Tree,
    level: int,
    at: int,
    s: int,
    most: float,
    rest: int,
    least: Floats,
    terms: Floats,
    keep: Flags,
) -> bool:
    """Mark candidates that may complete a wanted group of s; return whether any do."""
    before, r = level - 1, s - level
    base = tree.V[level] + tree.penalty[level]
    for y in range(r - 1):  # candidates ascend by v
        base += tree.v[tree.open[before, at + 1 + y]]
    if base + tree.v[tree.open[before, at + r]] > most:
        return False
    least[:r] = FAR
    share = 1.0 / s
    for y in range(rest):
        j = tree.open[before, at + 1 + y]
        terms[y] = (tree.g[level, y] + 0.5 * tree.near[j, r - 1]) * share - tree.u[j]
        _insert(least, r, terms[y])
    own = tree.W[level] * share - tree.U[level] + tree.penalty[level]
    full, less = _sums(least, r, own)
    if full > most:
        return False
    for y in range(rest):
        j = tree.open[before, at + 1 + y]
        if terms[y] + less <= most and tree.v[j] + base <= most:
            keep[y] = True
    return True


@inlined
def _missing(tree: Tree, prices: Prices, level: int) -> int:
    """Return a record that P must hold, and does not; -1 if there is none."""
    for y in range(level):
        i = tree.who[tree.part[y]]
        for w in range(prices.mate_first[i], prices.mate_first[i + 1]):
            held = False
            for z in range(level):
                held |= tree.who[tree.part[z]] == prices.mates[w]
            if not held:
                return int(prices.mates[w])
    return -1


@inlined
def _require_mate(tree: Tree, prices: Prices, level: int, mate: int) -> bool:
    """Leave only this record to choose next; return whether it can be."""
    if mate < 0:
        return True
    at = 0
    while at < tree.number[level] and tree.who[tree.open[level, at]] != mate:
        at += 1
    if at == tree.number[level]:
        tree.end[level] = 0
        return False
    chosen, g = tree.open[level, at], tree.g[level, at]
    for y in range(at, 0, -1):
        tree.open[level, y] = tree.open[level, y - 1]
        tree.g[level, y] = tree.g[level, y - 1]
    tree.open[level, 0], tree.g[level, 0] = chosen, g
    tree.end[level] = 1
    return True


@compiled
def _record(
    D: Floats,
    tree: Tree,
    size: int,
    reduced: float,
    m: int,
    limits: Limits,
    found: Found,
    begin: int,
) -> None:
    """Keep P, if m is its medoid, in place of the worst of m's where they are many."""
    rows = np.sort(tree.who[tree.part[:size]])
    if not _is_medoid(D, rows, m):
        return
    found.counts[1] += 1
    found.least[m] = min(found.least[m], reduced)
    at = found.counts[0]
    if at - begin < limits.keep and at < limits.room:
        found.counts[0] += 1
    else:
        at = begin
        for y in range(begin, found.counts[0]):
            if found.reduced[y] > found.reduced[at]:
                at = y
        if at == found.counts[0] or found.reduced[at] <= reduced:
            return
    found.members[at] = -1
    found.members[at, :size] = rows
    found.reduced[at] = reduced


@compiled
def _is_medoid(D: Floats, rows: Whole, m: int) -> bool:
    """Whether no row has a smaller sum of distances; added up in one order for all."""
    own = 0.0
    for j in rows:
        own += D[m, j]
    for i in rows:
        total = 0.0
        for j in rows:
            total += D[i, j]
        if total < own or (total == own and i < m):
            return False
    return True
