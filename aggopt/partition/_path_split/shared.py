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
def shared_orderings() -> Iterator[None]:
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


def made_once(
    how: Hashable, records: Floats, make: Callable[[], Iterable[I64]]
) -> Iterable[I64]:
    """Return orderings of records (n, d), from the cache if it contains them.

    `how` identifies the way they are made, independently of k.

    `how` says how they are made, whatever k.
    """
    kept = _kept.get()
    if kept is None:
        return make()
    own = how, records.shape, sha256(records.tobytes()).digest()
    if own not in kept:
        kept[own] = list(make())
    return kept[own]
