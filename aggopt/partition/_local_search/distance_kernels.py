"""Distances summed four attributes at a time, in one order on every processor.

Importing this imports numba: do so late. The compiler may not reorder a sum, and would
then add one square after the other; this code prescribes four parallel sums.

Importing this imports numba: do so late.  The compiler may not reorder a sum by
itself, and would then add one square after the other; here it is given which four go
side by side.
"""

from typing import TYPE_CHECKING, Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import cgutils, types
from numba.extending import intrinsic

from aggopt.core.validation import Floats
from aggopt.partition._local_search.state import LANES

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
    structure = context.make_array(kind)(context, builder, array)
    width = cgutils.unpack_tuple(builder, structure.shape)[1]  # type: ignore[no-untyped-call]
    first = builder.gep(structure.data, [builder.mul(i, width)])
    return builder.bitcast(first, FOUR.as_pointer()), width
