"""What an aggregation is asked of numbers and of categories, and what comes of it."""

from dataclasses import replace
from types import SimpleNamespace

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import pytest

from aggopt.aggregate import AGGREGATORS, Aggregation
from aggopt.aggregate.secret_margins import draw_margins
from aggopt.data.context.strata import RecordStrata
from aggopt.errors import InfeasibleInputError
from aggopt.job import Job, Privacy
from aggopt.partition.shared.result import Block, Partition
from aggopt.pipeline.aggregate import aggregate_table as aggregate_step
from aggopt.pipeline.aggregate import missing_values as observed
from aggopt.pipeline.aggregate.aggregate_table import (
    _notes,
    _roots,
    aggregate_categories,
    aggregate_table,
    assemble_columns,
)
from aggopt.pipeline.aggregate.margins import (
    ASKED,
    NOTE,
    _steps,
    margin_arguments,
    notes,
)
from aggopt.pipeline.aggregate.missing_values import aggregate_observed, published_nodes
from aggopt.pipeline.partition.partitioned_table import PartitionedTable
from aggopt.pipeline.validate.moments import keep_by_column
from aggopt.solvers import Certificate, Status

SECRET = "3" * 32
PROVEN = Certificate(Status.LOCAL, 1.0, None, 0.0, "somebody", 0.0)
THIRDS = np.repeat([0, 1, 2], 3)
WHOLE = np.array([0.0, 2, 4, 10, 12, 14, 20, 22, 24])
AGREE = 2 / WHOLE.std()
DEMANDS = np.array([[1.0], [0], [1]] + 6 * [[0.0]])


def grouped(*columns, labels=THIRDS, importance=1.0, delta=0.1, kept=None, **how):
    """Stand for a table of numbers that was partitioned."""
    X = np.stack(columns, axis=1).astype(float)
    names = tuple("abc"[: X.shape[1]])
    asked = {
        "delta": np.broadcast_to(delta, X.shape),
        "importance": np.broadcast_to(importance, X.shape),
    }
    job = Job(
        roles={"quasi-identifier": names},
        privacy={"k": 3},
        aggregation={"method": "p3m", **how},
    )
    return PartitionedTable(
        job=job,
        table=SimpleNamespace(
            domains={},
            numeric=names,
            places=[*range(len(names))],
            frame=nw.from_native(pd.DataFrame(X, columns=names)),
        ),
        source=None,
        whole=X,
        records=X,
        blocks=(Block((*range(len(names)),), Partition(labels, PROVEN)),),
        asked=asked,
        secret=SECRET,
        kept=kept,
    )


def test_distances_get_the_margins_of_the_secret():
    given = grouped(WHOLE, importance=0.1, margin=0.2)
    asked, none = given.asked["delta"], np.zeros(1)
    added = draw_margins(THIRDS, asked, 0.2, SECRET, none)
    assert margin_arguments(given)["delta"] == pytest.approx(asked + added)
    other = np.full(asked.shape, 0.7)
    added = draw_margins(THIRDS, other, 0.2, SECRET, none)
    assert margin_arguments(given, other)["delta"] == pytest.approx(other + added)


def test_another_alpha_is_as_if_the_job_had_it():
    soft, hard = (grouped(WHOLE, importance=0.5, alpha=a) for a in (0.1, 1.0))
    told = margin_arguments(soft, alpha=1.0)["delta"]
    assert told == pytest.approx(margin_arguments(hard)["delta"])
    assert told != pytest.approx(margin_arguments(soft)["delta"])
    assert margin_arguments(grouped(WHOLE, method="mean")) == {}


@pytest.mark.parametrize("margin", [0.1, 1, None])
def test_demands_that_a_margin_parts_are_refused(margin):
    given = grouped(WHOLE, importance=DEMANDS, delta=AGREE, margin=margin)
    with pytest.raises(InfeasibleInputError, match=r"Demands \(importance 1\) within"):
        margin_arguments(given)
    open_to_all = grouped(WHOLE, importance=DEMANDS, delta=AGREE, margin=0)
    assert margin_arguments(open_to_all)["delta"] == pytest.approx(AGREE)


def test_demands_that_a_margin_parts_are_refused_where_all_are_demands():
    exact = np.tile([[AGREE], [0.0], [AGREE]], (3, 1))
    open_to_all = grouped(WHOLE, delta=exact, margin=0)
    assert margin_arguments(open_to_all)["delta"] == pytest.approx(exact)
    with pytest.raises(InfeasibleInputError, match=r"Demands \(importance 1\) within"):
        margin_arguments(grouped(WHOLE, delta=exact, margin=0.1))


def test_a_margin_spans_steps_of_the_attributes_whose_wishes_can_be_exact():
    importance = np.tile([0.0, 1.0, 0.0], (9, 1))
    given = grouped(WHOLE, 3 * WHOLE, WHOLE, importance=importance)
    steps = _steps(given, given.job.aggregation, given.asked["delta"])
    assert steps.tolist() == [0.0, pytest.approx(6 / (3 * WHOLE).std()), 0.0]
    stated = grouped(WHOLE, 3 * WHOLE, importance=1.0, margin=0.5)
    none = _steps(stated, stated.job.aggregation, stated.asked["delta"])
    assert none.tolist() == [0.0, 0.0]


def test_the_labels_of_numbers_are_those_of_their_columns():
    blocks = tuple(
        Block((j,), Partition(labels, PROVEN))
        for j, labels in enumerate((THIRDS, THIRDS[::-1].copy()))
    )
    given = grouped(WHOLE, WHOLE)
    table = SimpleNamespace(domains={"a": None}, numeric=("b",), places=[1])
    given = replace(given, blocks=blocks, table=table)
    assert given.labels_of_numbers.tolist() == given.labels[:, 1:].tolist()


def test_names_in_what_is_kept_become_columns():
    keep = {"covariance": [["c", "a"], ["b"]]}
    given = grouped(WHOLE, WHOLE, WHOLE, method="mean", keep=keep)
    settings = given.job.aggregation.settings
    assert keep_by_column(given, {**settings, "other": 1}) == {
        **settings,
        "keep": {"covariance": [[2, 0], [1]]},
        "other": 1,
    }
    keep = {"variance": ["b", "a"], "mean": ["c"]}
    given = grouped(WHOLE, WHOLE, WHOLE, method="mean", keep=keep)
    found = keep_by_column(given, given.job.aggregation.settings)["keep"]
    assert found == {"variance": [1, 0], "mean": [2]}


def test_each_number_is_aggregated_by_the_records_that_have_it():
    kept = np.ones((9, 2), bool)
    kept[:3, 0] = kept[4, 1] = False
    given = grouped(WHOLE, WHOLE**2, kept=kept, method="mean", keep="variance")
    found = aggregate_observed(given, given.job.aggregation.settings)
    mean = AGGREGATORS["mean"].function
    alone = [
        mean(x[own, None], labels[own], keep="variance").centroids[:, 0].tolist()
        for x, own, labels in (
            (WHOLE, kept[:, 0], THIRDS - 1),
            (WHOLE**2, kept[:, 1], THIRDS),
        )
    ]
    assert found.centroids.dtype == float
    assert found.centroids[:, 1].tolist() == alone[1]
    assert np.isnan(found.centroids[0, 0])
    assert found.centroids[1:, 0].tolist() == alone[0]
    assert len(found.centroids) == 3


def test_each_number_with_holes_has_groups_of_its_own():
    blocks = tuple(
        Block((j,), Partition(labels, PROVEN))
        for j, labels in enumerate((THIRDS, np.repeat([0, 1], [5, 4])))
    )
    kept = np.ones((9, 2), bool)
    kept[0] = False
    given = replace(grouped(WHOLE, WHOLE, kept=kept, method="mean"), blocks=blocks)
    found = aggregate_observed(given, given.job.aggregation.settings)
    assert found.centroids[:, 0].tolist() == [3.0, 12.0, 22.0]
    assert found.centroids[:2, 1].tolist() == [7.0, 20.0]
    assert np.isnan(found.centroids[2, 1])


def test_each_number_with_holes_is_told_what_is_said_of_its_records(monkeypatch):
    heard = []

    def made(combine, X, labels, settings, strata, jobs):
        heard.append((settings["of"].tolist(), strata.labels.tolist()))
        return Aggregation(np.zeros((labels.max() + 1, 1)), labels, (PROVEN,))

    monkeypatch.setattr(observed, "_aggregate_columns", made)
    monkeypatch.setattr(observed, "is_aggregated_by_stratum", lambda job: True)
    kept = np.ones((9, 2), bool)
    kept[0, 0] = False
    strata = RecordStrata(np.repeat([0, 1, 2], [1, 4, 4]))
    given = replace(grouped(WHOLE, WHOLE, kept=kept, method="mean"), strata=strata)
    of = np.arange(18.0).reshape(9, 2)
    aggregate_observed(given, {"of": of})
    assert heard == [
        (of[1:, [0]].tolist(), [0] * 4 + [1] * 4),
        (of[:, [1]].tolist(), strata.labels.tolist()),
    ]


def test_numbers_of_strata_are_aggregated_in_each_where_it_matters(monkeypatch):
    heard = []
    monkeypatch.setattr(
        observed, "aggregate_by_stratum", lambda *of: heard.append(of) or "made"
    )
    monkeypatch.setattr(
        observed, "is_aggregated_by_stratum", lambda job: job.privacy.k == 3
    )
    given = grouped(WHOLE, method="mean", keep="variance")
    settings = given.job.aggregation.settings
    assert aggregate_observed(given, settings) != "made"
    within = replace(given, strata="strata")
    assert aggregate_observed(within, settings) == "made"
    ((combine, X, labels, told, strata, jobs),) = heard
    assert combine is AGGREGATORS["mean"].function
    assert (X is given.X, labels.tolist()) == (True, THIRDS.tolist())
    assert (told, strata, jobs) == (settings, "strata", 1)
    other = given.job.model_copy(update={"privacy": Privacy(k=2)})
    assert aggregate_observed(replace(within, job=other), settings) != "made"


def test_an_error_names_the_number_that_has_holes():
    kept = np.ones((9, 2), bool)
    kept[3:, 1] = False
    given = grouped(WHOLE, WHOLE, kept=kept)
    settings = {**given.job.aggregation.settings, "alpha": 0.5}
    with pytest.raises(InfeasibleInputError, match=r"^'b': .*one group"):
        aggregate_observed(given, settings)


def chosen(proof, tied=0, ties=None):
    return SimpleNamespace(
        certificate=proof,
        choice=np.array([1, 0, 1]),
        labels=THIRDS,
        nodes=("x", "y"),
        tied=tied,
        ties=ties,
    )


def test_what_was_chosen_together_is_said_and_how_ties_were_broken():
    other = replace(PROVEN, objective=4.0)
    made = {"a": chosen(PROVEN), "b": chosen(other, 2, other), "c": chosen(PROVEN)}
    assert _notes(made) == (
        "'a', 'c': chosen together; the certificate of each is that of all of them.",
        "'b': in 2 of 3 groups several categories are equally near; of these such were "
        "published that the counts of categories differ by 4 records in all.",
    )


TREE = {"below": ["low", "middle"], "above": ["high"]}


@pytest.mark.parametrize(("published", "said"), [([2, 0, 1], True), ([0, 2, 1], False)])
def test_trees_whose_root_is_published_for_half_of_the_values_are_said(published, said):
    trees = {"tree": TREE, "publish": "ancestor"}
    job = Job(
        roles={"quasi-identifier": ["a", "b", "c"]},
        privacy={"k": 3},
        attributes={"b": trees, "c": trees},
    )
    leaf, tree = chosen(PROVEN), chosen(PROVEN)
    leaf.choice = np.array([1, 1, 1])  # not the root of what has no tree
    tree.choice, tree.nodes = np.array(published), ("low", "high", "any")
    leaf.labels = tree.labels = np.repeat([0, 1, 2], [4, 3, 1])
    words = (
        "4 of 8 values (50%) are published as the root of the tree, which says "
        'nothing: choose publish = "node" or "leaf", a smaller k, or fewer '
        "quasi-identifiers."
    )
    given = SimpleNamespace(job=job)
    found = _roots(given, {"a": leaf, "b": tree, "c": tree})
    assert found == ([f"'b': {words}", f"'c': {words}"] if said else [])


def test_categories_are_chosen_in_turn_and_an_error_names_those_it_is_of(monkeypatch):
    names = ["s", "n", "t", "u"]
    job = Job(
        roles={"quasi-identifier": names},
        privacy={"k": 3},
        aggregation={"categories": {"method": "plurality", "occurring": True}},
    )
    given = SimpleNamespace(
        job=job,
        table=SimpleNamespace(domains=dict.fromkeys("tsu")),
        blocks=[SimpleNamespace(columns=c) for c in ((0, 1, 2), (3,))],
    )
    heard = []
    how = job.aggregation.categories

    def choose(*of):
        assert of[:2] == (given, how)
        return [f"made of {name}" for name in of[2]]

    monkeypatch.setattr(aggregate_step, "_choose_levels", choose)
    found = aggregate_categories(given, lambda *of: heard.append(of))
    assert list(found.items()) == [(name, f"made of {name}") for name in "tsu"]
    assert heard == [("categories", 0.0), ("categories", 0.5)]

    def refuse(*_):
        raise InfeasibleInputError("There is none.", fix="ask for less.")

    monkeypatch.setattr(aggregate_step, "_choose_levels", refuse)
    with pytest.raises(InfeasibleInputError, match=r"^'s', 't': There is none\."):
        aggregate_categories(given, lambda *_: None)


def test_what_is_said_of_categories_goes_with_them():
    given = grouped(WHOLE)
    made = {"a": chosen(PROVEN, 1, PROVEN)}
    table = SimpleNamespace(domains={"a": None}, numeric=(), places=[])
    masked = assemble_columns(replace(given, table=table), None, made)
    assert masked.values.dtype == float
    assert masked.values[:, 0].tolist() == [1, 1, 1, 0, 0, 0, 1, 1, 1]
    assert masked.notes == _notes(made) != ()
    assert masked.certificates == {"a": PROVEN}


def test_nodes_are_numbers_with_and_without_holes():
    kept = np.ones((9, 1), bool)
    kept[:3] = False
    for held, labels in ((None, THIRDS), (kept, THIRDS)):
        made = chosen(PROVEN)
        made.choice = made.choice if held is None else made.choice[1:]
        nodes = published_nodes(grouped(WHOLE, labels=labels, kept=held), "a", made)
        assert nodes.dtype == float
        assert nodes[3:].tolist() == [0, 0, 0, 1, 1, 1]
        assert np.isnan(nodes[:3]).all() == (held is not None)


def test_margins_of_soft_wishes_promise_nothing():
    assert notes(grouped(WHOLE, importance=0.1, margin=0.5)) == [ASKED]
    assert notes(grouped(WHOLE, importance=1.0, margin=3.0, delta=1.0)) == [NOTE]


def test_categories_alone_need_no_numbers(monkeypatch):
    def numbers(*_):
        raise AssertionError

    monkeypatch.setattr(aggregate_step, "_aggregate_numbers", numbers)
    monkeypatch.setattr(aggregate_step, "assemble_columns", lambda *parts: parts)
    given = SimpleNamespace(
        names=(), job=SimpleNamespace(aggregation=SimpleNamespace(categories=None))
    )
    assert aggregate_table(given, lambda *_: None) == (given, None, {})
