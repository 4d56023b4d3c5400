"""Attributes of units and of records in one job."""

import numpy as np
import pandas as pd
import pytest
from households import OF_RECORDS, OF_UNITS, members, of
from refusals import refused

import aggopt
from aggopt.command.collect_errors import find_obstacles, find_refusal
from aggopt.data.readers.read import read_as_text
from aggopt.errors import AggoptError
from aggopt.pipeline.review.review_release import assess_release

QUASI = ["age", "income", "height", "rooms"]  # of both kinds, mixed
BOTH = {"units": {"attributes": OF_UNITS}, "privacy": {"k": 3, "scope": "blocks"}}
HOUSEHOLD = "household"


def both(quasi=QUASI, **sections):
    return of(quasi, **{**BOTH, **sections})


@pytest.fixture(scope="module")
def release():
    return aggopt.mask(members(), both(), secret="0" * 32)


def test_each_kind_is_masked_as_in_a_job_of_its_own(release):
    frame = members()
    for names, place in ((OF_UNITS, 0), (OF_RECORDS, 1)):
        alone = aggopt.mask(frame, of(names))
        pd.testing.assert_frame_equal(release.table[names], alone.table[names])
        assert (release.blocks[place].labels == alone.blocks[0].labels).all()
        proof = alone.blocks[0].certificate
        assert release.blocks[place].certificate.bound == proof.bound
        assert release.blocks[place].columns == tuple(map(QUASI.index, names))
        for name in names:
            own = alone.certificates[name].objective
            assert release.certificates[name].objective == own
    assert list(release.certificates) == QUASI


def test_k_counts_units_in_each_kind(release, tmp_path):
    frame = members()
    units = release.table.assign(household=frame[HOUSEHOLD])
    counts = [units.groupby(names)[HOUSEHOLD].nunique() for names in OF_BOTH]
    assert release.audit.smallest == min(count.min() for count in counts) >= 3
    assert [count.what for count in release.audit.blocks] == ["unit", "unit"]
    assert HOUSEHOLD not in release.table
    files = release.write(tmp_path / "masked.csv")
    key = pd.read_csv(files.private)
    assert {"group_1", "group_2"} <= set(key.columns)
    frame.to_csv(tmp_path / "in.csv", index=False)
    again = assess_release(tmp_path / "in.csv", files.table, both())
    assert again.audit.holds
    assert again.audit.smallest == release.audit.smallest
    assert [each.attributes for each in again.audit.blocks] == [
        ("income", "rooms"),
        ("age", "height"),
    ]


OF_BOTH = (OF_UNITS, OF_RECORDS)


def test_margins_of_the_kinds_are_drawn_apart(release):
    how = {"method": "p3m", "delta": 0.3, "alpha": 0.9}
    frame = members()
    frame["age"], frame["height"] = frame["income"], frame["rooms"]
    one, two = (
        aggopt.mask(frame, both(aggregation=how), secret=secret * 32)
        for secret in ("a", "b")
    )
    assert not np.allclose(one.table["age"], two.table["age"], rtol=1e-9)
    again = aggopt.mask(frame, both(aggregation=how), secret="a" * 32)
    pd.testing.assert_frame_equal(again.table, one.table)
    assert "secret margin" in " ".join(one.notes)
    assert one.secret == "a" * 32


def test_categories_of_one_kind_alone_are_masked():
    for quasi, attributes in (
        (["region", "age"], ["region"]),
        (["income", "ill"], ["income"]),
    ):
        roles = {
            "quasi-identifier": quasi,
            "unit": [HOUSEHOLD],
            "other": [n for n in members(4) if n not in (*quasi, HOUSEHOLD)],
        }
        made = aggopt.mask(
            members(),
            of(quasi, roles=roles, **{**BOTH, "units": {"attributes": attributes}}),
        )
        assert made.audit.holds
        assert list(made.certificates) == quasi


def test_holes_of_one_kind_leave_the_other_as_it_is():
    frame = members()
    frame.loc[frame.index[:8], "age"] = np.nan
    made = aggopt.mask(frame, both(missing={"policy": "patterns"}))
    assert made.table[OF_UNITS].notna().all().all()
    assert made.table["age"].isna().sum() >= 8
    assert made.audit.holds


def test_a_release_of_both_is_repeated(release, tmp_path):
    frame = members()
    files = release.write(tmp_path / "masked.csv")
    again = aggopt.repeat(files.manifest, frame, tmp_path / "again.csv")
    assert again.table.read_bytes() == files.table.read_bytes()


def varying():
    frame = members()
    frame.loc[0, "income"] += 1
    frame.loc[frame[HOUSEHOLD] == frame.loc[0, HOUSEHOLD], "rooms"] = 3
    return frame


REFUSED = {
    "k of the combination": (
        lambda: (members(), both(privacy={"k": 3})),
        "[units] attributes names 2 of 4 quasi-identifiers: those of units and those "
        "of records are masked each by themselves. k = 3 then holds of each kind, and "
        "not for the combination of all of them, which the job promises.",
        'promise less, with scope = "blocks" under [privacy]; or name every '
        "quasi-identifier, if all are the same within a unit; or leave the section "
        "out: groups then hold records of k units.",
    ),
    "what is asked of single attributes": (
        lambda: (
            members(),
            both(
                aggregation={
                    "method": "p3m",
                    "delta": {"attributes": dict.fromkeys(QUASI, 0.1)},
                }
            ),
        ),
        "delta of the job is said of single attributes, and some of these are of "
        "units, others of records: each kind is masked by itself.",
        "say the same of all attributes; or mask those of one kind in a job of their "
        "own, and drop the others there.",
    ),
    "blocks of attributes, and a distance relative to each value": (
        lambda: (
            members(),
            both(
                partition={"method": "mdav", "attributes": [OF_UNITS, OF_RECORDS]},
                aggregation={"method": "p3m", "delta": {"relative": 0.1}},
            ),
        ),
        "delta and attributes of the job are said of single attributes, and some of "
        "these are of units, others of records: each kind is masked by itself.",
        "say the same of all attributes; or mask those of one kind in a job of their "
        "own, and drop the others there.",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_not_of_each_kind_is_refused(case):
    make, problem, fix = REFUSED[case]
    with pytest.raises(AggoptError) as error:
        aggopt.mask(*make())
    assert (error.value.problem, error.value.fix) == (problem, fix)


def test_what_varies_within_a_unit_is_refused_and_checked(tmp_path):
    with refused(AggoptError, "'income'") as error:
        aggopt.mask(varying(), both())
    assert "'age'" not in error.value.problem
    path = tmp_path / "in.csv"
    members().to_csv(path, index=False)
    assert find_refusal(path, read_as_text(path, both().input), both()) is None
    varying().to_csv(path, index=False)
    assert (
        find_refusal(path, read_as_text(path, both().input), both()).problem
        == error.value.problem
    )
    found = find_obstacles(path, read_as_text(path, both().input), both())
    assert error.value.problem in [each.problem for each in found]


def test_other_commands_refuse_such_a_job():
    with refused(AggoptError):
        aggopt.declare(members(), both(aggregation={"method": "p3m"}), "age")
