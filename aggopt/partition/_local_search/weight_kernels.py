"""Distances, and costs of changes with sampling weights.  Imports numba.

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

from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import cgutils, types
from numba.extending import intrinsic

from aggopt.core.unrefcounted import inlined, inner
from aggopt.core.validation import Floats
from aggopt.partition._local_search.state import LANES, Groups, Space, Weights

FOUR = ir.VectorType(ir.DoubleType(), LANES)


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


def _build_sum(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    """Generate the code that sums squared differences in four lanes."""
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
    """Generate a pointer to row i of an array, in lanes of four, and its width."""
    structure = context.make_array(kind)(context, builder, array)
    width = cgutils.unpack_tuple(builder, structure.shape)[1]  # type: ignore[no-untyped-call]
    first = builder.gep(structure.data, [builder.mul(i, width)])
    return builder.bitcast(first, FOUR.as_pointer()), width


ROUNDED = 1 + 5e-10  # half of the tolerance of `aggopt.privacy.dominance`


@inlined
def has_weights(weights: Weights | None) -> bool:
    """Whether records have weights."""
    return weights is not None


@inlined
def get_weight(weights: Weights | None, i: int) -> float:
    """Return the weight of record i."""
    if weights is None:
        return 1.0
    return float(weights.values[i])


@inlined
def get_group_weight(weights: Weights | None, groups: Groups, g: int) -> float:
    """Return the weight of group g."""
    if weights is None:
        return float(groups.size[g])
    return float(weights.mass[g])


@inlined
def sum_group_weight(weights: Weights | None, groups: Groups, g: int) -> None:
    """Sum the weight of group g."""
    if weights is None:
        return
    total = 0.0
    for at in range(groups.start[g], groups.start[g] + groups.size[g]):
        total += weights.values[groups.ids[at]]
    weights.mass[g] = total


@inlined
def compute_join_cost(
    weights: Weights | None, groups: Groups, i: int, g: int, into: float
) -> float:
    """Return the added loss if record i, at this squared distance, joins group g."""
    record_weight = get_weight(weights, i)
    group_weight = get_group_weight(weights, groups, g)
    return into * (record_weight * group_weight) / (group_weight + record_weight)


@inlined
def compute_leave_gain(weights: Weights | None, groups: Groups, i: int) -> float:
    """Return the reduction of the loss if record i leaves its group."""
    record_weight = get_weight(weights, i)
    group_weight = get_group_weight(weights, groups, groups.label[i])
    return float(
        groups.spread[i]
        * (record_weight * group_weight)
        / (group_weight - record_weight)
    )


@inlined
def compute_scale(weights: Weights | None, groups: Groups, i: int) -> float:
    """Return the scale that the gain of a change of record i is compared with.

    Without weights it is the squared distance of i; with weights the reduction of its
    group's loss, as rounding grows with the heaviest record there.
    """
    if weights is None:
        return float(groups.spread[i])
    return compute_leave_gain(weights, groups, i)


@inlined
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


@inlined
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
    """Return the added loss of group B if i replaces j; see `compute_swap_cost`."""
    if weights is None:
        return float(into - groups.spread[j] - between / groups.size[B])
    return _compute_replacement(weights, space, groups, B, j, i, into)


@inner
def _compute_replacement(
    weights: Weights,
    space: Space,
    groups: Groups,
    g: int,
    out: int,
    come: int,
    joins: float,
) -> float:
    """Return the added loss of group g if `come` replaces record `out`."""
    v = weights.values[come]
    w = weights.values[out]
    moved = 0.0
    for t in range(groups.centre.shape[1]):
        centre = groups.centre[g, t]
        step = v * (space.Z[come, t] - centre) - w * (space.Z[out, t] - centre)
        moved += step * step
    return float(v * joins - w * groups.spread[out] - moved / (weights.mass[g] + v - w))


@inlined
def is_undominated(
    weights: Weights | None, groups: Groups, g: int, out: int, into: int
) -> bool:
    """Whether no record has too much of group g, without `out` and with `into`."""
    if weights is None:
        return True
    return weights.share >= 1.0 or _is_light_enough(weights, groups, g, out, into)


@inner
def _is_light_enough(
    weights: Weights, groups: Groups, g: int, out: int, into: int
) -> bool:
    """Whether the heaviest record of a changed group is light enough."""
    heaviest = total = weights.values[into] if into >= 0 else 0.0
    for at in range(groups.start[g], groups.start[g] + groups.size[g]):
        i = groups.ids[at]
        if i != out:
            total += weights.values[i]
            heaviest = max(heaviest, weights.values[i])
    return bool(heaviest <= weights.share * total * ROUNDED)
