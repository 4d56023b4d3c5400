"""How the column of pseudonyms is made, and which records it is of."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pytest

from aggopt.data.table import Table
from aggopt.job.roles import Roles
from aggopt.pipeline.finish import pseudonyms
from aggopt.pipeline.finish.pseudonyms import add_pseudonyms

AGE = Roles(**{"quasi-identifier": ["age"]})
FRAME = pd.DataFrame({"age": [1.0, 2.0, 3.0]}, index=[5, 3, 1])


@pytest.mark.parametrize("frame", [FRAME, pl.DataFrame({"age": [1.0, 2.0, 3.0]})])
def test_units_are_numbered_in_an_order_of_the_secret(monkeypatch, frame) -> None:
    heard = []

    def turned(*of):
        heard.append(of)
        return np.array([2, 0, 1])

    monkeypatch.setattr(pseudonyms, "draw_permutation", turned)
    released = Roles(**{"quasi-identifier": ["age"], "unit": ["number"]})
    job = SimpleNamespace(pseudonym="number", released_roles=released)
    units = SimpleNamespace(of=np.array([1, 0, 1]), count=3)
    made = Table.of(frame, AGE)
    given = SimpleNamespace(job=job, units=units, secret="secret")
    found = add_pseudonyms(given, made)
    assert heard == [("secret", "pseudonyms of units", 3)]
    assert found.roles is released
    column = found.frame.to_native()["number"]
    assert column.to_list() == [1, 3, 1]
    assert str(column.dtype).lower() == "int64"
    if frame is FRAME:
        assert column.index.equals(FRAME.index)
    job.pseudonym = None
    assert add_pseudonyms(given, made) is made
    job.pseudonym, given.units = "number", None
    assert add_pseudonyms(given, made) is made
