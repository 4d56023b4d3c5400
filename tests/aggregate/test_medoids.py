"""Combinations of categories that a record of each group has."""

from math import fsum
from typing import Any

import numpy as np
import pandas as pd
import pytest
from refusals import refused

import aggopt
from aggopt.aggregate import medoids, plurality
from aggopt.errors import JobError
from aggopt.solvers import Status

ORDER = ["low", "middle", "high"]


def people(seed: int) -> tuple[pd.DataFrame, np.ndarray, Any]:
    rng = np.random.default_rng(seed)
    columns = {"sex": rng.choice(["f", "m"], 24), "school": rng.choice(ORDER, 24)}
    frame = pd.DataFrame({**columns, "work": rng.choice(list("xyz"), 24)})
    groups = rng.permutation(np.arange(24) // 4)
    return frame, groups, aggopt.encode(frame, {"school": {"order": ORDER}})


def apart(one: Any, two: Any) -> float:
    steps = abs(ORDER.index(one[1]) - ORDER.index(two[1])) / 2
    return float(one[0] != two[0]) + steps + float(one[2] != two[2])


@pytest.mark.parametrize("seed", range(5))
def test_no_record_of_a_group_is_nearer_to_the_others(seed: int) -> None:
    frame, groups, E = people(seed)
    own, total = list(frame.itertuples(index=False, name=None)), []
    found = medoids(E, groups)
    for g in range(6):
        members = [own[i] for i in np.flatnonzero(groups == g)]
        (said,) = {tuple(v) for v in found.values[groups == g]}
        assert said in members
        cost = [fsum(apart(m, other) for other in members) for m in members]
        assert fsum(apart(said, m) for m in members) == pytest.approx(min(cost))
        total.append(min(cost))
    proof = found.certificate
    assert proof.objective == proof.bound == pytest.approx(fsum(total))
    assert proof.status is Status.OPTIMAL
    free = sum(plurality(a, groups).certificate.objective for a in E.attributes)
    assert free <= proof.objective <= 2 * free + 1e-9


def test_a_seed_decides_among_records_that_are_equally_near() -> None:
    frame = pd.DataFrame({"a": list("xy") * 30, "b": list("uv") * 30})
    groups, E = np.arange(60) // 2, aggopt.encode(frame)
    one, same, other = (medoids(E, groups, seed=s).values for s in (0, 0, 1))
    assert (one == same).all()
    assert (one != other).any()
    assert {tuple(v) for v in one} == {("x", "u"), ("y", "v")}


def test_what_makes_no_sense_is_refused() -> None:
    frame, groups, E = people(0)
    with refused(JobError):
        medoids(frame, groups)
    with refused(JobError, "labels have shape"):
        medoids(E, groups[1:])
    with refused(JobError, "seed = -1"):
        medoids(E, groups, seed=-1)
