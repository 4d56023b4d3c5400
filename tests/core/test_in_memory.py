"""What stays in this process."""

import copy
import pickle

from aggopt.core.not_pickled import NotPickled


def test_copies_and_pickles_are_empty_and_equal() -> None:
    held = NotPickled([1.5])
    for other in (pickle.loads(pickle.dumps(held)), copy.copy(held)):
        assert other.value is None
        assert other == held
        assert hash(other) == hash(held)
    assert held != [1.5]
    assert held.value == [1.5]
    assert "1.5" not in repr(held)
