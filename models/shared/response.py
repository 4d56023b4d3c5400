"""Free part of centroids that also keep their covariance with a response."""

from typing import NamedTuple

import numpy as np

from aggopt.core.validation import Floats
from aggopt.errors import InfeasibleInputError
from aggopt.models.shared.orthogonal import root

NEARLY = 1e-9  # of a variance: rounding


class Free(NamedTuple):
    """Feasible centroids: sqrt(n_j) c_j = fixed + N root, N'N = I, apart'N = 0.

    fixed (m, d), root (r, d) with orthogonal rows, apart (m, q) with orthonormal
    columns: sqrt(n_j / n), and that of a response, if groups differ in one.
    """

    fixed: Floats
    root: Floats
    apart: Floats


def beside_response(R: Floats, u: Floats, b: Floats, kept: Floats, n: int) -> Free:
    """Return the part of n records with root R that a response leaves free.

    The response is standardised.  b (m,) are its group means times sqrt(n_j), `kept`
    (d,) its products with the attributes.  With A = sqrt(n_j) c_j = Q R, Q'b must be
    t, R't = kept.  So Q is v w' and a part apart from v = b / |b|, w = t / |b|.  The
    Gram matrix of that part is I - w w'.  Proof: docs/mathematics/joint.md.

    Raises
    ------
    InfeasibleInputError
        The Gram matrix is not positive semidefinite, or there are too few groups.
    """
    _require_groups(len(b), len(R))
    t = R @ kept / np.sum(R**2, axis=1)
    between, explained = float(b @ b), float(t @ t)
    if explained > between + NEARLY * n:
        raise InfeasibleInputError(
            f"{1 - between / n:.1%} of the response's variance lie within groups, of "
            "which the members are published alike: what is left has no room for the "
            f"{explained / n:.1%} that the attributes explain.",
            fix="choose a smaller k, or fewer quasi-identifiers; or leave the "
            "regression out.",
        )
    if between <= NEARLY * n:  # nothing varies between groups, and nothing is to
        return Free(np.zeros((len(b), R.shape[1])), R, u[:, None])
    length = np.sqrt(between)
    v, w = b / length, t / length
    square = min(float(w @ w), 1.0)
    shrunk = (1 - np.sqrt(1 - square)) / square if square > 0 else 0.0
    left = root(R - shrunk * np.outer(w, w @ R))  # of (I - w w')^(1/2) R
    return Free(np.outer(v, w @ R), left, np.column_stack([u, v]))


def _require_groups(m: int, rank: int) -> None:
    if m < rank + 2:
        raise InfeasibleInputError(
            f"{m} groups cannot keep the regression of a response on attributes of "
            f"rank {rank}: {rank + 2} or more can.",
            fix="choose a smaller k, or fewer attributes in the regression.",
        )
