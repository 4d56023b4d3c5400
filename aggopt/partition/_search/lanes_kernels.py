"""Distances summed four attributes at a time, in the same order on every processor.

Importing this imports numba: do so late.  The compiler may not reorder a sum by
itself, and would then add one square after the other; here it is told which four go
side by side.
"""

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from aggopt.partition._search.state import LANES

FOUR = ir.VectorType(ir.DoubleType(), LANES)


@intrinsic
def apart(typing: Any, A: Any, i: Any, B: Any, j: Any) -> Any:
    """Return the squared distance of rows A[i] and B[j], C-ordered, of equal width.

    The width is a multiple of LANES.
    """
    return types.float64(A, i, B, j), _summed


def _summed(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    one, width = _row(context, builder, signature.args[0], args[0], args[1])
    other, _ = _row(context, builder, signature.args[2], args[2], args[3])
    zero = ir.Constant(FOUR, [0.0] * LANES)
    total = cgutils.alloca_once_value(builder, zero)
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


def _row(context: Any, builder: Any, kind: Any, array: Any, i: Any) -> Any:
    made = context.make_array(kind)(context, builder, array)
    width = cgutils.unpack_tuple(builder, made.shape)[1]
    first = builder.gep(made.data, [builder.mul(i, width)])
    return builder.bitcast(first, FOUR.as_pointer()), width
