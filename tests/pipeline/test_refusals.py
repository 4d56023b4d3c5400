"""Jobs that a table refuses before any work: the class, and what is at fault."""

import re
from inspect import getsource

import pandas as pd
import pytest
from refusals import refused

import aggopt
from aggopt.data.table import Table
from aggopt.errors import InfeasibleInputError, JobError, TableError
from aggopt.experiments.sweep import sweep
from aggopt.pipeline.validate import preflight_checks
from aggopt.solvers import solver_log

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
OF_S = {"roles": {"quasi-identifier": ["s"]}}
PATTERNS = {"missing": {"policy": "patterns"}}
OCCURRING = {"method": "plurality", "occurring": True}
ALIKE = {"importance": {"column": "far"}}

# name: class, what is at fault, columns changed, k, sections
REFUSALS = {
    # what varies, and what a method takes
    "a table in which nothing varies": (
        TABLE, "quasi-identifier", {"a": [7.0] * 7, "b": [1.0] * 7}, 2, {},
    ),
    "a univariate partition of a category": (
        JOB, "'s'", {}, 2, {**OF_S, "partition": {"method": "univariate"}},
    ),
    "whole centroids of a category": (
        JOB, "'s'", {}, 2,
        {"roles": {"quasi-identifier": ["h", "s"]}, "output": {"round_integers": True},
         "partition": {"method": "individual_ranking", "centroids": "integer"}},
    ),
    "a section of categories for numbers": (
        JOB, "[aggregation.categories]", {}, 2, wishing(),
    ),
    "a method of numbers for categories": (
        JOB, "median", {}, 2, {**OF_S, "aggregation": {"method": "median"}},
    ),
    # missing values
    "fewer names than k": (
        INFEASIBLE, "'s'", {"s": [*"xx", *[None] * 5]}, 3,
        {"roles": {"quasi-identifier": ["a", "s"]}, **PATTERNS},
    ),
    "fewer values than a variance needs": (
        INFEASIBLE, "'b'", {"b": [1, 2, 3, 4, 5, None, None]}, 3,
        {"aggregation": VARIANCE, **PATTERNS},
    ),
    "a partition of all records with missing values": (
        JOB, "diverse_vmdav", {"a": [1, 2, 3, 4, 5, None, None]}, 2,
        {"roles": {"confidential": ["h"]}, "privacy": {"l": 2},
         "partition": {"method": "diverse_vmdav"}, **PATTERNS},
    ),
    **{
        f"{name} chosen together with missing values": (
            JOB, names, columns, 2,
            {"roles": {"quasi-identifier": ["a", "s", "h", "one"]}, **PATTERNS,
             "attributes": {"h": {"kind": "nominal"}, "one": {"kind": "nominal"}},
             "partition": {"method": "mdav", "attributes": blocks},
             "privacy": {} if blocks == "together" else {"scope": "blocks"},
             "aggregation": {"method": "mean", "categories": OCCURRING}},
        )
        for name, names, columns, blocks in (
            ("one category", "[attributes.s]",
             {"s": [*"xxxyy", None, None], "h": [0, 0, 0, 1, 1, 1, 1]}, "together"),
            ("categories", "[attributes.s], [attributes.h]",
             {"s": [*"xxxyy", None, None], "h": [0, 0, 1, 1, None, None, None]},
             "together"),
            ("categories of a block", "[attributes.h]",
             {"s": [*"xxxyy", None, None], "h": [0, 0, 1, 1, None, None, None]},
             [["a", "s"], ["h", "one"]]),
        )
    },
    # requirements that no method keeps
    **{
        f"{name} that nothing keeps": (
            JOB, names, {}, 2,
            {"roles": {"confidential": confidential}, "privacy": privacy,
             "partition": {"method": method}},
        )
        for name, names, confidential, method, privacy in (
            ("l", "l = 2", ["h"], "mdav", {"l": 2}),
            ("t", "t = 0.2", ["h"], "mdav", {"t": 0.2}),
            ("p", "p = 2", ["h"], "mdav", {"p": 2}),
            ("l and t of two", "l = 2 and t = 0.2", ["h", "w"], "mdav",
             {"l": 2, "t": 0.2}),
            ("t of two by a method of one", "closeness_first", ["h", "w"],
             "closeness_first", {"t": 0.2}),
            ("t of two by a repair of one", "'sweep'", ["h", "w"], "mdav",
             {"t": 0.2, "repair": "sweep"}),
            ("t of equal values", "equal", ["h"], "closeness_first",
             {"t": 0.2, "confidential": {"h": {"distance": "equal"}}}),
            ("proximity", "epsilon = 2.5", ["h"], "mdav",
             {"t": 0.5, "repair": "sweep", "proximity": {"epsilon": 2.5, "m": 2}}),
            ("a repair of t without t", "'sweep'", ["h"], "mdav",
             {"l": 2, "repair": "sweep"}),
        )
    },
    # strata
    "a variance of strata of one group": (
        INFEASIBLE, "1 of 2 strata", {}, 2,
        {**WITHIN, "aggregation": VARIANCE},
    ),
    "a variance of strata of one group each": (
        INFEASIBLE, "2 of 2 strata", {}, 3, {**WITHIN, "aggregation": VARIANCE},
    ),
    "a variance of one stratum": (
        INFEASIBLE, "1 of 1 stratum", {"s": ["x"] * 7}, 4,
        {**WITHIN, "aggregation": VARIANCE},
    ),
    "l that whole strata do not keep": (
        INFEASIBLE, "'h'", {"h": [0, 0, 0, 1, 1, 2, 2]}, 2,
        {"roles": {"stratum": ["s"], "confidential": ["h"]}, "privacy": L2},
    ),
    "l that one stratum does not keep": (
        INFEASIBLE, "'h'", {"h": [1] * 7, "s": ["x"] * 7}, 2,
        {"roles": {"stratum": ["s"], "confidential": ["h"]}, "privacy": L2},
    ),
    "values that a stratum has not": (
        INFEASIBLE, "'a'", {"a": [1, 2, 3, 4, None, None, None]}, 2,
        {**WITHIN, "missing": {"policy": "fill"}},
    ),
    "a partition that looks at all records": (
        JOB, "diverse_vmdav", {}, 2,
        {"roles": {"stratum": ["s"], "confidential": ["h"]}, "privacy": {"l": 2},
         "partition": {"method": "diverse_vmdav"}},
    ),
    "a repair that looks at all records": (
        JOB, "swap", {}, 2,
        {"roles": {"stratum": ["s"], "confidential": ["h"]},
         "privacy": {"t": 0.5, "repair": "swap"}},
    ),
    "whole centroids within strata": (
        JOB, "centroids", {}, 2,
        {**WITHIN, "privacy": {"scope": "blocks"},
         "partition": {"method": "individual_ranking", "centroids": "integer"}},
    ),
    # weights
    "a repair that does not see dominance": (
        JOB, "dominance", {}, 2,
        {"roles": {"weight": "w", "confidential": ["h"]},
         "privacy": {"l": 2, "repair": "swap"}},
    ),
    "weights too far apart": (
        TABLE, "'w'", {"w": [1.0] * 6 + [1e9]}, 2, {"roles": {"weight": "w"}},
    ),
    "a weight that dominates any group": (
        INFEASIBLE, "dominan", {"w": [1.0] * 6 + [7]}, 2,
        {"roles": {"weight": "w"}, "weights": {"dominance": 0.5}},
    ),
    # what is confidential
    "l of no attribute": (JOB, "l = 2", {}, 2, {"privacy": L2}),
    "a method of l without one": (
        JOB, "diverse_vmdav", {}, 2,
        {"roles": {"confidential": ["h"]}, "partition": {"method": "diverse_vmdav"}},
    ),
    # what is kept
    "a covariance of too few groups": (
        INFEASIBLE, "7 records", {}, 3, {"aggregation": COVARIANCE},
    ),
    "a covariance of too few groups in a stratum": (
        INFEASIBLE, "7 records of one stratum", {"s": ["x"] * 7}, 3,
        {**WITHIN, "aggregation": COVARIANCE},
    ),
    "a covariance of two blocks": (
        JOB, "covariance", {}, 2, {**BLOCKS, "aggregation": COVARIANCE},
    ),
    "a table of what is kept with an unknown name": (
        JOB, "'c'", {}, 2, keeping(covariance=["a", "c"]),
    ),
    "a table of what is kept that leaves one out": (
        JOB, "'b'", {}, 2, keeping(covariance=["a"]),
    ),
    "a table of what is kept over blocks": (
        JOB, "covariance", {}, 2, {**BLOCKS, **keeping(covariance=["b", "a"])},
    ),
    "a response of one value": (
        JOB, "'far'", {}, 2,
        {"roles": {"other": ["far"]}, **keeping(regression="far ~ a + b")},
    ),
    "one group for its variance": (
        INFEASIBLE, "variance", {}, 5, {"aggregation": VARIANCE},
    ),
    # values and wishes
    "fewer values than k": (
        INFEASIBLE, "'a'", {"a": [1, 2, *[None] * 5]}, 3,
        {"missing": {"policy": "patterns"}},
    ),
    "a column of wishes that nothing reads": (
        JOB, "far", {}, 2, {"roles": {"wish": ["far"]}},
    ),
    "categories that all ask for the same": (
        JOB, "'s'", {}, 2, {**WISHED, **wishing(**ALIKE)},
    ),
    "a distance of categories out of reach": (
        JOB, "'s'", {}, 2, {**WISHED, **wishing(**ALIKE, delta=2.0, budget=1.5)},
    ),
    "a distance out of reach": (
        JOB, "'b'", {}, 2, {"aggregation": {"method": "p3m", "delta": 30.0}},
    ),
    "an importance above one": (
        JOB, "importance", {}, 2,
        {"aggregation": {"method": "p3m", "importance": {"relative": 1.1}}},
    ),
    "demands that contradict each other": (
        INFEASIBLE, "importance", {}, 3,
        {"aggregation": {"method": "p3m", "importance": 1.0, "delta": 2.0,
                         "margin": 0.1}},
    ),
    # units
    "numbers of units that nobody named": (
        JOB, "'h'", OF_UNITS, 2, {"roles": {"other": ["h"]}},
    ),
    "units in two blocks": (
        JOB, "2 blocks", {}, 2, {**UNITS, **BLOCKS},
    ),
    "pseudonyms of records masked by themselves": (
        JOB, "unit", {}, 2, {**UNITS, "units": {"published": "pseudonym"}},
    ),
    "pseudonyms that sizes tell apart": (
        JOB, "numbers of records", OF_UNITS, 2,
        {**UNITS, "units": {"attributes": ["a", "b"], "published": "pseudonym"}},
    ),
    **{
        f"{name} of attributes of both kinds": (
            JOB, name, {"b": [0, 0, 1, 1, 2, 2, 5.0]}, 2,
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


def frame_and_job(columns, k, own):
    """Return the columns that a job has roles for, and the job."""
    roles = {"quasi-identifier": ["a", "b"], **own.get("roles", {})}
    more = {key: own[key] for key in own if key not in ("roles", "privacy")}
    sections = {"partition": {"method": "mdav"}, **more}
    privacy = {"k": k, **own.get("privacy", {})}
    job = aggopt.Job(roles=roles, privacy=privacy, **sections)
    named = {name for _, names in job.roles for name in names}
    frame = FRAME.assign(**columns)
    return frame[[name for name in frame if name in named]], job


@pytest.mark.parametrize("case", REFUSALS)
def test_it_is_refused_by_class_and_names_what_is_at_fault(case) -> None:
    kind, name, *rest = REFUSALS[case]
    with refused(kind, name):
        aggopt.mask(*frame_and_job(*rest))


ACCEPTED = {  # columns changed, k, sections
    "an ordering method of a category": (
        {}, 2,
        {"roles": {"quasi-identifier": ["a", "s"]}, "partition": {"method": "mhm"}},
    ),
    "the variance of all strata together": (
        {}, 3, {**WITHIN, "aggregation": VARIANCE, "strata": {"keep": "overall"}},
    ),
    "the variance of two groups": ({}, 3, {"aggregation": VARIANCE}),
    "a weight that dominates no group": (
        {}, 2, {"roles": {"weight": "w"}, "weights": {"dominance": 0.8}},
    ),
    "values of k records": (
        {"a": [1, 2, 3, *[None] * 4]}, 3, {"missing": {"policy": "patterns"}},
    ),
    "categories chosen together next to missing numbers": (
        {"a": [1, 2, 3, 4, 5, None, None]}, 2,
        {"roles": {"quasi-identifier": ["a", "s"]}, **PATTERNS,
         "aggregation": {"method": "mean", "categories": OCCURRING}},
    ),
    "a partition of all records that fills missing values": (
        {"a": [1, 2, 3, 4, 5, None, None]}, 2,
        {"roles": {"confidential": ["h"]}, "privacy": {"l": 2},
         "partition": {"method": "diverse_vmdav"}, "missing": {"policy": "fill"}},
    ),
    "t of several by a method of several": (
        {}, 2,
        {"roles": {"confidential": ["h", "w"]}, "privacy": {"t": 0.5},
         "partition": {"method": "merge_until_close"}},
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", ACCEPTED)
def test_what_can_be_kept_is_masked(case) -> None:
    assert aggopt.mask(*frame_and_job(*ACCEPTED[case])).audit.holds


def test_a_log_of_solvers_is_of_one_process(tmp_path) -> None:
    with solver_log.logged(tmp_path / "log"), refused(JobError, "jobs = 2"):
        aggopt.mask(*frame_and_job({}, 2, {**WITHIN, "strata": {"jobs": 2}}))


def test_attributes_of_units_and_of_records_are_not_swept() -> None:
    apart = {**UNITS, "units": {"attributes": ["b"]}, "privacy": {"scope": "blocks"}}
    columns = {"b": [0, 0, 1, 1, 2, 2, 5.0]}
    job = {**apart, "aggregation": {"method": "p3m"}}
    with refused(JobError):
        next(iter(sweep(*frame_and_job(columns, 2, job), alpha=[0.5], delta=[0.1])))


def test_every_check_is_made() -> None:
    """A check that the list leaves out would refuse nothing."""
    job = {"partition": {"method": "univariate", "solver": "dynamic"}}
    frame, job = frame_and_job({}, 2, job)
    table = Table.of(frame, job.roles, job.attributes)
    made = preflight_checks.list_checks(
        table, table.matrix(), job, ((0, 1),), None, None
    )
    checks = {
        name
        for name in vars(preflight_checks)
        if name.lstrip("_").startswith("require_")
    }
    source = getsource(preflight_checks)
    others = {*re.findall(r"(?<!def )\b(_?require_\w+)\(", source)}  # parts of checks
    others |= {"require_variance", "require_memory_engine", "require_counts"}
    assert checks - others == {check.func.__name__ for check in made}
