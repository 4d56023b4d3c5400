"""The checkout holds what the packaging relies on."""

import os
from pathlib import Path

import pytest

import aggopt

PACKAGE = Path(aggopt.__file__).parent
ROOT = PACKAGE.parent

in_a_checkout = pytest.mark.skipif(
    not (ROOT / ".git").exists(), reason="not a checkout: run it in a git clone"
)


@in_a_checkout
def test_models_are_the_same_folder() -> None:
    assert (PACKAGE / "models").resolve() == (ROOT / "models").resolve(), (
        "aggopt/models must be a link to ../models. To fix: "
        "git config core.symlinks true && git checkout -- aggopt/models"
    )


@in_a_checkout
def test_the_link_to_models_holds_in_any_folder() -> None:
    assert os.readlink(PACKAGE / "models") == "../models", (
        "aggopt/models must be a relative link. To fix: ln -sfn ../models aggopt/models"
    )


def test_type_checkers_are_told_that_the_package_is_typed() -> None:
    assert (PACKAGE / "py.typed").is_file()
