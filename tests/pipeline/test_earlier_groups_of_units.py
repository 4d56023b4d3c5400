"""Earlier groups where k counts units, and where records have sampling weights."""

import numpy as np
import pandas as pd
import pytest
from households import OF_RECORDS, OF_UNITS, members, of
from refusals import refused
from surveys import QUASI, heavy, largest_share, masked, sample

import aggopt
from aggopt.errors import TableError


def same(one, other):
    """Whether two labellings are of the same groups."""
    pairs = set(zip(one, other, strict=True))
    return len(pairs) == len(set(one)) == len(set(other))


def released(folder, frame, job):
    frame.to_csv(folder / "first.csv", index=False)
    aggopt.mask(folder / "first.csv", job).write(folder / "made.csv")
    path = folder / "made.private.csv"
    return {"keep_groups": str(path)}, pd.read_csv(path)["group"].to_numpy()


@pytest.fixture
def of_units(tmp_path):
    return released(tmp_path, members(), of(OF_UNITS))


def test_units_keep_the_group_that_their_records_had(of_units):
    kept, groups = of_units
    later = members().assign(income=lambda table: 1.5 * table["income"])
    made = aggopt.mask(later, of(OF_UNITS, partition=kept))
    assert same(made.labels, groups)
    assert made.audit.smallest >= 3
    assert made.table.groupby(members()["household"])["income"].nunique().max() == 1


def test_units_that_are_new_join_the_nearest_group(of_units, tmp_path):
    kept, groups = of_units
    more = {"earlier": str(tmp_path / "first.csv"), "person": "id"}
    frame = members().assign(id=np.arange(len(members())))
    frame.to_csv(tmp_path / "first.csv", index=False)
    (tmp_path / "made.manifest.json").write_text('{"job": {"privacy": {"k": 3}}}')
    wave = pd.concat([frame, frame.assign(id=-1 - frame["id"]).head(4)])
    wave = wave.assign(household=[*frame["household"], 900, 900, 901, 902])
    wave.loc[wave["household"] >= 900, OF_UNITS] = [2e4, 4]
    job = of(OF_UNITS, partition={**kept, **more})
    roles = job.roles.model_copy(update={"identifier": ("id",)})
    made = aggopt.mask(wave, job.model_copy(update={"roles": roles}))
    assert same(made.labels[: len(frame)], groups)
    assert len(set(made.labels)) == len(set(groups))


def test_records_of_units_stay_together_and_have_k_units(tmp_path):
    kept, groups = released(tmp_path, members(), of(OF_RECORDS))
    made = aggopt.mask(members(), of(OF_RECORDS, partition=kept))
    assert same(made.labels, groups)
    strict = aggopt.mask(members(), of(OF_RECORDS, k=6, partition=kept))
    behind = members()["household"].groupby(strict.labels).nunique()
    assert behind.min() == strict.audit.smallest >= 6
    pairs = set(zip(groups, strict.labels, strict=True))
    assert len(pairs) == len(set(groups))  # merged, and none is parted
    said = [note for note in strict.notes if note.startswith("k counts units")]
    assert said == [
        "k counts units: groups are merged until each has records of k units, by "
        'repair = "merge".'
    ]


def test_a_unit_whose_records_were_in_several_groups_is_refused(tmp_path):
    frame = members()
    parted, _ = released(tmp_path, frame, of(OF_RECORDS))
    labels = pd.read_csv(tmp_path / "made.private.csv")["group"]
    several = int((labels.groupby(frame["household"]).nunique() > 1).sum())
    with refused(TableError, "keep_groups") as error:
        aggopt.mask(frame, of(OF_UNITS, partition=parted))
    assert error.value.problem == (
        f"made.private.csv has records of {several} units of 24 in several groups."
    )


def test_a_key_of_units_that_are_others_is_counted_in_records(of_units):
    kept, groups = of_units
    with pytest.raises(TableError, match=f"is of {len(groups)} records, and the table"):
        aggopt.mask(members().head(20), of(OF_UNITS, partition=kept))


# --- sampling weights


def test_earlier_groups_publish_weighted_means(tmp_path):
    frame = heavy()
    frame.to_csv(tmp_path / "first.csv", index=False)
    masked(tmp_path / "first.csv", weights={"dominance": 1.0}).write(
        tmp_path / "made.csv"
    )
    groups = pd.read_csv(tmp_path / "made.private.csv")["group"].to_numpy()
    kept = {"keep_groups": str(tmp_path / "made.private.csv")}
    free = masked(frame, partition=kept, weights={"dominance": 1.0})
    assert same(free.labels, groups)
    w = frame["w"].to_numpy()
    for group in set(free.labels):
        rows = free.labels == group
        mean = np.average(frame["income"][rows], weights=w[rows])
        assert free.table["income"][rows].to_numpy() == pytest.approx(mean)
    bound = masked(frame, partition=kept)
    assert largest_share(bound.labels, w) <= 0.6 < largest_share(groups, w)
    pairs = set(zip(groups, bound.labels, strict=True))
    assert len(pairs) == len(set(groups))


def test_weights_of_persons_whose_households_are_counted():
    hid = np.repeat(np.arange(16), 3)
    frame = sample(hid=hid, w=np.where(np.arange(48) % 6 == 0, 20.0, 1.0))
    roles = {"quasi-identifier": QUASI, "unit": ["hid"], "weight": "w"}
    made = masked(frame, roles={**roles, "other": ["note"]})
    w = frame["w"].to_numpy()
    assert largest_share(made.labels, w) <= 0.6
    assert pd.Series(hid).groupby(made.labels).nunique().min() >= 3
    for group in set(made.labels):
        rows = made.labels == group
        mean = np.average(frame["age"][rows], weights=w[rows])
        assert made.table["age"][rows].to_numpy() == pytest.approx(mean)
    assert [each.promise for each in made.audit.promises] == ["dominance"]
