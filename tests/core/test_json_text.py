"""JSON that is written is JSON, whatever was found."""

import io
import json
from contextlib import redirect_stdout
from dataclasses import replace
from math import inf, nan

import numpy as np
import pytest

from aggopt import measure
from aggopt.command import console
from aggopt.core.text_formats import format_json
from aggopt.release.files.write_table import write_json
from aggopt.release.manifest import read_manifest_or_none

FOUND = {"a": nan, "b": {"c": [1.5, -inf, (inf, 2)]}, "d": None, "e": True, "f": "NaN"}
READ = {"a": None, "b": {"c": [1.5, None, [None, 2]]}, "d": None, "e": True, "f": "NaN"}


def strictly(text: str):
    def refused(constant: str):
        raise ValueError(constant)

    return json.loads(text, parse_constant=refused)


def test_null_stands_for_what_is_not_finite():
    assert strictly(format_json(FOUND)) == READ
    assert strictly(format_json({"a": np.float64("nan")})) == {"a": None}


def test_so_it_is_on_the_console_and_in_a_manifest(tmp_path):
    with redirect_stdout(io.StringIO()) as printed:
        console.print_json(FOUND)
    assert strictly(printed.getvalue()) == READ
    write_json(tmp_path / "manifest.json", FOUND)
    assert strictly((tmp_path / "manifest.json").read_text()) == READ
    assert read_manifest_or_none(tmp_path / "manifest.json", "b", "c") == [
        1.5,
        None,
        [None, 2],
    ]


@pytest.mark.parametrize("found", [nan, inf, -inf])
def test_so_it_is_of_an_assessment(found):
    of = measure.assess([[0.0], [2.0], [4.0]], [[1.0], [1.0], [4.0]])
    wide = replace(of, il=found, further=(("farthest", found),))
    read = strictly(wide.to_json())
    assert (read["il"], read["farthest"]) == (None, None)
    assert {k: v for k, v in read.items() if k not in ("il", "farthest")} == {
        k: v for k, v in strictly(of.to_json()).items() if k != "il"
    }
