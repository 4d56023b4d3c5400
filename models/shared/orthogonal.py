"""Roots of a covariance, and the orthonormal columns nearest to a matrix."""

import numpy as np

from aggopt.core.validation import Floats

ROWS = 1 << 16  # records whose triangle is found at once: megabytes
NOISE = 1e-10  # of the largest singular value: rounding of a singular value of 0
SINGULAR = 1e-14  # of the largest singular value: smaller ones are rounding


def root(Z: Floats) -> Floats:
    """Return R (r, d) with R'R = Z'Z, r the rank of Z (n, d).

    R is computed from triangles of Z, not from Z'Z.  So directions with hardly any
    variation keep their digits.
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
    decomposition U s V' of the part of the image orthogonal to them (orthogonal
    Procrustes).  If it leaves directions open, vectors of cosines fill them.
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
    """Return `more` orthonormal columns, orthogonal to W (m, p).

    Among p + more cosines, which are orthonormal, at least `more` are not in the span
    of W.
    """
    m, p = W.shape
    angle = np.pi / m * np.outer(np.arange(m) + 0.5, np.arange(p + more))
    waves, _ = np.linalg.qr(np.cos(angle))
    U, _, _ = np.linalg.svd(waves - W @ (W.T @ waves), full_matrices=False)
    return np.asarray(U[:, :more])
