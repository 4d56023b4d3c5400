"""Sections that name code of the user's say how it is loaded."""

import pytest

from aggopt.core.own_section import Coded


def test_a_section_that_does_not_say_how_its_code_is_loaded_is_not_made():
    class Half(Coded):
        @property
        def own_methods(self):
            return ()

    with pytest.raises(TypeError, match=r"abstract method '?contained"):
        Half()
