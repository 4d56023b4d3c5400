"""What stands in a written file is what was promised, and can be assessed again."""

from decimal import Decimal

import polars as pl
import pytest
from tables import promising, salaried

import aggopt
from aggopt.pipeline.review.review_release import assess_release

COMMA = {"separator": ";", "decimal": ","}


def test_decimal_numbers_get_the_decimal_comma(tmp_path) -> None:
    prices = [Decimal(i % 7) / 4 for i in range(60)]
    frame = salaried().assign(salary=prices)
    job = promising(t=0.3, repair="merge", input=COMMA)
    path = aggopt.mask(frame, job).write(tmp_path / "masked.csv").table
    text = path.read_text()
    assert ";1,50;" in text or ";1,50\n" in text
    assert ";1.5" not in text


def test_truth_values_that_are_rounded_can_be_assessed(tmp_path) -> None:
    frame = salaried().assign(age=[True, False] * 30)
    frame.to_parquet(tmp_path / "people.parquet")
    job = promising(t=0.3, repair="merge", output={"round_integers": True})
    release = aggopt.mask(tmp_path / "people.parquet", job)
    files = release.write(tmp_path / "masked.csv")
    assert (
        assess_release(tmp_path / "people.parquet", files.table, job).audit
        == release.audit
    )


def test_times_a_nanosecond_apart_are_apart_in_memory_and_in_the_file(tmp_path) -> None:
    stamps = pl.Series("salary", [i % 4 for i in range(60)]).cast(pl.Datetime("ns"))
    frame = pl.from_pandas(salaried()).with_columns(stamps)
    asked = {"t": 0.3, "distance": "equal", "l": 2, "repair": "merge"}
    release = aggopt.mask(frame, promising(**asked))
    assert release.audit.groups > 1
    release.write(tmp_path / "masked.csv")


@pytest.mark.parametrize("text", ["-", "unknown", "inf"])
def test_text_that_may_stand_for_missing_is_noted_again(tmp_path, text) -> None:
    frame = salaried().replace({"illness": {"none": text}})
    frame.to_csv(tmp_path / "people.csv", index=False)
    asked = promising("illness", l=2, repair="merge")
    release = aggopt.mask(tmp_path / "people.csv", asked)
    note = next(n for n in release.notes if "often stands for what is missing" in n)
    files = release.write(tmp_path / "masked.csv")
    assert (
        note in assess_release(tmp_path / "people.csv", files.table, asked).audit.notes
    )


def test_a_constant_attribute_is_said_to_hold_trivially(tmp_path) -> None:
    frame = salaried().assign(salary=7)
    frame.to_csv(tmp_path / "people.csv", index=False)
    asked = promising(t=0.1, repair="merge")
    files = aggopt.mask(tmp_path / "people.csv", asked).write(tmp_path / "masked.csv")
    found = assess_release(tmp_path / "people.csv", files.table, asked).audit
    assert "t (ordered) <= 0.1 holds trivially for 'salary'" in found.verdict
    assert found.to_dict()["promises"][0]["trivial"] is True
