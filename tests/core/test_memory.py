"""Memory: what is left, and files in it."""

import copy
import pickle
import sys

import pytest
from refusals import refused

from aggopt.core.memory import find_available_memory, is_lack_of_memory, require_memory
from aggopt.core.not_pickled import NotPickled
from aggopt.errors import MemoryLimitError

LIMITED = """
import resource
from pathlib import Path
from aggopt.core.memory import find_available_memory
pages = int(Path("/proc/self/statm").read_text().split()[0])
limit = pages * resource.getpagesize() + 2**29
resource.setrlimit(resource.RLIMIT_AS, (limit, resource.RLIM_INFINITY))
print(find_available_memory())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="to enable: run it on Linux")
def test_a_limit_on_the_addresses_of_a_process_counts(forked):
    assert find_available_memory() > 0
    ended = forked(LIMITED)
    assert ended.stderr == ""
    assert 0 < int(ended.stdout) <= 2**29


def test_a_library_may_raise_an_error_of_its_own_for_lack_of_memory():
    own = RuntimeError("Ms Secret")
    assert not is_lack_of_memory(own)
    own.__cause__ = MemoryError()
    assert is_lack_of_memory(own)


def test_more_than_is_left_is_refused_with_both_numbers(monkeypatch):
    monkeypatch.setattr("aggopt.core.memory.find_available_memory", lambda: 2**20)
    require_memory(2**20, "It")
    with refused(MemoryLimitError):
        require_memory(2**21, "It")


# --- what stays in this process


def test_copies_and_pickles_are_empty_and_equal() -> None:
    held = NotPickled([1.5])
    for other in (pickle.loads(pickle.dumps(held)), copy.copy(held)):
        assert other.value is None
        assert other == held
        assert hash(other) == hash(held)
    assert held != [1.5]
    assert held.value == [1.5]
    assert "1.5" not in repr(held)
