"""What each step hands to the next where values are missing."""

from dataclasses import replace
from types import SimpleNamespace

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import pytest
from holed import FILL, asked

from aggopt.data.context.strata import RecordStrata
from aggopt.encoding.incomplete import encode_observed
from aggopt.errors import InfeasibleInputError, JobError
from aggopt.missing._imputed import Observed
from aggopt.partition import mdav
from aggopt.pipeline.aggregate.missing_values import PresentRows, _only
from aggopt.pipeline.partition import missing_imputed as fill
from aggopt.pipeline.partition import missing_patterns as holes
from aggopt.pipeline.partition import subsets as parts
from aggopt.pipeline.partition.missing_imputed import (
    partition_imputed,
    partition_incomplete,
)
from aggopt.pipeline.partition.missing_patterns import (
    IncompletePartition,
    impute_means,
    join_patterns_within_strata,
    partition_by_patterns,
    repair_across_patterns,
    require_published,
)
from aggopt.solvers import Certificate, Status

NUMBERS = ["age", "income"]
HOLED = pd.DataFrame(
    {"age": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, *[None] * 4], "income": [9.0, 3.0] * 5}
)
HOLED.loc[8:, "income"] = None
JOB = asked(2, NUMBERS, **FILL)
APART = ((0,), (1,))
TOGETHER = ((0, 1),)


def encoded(frame):
    given = nw.from_native(frame, eager_only=True)
    return encode_observed(given, frame.isna().to_numpy(), {}, "variance")


def in_half(X, k, *, progress):
    progress(0.5)
    return mdav(X, k)


def refused(X, k, *, progress):
    raise JobError("No.", fix="none.")


def nothing(share):
    """Hear progress."""


def test_patterns_tell_their_share_of_the_records_of_each_block():
    shares = []
    partition_by_patterns(
        encoded(HOLED), 2, APART, (in_half, {}, shares.append), NUMBERS
    )
    assert shares == pytest.approx([0.0, 0.15, 0.3, 0.5, 0.7, 0.9, 1.0])
    shares.clear()
    partition_by_patterns(
        encoded(HOLED), 2, TOGETHER, (in_half, {}, shares.append), NUMBERS
    )
    assert shares == pytest.approx([0.0, 0.3, 0.6, 0.6, 0.7, 0.8, 1.0])


@pytest.fixture
def shared(monkeypatch):
    """Stand for other processes: note how many parts go to how many."""
    heard = []

    def each(task, of, jobs, told):
        told(0.25)
        heard.append((len(of), jobs))
        return [task(part) for part in of]

    monkeypatch.setattr(parts, "map_in_processes", each)
    return heard


@pytest.mark.parametrize(("rows", "sent"), [(6, []), (8, [(2, 2)]), (10, [(3, 2)])])
def test_processes_share_the_patterns_of_a_block(shared, rows, sent):
    told, known = [], encoded(HOLED[:rows])
    how = mdav, {}, told.append
    one = partition_by_patterns(known, 2, TOGETHER, how, NUMBERS)
    assert shared == []
    two = partition_by_patterns(known, 2, TOGETHER, how, NUMBERS, jobs=2)
    assert shared == sent
    assert (0.25 in told) == bool(sent)
    (block,), (other,) = one.blocks, two.blocks
    assert block.labels.tolist() == other.labels.tolist()
    assert block.labels.dtype == np.intp
    assert (
        len(block.partition.evidence)
        == len(other.partition.evidence)
        == {6: 1, 8: 2, 10: 3}[rows]
    )
    of = [parts.Subsets(np.arange(rows) // 3 % 2, np.ones((rows, 2), bool))]
    full = encoded(HOLED[:rows].fillna(2.0))
    parts.partition_within(full, TOGETHER, of, 2, how, NUMBERS)
    assert shared == sent


@pytest.mark.parametrize(("rows", "named"), [(6, "'age', 'income'"), (8, "'income'")])
def test_an_error_names_the_attributes_that_a_pattern_has(rows, named):
    divide = refused if rows == 6 else only_wide_ones
    with pytest.raises(JobError, match=f"^Attributes? {named}: No"):
        partition_by_patterns(
            encoded(HOLED[:rows]), 2, TOGETHER, (divide, {}, nothing), NUMBERS
        )


def only_wide_ones(X, k, *, progress):
    return mdav(X, k) if X.shape[1] == 2 else refused(X, k, progress=progress)


def test_where_nothing_is_published_nothing_is_lost():
    found = partition_by_patterns(
        encoded(HOLED), 2, TOGETHER, (in_half, {}, nothing), NUMBERS
    )
    proofs = found.blocks[0].partition.evidence
    none = Certificate(Status.OPTIMAL, 0.0, 0.0, 0.0, "nothing published", 0.0)
    assert [proof.certificate for proof in proofs][-1] == none
    assert found.blocks[0].labels[8] == found.blocks[0].labels[9]


def test_a_pattern_of_one_record_is_a_group_where_k_is_one():
    found = partition_by_patterns(
        encoded(HOLED[:7]), 1, TOGETHER, (mdav, {}, nothing), NUMBERS
    )
    assert found.blocks[0].groups == 7
    assert found.kept.tolist() == HOLED[:7].notna().to_numpy().tolist()


def test_all_of_an_attribute_suppressed_is_refused_in_full():
    with pytest.raises(InfeasibleInputError) as error:
        require_published(np.array([[True, False]]), NUMBERS)
    assert error.value.problem == (
        "Every value of 'income' would be suppressed: fewer than k records of any "
        "pattern of missing values have one."
    )
    assert error.value.fix == (
        "drop the attribute, as identifier, or choose a smaller k."
    )


def test_imputed_blocks_tell_their_share():
    shares = []
    partition_imputed(
        encoded(HOLED), APART, (in_half, {}, shares.append), JOB, (), None
    )
    assert shares == pytest.approx([0.0, 0.25, 0.5, 0.5, 0.75, 1.0])


def test_an_error_on_imputed_values_names_the_attributes():
    with pytest.raises(JobError, match=r"^Attributes 'age', 'income': No"):
        partition_imputed(
            encoded(HOLED), TOGETHER, (refused, {}, nothing), JOB, (), None
        )


def test_what_is_merged_for_values_is_feasible_and_has_no_bound():
    how = (in_half, {}, nothing)
    (block,) = partition_imputed(encoded(HOLED), TOGETHER, how, JOB, (), None).blocks
    proof = block.certificate
    assert (proof.status, proof.bound) == (Status.HEURISTIC, None)
    assert proof.violation == 0.0
    assert proof.solver == "mdav on imputed values, then merging"
    assert proof.seconds >= 0


def test_values_of_one_s_own_are_asked_for_beside_what_a_repair_keeps(monkeypatch):
    given = []

    def repaired(block, records, job, held, told, more, weights):
        given.append((told, [(each.attribute, each.least) for each in more]))
        return block

    monkeypatch.setattr(fill, "repair_block", repaired)
    how = (in_half, {}, nothing)
    found = partition_incomplete(encoded(HOLED), TOGETHER, how, JOB, (), nothing)
    assert given == [(nothing, [("age", 2), ("income", 2)])]
    labels = found.blocks[0].labels
    behind = HOLED.notna().groupby(labels).sum()
    assert behind.to_numpy().min() >= 2


def test_a_repair_across_patterns_hears_progress(monkeypatch):
    given = []

    def across(block, kept, incomplete, job, held, told, strata, weights):
        given.append((told, strata, weights))
        return fill.IncompletePartition((block,), kept)

    monkeypatch.setattr(fill, "repair_across_patterns", across)
    how, job = (in_half, {}, nothing), asked(2, NUMBERS)
    partition_incomplete(encoded(HOLED), TOGETHER, how, job, (), nothing)
    strata = RecordStrata(np.zeros(len(HOLED), int))
    partition_incomplete(encoded(HOLED), TOGETHER, how, job, (), nothing, strata)
    assert given == [(nothing, None, None), (nothing, strata, None)]


def test_what_is_counted_bears_the_attribute_s_name():
    absent = HOLED.isna().to_numpy()
    found = fill._observed(absent, (0, 1), NUMBERS, 2, (), None)
    assert [type(each) for each in found] == [Observed, Observed]
    assert [each.attribute for each in found] == NUMBERS


def test_settings_are_of_records_or_of_groups():
    own = PresentRows(np.array([0, 4]), np.array([2]), np.array([0, 0]))
    of_groups = np.arange(6.0).reshape(3, 2)
    of_records = np.arange(10.0).reshape(5, 2)
    assert _only(of_groups, 5, own, 1).tolist() == [[5.0]]
    assert _only(of_records, 5, own, 1).tolist() == [[1.0], [9.0]]
    assert _only("text", 5, own, 1) == "text"


def test_a_hole_has_the_mean_of_its_own_attribute():
    known = encoded(HOLED)
    x = known.coordinates + np.array([0, 7])
    known = replace(known, coordinates=x)
    expected = np.where(np.isnan(x), np.nanmean(x, axis=0), x)
    assert impute_means(known).coordinates == pytest.approx(expected)


def test_an_attribute_of_one_value_or_none_has_that_or_0():
    known = encoded(HOLED)
    x = np.full(known.shape, np.nan)
    x[3, 0] = 5.0
    found = impute_means(replace(known, coordinates=x)).coordinates
    assert found.tolist() == [[5.0, 0.0]] * 10


def test_what_is_kept_is_looked_at_before_groups_and_after_repairs():
    heard = []

    def look(kept, names):
        heard.append((kept.tolist(), names))

    job = asked(2, NUMBERS)
    given = encoded(HOLED), TOGETHER, (mdav, {}, nothing), job, (), nothing
    found = partition_incomplete(*given, require=look)
    names = job.roles.quasi_identifier
    assert heard == [(found.kept.tolist(), names)] * 2


def test_attributes_that_a_repair_suppresses_are_named(monkeypatch):
    def nothing_kept(block, kept, *_):
        return IncompletePartition((block,), kept & [False, True])

    monkeypatch.setattr(fill, "repair_across_patterns", nothing_kept)
    how, job = (mdav, {}, nothing), asked(2, NUMBERS)
    with pytest.raises(InfeasibleInputError, match="Every value of 'age' would be"):
        partition_incomplete(encoded(HOLED), TOGETHER, how, job, (), nothing)


def test_patterns_of_strata_are_apart_and_lose_what_is_nearest():
    strata = RecordStrata(np.array([0, 1] * 5))
    a, b = [0.0, 1, 10, 2, 20, 3, 30, 4, 29, 5], [1.0, 2.0] * 5
    frame = pd.DataFrame({"a": a, "b": b, "c": np.arange(10.0)})
    frame.loc[8, "b"] = frame.loc[1, "c"] = None
    known = encoded(frame)
    found = join_patterns_within_strata(
        known, frame.isna().to_numpy(), 2, (0, 1), strata
    )
    assert found.labels.tolist() == [0, 1, 0, 1, 0, 1, 2, 1, 2, 1]
    assert np.argwhere(found.suppressed).tolist() == [[6, 1]]


def test_a_repair_across_patterns_keeps_strata_apart(monkeypatch):
    heard = []
    monkeypatch.setattr(holes, "repair_block", lambda *of: heard.append(of) or of[0])
    for name in ("separate_strata", "separate_patterns", "impute_means"):
        monkeypatch.setattr(holes, name, lambda *of: of)
    strata = SimpleNamespace(labels=np.array([0, 0, 1]))
    of = ("block", "kept", "records", "job", "held", "told", strata, "weights")
    assert repair_across_patterns(*of) == (("block",), "kept")
    ((block, near, *told, more, weights),) = heard
    assert (block, told, weights) == ("block", ["job", "held", "told"], "weights")
    assert near == ((("records",), "kept"), strata)
    (inside,) = more
    assert inside.strata is strata.labels
