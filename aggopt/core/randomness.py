"""The secret of a release, and the random numbers derived from it.

A reader of some numbers of a common generator can compute the others.  So secret
numbers come from a cryptographic stream, one for each purpose.
"""

import secrets
from hashlib import shake_256

import numpy as np

from aggopt.core.types import U64, Floats, Labels
from aggopt.errors import JobError

BITS = 128  # too many to try all


def make_secret() -> str:
    """Return 128 random bits of the operating system, in hexadecimal."""
    return secrets.token_hex(BITS // 8)


def require_secret(secret: object) -> str:
    """Return a valid secret, or refuse the value."""
    if is_secret(secret):
        return str(secret)
    raise JobError(
        "The secret is not 32 hexadecimal digits.",
        fix="leave it out, or pass the one in the manifest of the release.",
    )


def is_secret(secret: object) -> bool:
    """Whether a value has the form of a secret: 32 hexadecimal digits."""
    of_length = isinstance(secret, str) and len(secret) == BITS // 4
    return of_length and set(str(secret)) <= set("0123456789abcdef")


def derive_secret(seed: int | None) -> str:
    """Return a secret; a given seed determines it, and so must be secret too."""
    return make_secret() if seed is None else shake_256(b"seed %d" % seed).hexdigest(16)


def derive_seed(secret: str, purpose: str) -> int:
    """Return a seed of 128 bits, different for each secret and purpose."""
    return int.from_bytes(_derive_stream(secret, purpose, BITS // 8))


def draw_uniforms(secret: str, purpose: str, count: int) -> Floats:
    """Return `count` numbers, uniform in [0, 1), fixed by secret and purpose.

    Examples
    --------
    >>> u = draw_uniforms("00", "margin", 1000)
    >>> bool(0 <= u.min() and u.max() < 1), round(float(u.mean()), 1)
    (True, 0.5)
    """
    return np.asarray((draw_words(secret, purpose, count) >> np.uint64(11)) * 2.0**-53)


def draw_permutation(secret: str, purpose: str, n: int) -> Labels:
    """Return 0..n-1 in an order determined by secret and purpose."""
    return np.argsort(draw_words(secret, purpose, n), kind="stable").astype(np.intp)


def draw_words(secret: str, purpose: str, count: int) -> U64:
    """Return `count` numbers of 64 bits, fixed by secret and purpose."""
    stream = _derive_stream(secret, purpose, 8 * count)
    return np.frombuffer(stream, dtype="<u8").astype(np.uint64)


def _derive_stream(secret: str, purpose: str, size: int) -> bytes:
    return shake_256(f"{secret}\n{purpose}".encode()).digest(size)
