"""Jobs that a table refuses before any work: the class, and the key or name at fault.

The words are kept in `messages.txt`.  A run of this file with AGGOPT_ACCEPT=1 in the
environment writes them anew, and the diff shows what changed.
"""

import os
from pathlib import Path

import pandas as pd
import pytest

import aggopt
from aggopt.errors import AggoptError, InfeasibleInputError, JobError, TableError

MESSAGES = Path(__file__).with_name("messages.txt")
FRAME = pd.DataFrame(
    {
        "a": [1.0, 2, 4, 8, 16, 32, 64],
        "b": [3.0, 1, 4, 1, 5, 9, 2],
        "s": [*"xxxyyyy"],
        "h": [0, 0, 1, 1, 2, 2, 3],
        "w": [1.0, 1, 1, 1, 1, 1, 4],
        "far": [0.1] * 7,
        "one": [1] * 7,
    }
)
VARIANCE = {"method": "mean", "keep": "variance"}
COVARIANCE = {"method": "mean", "keep": "covariance"}
L2 = {"l": 2, "repair": "merge"}
INFEASIBLE, JOB, TABLE = InfeasibleInputError, JobError, TableError


def keeping(method="mean", **keep):
    return {"aggregation": {"method": method, "keep": keep}}


def wishing(**how):
    return {"aggregation": {"method": "mean", "categories": {"method": "wish", **how}}}


BLOCKS = {
    "partition": {"method": "mdav", "attributes": [["a"], ["b"]]},
    "privacy": {"scope": "blocks"},
}
WITHIN = {"roles": {"stratum": ["s"]}}
OF_UNITS = {"a": [0, 0, 2, 2, 4, 4, 6.0], "b": [0, 0, 1, 1, 2, 2, 0.0]}
UNITS = {"roles": {"unit": ["h"]}}
WISHED = {"roles": {"wish": ["far"], "quasi-identifier": ["a", "s"]}}
ALIKE = {"importance": {"column": "far"}}

# name: class, words of the message, words of the fix, columns changed, k, sections
REFUSALS = {
    # strata
    "a variance of strata of one group": (
        INFEASIBLE, "1 of 2 strata", '"overall"', {}, 2,
        {**WITHIN, "aggregation": VARIANCE},
    ),
    "a variance of one stratum": (
        INFEASIBLE, "1 of 1 stratum", '"overall"', {"s": ["x"] * 7}, 4,
        {**WITHIN, "aggregation": VARIANCE},
    ),
    "l that whole strata do not keep": (
        INFEASIBLE, "'h'", "l", {"h": [0, 0, 0, 1, 1, 2, 2]}, 2,
        {"roles": {"stratum": ["s"], "confidential": ["h"]}, "privacy": L2},
    ),
    "l that one stratum does not keep": (
        INFEASIBLE, "'h'", "l", {"h": [1] * 7, "s": ["x"] * 7}, 2,
        {"roles": {"stratum": ["s"], "confidential": ["h"]}, "privacy": L2},
    ),
    "values that a stratum has not": (
        INFEASIBLE, "'a'", "stratum", {"a": [1, 2, 3, 4, None, None, None]}, 2,
        {**WITHIN, "missing": {"policy": "fill"}},
    ),
    "a partition that looks at all records": (
        JOB, "diverse_vmdav", "mdav", {}, 2,
        {"roles": {"stratum": ["s"], "confidential": ["h"]}, "privacy": {"l": 2},
         "partition": {"method": "diverse_vmdav"}},
    ),
    "a repair that looks at all records": (
        JOB, "swap", "merge", {}, 2,
        {"roles": {"stratum": ["s"], "confidential": ["h"]},
         "privacy": {"t": 0.5, "repair": "swap"}},
    ),
    "whole centroids within strata": (
        JOB, "centroids", "centroids", {}, 2,
        {**WITHIN, "privacy": {"scope": "blocks"},
         "partition": {"method": "individual_ranking", "centroids": "integer"}},
    ),
    # weights
    "a repair that does not see dominance": (
        JOB, "dominance", "merge", {}, 2,
        {"roles": {"weight": "w", "confidential": ["h"]},
         "privacy": {"l": 2, "repair": "swap"}},
    ),
    "weights too far apart": (
        TABLE, "'w'", "", {"w": [1.0] * 6 + [1e9]}, 2, {"roles": {"weight": "w"}},
    ),
    "a weight that dominates any group": (
        INFEASIBLE, "dominan", "dominance", {"w": [1.0] * 6 + [7]}, 2,
        {"roles": {"weight": "w"}, "weights": {"dominance": 0.5}},
    ),
    # what is confidential
    "l of no attribute": (JOB, "l = 2", "confidential", {}, 2, {"privacy": L2}),
    "a method of l without one": (
        JOB, "diverse_vmdav", "l", {}, 2,
        {"roles": {"confidential": ["h"]}, "partition": {"method": "diverse_vmdav"}},
    ),
    # what is kept
    "a covariance of too few groups": (
        INFEASIBLE, "7 records", "keep", {}, 3, {"aggregation": COVARIANCE},
    ),
    "a covariance of too few groups in a stratum": (
        INFEASIBLE, "7 records of one stratum", "keep", {"s": ["x"] * 7}, 3,
        {**WITHIN, "aggregation": COVARIANCE},
    ),
    "a covariance of two blocks": (
        JOB, "covariance", "attributes", {}, 2, {**BLOCKS, "aggregation": COVARIANCE},
    ),
    "a table of what is kept with an unknown name": (
        JOB, "'c'", "", {}, 2, keeping(covariance=["a", "c"]),
    ),
    "a table of what is kept that leaves one out": (
        JOB, "'b'", "", {}, 2, keeping(covariance=["a"]),
    ),
    "a table of what is kept over blocks": (
        JOB, "covariance", "", {}, 2, {**BLOCKS, **keeping(covariance=["b", "a"])},
    ),
    "a response of one value": (
        JOB, "'far'", "", {}, 2,
        {"roles": {"other": ["far"]}, **keeping(regression="far ~ a + b")},
    ),
    "one group for its variance": (
        INFEASIBLE, "variance", "k", {}, 5, {"aggregation": VARIANCE},
    ),
    # values and wishes
    "fewer values than k": (
        INFEASIBLE, "'a'", "k", {"a": [1, 2, *[None] * 5]}, 3,
        {"missing": {"policy": "patterns"}},
    ),
    "a column of wishes that nothing reads": (
        JOB, "far", "", {}, 2, {"roles": {"wish": ["far"]}},
    ),
    "categories that all ask for the same": (
        JOB, "'s'", "", {}, 2, {**WISHED, **wishing(**ALIKE)},
    ),
    "a distance of categories out of reach": (
        JOB, "'s'", "", {}, 2, {**WISHED, **wishing(**ALIKE, delta=2.0, budget=1.5)},
    ),
    "a distance out of reach": (
        JOB, "'b'", "less", {}, 2, {"aggregation": {"method": "p3m", "delta": 30.0}},
    ),
    "an importance above one": (
        JOB, "importance", "", {}, 2,
        {"aggregation": {"method": "p3m", "importance": {"relative": 1.1}}},
    ),
    "demands that contradict each other": (
        INFEASIBLE, "importance", "", {}, 3,
        {"aggregation": {"method": "p3m", "importance": 1.0, "delta": 2.0,
                         "margin": 0.1}},
    ),
    # units
    "numbers of units that nobody named": (
        JOB, "'h'", "unit", OF_UNITS, 2, {"roles": {"other": ["h"]}},
    ),
    "units in two blocks": (
        JOB, "2 blocks", "", {}, 2, {**UNITS, **BLOCKS},
    ),
    "pseudonyms of records masked by themselves": (
        JOB, "unit", "", {}, 2, {**UNITS, "units": {"published": "pseudonym"}},
    ),
    "pseudonyms that sizes tell apart": (
        JOB, "numbers of records", "stratum", OF_UNITS, 2,
        {**UNITS, "units": {"attributes": ["a", "b"], "published": "pseudonym"}},
    ),
    **{
        f"{name} of attributes of both kinds": (
            JOB, name, "", {"b": [0, 0, 1, 1, 2, 2, 5.0]}, 2,
            {**UNITS, "units": {"attributes": ["b"]}, "privacy": {"scope": "blocks"},
             **section},
        )
        for name, section in {
            "keep": keeping(variance=["a"], mean=["b"]),
            "delta": {"aggregation": {"method": "p3m",
                                      "delta": {"attributes": {"a": 0.1, "b": 0}}}},
            "attributes": {"partition": BLOCKS["partition"]},
        }.items()
    },
}  # fmt: skip


def refusal(case) -> AggoptError | None:
    """Return the error with which `mask` refuses a case."""
    *_, columns, k, own = REFUSALS[case]
    roles = {"quasi-identifier": ["a", "b"], **own.get("roles", {})}
    more = {
        name: section
        for name, section in own.items()
        if name not in ("roles", "privacy")
    }
    named = {
        n
        for names in roles.values()
        for n in ([names] if isinstance(names, str) else names)
    }
    frame = FRAME.assign(**columns)
    frame = frame[[name for name in frame if name in named]]
    sections = {"partition": {"method": "mdav"}, **more}
    try:
        job = aggopt.Job(
            roles=roles, privacy={"k": k, **own.get("privacy", {})}, **sections
        )
        aggopt.mask(frame, job)
    except AggoptError as error:
        return error
    return None


@pytest.fixture(scope="module")
def refusals():
    return {case: refusal(case) for case in REFUSALS}


@pytest.mark.parametrize("case", REFUSALS)
def test_it_is_refused_by_class_and_names_what_is_at_fault(refusals, case) -> None:
    kind, problem, fix, *_ = REFUSALS[case]
    error = refusals[case]
    assert isinstance(error, kind), error
    assert problem in error.problem
    assert fix in error.fix
    assert error.fix


def test_the_words_are_those_that_were_accepted(refusals) -> None:
    said = "\n".join(
        f"# {case}\n{type(error).__name__}: {error}\n"
        for case, error in refusals.items()
    )
    if os.environ.get("AGGOPT_ACCEPT"):
        MESSAGES.write_text(said, "utf-8")
    assert MESSAGES.read_text("utf-8") == said, "see the docstring of this file"
