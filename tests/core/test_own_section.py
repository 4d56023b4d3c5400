"""Sections that name code of the user's say how it is loaded."""

import pytest

from aggopt.core.plugins.section import PluginSection


def test_a_section_that_does_not_say_how_its_code_is_loaded_is_not_made():
    class Half(PluginSection):
        @property
        def own_methods(self):
            return ()

    with pytest.raises(TypeError, match=r"abstract method '?load_contents"):
        Half()
