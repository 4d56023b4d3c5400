"""What each step hands on of sampling weights, to whom, and of which records."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from holed import FILL, asked
from refusals import refused
from surveys import survey

from aggopt.aggregate import Aggregation
from aggopt.aggregate.categories.frequencies import Frequencies
from aggopt.data.context.confidential import Confidential
from aggopt.data.context.strata import RecordStrata
from aggopt.data.table import Table
from aggopt.errors import InfeasibleInputError
from aggopt.job import Job
from aggopt.job.roles import Roles
from aggopt.missing._imputed import Observed
from aggopt.partition import mdav
from aggopt.pipeline.aggregate import aggregate_table as aggregate_step
from aggopt.pipeline.aggregate import missing_values as observed
from aggopt.pipeline.aggregate.aggregate_table import (
    _choose_levels,
    _notes,
    assemble_columns,
    require_chosen,
)
from aggopt.pipeline.finish import measures as measured
from aggopt.pipeline.partition import missing_imputed as fill
from aggopt.pipeline.partition.missing_imputed import _observed, partition_imputed
from aggopt.pipeline.partition.missing_patterns import observed_sse
from aggopt.pipeline.partition.partitioned_table import PartitionedTable
from aggopt.pipeline.review import review_release as reassess
from aggopt.pipeline.validate import categories as category_job
from aggopt.pipeline.validate.sampling_weights import _not_weighed, merge_for_dominance
from aggopt.privacy.dominance import Dominance
from aggopt.solvers import Certificate, Status

W = np.array([3.0, 1.0, 2.0])
SAMPLING = SimpleNamespace(each=W, known=W / 2, name="w")
PROOF = Certificate(Status.LOCAL, 1.0, None, 0.0, "somebody", 0.0)
SOME = np.array([[True, True], [False, True], [True, True]])


def noting(monkeypatch, module, name, made=None):
    """Put in the place of a step one that notes what it is told."""
    heard = []
    monkeypatch.setattr(
        module, name, lambda *of, **more: heard.append((of, more)) or made
    )
    return heard


def numbers(kept=None, **how):
    """Stand for three records of two numbers, in one group."""
    X = np.array([[1.0, 4.0], [2.0, 5.0], [3.0, 9.0]])
    job = survey(aggregation={"method": "mean", **how})
    table = SimpleNamespace(domains={}, numeric=("age", "income"), places=[0, 1])
    block = SimpleNamespace(columns=(0, 1), labels=np.zeros(3, np.intp))
    return PartitionedTable(
        job, table, None, X, X, (block,), {}, kept=kept, sampling=SAMPLING
    )


# --- numbers


def test_weights_of_values_are_those_of_the_table() -> None:
    assert numbers().weights_of_values is W
    found = numbers(SOME).weights_of_values
    assert found.tolist() == [[3.0, 3.0], [0.0, 1.0], [2.0, 2.0]]
    given = numbers()
    object.__setattr__(given, "sampling", None)
    assert given.weights_of_values is None
    object.__setattr__(given, "kept", SOME)
    assert given.weights_of_values is None


def test_numbers_are_combined_by_the_weights_of_those_that_have_them(
    monkeypatch,
) -> None:
    made = Aggregation(np.zeros((1, 1)), np.zeros(3, np.intp), (PROOF,))
    heard = noting(monkeypatch, observed, "_aggregate_columns", made)
    monkeypatch.setattr(observed, "keep_by_column", lambda of, told: {**told, "of": of})
    monkeypatch.setattr(observed, "bound_arguments", lambda given: {})
    whole = numbers()
    assert observed.aggregate_observed(whole, {"more": 1}) is made
    ((*_, settings, within, jobs), _) = heard.pop()
    assert settings["weights"].tolist() == [1.5, 0.5, 1.0]
    assert (settings["of"], settings["more"]) == (whole, 1)
    assert (within, jobs) == (None, whole.job.strata.jobs)
    assert list(settings) == ["more", "of", "weights"]
    observed.aggregate_observed(numbers(SOME), {})
    told = [(each["weights"].tolist(), jobs) for (*_, each, _, jobs), _ in heard]
    assert told == [([1.5, 1.0], 1), ([1.5, 0.5, 1.0], 1)]
    assert all("XXweightsXX" not in each for (*_, each, _, _), _ in heard)


@pytest.mark.parametrize("weights", [None, W])
def test_the_loss_of_values_that_are_there_is_by_weight(weights) -> None:
    records = SimpleNamespace(
        owner=np.array([0, 1]), coordinates=np.array([[1.0, 4], [np.nan, 5], [3, 9]])
    )
    own = np.ones(3) if weights is None else W
    one, other = records.coordinates[[0, 2], 0], records.coordinates[:, 1]
    lost = [
        w @ (x - np.average(x, weights=w)) ** 2
        for x, w in ((one, own[[0, 2]]), (other, own))
    ]
    found = observed_sse(records, np.zeros(3, np.intp), SOME, weights)
    assert found == pytest.approx(sum(lost))


HOLED = pd.DataFrame({"age": [1.0, 2, 3, 4, None, None], "income": [9.0, 3.0] * 3})
STRATA = {"quasi-identifier": [*HOLED], "stratum": ["region"]}
JOB = asked(2, roles=STRATA, **FILL, strata={"jobs": 3})


def encoded(frame=HOLED):
    table = Table.of(
        frame, Roles(**{"quasi-identifier": [*frame]}), missing=JOB.missing
    )
    return table.encoded("variance")


def test_imputed_groups_are_mended_and_merged_by_weight(monkeypatch) -> None:
    weights = np.arange(1.0, 7.0)
    heard = {}

    def repaired(block, near, job, held, told, more, weights):
        heard["repair_block"] = weights
        return block

    def merged(near, labels, asked, *, weights):
        heard["merged"] = weights
        return labels

    def within(records, strata, columns, k, of, names, jobs):
        heard["jobs"] = jobs
        return fill.partition_blocks(records, k, columns, *of, names)

    monkeypatch.setattr(fill, "repair_block", repaired)
    monkeypatch.setattr(fill, "merge_until_satisfied", merged)
    monkeypatch.setattr(fill, "partition_within_strata", within)
    lost = noting(monkeypatch, fill, "observed_sse", 0.0)
    strata = RecordStrata(np.zeros(6, np.intp))
    how = mdav, {}, lambda share: None
    partition_imputed(encoded(), ((0, 1),), how, JOB, (), print, strata, weights)
    assert heard["repair_block"] is heard["merged"] is lost[0][0][3] is weights
    assert heard["jobs"] == 3


def test_dominance_is_asked_of_the_values_that_are_there() -> None:
    weights, absent = np.arange(1.0, 7.0), np.array(HOLED.isna())
    absent[0, 1] = True
    dominance = Dominance(weights, 0.6, "w")
    held = (Confidential("w", np.arange(6), (dominance,)),)
    found = _observed(absent, (0, 1), ["age", "income"], 2, held, None)
    assert [type(each) for each in found] == [Observed] * 2 + [Dominance] * 2
    assert [each.weights.tolist() for each in found[2:]] == [
        [1.0, 2, 3, 4, 0, 0],
        [0.0, 2, 3, 4, 5, 6],
    ]
    assert {(each.share, each.attribute) for each in found[2:]} == {(0.6, "w")}


# --- categories


def test_categories_are_chosen_by_the_weights_of_those_that_are_there(
    monkeypatch,
) -> None:
    heard = []

    def choose(attribute, labels, *, seed, **settings):
        heard.append((attribute, labels.tolist(), settings))
        return "made"

    method = SimpleNamespace(function=choose, nodes=False, together=None)
    monkeypatch.setattr(aggregate_step, "CATEGORY_AGGREGATORS", {"some": method})
    monkeypatch.setattr(aggregate_step, "category_requests", lambda *_: {})
    looked = noting(monkeypatch, aggregate_step, "require_chosen")
    attribute = SimpleNamespace(rows=lambda rows: rows.tolist())
    given = SimpleNamespace(
        job=SimpleNamespace(roles=SimpleNamespace(quasi_identifier=["s"])),
        records=SimpleNamespace(attributes=[attribute]),
        labels=np.zeros(3, np.intp),
        kept=SOME,
        secret="3" * 32,
        weights=W,
        table=None,
    )
    how = SimpleNamespace(method="some", settings={})
    assert _choose_levels(given, how, ["s"]) == ("made",)
    ((rows, labels, settings),) = heard
    assert (rows, labels, list(settings)) == ([0, 2], [0, 0], ["weights"])
    assert settings["weights"].tolist() == [3.0, 2.0]
    (((made, weights), _),) = looked
    assert (made, weights.tolist()) == ("made", [3.0, 2.0])
    given.weights = None
    _choose_levels(given, how, ["s"])
    assert heard[1][2] == {}
    assert looked[1] == (("made", None), {})


def chosen(status=Status.OPTIMAL):
    """Stand for categories of two groups, of which one was tied."""
    proof = Certificate(status, 2.5, None, 0.0, "somebody", 0.0)
    return SimpleNamespace(
        certificate=proof,
        labels=np.array([0, 0, 1]),
        choice=np.array([0, 1]),
        tied=1,
        ties=proof,
    )


def test_ties_are_said_in_weighted_counts() -> None:
    said = (
        "'age': in 1 of 2 groups several categories are equally near; of these such "
        "were published that the {} of categories differ by 2.5 records in all."
    )
    made = {"age": chosen()}
    assert _notes(made) == (said.format("counts"),)
    assert _notes(made, weighted=True) == (said.format("weighted counts"),)
    given, alike = numbers(), numbers()
    object.__setattr__(alike, "sampling", SimpleNamespace(each=W, known=None))
    assert assemble_columns(given, None, made).notes == _notes(made, weighted=True)
    assert assemble_columns(alike, None, made).notes == _notes(made)


def test_a_slack_is_in_records_of_mean_weight() -> None:
    require_chosen(chosen(), W)
    for weights, largest in ((np.array([9.0, 9, 1]), 3), (None, 2)):
        with refused(
            "No choice of categories for 2 groups keeps the number of records of each "
            "as near to the original as [aggregation.categories] asks.",
            f"allow a slack of the largest group, slack = {largest}, which always "
            "leaves a choice, or name a price in its place.",
            InfeasibleInputError,
        ):
            require_chosen(chosen(Status.INFEASIBLE), weights)


@pytest.mark.parametrize("known", [None, W])
def test_a_slack_of_sums_of_weights_is_looked_at_as_such(monkeypatch, known) -> None:
    sampling = SimpleNamespace(known=known)
    monkeypatch.setattr(category_job, "read_sampling_weights", lambda table: sampling)
    near = noting(monkeypatch, category_job, "require_near")
    possible = noting(monkeypatch, category_job, "require_possible")
    monkeypatch.setattr(category_job, "find_nodes", lambda *_: np.array([0, 0, 1]))
    how = SimpleNamespace(categories=Frequencies(method="frequencies", slack=1))
    job = SimpleNamespace(aggregation=how, privacy=SimpleNamespace(k=2))
    table = SimpleNamespace(domains={"s": None}, frame={"s": None}, kept=())
    category_job.require_counts(job, table)
    if known is None:
        (((count, k, slack), _),) = possible
        assert (near, count.tolist(), k, slack) == ([], [2, 1], 2, 1)
    else:
        assert (near, possible) == ([((1,), {"weighted": True})], [])


# --- what is asked before, and found after


def test_values_in_one_block_may_be_missing_and_weighed() -> None:
    whole = np.array([[1.0, np.nan], [2.0, 3.0]])
    job = survey(weights={"published": "drop"})
    assert list(_not_weighed(job, whole, ((0, 1),))) == []
    ((what, fix),) = _not_weighed(job, whole, ((0,), (1,)))
    assert what == (
        "quasi-identifiers are grouped in 2 blocks, of which 1 value is missing"
    )
    assert fix == (
        'set attributes = "together" under [partition], or remove those records'
    )


def test_groups_are_merged_within_patterns_only_where_that_is_said() -> None:
    job = survey(partition={"method": "local_search"}, weights={"dominance": 0.7})
    for told, within in (
        ({}, ""),
        ({"apart": True}, " within patterns of missing values"),
    ):
        made, (reason,) = merge_for_dominance(job, **told)
        assert made.privacy.repair.method == "merge"
        assert f"'local_search' does not look at{within}: groups are" in reason


def test_measures_of_names_are_by_weight(monkeypatch) -> None:
    heard = noting(monkeypatch, measured, "assess")
    frame = pd.DataFrame({"a": list("xyx"), "w": W})
    for role in ("weight", "other"):
        table = Table.of(frame, Roles(**{"quasi-identifier": ["a"], role: ["w"]}))
        measured.measure_release(table, table, {})
    one, other = (more["weights"] for _, more in heard)
    assert (one.tolist(), other) == ([1.5, 0.5, 1.0], None)


def test_a_second_look_is_by_weights_units_and_pseudonyms(
    monkeypatch, tmp_path
) -> None:
    frame = pd.DataFrame(
        {"age": [1.0, 1, 2, 2], "who": [7, 5, 7, 5], "w": [1.0, 2, 3, 2]}
    )
    frame.to_csv(tmp_path / "people.csv", index=False)
    released = frame.drop(columns="w").rename(columns={"who": "pseudonym"})
    released.to_csv(tmp_path / "masked.csv", index=False)
    key = pd.DataFrame({"released_record": [2, 3, 0, 1]})
    key.to_csv(tmp_path / "masked.private.csv", index=False)
    job = Job(
        roles={"quasi-identifier": ["age"], "unit": ["who"], "weight": "w"},
        privacy={"k": 2},
        weights={"published": "drop", "dominance": 0.75},
        units={"published": "pseudonym"},
    )
    known = []
    monkeypatch.setattr(Table, "encoded", lambda self, *of: known.append(of))
    heard, audit = [], reassess.audit_release

    def noted(*of, **more):
        heard.append((of, more))
        return audit(*of, **more)

    monkeypatch.setattr(reassess, "audit_release", noted)
    for name in ("measure_if_varying", "measure_risks"):
        noting(monkeypatch, reassess, name)
    reassess.review_release(tmp_path / "people.csv", tmp_path / "masked.csv", job)
    ((of_distances, weights),) = known
    assert (of_distances, weights.tolist()) == ("variance", [0.5, 1.0, 1.5, 1.0])
    ((_, more),) = heard
    assert more["pseudonym"] == "pseudonym"
    assert more["units"].tolist() == [0, 1, 0, 1]
    (dominance,) = more["dominance"]
    assert dominance.weights.tolist() == [3.0, 2.0, 1.0, 2.0]
