"""The risks that a job asks for: totals of both tables, figures of each record."""

import json

import numpy as np
import pandas as pd
import pytest
from refusals import refused
from tables import people

import aggopt
from aggopt.data.table import Table
from aggopt.errors import AggoptError, TableError
from aggopt.measure import risk
from aggopt.pipeline.review.review_release import assess_release
from aggopt.release.audit.risks import (
    RiskMeasures,
    _Both,
    _measure_dominance,
    _measure_guesses,
    _measure_suda,
    read_plain_column,
)

ROLES = {
    "identifier": ["name", "w", "street"],
    "quasi-identifier": ["age", "income"],
    "confidential": ["illness", "cost"],
    "other": ["note"],
}
ASKED = {"weight": "w", "unit": ["street"], "target": ["illness", "cost"], "suda": 2}


def table():
    frame = people(24).assign(
        w=np.linspace(1, 9, 24), street=np.arange(24) // 3, cost=np.arange(24) % 5
    )
    frame["age"] = frame["age"] // 20
    frame["income"] = frame["income"] // 20000
    return frame


def asking(k=3, **risks):
    return aggopt.Job(
        roles=ROLES, privacy={"k": k}, partition={"method": "mdav"}, risk=risks
    )


@pytest.fixture(scope="module")
def release():
    return aggopt.mask(table(), asking(**ASKED))


def test_totals_are_of_the_original_and_of_the_release(release) -> None:
    frame, found = table(), release.risks.totals
    keys = ["age", "income"]
    both = {"original": frame[keys], "released": release.table[keys]}
    assert found["population"] == frame["w"].sum() == 120
    for side, columns in both.items():
        own = risk.individual_risk(columns, frame["w"])
        assert found["individual"][side] == {
            "largest": own.max(),
            "expected": pytest.approx(own.sum()),
        }
        units = pd.Series(risk.household_risk(own, frame["street"]))
        of_units = units.groupby(frame["street"]).first()
        assert found["household"][side] == {
            "largest": of_units.max(),
            "expected": pytest.approx(of_units.sum()),
        }
        special = risk.suda(columns, size=2)
        assert found["suda"][side] == {
            "records": special.special,
            "largest": special.largest,
            "total": special.total,
        }
        assert found["dis"][side] == risk.dis(columns, 24 / 120)
        sizes = columns.groupby(keys).size()
        counts = {"unique": (sizes == 1).sum(), "paired": 2 * (sizes == 2).sum()}
        assert found["dis_counts"][side] == counts
    assert found["household"]["units"] == 8
    assert found["suda"]["attributes"] == 2
    assert found["suda"]["original"]["records"] > found["suda"]["released"]["records"]
    assert found["dis"]["original"] > 0


def test_attribution_and_dominance_are_of_the_release(release) -> None:
    frame, found = table(), release.risks.totals
    published = release.table[["age", "income"]]
    for name in ("illness", "cost"):
        one = risk.attribution(published, frame[name])
        assert found["attribution"][name] == {
            "share": pytest.approx(one.share),
            "chance": pytest.approx(one.chance),
            "undefined": 0,
        }
    heaviest = risk.dominance(published, frame["w"])
    assert found["dominance"] == {
        "above": 0.7,
        "groups": int((heaviest > 0.7).sum()),
        "largest": pytest.approx(heaviest.max()),
    }


def of_groups(groups, **asked):
    """Stand for two tables of one column whose groups are these."""
    frame = pd.DataFrame({"a": [float(g) for g in groups], "t": list("uuuuvv")})
    job = aggopt.Job(
        roles={"quasi-identifier": ["a"], "other": ["t"]}, privacy={"k": 2, **asked}
    )
    table = Table.of(frame, job.roles)
    return _Both.of(table, table, job)


def test_a_share_above_what_is_asked_is_dominance() -> None:
    tables = of_groups([0, 0, 1, 1, 2, 2], dominance=0.75)
    totals, shares = _measure_dominance(
        tables, np.array([1.0, 3.0, 1.0, 4.0, 2.0, 2.0])
    )
    assert totals == {"above": 0.75, "groups": 1, "largest": 0.8}
    assert shares.tolist() == [0.25, 0.75, 0.2, 0.8, 0.5, 0.5]


def test_what_is_guessed_and_special_is_said_by_name() -> None:
    tables = of_groups([0, 0, 0, 1, 1, 2])
    found = _measure_guesses(tables, "t")
    assert found == {"share": 0.6, "chance": 0.8, "undefined": 1}
    two = _measure_suda(tables, 1)
    of = {"records": 1, "largest": 1, "total": 1}
    assert two[0] == {"attributes": 1, "original": of, "released": of}
    assert two[1].tolist() == [0, 0, 0, 0, 0, 1]


@pytest.mark.parametrize(("size", "special"), [(1, 1), (2, 3)])
def test_sets_of_so_many_attributes_are_looked_at(size, special) -> None:
    frame = pd.DataFrame({"a": [0.0, 0, 1, 1, 1, 2], "b": [0.0, 1, 0, 0, 0, 1]})
    asked = aggopt.Job(roles={"quasi-identifier": ["a", "b"]}, privacy={"k": 2})
    table = Table.of(frame, asked.roles)
    totals, _ = _measure_suda(_Both.of(table, table, asked), size)
    assert totals["attributes"] == size
    assert totals["original"]["records"] == totals["released"]["records"] == special


def test_one_record_may_hold_most_of_the_weight_of_a_group() -> None:
    frame = table().assign(w=[1.0] * 23 + [100.0])
    found = aggopt.mask(frame, asking(weight="w")).risks.totals["dominance"]
    assert found["groups"] == 1
    assert found["largest"] > 0.9


def test_each_record_has_its_figures_in_the_private_key(release, tmp_path) -> None:
    files = release.write(tmp_path / "masked.csv")
    key, frame = pd.read_csv(files.private), table()
    published = release.table[["age", "income"]]
    own = risk.individual_risk(published, frame["w"])
    assert key["individual_risk"].to_numpy() == pytest.approx(own)
    assert key["household_risk"].to_numpy() == pytest.approx(
        risk.household_risk(own, frame["street"])
    )
    special = risk.suda(frame[["age", "income"]], size=2).scores
    assert key["suda"].tolist() == special.tolist()
    groups = published.groupby(["age", "income"]).ngroup()
    share = frame["w"] / frame["w"].groupby(groups).transform("sum")
    assert key["weight_share"].to_numpy() == pytest.approx(share.to_numpy())
    assert json.loads(files.manifest.read_text())["risk"] == release.risks.totals
    assert list(release.manifest())[-1] == "risk"


def test_a_second_look_finds_the_same(release, tmp_path) -> None:
    table().to_csv(tmp_path / "people.csv", index=False)
    job = asking(**ASKED)
    aggopt.mask(tmp_path / "people.csv", job).write(tmp_path / "masked.csv")
    found = assess_release(tmp_path / "people.csv", tmp_path / "masked.csv", job)
    assert found.risks.totals == release.risks.totals
    assert found.to_dict()["risk"] == release.risks.totals
    plain = assess_release(tmp_path / "people.csv", tmp_path / "masked.csv", asking())
    assert plain.risks is None
    assert "risk" not in plain.to_dict()


def test_a_job_that_asks_for_nothing_has_no_risks(tmp_path) -> None:
    release = aggopt.mask(table(), asking())
    assert release.risks is None
    assert "risk" not in release.manifest()
    assert "risk" not in release.manifest()["job"]
    key = pd.read_csv(release.write(tmp_path / "masked.csv").private)
    assert list(key) == ["group", "released_record", "risk"]


def test_without_weights_the_sample_is_the_population() -> None:
    found = aggopt.mask(table(), asking(unit=["street"]))
    assert set(found.risks.totals) == {"population", "individual", "household"}
    assert found.risks.totals["population"] == 24
    assert set(found.risks.records) == {"individual_risk", "household_risk"}
    sizes = found.table.groupby(["age", "income"])["age"].transform("size")
    assert found.risks.records["individual_risk"] == pytest.approx(1 / sizes)
    light = aggopt.mask(table().assign(w=0.1), asking(weight="w")).risks.totals
    assert light["dis"] == {"original": 1.0, "released": 0.0}


def test_each_risk_is_asked_for_by_itself() -> None:
    special = aggopt.mask(table(), asking(suda=1)).risks
    assert set(special.totals) == {"population", "individual", "suda"}
    given = aggopt.mask(table(), asking(target=["illness"])).risks
    assert set(given.totals) == {"population", "individual", "attribution"}
    assert list(given.totals["attribution"]) == ["illness"]


def test_what_is_no_number_everywhere_is_guessed_as_names() -> None:
    frame = table()
    dated = frame.assign(
        cost=pd.to_datetime("2020-01-01") + pd.to_timedelta(frame["cost"], "D")
    )
    whole = aggopt.mask(
        frame.assign(cost=frame["cost"].astype(str) + " kg"), asking(target=["cost"])
    )
    assert aggopt.mask(dated, asking(target=["cost"])).risks == whole.risks
    truth = aggopt.mask(frame.assign(cost=frame["cost"] > 2), asking(target=["cost"]))
    text = frame.assign(cost=np.where(frame["cost"] > 2, "yes", "no"))
    assert truth.risks == aggopt.mask(text, asking(target=["cost"])).risks
    holed = frame.assign(cost=frame["cost"].where(frame["cost"] > 0))
    one = aggopt.mask(holed, asking(target=["cost"]))
    keys = one.table[["age", "income"]]
    expected = risk.attribution(keys, holed["cost"])
    assert (
        one.risks.totals["attribution"]["cost"]["undefined"] == expected.undefined > 0
    )


def test_decimal_commas_are_numbers_of_the_job(tmp_path) -> None:
    frame = table().drop(columns="name")
    frame.to_csv(tmp_path / "people.csv", index=False, sep=";", decimal=",")
    roles = {**ROLES, "identifier": ["w", "street"]}
    job = aggopt.Job(
        roles=roles,
        privacy={"k": 3},
        input={"separator": ";", "decimal": ","},
        risk={"weight": "w"},
    )
    assert aggopt.mask(tmp_path / "people.csv", job).risks.totals["population"] == (
        pytest.approx(120)
    )


def test_a_column_that_no_file_can_hold_is_named() -> None:
    frame = pd.DataFrame({"a": [1.0, 2.0], "t": [{"x"}, "y"]})
    asked = aggopt.Job(
        roles={"quasi-identifier": ["a"], "other": ["t"]}, privacy={"k": 2}
    )
    with refused(TableError):
        read_plain_column(Table.of(frame, asked.roles), "t", asked)


def test_risks_show_no_record() -> None:
    shown = repr(RiskMeasures({"population": 3.0}, {"suda": np.array([123])}))
    assert shown == "RiskMeasures(totals={'population': 3.0})"


def test_strata_count_in_the_combination() -> None:
    roles = {**ROLES, "stratum": ["note"], "other": []}
    frame = table().assign(note=["north", "south"] * 12)
    job = aggopt.Job(
        roles=roles,
        privacy={"k": 3},
        partition={"method": "mdav"},
        risk={"unit": ["note"], "suda": 3},
    )
    release = aggopt.mask(frame, job)
    found = release.risks.totals
    keys = frame[["age", "income", "note"]]
    assert found["suda"]["original"]["total"] == risk.suda(keys, size=3).total
    own = risk.individual_risk(release.table[list(keys)])
    assert found["individual"]["released"]["largest"] == own.max()
    assert found["household"]["units"] == 2


REFUSED = {
    "text as weight": (
        {"w": ["a"] * 24},
        {"weight": "w"},
        "Column 'w': 24 of 24 weights are no numbers.",
        "name another column as weight, or remove those records.",
    ),
    "a weight of zero": (
        {"w": [0.0] + [1.0] * 23},
        {"weight": "w"},
        "Column 'w': 1 weight of 24 is 0 or below.",
        "remove records that represent nobody, or correct their weights.",
    ),
    "a missing weight": (
        {"w": [np.nan] + [1.0] * 23},
        {"weight": "w"},
        "Column 'w': weights has missing or infinite entries (1).",
        "remove those records or fill the entries before masking.",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_weights_are_refused_before_any_work(case, monkeypatch) -> None:
    columns, asked, problem, fix = REFUSED[case]
    monkeypatch.setattr(
        "aggopt.pipeline.partition.partition_table.partition_blocks", None
    )
    with pytest.raises(AggoptError) as error:
        aggopt.mask(table().assign(**columns), asking(**asked))
    assert (error.value.problem, error.value.fix) == (problem, fix)


def test_too_many_sets_of_attributes_are_refused_before_any_work(monkeypatch) -> None:
    monkeypatch.setattr(
        "aggopt.pipeline.partition.partition_table.partition_blocks", None
    )
    monkeypatch.setattr("aggopt.measure.risk.sample_uniques.MOST", 2)
    with refused(AggoptError):
        aggopt.mask(table(), asking(suda=2))


SAID = {
    "a quasi-identifier as weight": ({"weight": "age"}, "not masked is called 'age'"),
    "no column as unit": ({"unit": ["town"]}, "not masked is called 'town'"),
    "an identifier as target": (
        {"target": ["name"]},
        "published unchanged is called 'name'",
    ),
    "one column twice": (
        {"weight": "w", "unit": ["w"]},
        "names 'w' as weight and as unit",
    ),
    "a name in place of a list": ({"unit": "street"}, "write a list of names"),
    "no attribute": ({"suda": 0}, "risk.suda is 0: write a number of at least 1"),
}


@pytest.mark.parametrize("case", SAID)
def test_a_section_of_risk_is_refused_in_words(case) -> None:
    asked, says = SAID[case]
    with pytest.raises(AggoptError, match=says):
        asking(**asked)
