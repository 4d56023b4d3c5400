"""Checks of constraints, and costs of changes with sampling weights. Imports numba.

Without constraints, `promise` is None: then the compiler omits the code after `if
promise is None`, and an unconstrained search has no overhead.  Members of a group are
ordered by their places, as `arrange_members` leaves them.

Distances are summed four attributes at a time, in one order on every processor.  The
compiler may not reorder a sum, and would add one square after the other; the code
prescribes four parallel sums.

Without weights, `weights` is None: then the compiler omits the code that depends on
them. With weights w and W of groups A and B, and squared distances |.|, the sum of
squares changes by

    i joins B, or leaves A     v W / (W + v) |i - B|,   -v W / (W - v) |i - A|
    i joins B, j leaves it     v |i - B| - w |j - B|
                               - |v (i - B) - w (j - B)|^2 / (W + v - w)

with v the weight of i, w that of j.  In the last, differences are multiplied before
they are added: a heavy record is nearly in the centre of its group.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import cgutils, types
from numba.extending import intrinsic

from aggopt.core.compiled import unrefcounted_inlined, unrefcounted_inner
from aggopt.core.types import I64, Floats
from aggopt.partition._local_search.state import LANES, Groups, Space, Weights
from aggopt.partition.constraints import CLOSE, TABLED, Close, Diverse, Promise
from aggopt.privacy.emd_kernels import sum_between

if TYPE_CHECKING:

    def squared_distance(A: Floats, i: int, B: Floats, j: int) -> float:
        """Return the squared distance of rows A[i] and B[j]."""

else:

    @intrinsic
    def squared_distance(typing, A, i, B, j):
        """Return the squared distance of rows A[i] and B[j].

        Both are C-ordered and equally wide, by a multiple of LANES.
        """
        return types.float64(A, i, B, j), _build_sum


@unrefcounted_inlined
def arrange_members(promise: Promise | None, groups: Groups, g: int) -> None:
    """Sort the members of group g by confidential value; set its EMD's numerator."""
    if promise is None:
        return
    if len(promise.close.place) > 0:
        first = groups.start[g]
        members = groups.ids[first : first + groups.size[g]]
        _sort_by_place(promise.close.place, members, groups.where, first)
        promise.close.far[g] = compute_numerator(promise.close, members)
        promise.close.lean[g] = _sum_signed(promise.close, members)


@unrefcounted_inner
def _sort_by_place(place: I64, members: I64, where: I64, first: int) -> None:
    """Sort members[first:] by value rank `place`, in place (insertion sort)."""
    for at in range(1, len(members)):
        i = members[at]
        before = at - 1
        while before >= 0 and place[members[before]] > place[i]:
            members[before + 1] = members[before]
            where[members[before]] = first + before + 1
            before -= 1
        members[before + 1] = i
        where[i] = first + before + 1


@unrefcounted_inlined
def is_clearly_far(close: Close, size: int, g: int, out: int, into: int) -> bool:
    """Whether a bound shows that group g, changed by `out` and `into`, is not t-close.

    The signed sum of the terms is available at once; if it exceeds the limit, the sum
    of their absolute values does.
    """
    if len(close.place) == 0:
        return False
    n = len(close.place)
    lean = close.lean[g]
    if out >= 0:
        size -= 1
        lean += close.place_sum - n * close.place[out]
    if into >= 0:
        size += 1
        lean += n * close.place[into] - close.place_sum
    return bool(abs(lean) > close.limits[size])


@unrefcounted_inlined
def is_close(close: Close, members: I64, g: int, out: int, into: int) -> bool:
    """Whether group g is t-close without record `out` and with `into`, -1 for none."""
    size = len(members)
    if out < 0 and into < 0:
        return bool(close.far[g] <= close.limits[size])
    if out < 0:
        return bool(_compute_with(close, members, into) <= close.limits[size + 1])
    if into < 0:
        return bool(_compute_without(close, members, out) <= close.limits[size - 1])
    leaving = close.place[out]
    coming = close.place[into]
    slack = close.limits[size] - close.far[g]
    if abs(leaving - coming) * len(close.place) <= slack:
        return True
    return bool(_compute_change(close, members, leaving, coming) <= slack)


@unrefcounted_inner
def _sum_signed(close: Close, members: I64) -> int:
    """Return the signed sum of a group's EMD terms; its size is at most the EMD's."""
    total = 0
    for i in members:
        total += close.place[i]
    return total * len(close.place) - close.place_sum * len(members)


@unrefcounted_inlined
def _sum_terms(close: Close, r: int, s: int, a: int, b: int) -> int:
    """Return the EMD terms of bins a..b-1, if r of s members have lower values."""
    n = len(close.place)
    if s > TABLED:
        return sum_between(r, s, a, b, n, close.sums, close.first)
    c = min(max(close.split[s * (s + 1) // 2 + r], a), b)
    low = close.sums[a]
    middle = close.sums[c]
    high = close.sums[b]
    terms: int = n * r * (2 * c - a - b) - s * (2 * middle - low - high)
    return terms


@unrefcounted_inner
def compute_numerator(close: Close, members: I64) -> int:
    """Return the numerator of a group's EMD, an exact integer."""
    s = len(members)
    last = 0
    total = 0
    for r in range(s):
        place = close.place[members[r]]
        if last < place:
            total += _sum_terms(close, r, s, last, place)
            last = place
    return total + _sum_terms(close, s, s, last, len(close.sums) - 1)


@unrefcounted_inner
def _compute_without(close: Close, members: I64, out: int) -> int:
    """Return the numerator of a group's EMD without record `out`."""
    s = len(members) - 1
    r = 0
    last = 0
    total = 0
    for i in members:
        if i == out:
            continue
        place = close.place[i]
        if last < place:
            total += _sum_terms(close, r, s, last, place)
            last = place
        r += 1
    return total + _sum_terms(close, s, s, last, len(close.sums) - 1)


@unrefcounted_inner
def _compute_with(close: Close, members: I64, into: int) -> int:
    """Return the numerator of a group's EMD with record `into` added."""
    s = len(members) + 1
    last = 0
    total = 0
    coming = close.place[into]
    come = 0
    for r in range(s):
        place = coming
        if come == 1:
            place = close.place[members[r - 1]]
        elif r < s - 1 and close.place[members[r]] < coming:
            place = close.place[members[r]]
        else:
            come = 1
        if last < place:
            total += _sum_terms(close, r, s, last, place)
            last = place
    return total + _sum_terms(close, s, s, last, len(close.sums) - 1)


@unrefcounted_inner
def _compute_change(close: Close, members: I64, out: int, into: int) -> int:
    """Return the change of a group's EMD numerator if bin `into` replaces bin `out`.

    The count of members changes by one only in the bins between the two.
    """
    low = min(out, into)
    high = max(out, into)
    step = 1 if into < out else -1
    s = len(members)
    r = 0
    while r < s and close.place[members[r]] <= low:
        r += 1
    change = 0
    a = low
    while a < high:
        b = high
        if r < s:
            b = min(b, close.place[members[r]])
        if a < b:
            change += _sum_terms(close, r + step, s, a, b) - _sum_terms(
                close, r, s, a, b
            )
        a = b
        r += 1
    return change


@unrefcounted_inner
def is_diverse_after_change(
    diverse: Diverse, members: I64, out: int, into: int
) -> bool:
    """Whether a group is l-diverse without record `out` and with `into`, -1 for none.

    An entropy within CLOSE of log l counts only if all levels have equal shares, when
    it equals log l; other entropies so near are refused.
    """
    level = diverse.level
    tally = diverse.tally
    if out >= 0 and into >= 0 and level[out] == level[into]:
        return True
    for i in members:
        tally[level[i]] += 1
    if into >= 0:
        tally[level[into]] += 1
    if out >= 0:
        tally[level[out]] -= 1
    levels, total, even = _count_and_reset(diverse, members, into)
    if not diverse.entropy:
        return bool(levels >= diverse.required)
    size = len(members) - (out >= 0) + (into >= 0)
    excess = np.log(size) - total / size - diverse.logarithm
    return bool(excess > CLOSE or (excess >= -CLOSE and even))


@unrefcounted_inner
def _count_and_reset(
    diverse: Diverse, members: I64, into: int
) -> tuple[int, float, bool]:
    """Return the number of levels, sum of c log c, and whether counts c are equal.

    The counts are reset to 0.
    """
    levels = 0
    total = 0.0
    even = True
    usual = 0
    for at in range(-1, len(members)):
        i = members[at] if at >= 0 else into
        if i >= 0:
            count = diverse.tally[diverse.level[i]]
            diverse.tally[diverse.level[i]] = 0
            if count > 0:
                levels += 1
                total += count * np.log(count)
                usual = count if levels == 1 else usual
                even = even and count == usual
    return levels, total, even


NOBODY: int = np.int64(-1)  # type: ignore[assignment]  # no literal to compile for


@unrefcounted_inlined
def is_feasible(space: Space, groups: Groups, g: int, out: int, into: int) -> bool:
    """Whether group g satisfies the constraints without record `out` and with `into`.

    Either may be NOBODY; if both are, the unchanged group is checked.
    """
    if not is_undominated(space.weights, groups, g, out, into):
        return False
    return _is_feasible_for(space.promise, groups, g, out, into)


@unrefcounted_inlined
def _is_feasible_for(
    promise: Promise | None, groups: Groups, g: int, out: int, into: int
) -> bool:
    """Whether group g satisfies t and l without record `out` and with `into`."""
    if promise is None:
        return True
    if is_clearly_far(promise.close, groups.size[g], g, out, into):
        return False
    members = groups.ids[groups.start[g] : groups.start[g] + groups.size[g]]
    return _satisfies_promise(promise, members, g, out, into)


@unrefcounted_inlined
def may_swap(space: Space, groups: Groups, i: int, j: int) -> bool:
    """Whether both groups satisfy the constraints after a swap of records i and j."""
    if not is_feasible(space, groups, groups.label[i], i, j):
        return False
    return is_feasible(space, groups, groups.label[j], j, i)


@unrefcounted_inlined
def has_chains(promise: Promise | None) -> bool:
    """Whether to try chains of two moves: only in a search without constraints."""
    return promise is None


@unrefcounted_inlined
def choose_move_share(promise: Promise | None) -> float:
    """Return the probability that a random change is a move and not a swap."""
    if promise is None:
        return 0.5
    return 0.2  # as most moves break constraints


@unrefcounted_inner
def _satisfies_promise(
    promise: Promise, members: I64, g: int, out: int, into: int
) -> bool:
    """Whether group g satisfies l and t without record `out` and with `into`."""
    close = promise.close
    diverse = promise.diverse
    if len(diverse.level) > 0 and not is_diverse_after_change(
        diverse, members, out, into
    ):
        return False
    return len(close.place) == 0 or is_close(close, members, g, out, into)


FOUR = ir.VectorType(ir.DoubleType(), LANES)


def _build_sum(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    """Generate LLVM code that sums squared differences of two rows in four lanes."""
    one, width = _build_row(context, builder, signature.args[0], args[0], args[1])
    other, _ = _build_row(context, builder, signature.args[2], args[2], args[3])
    zero = ir.Constant(FOUR, [0.0] * LANES)
    total = cgutils.alloca_once_value(builder, zero)  # type: ignore[no-untyped-call]
    steps = builder.udiv(width, ir.Constant(width.type, LANES))
    with cgutils.for_range(builder, steps) as loop:
        p = builder.load(builder.gep(one, [loop.index]), align=8)
        q = builder.load(builder.gep(other, [loop.index]), align=8)
        gap = builder.fsub(p, q)
        square = builder.fmul(gap, gap)
        builder.store(builder.fadd(builder.load(total), square), total)
    lanes = builder.load(total)
    a, b, c, d = (
        builder.extract_element(lanes, ir.Constant(ir.IntType(32), lane))
        for lane in range(LANES)
    )
    return builder.fadd(builder.fadd(a, b), builder.fadd(c, d))


def _build_row(context: Any, builder: Any, kind: Any, array: Any, i: Any) -> Any:
    """Generate LLVM code of a pointer to row i of an array, and of its width."""
    structure = context.make_array(kind)(context, builder, array)
    width = cgutils.unpack_tuple(builder, structure.shape)[1]  # type: ignore[no-untyped-call]
    first = builder.gep(structure.data, [builder.mul(i, width)])
    return builder.bitcast(first, FOUR.as_pointer()), width


ROUNDED = 1 + 5e-10  # half of the tolerance of `aggopt.privacy.dominance`


@unrefcounted_inlined
def has_weights(weights: Weights | None) -> bool:
    """Whether records have sampling weights."""
    return weights is not None


@unrefcounted_inlined
def get_weight(weights: Weights | None, i: int) -> float:
    """Return the sampling weight of record i, 1 without weights."""
    if weights is None:
        return 1.0
    return float(weights.values[i])


@unrefcounted_inlined
def get_group_weight(weights: Weights | None, groups: Groups, g: int) -> float:
    """Return the total weight of group g, its size without weights."""
    if weights is None:
        return float(groups.size[g])
    return float(weights.mass[g])


@unrefcounted_inlined
def sum_group_weight(weights: Weights | None, groups: Groups, g: int) -> None:
    """Set the total weight of group g; without weights do nothing."""
    if weights is None:
        return
    total = 0.0
    for at in range(groups.start[g], groups.start[g] + groups.size[g]):
        total += weights.values[groups.ids[at]]
    weights.mass[g] = total


@unrefcounted_inlined
def compute_join_cost(
    weights: Weights | None, groups: Groups, i: int, g: int, into: float
) -> float:
    """Return the added loss if record i joins group g, at squared distance `into`."""
    record_weight = get_weight(weights, i)
    group_weight = get_group_weight(weights, groups, g)
    return into * (record_weight * group_weight) / (group_weight + record_weight)


@unrefcounted_inlined
def compute_leave_gain(weights: Weights | None, groups: Groups, i: int) -> float:
    """Return the reduction of the loss if record i leaves its group."""
    record_weight = get_weight(weights, i)
    group_weight = get_group_weight(weights, groups, groups.label[i])
    return float(
        groups.spread[i]
        * (record_weight * group_weight)
        / (group_weight - record_weight)
    )


@unrefcounted_inlined
def compute_scale(weights: Weights | None, groups: Groups, i: int) -> float:
    """Return the amount to which the gain of a change of record i is relative.

    Without weights it is the squared distance of i; with weights the reduction of its
    group's loss, as rounding grows with the heaviest record there.
    """
    if weights is None:
        return float(groups.spread[i])
    return compute_leave_gain(weights, groups, i)


@unrefcounted_inlined
def compute_swap_cost(
    weights: Weights | None,
    space: Space,
    groups: Groups,
    i: int,
    j: int,
    A: int,
    B: int,
    into: float,
    between: float,
) -> float:
    """Return the added loss if record i of group A and j of B change places.

    `into` is the squared distance of i from the centre of B, `between` that of i and j.
    """
    back = squared_distance(space.Z, j, groups.centre, A)
    if weights is None:
        share = 1.0 / groups.size[A] + 1.0 / groups.size[B]
        gain = back - groups.spread[j] + into - groups.spread[i]
        return float(gain - between * share)
    one = _compute_replacement(weights, space, groups, B, j, i, into)
    return one + _compute_replacement(weights, space, groups, A, i, j, back)


@unrefcounted_inlined
def compute_pass_cost(
    weights: Weights | None,
    space: Space,
    groups: Groups,
    i: int,
    j: int,
    B: int,
    into: float,
    between: float,
) -> float:
    """Return the added loss of group B if record i replaces record j."""
    if weights is None:
        return float(into - groups.spread[j] - between / groups.size[B])
    return _compute_replacement(weights, space, groups, B, j, i, into)


@unrefcounted_inner
def _compute_replacement(
    weights: Weights,
    space: Space,
    groups: Groups,
    g: int,
    out: int,
    come: int,
    joins: float,
) -> float:
    """Return the added loss of group g if record `come` replaces record `out`."""
    v = weights.values[come]
    w = weights.values[out]
    moved = 0.0
    for t in range(groups.centre.shape[1]):
        centre = groups.centre[g, t]
        step = v * (space.Z[come, t] - centre) - w * (space.Z[out, t] - centre)
        moved += step * step
    return float(v * joins - w * groups.spread[out] - moved / (weights.mass[g] + v - w))


@unrefcounted_inlined
def is_undominated(
    weights: Weights | None, groups: Groups, g: int, out: int, into: int
) -> bool:
    """Whether no weight dominates group g without record `out` and with `into`."""
    if weights is None:
        return True
    return weights.share >= 1.0 or _is_light_enough(weights, groups, g, out, into)


@unrefcounted_inner
def _is_light_enough(
    weights: Weights, groups: Groups, g: int, out: int, into: int
) -> bool:
    """Whether no weight exceeds its allowed share of a group's total after a change."""
    heaviest = total = weights.values[into] if into >= 0 else 0.0
    for at in range(groups.start[g], groups.start[g] + groups.size[g]):
        i = groups.ids[at]
        if i != out:
            total += weights.values[i]
            heaviest = max(heaviest, weights.values[i])
    return bool(heaviest <= weights.share * total * ROUNDED)
