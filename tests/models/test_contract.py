"""Every model obeys the laws of `aggopt.checks`: a new one is found by its file."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from refusals import refused

from aggopt import models
from aggopt.checks import parametrize_with_checks
from aggopt.errors import TableError
from aggopt.models import MODELS

FILES = {
    path.stem
    for path in Path(next(iter(models.__path__))).glob("*.py")
    if not path.stem.startswith("_")
}


@parametrize_with_checks(*MODELS.values())
def test_laws(check):
    check()


def test_every_file_declares_the_model_of_its_name():
    assert set(MODELS) == FILES
    assert {m.data.__module__.rpartition(".")[2] for m in MODELS.values()} == FILES
    assert not any(model.when.endswith(".") for model in MODELS.values())


def test_the_largest_violation_is_the_worst_and_never_below_0():
    model = replace(MODELS["p3m"], violations=lambda data, at: at)
    assert model.violation(None, {"one": 0.5, "two": 2.0}) == 2.0
    assert model.violation(None, {"one": -1.0}) == 0.0
    assert model.violation(None, {}) == 0.0
    assert model.violation(None, {"one": 1.0, "two": np.nan}) == np.inf


@pytest.mark.parametrize(
    "name", ["p3m", "set_partition", "closeness_merge", "closeness_assign"]
)
def test_missing_values_are_refused_by_the_data_of_a_model(name):
    data = MODELS[name].example()
    holed = data.x.copy()
    holed.flat[0] = np.nan
    with refused(TableError):
        replace(data, x=holed)
