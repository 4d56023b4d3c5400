"""Orderings of records that several k share, made once on request."""

from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from hashlib import sha256

from aggopt.core.types import I64
from aggopt.core.validation import Floats

Kept = dict[Hashable, list[I64]]

_kept: ContextVar[Kept | None] = ContextVar("orderings", default=None)


@contextmanager
def share_orderings() -> Iterator[None]:
    """Cache orderings within the block, for further k that would make them again.

    Source: Mortazavi and Jalili, Fast data-oriented microaggregation algorithm for
    large numerical datasets (FDM), Knowledge-Based Systems 67, 2014: one tour, split
    for every k.
    """
    token = _kept.set({})
    try:
        yield
    finally:
        _kept.reset(token)


def get_orderings(
    method: Hashable, records: Floats, make: Callable[[], Iterable[I64]]
) -> Iterable[I64]:
    """Return orderings of records (n, d), from the cache if it contains them.

    `how` identifies the way they are made, independently of k.
    """
    cache = _kept.get()
    if cache is None:
        return make()
    key = method, records.shape, sha256(records.tobytes()).digest()
    if key not in cache:
        cache[key] = list(make())
    return cache[key]
