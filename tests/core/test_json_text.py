"""Small things of the core: JSON, paths, plurals, randomness."""

import io
import json
import os
import subprocess
import sys
from contextlib import redirect_stdout
from dataclasses import replace
from math import inf, nan

import numpy as np
import pytest

from aggopt import measure
from aggopt.command import console
from aggopt.core.parallel import NAME, exclude_working_directory
from aggopt.core.plural import plural
from aggopt.core.randomness import (
    derive_secret,
    draw_permutation,
    draw_uniforms,
    make_secret,
)
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


# --- processes that are begun find no file of the working directory


def test_the_environment_is_as_before_afterwards(monkeypatch):
    for before in (None, "", "yes"):
        monkeypatch.delenv(NAME, raising=False)
        if before is not None:
            monkeypatch.setenv(NAME, before)
        with exclude_working_directory():
            assert os.environ[NAME] == "1"
        assert os.environ.get(NAME) == before


def test_a_file_beside_the_data_is_not_imported(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(NAME, raising=False)
    (tmp_path / "colorsys.py").write_text("raise SystemExit(7)")
    words = [sys.executable, "-S", "-c", "import colorsys"]
    assert subprocess.run(words, check=False).returncode == 7
    with exclude_working_directory():
        assert subprocess.run(words, check=False).returncode == 0


# --- one is said as one


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


# --- what comes from the secret of a release: uniform, repeatable, one for a purpose


def test_secrets_differ_and_have_128_bits() -> None:
    assert len({make_secret() for _ in range(100)}) == 100
    assert len(bytes.fromhex(make_secret())) == 16
    assert derive_secret(3) == derive_secret(3) != derive_secret(4)
    assert derive_secret(None) != derive_secret(None)


def test_numbers_are_uniform_and_each_purpose_has_its_own() -> None:
    u, v = draw_uniforms("s", "one", 20_000), draw_uniforms("s", "two", 20_000)
    for numbers in (u, v):
        counts = np.histogram(numbers, bins=10, range=(0, 1))[0]
        assert ((counts - 2000) ** 2 / 2000).sum() < 27.9  # chi square, 0.1 %
    assert abs(np.corrcoef(u, v)[0, 1]) < 0.03
    assert (u == draw_uniforms("s", "one", 20_000)).all()
    assert (u[:5] == draw_uniforms("s", "one", 5)).all()


@pytest.mark.parametrize("n", [1, 2, 1000])
def test_an_order_has_every_place_once(n) -> None:
    assert sorted(draw_permutation("s", "order", n)) == list(range(n))


def test_orders_of_three_are_equally_frequent() -> None:
    orders = [tuple(draw_permutation(str(i), "order", 3)) for i in range(6000)]
    counts = np.unique(orders, axis=0, return_counts=True)[1]
    assert len(counts) == 6
    assert ((counts - 1000) ** 2 / 1000).sum() < 20.5  # chi square, 0.1 %
