"""Levels and codebooks of columns."""

import json

import pyarrow as pa
import pytest
from refusals import refused
from tables import promising, salaried

import aggopt
from aggopt.data.readers.codebook import (
    Codebook,
    attach_codebooks,
    read_codebook,
    read_codebooks,
    select_published_books,
    spell_code,
)
from aggopt.errors import InfeasibleInputError, JobError

TIED = [0] * 52 + [1, 1, 2, 2, 3, 3, 4, 4]


def asked(levels, **how):
    ways = {"salary": {"levels": levels}}
    return promising(repair="merge", confidential=ways, **how)


@pytest.mark.parametrize(
    ("levels", "how"),
    [
        (4, {"l": 3}),
        ([100.0], {"l": 2}),
        (4, {"l": 2, "diversity": "entropy"}),
        (4, {"l": 2, "diversity": "recursive", "c": 0.5}),
    ],
)
def test_a_refused_l_names_the_levels(levels, how) -> None:
    with refused(InfeasibleInputError, "'salary'"):
        aggopt.mask(salaried().assign(salary=TIED), asked(levels, **how))


def test_a_kept_l_names_the_levels() -> None:
    found = aggopt.mask(salaried().assign(salary=TIED), asked([2, 3], l=2)).audit
    assert [kept.promise for kept in found.promises] == [
        "distinct l of 3 levels of 5 values"
    ]


@pytest.mark.parametrize("levels", [[], ()])
def test_levels_that_end_nowhere_are_refused(levels) -> None:
    with refused(JobError, "levels is empty"):
        asked(levels, l=2)


@pytest.mark.parametrize("levels", [0, 1])
def test_fewer_than_two_levels_are_refused(levels) -> None:
    with pytest.raises(JobError, match=f"levels = {levels} leaves only one level"):
        aggopt.mask(salaried(), asked(levels, l=2))


# --- what a statistical file says of a column: codes, texts, and what is missing


BOOK = Codebook(
    "Region",
    ((1.0, "North"), (2.0, "South")),
    ordered=True,
    missing=((-9.0, -1.0), (99.0, 99.0)),
    labelled=3,
    plain=4,
)
TEXT = Codebook("", (("F", "female"),), missing=(("X", "X"),))


def test_texts_and_codes_turn_into_each_other() -> None:
    assert BOOK.label_codes([2.0, None, 3.0, 0.5, -9.0]) == [
        "South",
        None,
        "3",
        "0.5",
        "-9",
    ]
    assert BOOK.encode_texts(["South", None, "3", "0.5", "-9"]) == [
        2.0,
        None,
        3.0,
        0.5,
        -9.0,
    ]
    for strange in ("East", "3.0", "nan", "inf", "", "01"):
        assert BOOK.encode_texts(["South", strange]) is None


def test_codes_that_are_text_stand_for_themselves() -> None:
    assert TEXT.label_codes(["F", "M", None]) == ["female", "M", None]
    assert TEXT.encode_texts(["female", "M", None]) == ["F", "M", None]
    assert Codebook("", (), missing=(("F", "F"),)).encode_texts(["F", "M"]) == [
        "F",
        "M",
    ]


def test_codes_are_missing_within_the_ranges() -> None:
    codes = [-9.5, -9.0, -4.0, -1.0, -0.5, 98.0, 99.0, None]
    found = [BOOK.is_missing_code(code) for code in codes]
    assert found == [False, True, True, True, False, False, True, False]
    assert [TEXT.is_missing_code(code) for code in ("X", "Y")] == [True, False]


@pytest.mark.parametrize(("code", "text"), [(3.0, "3"), (-2, "-2"), ("07", "07")])
def test_codes_are_spelled_as_numbers_are(code, text) -> None:
    assert spell_code(code) == text


def test_a_table_carries_it_in_its_fields() -> None:
    table = attach_codebooks(pa.table({"r": [1], "s": ["F"]}), {"r": BOOK, "s": TEXT})
    assert read_codebooks(table) == {"r": BOOK, "s": TEXT}
    assert read_codebook(table.schema.field("r")) == BOOK
    assert read_codebooks(pa.table({"r": [1]})) == {"r": Codebook()}
    assert read_codebooks({"r": [1]}) == {}


def test_of_masked_numbers_only_the_label_is_published() -> None:
    books = {"r": BOOK, "s": TEXT, "gone": BOOK}
    found = select_published_books(books, ["s", "r", "new"], ["r"])
    assert found == {"r": Codebook("Region"), "s": TEXT}
    assert list(found) == ["s", "r"]
    assert json.dumps(found["r"].texts) == "[]"
