"""Roots of a covariance, and the orthonormal columns nearest to a matrix."""

import numpy as np

from aggopt.core.validation import Floats

ROWS = 1 << 16  # records whose triangle is found at once: megabytes
NOISE = 1e-10  # of the largest singular value: what rounding leaves of none
SINGULAR = 1e-14  # the same: below, what is left is rounding


def root(Z: Floats) -> Floats:
    """Return R (r, d) with R'R = Z'Z, r the rank of Z (n, d).

    Worked out of triangles of Z, not of Z'Z: so directions in which the attributes
    hardly vary keep their digits.
    """
    triangle = np.empty((0, Z.shape[1]))
    for first in range(0, len(Z), ROWS):
        part = np.concatenate([triangle, Z[first : first + ROWS]])
        triangle = np.asarray(np.linalg.qr(part, mode="r"))
    _, values, vectors = np.linalg.svd(triangle, full_matrices=False)
    rank = int((values > NOISE * values.max(initial=0.0)).sum())
    return np.asarray(values[:rank, None] * vectors[:rank])


def aligned(image: Floats, apart: Floats) -> Floats:
    """Return the Q (m, r) of largest tr(Q' image) with Q'Q = I and apart' Q = 0.

    `apart` (m, q) has orthonormal columns.  Q = U V', from the singular value
    decomposition U s V' of what of the image is orthogonal to them (orthogonal
    Procrustes).  Where it leaves directions open, vectors of cosines fill them.
    """
    if not image.size:
        return image
    own = image - apart @ (apart.T @ image)
    U, size, Vt = np.linalg.svd(own, full_matrices=False)
    known = int((size > SINGULAR * size[0]).sum()) if size[0] > 0 else 0
    U[:, :known] = _polar(U[:, :known] - apart @ (apart.T @ U[:, :known]))
    if known < len(size):
        taken = np.column_stack([apart, U[:, :known]])
        U[:, known:] = _completion(taken, len(size) - known)
    return np.asarray(U @ Vt)


def _polar(Q: Floats) -> Floats:
    """Return the matrix with orthonormal columns that is nearest to Q (m, r)."""
    if not Q.size:
        return Q
    U, _, Vt = np.linalg.svd(Q, full_matrices=False)
    return np.asarray(U @ Vt)


def _completion(W: Floats, more: int) -> Floats:
    """Return so many more orthonormal columns, orthogonal to W (m, p).

    Of p + more cosines, which are orthonormal, at least so many lie apart from W.
    """
    m, p = W.shape
    angle = np.pi / m * np.outer(np.arange(m) + 0.5, np.arange(p + more))
    waves, _ = np.linalg.qr(np.cos(angle))
    U, _, _ = np.linalg.svd(waves - W @ (W.T @ waves), full_matrices=False)
    return np.asarray(U[:, :more])
