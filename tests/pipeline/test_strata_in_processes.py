"""Strata and grids in several processes."""

import pickle
from math import inf

import numpy as np
import pandas as pd
import pytest
from joblib.externals.loky.backend.reduction import dumps
from refusals import refused
from stratified import ROLES, residents, within

import aggopt
from aggopt import Job
from aggopt.data.table import Table
from aggopt.errors import JobError
from aggopt.pipeline.partition import subsets as processes
from aggopt.pipeline.prepare.published_grid import (
    find_decimal_ends,
    find_published_ends,
    is_whole,
    read_bounds,
    round_to_type,
)
from aggopt.solvers.solver_log import logged

SECRET = "0123456789abcdef" * 2
P3M = {"method": "p3m", "delta": 0.2}
HOLES = {"missing": {"policy": "patterns"}}


@pytest.fixture
def sent(monkeypatch):
    """Stand for other processes, by what is sent to them and back; last come first."""
    tasks = []

    def results(task, parts, jobs):
        packed = [bytes(dumps((task, part))) for part in parts]
        tasks.append((len(packed), jobs))
        for each in reversed(packed):
            own, part = pickle.loads(each)
            yield pickle.loads(pickle.dumps(own(part)))

    monkeypatch.setattr(processes, "run_in_processes", results)
    return tasks


def masked(frame=None, *, told=None, **sections):
    job = within(**sections)
    data = residents() if frame is None else frame
    return aggopt.mask(data, job, secret=SECRET, progress=told)


def holed():
    frame = residents()
    return frame.assign(age=frame["age"].mask(np.arange(len(frame)) % 9 == 0))


CASES = {
    "means": ({}, residents, [(4, 3)]),
    "a search": ({"partition": {"method": "local_search"}}, residents, [(4, 3)]),
    "P3M in each stratum": ({"aggregation": P3M}, residents, [(4, 3), (4, 3)]),
    "patterns within strata": (HOLES, holed, None),
    "imputed values": ({"missing": {"policy": "fill"}}, holed, [(4, 3)]),
}


@pytest.mark.parametrize("case", CASES)
def test_the_release_is_that_of_one_process(sent, case):
    sections, table, parts = CASES[case]
    one = masked(table(), **sections)
    assert sent == []
    other = masked(table(), **sections, strata={"jobs": 3})
    pd.testing.assert_frame_equal(one.table, other.table)
    assert one.labels.tolist() == other.labels.tolist()
    assert one.audit == other.audit
    for name, proof in one.proofs.items():
        found = other.proofs[name]
        assert (proof.status, proof.objective) == (found.status, found.objective)
        assert (proof.bound, proof.solver) == (found.bound, found.solver)
    assert sent == parts if parts else {jobs for _, jobs in sent} == {3}


class Told:
    """Progress that stays in this process: another would hear none of its own."""

    def __init__(self):
        self.shares = {}

    def __call__(self, step, share):
        self.shares.setdefault(step, []).append(share)

    def __reduce_ex__(self, protocol):
        raise AssertionError("it was sent to another process")


def test_progress_is_that_of_strata_that_are_done(sent):
    told = Told()
    masked(aggregation=P3M, strata={"jobs": 2}, told=told)
    for shares in (told.shares["group"], told.shares["aggregate"]):
        assert {0.25, 0.5, 0.75, 1.0} <= {*shares}
        assert shares == sorted(shares)


def test_one_stratum_is_no_work_for_several(sent):
    frame = residents().assign(region="n", sex="f")
    masked(frame, aggregation=P3M, strata={"jobs": 2})
    assert sent == []


def test_what_a_stratum_refuses_is_said_as_by_one_process(sent):
    asked = {"method": "p3m", "delta": 2.4, "importance": 1.0}
    said = []
    for jobs in (1, 2):
        with pytest.raises(aggopt.errors.AggoptError) as error:
            masked(aggregation=asked, strata={"jobs": jobs})
        said.append((type(error.value), error.value.problem, error.value.fix))
    assert said[0] == said[1]


def test_a_log_of_solvers_is_of_one_process(tmp_path):
    with logged(tmp_path / "log.txt"), pytest.raises(JobError) as error:
        masked(strata={"jobs": 2})
    assert error.value.problem == (
        "[strata] jobs = 2, and a log of solvers is kept, which is of one process."
    )
    assert error.value.fix == "set jobs = 1, or keep no log."


def test_no_process_at_all_is_refused():
    for wrong in (0, -1, 1.5):
        with refused(JobError, "strata.jobs"):
            Job(roles=ROLES, privacy={"k": 3}, strata={"jobs": wrong})
    assert within().strata.jobs == 1


@pytest.mark.slow
def test_processes_of_their_own_give_the_same_bytes(tmp_path):
    for jobs in (1, 2):
        made = masked(aggregation=P3M, strata={"jobs": jobs})
        made.write(tmp_path / f"masked{jobs}.csv")
    one, other = (tmp_path / f"masked{jobs}.csv" for jobs in (1, 2))
    assert one.read_bytes() == other.read_bytes()


# --- which numbers of an attribute are published: whole ones, and within which ends


FRAME = pd.DataFrame({"n": [1, 2, 3], "x": [0.5, 1.5, 2.5]})


def stated(attributes=None, **output):
    job = aggopt.Job(
        roles={"quasi-identifier": ["n", "x"]},
        privacy={"k": 3},
        attributes=attributes or {},
        output=output,
    )
    return Table.of(FRAME, job.roles, job.attributes), job


@pytest.mark.parametrize("rounds", [False, True])
@pytest.mark.parametrize("asked", [(), ("x",), ("n", "x")])
def test_numbers_are_whole_by_their_type_or_as_it_is_asked(rounds, asked) -> None:
    own = {name: {"integer": True} for name in asked}
    table, job = stated(own, round_integers=rounds)
    assert is_whole(table, job, "n") == (rounds or "n" in asked)
    assert is_whole(table, job, "x") == ("x" in asked)


def test_ends_are_what_the_type_of_a_column_holds() -> None:
    _, job = stated({"n": {"lower": 0.1, "upper": 0.3}})
    half = Table.of(FRAME.astype({"n": np.float32}), job.roles, job.attributes)
    held = (float(np.float32(0.1)), float(np.float32(0.3)))
    assert round_to_type(half, "n", (0.1, 0.3)) == held != (0.1, 0.3)
    assert round_to_type(half, "x", (0.1, 0.3)) == (0.1, 0.3)
    found = read_bounds(half, job, ["x", "n"])
    assert found.lower.tolist() == [-inf, held[0]]
    assert found.upper.tolist() == [inf, held[1]]
    assert read_bounds(half, job, []).lower.shape == (0,)


def test_ends_are_rounded_inwards_to_what_is_published() -> None:
    sides = {"lower": -25.25, "upper": 36.75}
    table, job = stated({"n": sides, "x": sides}, round_integers=True)
    for name, place, ends in (
        ("x", None, (-25.25, 36.75)),
        ("x", 1, (-25.2, 36.7)),
        ("n", None, (-25.0, 36.0)),
        ("n", 1, (-25.2, 36.7)),
        ("n", -1, (-20.0, 30.0)),
    ):
        assert find_published_ends(table, job, name, place) == ends
    assert find_decimal_ends(-inf, inf, 2) == (-inf, inf)
    open_to_all = stated()
    assert find_published_ends(*open_to_all, "x", None) == (-inf, inf)
