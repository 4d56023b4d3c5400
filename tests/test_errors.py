"""Errors: three things each, and they survive a trip to another process."""

import pickle

import pytest

from aggopt.errors import AggoptError, PrivacyError, UnknownNameError


def test_the_fix_is_required():
    with pytest.raises(TypeError, match="fix"):
        AggoptError("It is broken.")  # type: ignore[call-arg]


def test_the_nearest_known_name_is_suggested():
    error = UnknownNameError("solver", "ipopd", ["ipopt", "uno"])
    assert "did you mean 'ipopt'?" in str(error)
    assert "The known names are ipopt, uno." in str(error)


@pytest.mark.parametrize(
    "error",
    [PrivacyError("It fails.", fix="mend it."), UnknownNameError("k", "a", ["b"])],
)
def test_pickling_keeps_kind_and_words(error):
    back = pickle.loads(pickle.dumps(error))
    assert type(back) is type(error)
    assert (back.problem, back.fix, str(back)) == (error.problem, error.fix, str(error))
