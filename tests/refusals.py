"""What is refused, in full: the problem and what to do."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from aggopt.errors import AggoptError


@contextmanager
def refused(
    problem: str, fix: str, kind: type[AggoptError] = AggoptError
) -> Iterator[None]:
    """Expect an error that says just this."""
    with pytest.raises(kind) as error:
        yield
    assert (error.value.problem, error.value.fix) == (problem, fix)
