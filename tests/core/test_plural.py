"""One is said as one."""

import pytest

from aggopt import measure
from aggopt.core.plural import plural


@pytest.mark.parametrize(
    ("count", "said"), [(0, "0 records"), (1, "1 record"), (2, "2 records")]
)
def test_a_count_goes_with_its_word(count, said) -> None:
    assert plural(count, "record") == said


def test_a_word_may_have_a_plural_of_its_own() -> None:
    assert [plural(n, "entry", "entries") for n in (1, 2)] == ["1 entry", "2 entries"]


def test_one_group_is_said_as_one() -> None:
    found = measure.assess([[1.0], [2.0]], [[1.5], [1.5]])
    assert "1 group / records" in str(found)
