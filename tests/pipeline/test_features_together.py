"""What a release shows of features that meet: units, strata and missing values."""

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from households import OF_RECORDS, OF_UNITS, members, of
from refusals import refused
from tables import job as plain_job
from tables import people, put_partitioner

import aggopt
from aggopt.core.randomness import derive_seed
from aggopt.errors import AggoptError, InfeasibleInputError, JobError
from aggopt.experiments.sweep import sweep
from aggopt.partition import mdav
from aggopt.partition.shared.result import INTERRUPTED, Partition
from aggopt.pipeline.review.compare_with_keys import compare_releases
from aggopt.pipeline.review.review_release import assess_release
from aggopt.solvers import Status

QUASI = ["age", "income", "height", "rooms"]
BOTH = {"units": {"attributes": OF_UNITS}, "privacy": {"k": 3, "scope": "blocks"}}
P3M = {"method": "p3m", "delta": 0.3, "alpha": 0.9}


def both(quasi=QUASI, **sections):
    return of(quasi, **{**BOTH, **sections})


# --- attributes of units and attributes of records


def alike():
    """Return units of one record each, both kinds of attributes being the same."""
    frame = members(12).iloc[:15].reset_index(drop=True)
    frame["household"] = np.arange(15)
    x = 100.0 * (np.arange(15) // 3) + np.arange(15) % 3
    return frame.assign(income=x, age=x, rooms=x[::-1], height=x[::-1])


def test_each_kind_has_random_numbers_of_its_own() -> None:
    asked = both(aggregation=P3M)
    made = aggopt.mask(alike(), asked, secret="a" * 32)
    first, second = (block.labels for block in made.blocks)
    assert len({*zip(first, second, strict=True)}) == len({*first}) == 5
    alone = aggopt.mask(alike(), of(OF_UNITS, aggregation=P3M), secret="a" * 32)
    income = made.table["income"]
    for other in (made.table["age"], alone.table["income"]):
        assert not np.allclose(other, income, rtol=1e-9)


def test_random_numbers_of_a_kind_may_begin_with_zeros() -> None:
    known = (f"{number:032x}" for number in range(1000))
    secret = next(each for each in known if derive_seed(each, "part 0") < 16**31)
    assert aggopt.mask(members(), both(), secret=secret).secret == secret
    for asked in (both(), of(OF_UNITS)):
        with refused(AggoptError, "secret"):
            aggopt.mask(members(), asked, secret="a")


def test_requests_notes_and_reasons_of_both_kinds_are_those_of_the_release(
    tmp_path,
) -> None:
    members().to_csv(tmp_path / "in.csv", index=False)
    asked = both(aggregation=P3M)
    made = aggopt.mask(tmp_path / "in.csv", asked)
    files = made.write(tmp_path / "out.csv")
    again = assess_release(tmp_path / "in.csv", files.table, asked)
    assert again.measures.sl == pytest.approx(made.measures.sl)
    assert any("k counts units" in note for note in made.notes)
    tied = {"categories": {"method": "plurality"}}
    kinds = ["region", "ill", "age", "income"]
    roles = {"quasi-identifier": kinds, "unit": ["household"]}
    roles["identifier"] = ["rooms", "height"]
    asked = both(
        kinds,
        roles=roles,
        units={"attributes": ["region"]},
        aggregation={**P3M, **tied},
        attributes={
            "age": {"lower": 0},
            "income": {"lower": 0},
            "ill": {"weight": 1e-6},
        },
    )
    made = aggopt.mask(members(), asked, secret="a" * 32)
    assert list(made.certificates) == kinds
    assert any(note.startswith("'ill': in ") for note in made.notes)


@pytest.mark.parametrize("key", ["keep", "importance"])
def test_settings_of_single_attributes_are_refused_of_two_kinds(key) -> None:
    said = {"importance": {"attributes": dict.fromkeys(QUASI, 0.5)}}
    how = {**P3M, **said} if key == "importance" else {"method": "mean"}
    if key == "keep":
        how["keep"] = {"variance": QUASI}
    with pytest.raises(JobError) as error:
        aggopt.mask(members(), both(aggregation=how))
    assert error.value.problem.startswith(f"{key} of the job")


@pytest.mark.parametrize("of_units", [["region"], []])
def test_the_job_of_a_release_holds_the_trees_that_it_names(tmp_path, of_units) -> None:
    path = tmp_path / "tree.csv"
    path.write_text("n;any\ns;any\n")
    roles = {
        "quasi-identifier": ["region", "age"],
        "unit": ["household"],
        "identifier": ["income", "rooms", "height", "ill"],
    }
    own = {"region": {"tree": str(path)}}
    asked = both(
        ["region", "age"],
        roles=roles,
        units={"attributes": of_units} if of_units else {},
        attributes=own,
    )
    assert str(path) not in repr(aggopt.mask(members(), asked).job)


def test_figures_of_one_kind_leave_out_what_is_suppressed_of_it() -> None:
    frame = members()
    frame.loc[[0, 20], "age"] = np.nan  # of two units, so that heights go, too
    how = {"missing": {"policy": "patterns"}, "output": {"shuffle": False}}
    made = aggopt.mask(frame, both(**how))
    alone = aggopt.mask(frame, of(OF_RECORDS, **how))
    assert made.audit.missing.suppressed == alone.audit.missing.suppressed > 0
    for name in OF_RECORDS:
        assert made.drift[name] == alone.drift[name]


def test_a_sweep_audits_units_of_which_each_is_a_record() -> None:
    asked = of(OF_UNITS, aggregation={"method": "p3m", "delta": 0.3})
    points = [*sweep(members(), asked, alpha=[0.5], delta=[0.3], jobs=1)]
    assert [point.alpha for point in points] == [0.5]


# --- strata, and attributes with missing values


def regions(**columns):
    rng = np.random.default_rng(5)
    n = 36
    frame = pd.DataFrame(
        {
            "a": rng.normal(size=n).round(3),
            "b": rng.gamma(2.0, size=n).round(3),
            "s": rng.choice([*"xyz"], n),
            "region": np.repeat([*"nnns"], n // 4),
        }
    )
    return frame.assign(**columns)


def of_regions(quasi=("a", "b"), stratum=(), k=3, **sections):
    rest = [name for name in regions() if name not in (*quasi, *stratum)]
    return aggopt.Job(
        roles={"quasi-identifier": quasi, "stratum": stratum, "identifier": rest},
        privacy={"k": k},
        **{"partition": {"method": "mdav"}, **sections},
    )


def one_by_one(asked):
    blocks = {"partition": {"method": "mdav", "attributes": "one by one"}}
    how = aggopt.Job(
        roles={"quasi-identifier": ["a", "b"]},
        privacy={"k": 3, "scope": "blocks"},
        **blocks,
    )
    return asked.model_copy(update={"partition": how.partition, "privacy": how.privacy})


def test_an_error_of_an_aggregation_names_attribute_and_stratum() -> None:
    frame = regions()
    frame.loc[::5, "a"] = None
    how = {"missing": {"policy": "fill"}, "aggregation": {"method": "p3m"}}
    with refused(InfeasibleInputError, "'a'"):
        aggopt.mask(frame, one_by_one(of_regions(stratum=["region"], **how)))


def told(frame, asked):
    """Return the shares of each step that `mask` reports, in turn."""
    shares = {}
    aggopt.mask(
        frame,
        asked,
        progress=lambda step, share: shares.setdefault(step, []).append(share),
    )
    return shares


@pytest.mark.parametrize("policy", [None, "patterns", "fill"])
@pytest.mark.parametrize("stratum", [(), ("region",)])
def test_each_step_of_blocks_strata_and_patterns_tells_a_share_that_grows(
    policy, stratum
) -> None:
    frame = regions()
    if policy:
        frame.loc[::5, "a"] = None
    missing = {"missing": {"policy": policy}} if policy else {}
    asked = one_by_one(of_regions(stratum=stratum, **missing))
    shares = told(frame, asked)
    assert shares["aggregate"] == sorted(shares["aggregate"])
    assert shares["group"] == sorted(shares["group"])
    assert shares["group"][-1] == 1.0
    assert any(0.4 < share < 0.6 for share in shares["group"])


TREE = {"u": ["x", "y"], "v": ["z"]}


@pytest.mark.parametrize(
    ("values", "noted"), [("xxzyyyyyyyyy", False), ("xxzyzxyyyyyy", True)]
)
def test_a_tree_whose_root_is_published_for_half_of_the_values_is_noted(
    values, noted
) -> None:
    frame = pd.DataFrame({"a": np.repeat([0.0, 1, 2, 3], 3), "s": [*values]})
    frame["t"] = frame["s"]
    tree = {"tree": TREE, "publish": "ancestor", "weight": 1e-6}
    asked = aggopt.Job(
        roles={"quasi-identifier": ["a", "s", "t"]},
        privacy={"k": 3},
        partition={"method": "mdav"},
        attributes={"s": tree, "t": {"weight": 1e-6}},
    )
    made = aggopt.mask(frame, asked)
    root = int((made.table["s"] == "*").sum())
    notes = [note for note in made.notes if "the root of the tree" in note]
    assert root == (6 if noted else 3)
    assert len(notes) == noted
    assert all(note.startswith("'s': 6 of 12 values (50%)") for note in notes)


# --- searches that are interrupted, files, single groups


def test_nothing_is_released_of_an_interrupted_search_nor_is_it_repaired(
    monkeypatch,
) -> None:
    def stopped(X, k, **how):
        warnings.warn(f"{INTERRUPTED} so far", UserWarning, stacklevel=2)
        found = mdav(X, k)
        proof = replace(found.certificate, status=Status.INTERRUPTED)
        return Partition(found.labels, proof)

    put_partitioner(monkeypatch, "mdav", stopped)
    steps = []
    for privacy in ({"k": 3}, {"k": 3, "l": 2, "repair": "merge"}):
        with pytest.raises(KeyboardInterrupt):
            aggopt.mask(
                people(),
                plain_job(privacy=privacy),
                progress=lambda step, share: steps.append(step),
            )
    assert set(steps) <= {"read", "group"}


def test_a_file_is_read_with_the_separator_decimals_and_kinds_of_the_job(
    tmp_path,
) -> None:
    frame = people(24).assign(code=["007", "7", "0070"] * 8)
    frame["pay"] = frame["income"].round(2)
    frame.to_csv(tmp_path / "in.csv", index=False, sep=";", decimal=",")
    asked = plain_job(
        roles={
            "identifier": ["name"],
            "quasi-identifier": ["age", "income", "code"],
            "confidential": ["pay"],
            "other": ["note", "illness"],
        },
        privacy={"k": 3, "t": 0.9, "repair": "merge"},
        attributes={"code": {"kind": "nominal", "weight": 1e-3}},
        input={"separator": ";", "decimal": ","},
    )
    made = aggopt.mask(tmp_path / "in.csv", asked)
    assert set(made.table["code"].to_pylist()) <= {"007", "7", "0070"}
    assert made.audit.holds
    with refused(JobError, "progress"):
        aggopt.mask(tmp_path / "in.csv", asked, progress=3)


def test_the_attribute_that_needs_the_largest_t_is_named() -> None:
    from aggopt.repair import smallest_t

    frame = people(24).assign(
        pay=np.arange(24.0) ** 3, debt=np.r_[np.zeros(20), 1, 2, 3, 4]
    )
    roles = {
        "identifier": ["name"],
        "quasi-identifier": ["age", "income"],
        "confidential": ["pay", "debt"],
        "other": ["note", "illness"],
    }
    needed = {name: smallest_t(frame[name], 3) for name in ("pay", "debt")}
    name = max(needed, key=lambda each: needed[each].t)
    asked = plain_job(
        roles=roles, privacy={"k": 3, "l": 2, "t": 1e-6, "repair": "merge"}
    )
    made = aggopt.mask(frame, asked)
    (said,) = (note for note in made.notes if "one group" in note)
    assert said.startswith("To keep t = 1e-06 and l = 2, all records form one group.")
    assert f"3 records or more are at t = {needed[name].t:g} for {name!r}" in said
    assert f"above {needed[name].t:g}" in said
    assert ("At the least" in said) == (needed[name].bound > 0)


# --- second looks


def surveyed(tmp_path):
    """Write a table of which nothing is read without its job, and return the job."""
    frame = regions(code=["007", "7", "0070"] * 12, w=np.arange(36) % 3 + 1.5)
    frame.loc[35, "region"] = "w"  # a stratum of one record
    frame.loc[::9, "a"] = None
    frame.to_csv(tmp_path / "in.csv", index=False, sep=";", decimal=",")
    return aggopt.Job(
        roles={
            "quasi-identifier": ["a", "code"],
            "stratum": ["region"],
            "weight": "w",
            "confidential": ["s"],
            "identifier": ["b"],
        },
        privacy={"k": 3},
        partition={"method": "mdav"},
        aggregation={"method": "mean", "categories": {"method": "plurality"}},
        weights={"published": "drop"},
        strata={"small": "drop"},
        attributes={"code": {"kind": "nominal"}},
        missing={"policy": "fill"},
        input={"separator": ";", "decimal": ","},
        output={"digits": 3},
    )


def test_releases_are_compared_and_looked_at_as_their_job_reads_tables(
    tmp_path,
) -> None:
    asked = surveyed(tmp_path)
    tables = [tmp_path / "one.csv", tmp_path / "two.csv"]
    for path in tables:
        made = aggopt.mask(tmp_path / "in.csv", asked)
        made.write(path)
        again = assess_release(tmp_path / "in.csv", path, asked)
        assert again.audit.holds
        assert again.audit.identifiers == ()
        assert again.audit.unchanged == made.audit.unchanged
        assert again.measures.il == pytest.approx(made.measures.il)
    manifests = [path.with_suffix(".manifest.json") for path in tables]
    found = compare_releases(tables, tmp_path / "in.csv", manifests)
    assert (found.k, found.holds, found.partly) == (3, True, 0)
    assert found.together.attributes == ("a", "code", "region")
    assert [each.smallest for each in found.figures] == [made.audit.smallest] * 2
