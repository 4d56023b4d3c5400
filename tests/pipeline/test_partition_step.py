"""Before groups are made: who is told, what is read, what records ask for."""

import warnings
from hashlib import sha256
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from refusals import refused

import aggopt
from aggopt.data.table import Table
from aggopt.errors import InfeasibleInputError, JobError
from aggopt.job import Privacy
from aggopt.partition.shared.result import INTERRUPTED, Block, Partition
from aggopt.pipeline.partition import partition_table as partition_step
from aggopt.pipeline.partition.partition_table import (
    _leave_interrupts_to_mask,
    load_job,
    partition_table,
    progress_or_noop,
    read_table,
)
from aggopt.pipeline.partition.partitioned_table import Partitions
from aggopt.pipeline.prepare import defaults as completed_job
from aggopt.pipeline.validate import distance_requests as wishes
from aggopt.pipeline.validate import preflight_checks as before_work
from aggopt.pipeline.validate.distance_requests import number_requests
from aggopt.pipeline.validate.infeasibility import SingleGroupReason
from aggopt.pipeline.validate.preflight_checks import require_variance
from aggopt.solvers import Certificate, Status


def test_who_is_told_of_progress_can_be_called() -> None:
    assert progress_or_noop(print) is print
    assert progress_or_noop(None)("read_file", 0.5) is None
    with refused(
        "progress is of type int, which cannot be called.",
        "pass a function of the step and the share of it that is done, such as print, "
        "or None.",
        JobError,
    ):
        progress_or_noop(3)


def test_what_is_no_job_is_refused_by_its_type() -> None:
    with refused(
        "A float is not a job.",
        "pass a Job(...), or the path of a TOML file.",
        JobError,
    ):
        load_job(0.5)


def test_an_interrupted_search_does_not_warn_and_all_else_does() -> None:
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        with _leave_interrupts_to_mask():
            warnings.warn(f"{INTERRUPTED} so far", UserWarning, stacklevel=1)
            warnings.warn("something else", UserWarning, stacklevel=1)
        warnings.warn(INTERRUPTED, UserWarning, stacklevel=1)
    assert [str(each.message) for each in heard] == ["something else", INTERRUPTED]


def test_one_group_that_t_made_cannot_keep_the_variance(monkeypatch) -> None:
    heard, held = [], (object(),)
    why = SingleGroupReason(
        "To keep t = 0.1, all records form one group.", "promise a larger t."
    )
    monkeypatch.setattr(
        before_work, "explain_single_group", lambda *of: heard.append(of) or why
    )

    def job(*keeps):
        keeping = SimpleNamespace(keeps=keeps)
        return SimpleNamespace(aggregation=keeping, privacy=Privacy(k=3, t=0.1))

    one, two = ((SimpleNamespace(groups=n),) for n in (1, 2))
    kept = job("variance")
    require_variance(kept, held, two)
    require_variance(job("mean"), held, one)
    assert heard == []
    with refused(
        "To keep t = 0.1, all records form one group. One value cannot keep the "
        "variance.",
        "promise a larger t; or aggregate by the mean as it is.",
        InfeasibleInputError,
    ):
        require_variance(kept, held, one)
    assert heard == [(held, kept.privacy)]
    monkeypatch.setattr(before_work, "explain_single_group", lambda *_: None)
    require_variance(kept, held, one)


@pytest.mark.parametrize("given", ["path", "text", "table"])
def test_a_table_is_read_as_the_job_says_and_its_file_is_known(
    tmp_path, monkeypatch, given
) -> None:
    frame, heard = pd.DataFrame({"a": [1, 2], "code": [7, 8]}), []
    path = tmp_path / "people.csv"
    frame.to_csv(path, index=False)
    monkeypatch.setattr(
        partition_step, "read_file", lambda *of: heard.append(of) or frame
    )
    job = aggopt.Job(
        roles={"quasi-identifier": ["a", "code"]},
        privacy={"k": 2},
        attributes={"code": {"kind": "nominal"}},
    )
    data = {"path": path, "text": str(path), "table": frame}[given]
    table, source = read_table(data, job)
    assert table.numeric == ("a",)
    assert (source.records, source.attributes) == (2, 2)
    if given == "table":
        assert (source.file, source.sha256, heard) == (None, None, [])
        return
    digest = sha256(path.read_bytes()).hexdigest()
    assert (source.file, source.sha256) == ("people.csv", digest)
    assert heard == [(path, job.roles, job.input, job.attributes)]


HOLED = pd.DataFrame({"s": list("xxxyyy"), "a": [0.0, 1, 2, 3, 4, np.nan]})
Z = np.abs(np.arange(5) - 2) / np.sqrt(2)


def wished(**how):
    job = aggopt.Job(
        roles={"quasi-identifier": ["s", "a"]},
        privacy={"k": 2},
        missing={"policy": "patterns"},
        aggregation={"method": "p3m", **how},
    )
    table = Table.of(HOLED, job.roles, job.attributes, missing=job.missing)
    return number_requests(table, table.matrix(), job)


def test_nothing_is_asked_for_of_what_is_missing() -> None:
    found = wished(delta=0.2, importance=0.5)
    assert found["delta"].tolist() == [[0.2]] * 5 + [[0.0]]
    assert found["importance"].tolist() == [[0.5]] * 5 + [[0.0]]
    found = wished(delta={"relative": 0.5}, importance={"relative": 0.25})
    assert found["delta"][:, 0] == pytest.approx([*(Z / 2), 0.0])
    assert found["importance"][:, 0] == pytest.approx([*(Z / 4), 0.0])


def test_what_is_missing_asks_for_too_much_of_nothing() -> None:
    with refused(
        "importance is below 0 or above 1 in 2 of 6 records.",
        "ask for numbers that are not below 0 or above 1.",
        JobError,
    ):
        wished(importance={"relative": 1.1})


def test_a_distance_out_of_reach_names_its_number() -> None:
    with pytest.raises(JobError, match=r"no value of 'a' is published 2.83 or more"):
        wished(delta=3.0)


# --- sampling weights

HEAVY = np.array([9.0, *[1.0] * 11])
PROVEN = Certificate(Status.HEURISTIC, 1.0, None, 0.0, "somebody", 0.0)


@pytest.mark.parametrize("method", ["local_search", "mdav", None])
@pytest.mark.parametrize("w", [HEAVY, np.ones(12)], ids=["apart", "alike"])
def test_groups_are_asked_for_by_weight(monkeypatch, method, w) -> None:
    heard, chosen = [], {}
    groups = Block((0,), Partition(np.repeat([0, 1, 2], 4), PROVEN))

    def settled(job, *of, **how):
        chosen.update(how)
        return plain(job, *of, **how)

    plain = completed_job.settled
    monkeypatch.setattr(completed_job, "settled", settled)
    monkeypatch.setattr(
        partition_step,
        "_by_policy",
        lambda *of: heard.append(of) or Partitions((groups,), None),
    )
    job = aggopt.Job(
        roles={"quasi-identifier": ["a"], "weight": "w"},
        privacy={"k": 3},
        weights={"dominance": 0.5},
        **({} if method is None else {"partition": {"method": method}}),
    )
    frame = pd.DataFrame({"a": np.arange(12.0), "w": w})
    made = partition_table(frame, job, None, known="ab" * 16)
    ((given, _, how, asked, held, mended),) = heard
    known = given.weights
    assert (given.holes, given.strata) == (None, None)
    assert made.sampling.each.tolist() == w.tolist()
    assert [each.name for each in held] == ["w"]
    assert chosen == {"weighted": w is HEAVY}
    told = how[1].get("weights"), how[1].get("dominance")
    merged = [reason for reason in made.reasons if "groups are merged" in reason]
    if w is not HEAVY:
        assert (known, told, mended, merged) == (None, (None, None), None, [])
        return
    assert known.tolist() == told[0].tolist() == (w / w.mean()).tolist()
    z = getattr(given.records, "coordinates", given.records)
    assert np.average(z, axis=0, weights=w) == pytest.approx([0])
    seen = asked.partition.method == "local_search"
    assert told[1] == (0.5 if seen else None)
    assert (mended is None) == seen == (not merged)


def test_wishes_are_in_weighted_deviations(monkeypatch) -> None:
    heard = []
    monkeypatch.setattr(wishes, "require_reach", lambda *of: heard.append(of))
    x, w = np.array([0.0, 2.0, 4.0, 6.0]), np.array([1.0, 199.0, 199.0, 1.0])
    job = aggopt.Job(
        roles={"quasi-identifier": ["a"], "weight": "w"},
        privacy={"k": 2},
        aggregation={"method": "p3m", "delta": {"relative": 1.0}},
    )
    table = Table.of(pd.DataFrame({"a": x, "w": w}), job.roles)
    found = number_requests(table, table.matrix(), job)
    away = np.abs(x - 3) / 1.04**0.5
    assert found["delta"][:, 0] == pytest.approx(away)
    ((delta, z, k, names, known),) = heard
    assert (delta is found["delta"], k, names) == (True, 2, ("a",))
    assert np.abs(z[:, 0]) == pytest.approx(away)
    assert known == pytest.approx(w / 100)
