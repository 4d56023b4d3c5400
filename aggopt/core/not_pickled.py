"""A wrapper whose content stays in this process when its holder is pickled."""

from typing import Generic, TypeVar

T = TypeVar("T")


class NotPickled(Generic[T]):
    """A value that no copy and no pickle has: theirs is None.

    Any two are equal, so that a result is equal to its copy.

    Examples
    --------
    >>> import pickle
    >>> held = NotPickled([1, 2])
    >>> held.value, pickle.loads(pickle.dumps(held)).value
    ([1, 2], None)
    """

    __slots__ = ("value",)

    def __init__(self, value: T | None = None):
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NotPickled)

    def __hash__(self) -> int:
        """Return one constant for all instances."""
        return hash(NotPickled)

    def __reduce__(self) -> tuple[type["NotPickled[T]"], tuple[()]]:
        """Copy and pickle an empty one."""
        return NotPickled, ()

    def __repr__(self) -> str:
        return "InMemory()"
