"""The two files for the owner: what stands in them, letter by letter."""

from types import SimpleNamespace

import numpy as np
import pytest

from aggopt.release.files.write_table import write_json, write_key

GROUPS = [[0, 0, 1], [1, 0, 1], [0, 1, 1]]
PLACE, RISK = np.array([2, 0, 1]), np.array([0.5, 0.5, 1.0])


@pytest.mark.parametrize(
    ("blocks", "header", "line"),
    [
        (1, '"group","released_record","risk"', "0,2,0.5"),
        (2, '"group_1","group_2","released_record","risk"', "0,1,2,0.5"),
        (3, '"group_1","group_2","group_3","released_record","risk"', "0,1,0,2,0.5"),
    ],
)
def test_a_key_has_the_groups_of_each_block(tmp_path, blocks, header, line) -> None:
    each = [SimpleNamespace(labels=np.array(of)) for of in GROUPS[:blocks]]
    write_key(tmp_path / "key.csv", each, PLACE, RISK)
    lines = (tmp_path / "key.csv").read_text().splitlines()
    assert lines[:2] == [header, line]
    assert len(lines) == 4


def test_a_key_has_nothing_of_a_record_that_was_left_out(tmp_path) -> None:
    kept = np.array([True, False, True, True])
    each = [SimpleNamespace(labels=np.array(GROUPS[0]))]
    write_key(tmp_path / "key.csv", each, PLACE, RISK, is_kept=kept)
    lines = (tmp_path / "key.csv").read_text().splitlines()
    assert lines[1:] == ["0,2,0.5", ",,", "0,0,0.5", "1,1,1"]


def test_a_manifest_is_json_that_a_person_can_read(tmp_path) -> None:
    write_json(tmp_path / "m.json", {"name": "Aß", "parts": [1, None]})
    text = (tmp_path / "m.json").read_bytes()
    lines = (b"{", rb'  "name": "A\u00df",', b'  "parts": [', b"    1,", b"    null")
    assert text == b"\n".join([*lines, b"  ]", b"}", b""])


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_what_is_no_number_in_json_is_null_there(tmp_path, number) -> None:
    write_json(tmp_path / "m.json", {"il": number})
    assert (tmp_path / "m.json").read_text() == '{\n  "il": null\n}\n'
