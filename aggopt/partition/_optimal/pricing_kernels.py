"""Compiled pricing: exact by branch and bound, heuristic by changes of groups.

Exact pricing finds every group whose reduced cost is low.

A group S of s records is searched from its medoid m, the record with the least sum of
squared distances D to the others, times their weights w; among equals, the first in the
table.  P is the chosen part of S, R the rest, r = s - p.  With W(P) the sum of w_i w_j
D(i, j) within P, g_j that from j to P, near_j(q) that from j to the q nearest
candidates in these terms, and h the weight of P and of the r heaviest candidates,

    (a)  c(S) >= 1/2 sum_{j in S} w_j D(m, j)
    (b)  c(S) >= (W(P) + sum_{j in R} (g_j + near_j(r - 1) / 2)) / h

since c(S) is W(S) over the weight of S; without weights w = 1 and h = s.  Both are sums
over R, so that the r least terms bound every choice of R; a candidate is dropped if its
own term takes the sum above the limit.  Penalties of cuts only grow with S.  Among
copies (equal records), the first are chosen, so that groups that differ in copies only
are found once.

Importing this imports numba: do so late.
"""

import numpy as np

from aggopt.core.compiled import compiled, inlined, inner
from aggopt.core.kernels import copy_into, sort_in_place
from aggopt.core.types import I32, I64, Bool, Floats, Labels
from aggopt.partition._optimal.columns import (
    MEDOIDS,
    NODES,
    RETURNED,
    WANTED,
    Distances,
    Limits,
    Prices,
    PricingResult,
)
from aggopt.partition._optimal.search_tree_kernels import (
    FAR,
    SearchTree,
    accumulate_sums,
    build_search_tree,
    choose_candidate,
    find_candidates,
    find_missing_mate,
    insert_sorted,
    is_missing_copy,
    require_mate,
    sum_heaviest,
    sum_lowest,
)

LOCAL = 1500  # candidates up to which the nearest are searched among candidates only
ROUNDS = 6  # of dropping candidates before the search


@inner
def find_candidates_of_medoid(
    distances: Distances, k: int, u: Floats, m: int, limit: float
) -> tuple[I64, Floats]:
    """Return records that may be in a wanted group of medoid m, and their near sums."""
    n = len(distances.weight)
    width = 2 * k - 1
    lowest = np.empty(width + 1)
    sums = np.empty(width + 1)
    lowest[:] = FAR
    for j in range(n):
        if j != m:
            insert_sorted(lowest, width - 1, 0.5 * distances.pull[m, j] - u[j])
    accumulate_sums(sums, lowest, width - 1)
    others = FAR  # the least sum that the others of a group add
    for r in range(k - 1, width):
        others = min(others, sums[r - 1])
    candidates = np.empty(n, np.int64)
    count = 0
    for j in range(n):
        if j != m and 0.5 * distances.pull[m, j] - u[j] + others - u[m] <= limit:
            candidates[count] = j
            count += 1
    candidates = candidates[:count]
    near_sums = distances.near[candidates]
    for _ in range(ROUNDS):
        before = len(candidates)
        if before < k - 1:
            break
        if before <= LOCAL:
            _sum_near_distances(distances.pair, candidates, width, near_sums)
        keep = _check_bounds(distances, near_sums, k, u, m, limit, candidates)
        candidates = candidates[keep]
        near_sums = near_sums[keep]
        if len(candidates) == before and before <= LOCAL:
            break
    return candidates, near_sums


@inner
def _sum_near_distances(
    pair: Floats, candidates: I64, width: int, near_sums: Floats
) -> None:
    """Set near_sums[y, q] to the sum of the q least distances among candidates."""
    lowest = np.empty(width + 1)
    for y in range(len(candidates)):
        lowest[:] = FAR
        row = pair[candidates[y]]
        for w in range(len(candidates)):
            if w != y:
                insert_sorted(lowest, width - 1, row[candidates[w]])
        accumulate_sums(near_sums[y], lowest, width - 1)


@inner
def _check_bounds(
    distances: Distances,
    near_sums: Floats,
    k: int,
    u: Floats,
    m: int,
    limit: float,
    candidates: I64,
) -> Bool:
    """Return which candidates may be in a wanted group, by two bounds on its cost."""
    count = len(candidates)
    keep = np.zeros(count, np.bool_)
    a = np.empty(count)
    b = np.empty(count)
    least_a = np.empty(2 * k)
    least_b = np.empty(2 * k)
    heavy = np.empty(2 * k)
    sum_heaviest(distances.weight[candidates], heavy)
    for s in range(k, 2 * k):
        r = s - 1
        if r > count:
            break
        least_a[:] = FAR
        least_b[:] = FAR
        total_weight = distances.weight[m] + heavy[r]
        for y in range(count):
            j = candidates[y]
            a[y] = 0.5 * distances.pull[m, j] - u[j]
            b[y] = (
                distances.pair[m, j] + 0.5 * near_sums[y, r - 1]
            ) / total_weight - u[j]
            insert_sorted(least_a, r, a[y])
            insert_sorted(least_b, r, b[y])
        full_a, less_a = sum_lowest(least_a, r, -u[m])
        full_b, less_b = sum_lowest(least_b, r, -u[m])
        if full_a > limit or full_b > limit:
            continue
        for y in range(count):
            if a[y] + less_a <= limit and b[y] + less_b <= limit:
                keep[y] = True
    return keep


@compiled
def price_groups(
    distances: Distances,
    k: int,
    prices: Prices,
    medoids: I64,
    limits: Limits,
    result: PricingResult,
) -> None:
    """Write groups of low reduced cost, with these medoids, to `result`.

    This kernel, like every one that Python calls and that may run for long, returns
    nothing: numba makes arrays and named tuples for Python by calling Python; Ctrl-C in
    the meantime makes that fail, and numba does not check for the failure.
    """
    for m in medoids:
        _price_medoid(distances, k, prices, m, limits, result)
        if limits.all_nodes and result.counts[NODES] > limits.all_nodes:
            result.counts[MEDOIDS] += result.done[m]
            break
        result.counts[MEDOIDS] += 1


@inner
def _price_medoid(
    distances: Distances,
    k: int,
    prices: Prices,
    m: int,
    limits: Limits,
    result: PricingResult,
) -> None:
    """Write groups of low reduced cost whose medoid is record m to `result`."""
    candidates, own_near = find_candidates_of_medoid(
        distances, k, prices.u, m, limits.largest
    )
    if len(candidates) < k - 1:
        result.done[m] = True
        return
    is_complete = True
    value = np.empty(len(candidates))
    for y in range(len(candidates)):
        value[y] = 0.5 * distances.pull[m, candidates[y]] - prices.u[candidates[y]]
    order = np.argsort(value, kind="mergesort")
    if limits.candidates and len(order) > limits.candidates:
        order = order[: limits.candidates]
        is_complete = False
    result.counts[NODES] += len(order)
    tree = build_search_tree(
        distances, k, prices, m, candidates[order], own_near[order]
    )
    require_mate(tree, prices, 1, find_missing_mate(tree, prices, 1))
    result.done[m] = (
        _search_groups(distances.pull, tree, k, prices, m, limits, result)
        and is_complete
    )


@inner
def _search_groups(
    pull: Floats,
    tree: SearchTree,
    k: int,
    prices: Prices,
    m: int,
    limits: Limits,
    result: PricingResult,
) -> bool:
    """Search all groups of medoid m; return whether no limit ended the search."""
    level = 1
    nodes = 0
    begin = result.counts[RETURNED]
    lowest = np.empty(2 * k)
    terms = np.empty(len(tree.ids))
    keep = np.empty(len(tree.ids), np.bool_)
    while level >= 1:
        if tree.next[level] >= tree.end[level]:
            level -= 1
            continue
        nodes += 1
        result.counts[NODES] += 1
        if limits.nodes and nodes > limits.nodes:
            return False
        if limits.all_nodes and result.counts[NODES] > limits.all_nodes:
            return False
        at = tree.next[level]
        tree.next[level] += 1
        if is_missing_copy(tree, prices, level, at):
            continue
        choose_candidate(tree, prices, level, at)
        level += 1
        reduced = tree.W[level] / tree.total[level] - tree.U[level]
        reduced += tree.penalty[level]
        missing = find_missing_mate(tree, prices, level)
        if level >= k and missing < 0 and reduced <= limits.largest:
            _record_group(pull, tree, level, reduced, m, limits, result, begin)
        opened = level < 2 * k - 1 and find_candidates(
            tree, k, level, at, limits.largest, lowest, terms, keep
        )
        if not (opened and require_mate(tree, prices, level, missing)):
            level -= 1
    return True


@inner
def _record_group(
    pull: Floats,
    tree: SearchTree,
    size: int,
    reduced: float,
    m: int,
    limits: Limits,
    result: PricingResult,
    begin: int,
) -> None:
    """Store the chosen group if m is its medoid; replace a worse one if m has many."""
    rows = tree.ids[tree.part[:size]]
    sort_in_place(rows)
    if not _is_medoid(pull, rows, m):
        return
    result.counts[WANTED] += 1
    result.lowest[m] = min(result.lowest[m], reduced)
    at = result.counts[RETURNED]
    if at == limits.room:
        return
    if at - begin < limits.keep:
        result.counts[RETURNED] += 1
    else:
        at = begin
        for y in range(begin, result.counts[RETURNED]):
            if result.reduced[y] > result.reduced[at]:
                at = y
        if result.reduced[at] <= reduced:
            return
    result.members[at] = -1
    copy_into(result.members[at, :size], rows)
    result.reduced[at] = reduced


@inner
def _is_medoid(pull: Floats, rows: I64, m: int) -> bool:
    """Whether no record of a group has a smaller sum of distances than record m."""
    medoid_sum = 0.0
    for j in rows:
        medoid_sum += pull[m, j]
    for i in rows:
        total = 0.0
        for j in rows:
            total += pull[i, j]
        if total < medoid_sum or (total == medoid_sum and i < m):
            return False
    return True


LEAST = 1e-9  # that a change must gain
STAY, JOIN, SWAP, LEAVE = range(4)


@compiled
def improve_priced_groups(
    distances: Distances,
    near: Labels,
    u: Floats,
    k: int,
    members: I32,
    sizes: Labels,
    ended: I32,
    reduced: Floats,
) -> None:
    """Write each group's local optimum to `ended`, its reduced cost to `reduced`.

    A record joins, leaves, or replaces another, whichever gains most, until no change
    gains. Candidates are near (n, c) to a member.
    """
    inside = np.zeros(len(u), np.bool_)
    group = np.empty(2 * k - 1, np.int64)
    to = np.empty(2 * k - 1)
    ended[:] = -1
    for q in range(len(members)):
        size = sizes[q]
        copy_into(group[:size], members[q, :size])
        for y in range(size):
            inside[group[y]] = True
        size = _improve_group(distances, near, u, k, group, size, inside, to)
        reduced[q] = _sum_pairs(distances.pair, group, size) / _sum_weights(
            distances.weight, group, size
        )
        for y in range(size):
            inside[group[y]] = False
            ended[q, y] = group[y]
            reduced[q] -= u[group[y]]


@inner
def _improve_group(
    distances: Distances,
    near: Labels,
    u: Floats,
    k: int,
    group: I64,
    size: int,
    inside: Bool,
    to: Floats,
) -> int:
    """Change a group while its reduced cost falls; return its new size."""
    weight = distances.weight
    pair = distances.pair
    within = _sum_pairs(pair, group, size)
    while True:
        for y in range(size):
            to[y] = _sum_distances(pair, group[y], group, size)
        best = -LEAST
        kind = STAY
        out = 0
        come = 0
        group_weight = _sum_weights(weight, group, size)
        now = within / group_weight
        if size > k:
            for y in range(size):
                rest_weight = group_weight - weight[group[y]]
                change = (within - to[y]) / rest_weight - now + u[group[y]]
                if change < best:
                    best = change
                    kind = LEAVE
                    out = y
        for y in range(size):
            for j in near[group[y]]:
                if inside[j]:
                    continue
                far = _sum_distances(pair, j, group, size)
                change = (within + far) / (group_weight + weight[j]) - now - u[j]
                if size < 2 * k - 1 and change < best:
                    best = change
                    kind = JOIN
                    come = j
                for z in range(size):
                    i = group[z]
                    swapped = within - to[z] + far - pair[i, j]
                    other = group_weight - weight[i] + weight[j]
                    change = swapped / other - now + u[i] - u[j]
                    if change < best:
                        best = change
                        kind = SWAP
                        out = z
                        come = j
        if kind == STAY:
            return size
        size = _apply_change(group, size, inside, kind, out, come)
        within = _sum_pairs(pair, group, size)


@inlined
def _apply_change(
    group: I64, size: int, inside: Bool, kind: int, out: int, come: int
) -> int:
    """Let record `come` join, `out` leave, or both; return the group's new size."""
    if kind != JOIN:
        inside[group[out]] = False
        size -= 1
        group[out] = group[size]
    if kind != LEAVE:
        inside[come] = True
        group[size] = come
        size += 1
    return size


@inlined
def _sum_distances(pair: Floats, j: int, group: I64, size: int) -> float:
    """Return the sum of squared distances from record j to a group's records."""
    total = 0.0
    for y in range(size):
        total += pair[j, group[y]]
    return total


@inlined
def _sum_weights(weight: Floats, group: I64, size: int) -> float:
    """Return the sum of the weights of a group's records."""
    total = 0.0
    for y in range(size):
        total += weight[group[y]]
    return total


@inlined
def _sum_pairs(pair: Floats, group: I64, size: int) -> float:
    """Return the sum of squared distances among the members of a group."""
    total = 0.0
    for y in range(size):
        for z in range(y):
            total += pair[group[y], group[z]]
    return total
