"""What each step asks of a job and its table, asked alone: when, and in which words."""

import numpy as np
import pandas as pd
import pytest
from refusals import refused

from aggopt.errors import InfeasibleInputError, JobError, SolverError, TableError
from aggopt.input.confidential import Confidential
from aggopt.input.strata import Stratified
from aggopt.input.table import Table
from aggopt.input.units import Members
from aggopt.input.weights import weights_in
from aggopt.job import Job
from aggopt.pipeline.covariance import require_covariance
from aggopt.pipeline.guarantees import require_guarantees, with_search
from aggopt.pipeline.holes import require_values
from aggopt.pipeline.partition_step import require_solved
from aggopt.pipeline.pseudonyms import require_linkable
from aggopt.pipeline.sampling_weights import require_weighed, with_dominance
from aggopt.pipeline.strata import (
    LESS,
    require_kept,
    require_there,
    require_twice,
    require_within,
)
from aggopt.pipeline.units import require_said, require_units, with_repair
from aggopt.pipeline.wishes import require_all_read, wishes_of
from aggopt.privacy._models.l_diversity import Diversity
from aggopt.solvers import Certificate, Status, _log

FRAME = pd.DataFrame(
    {
        "a": [1.0, 2, 4, 8, 16, 32, 64],
        "b": [3.0, 1, 4, 1, 5, 9, 2],
        "s": [*"xxxyyyy"],
        "h": [0, 0, 1, 1, 2, 2, 3],
        "w": [1.0, 1, 1, 1, 1, 1, 4],
        "far": np.full(7, 0.1),
    }
)
NUMBERS = ["a", "b"]
XY = Stratified(np.array([0, 0, 0, 1, 1, 1, 1]))
ONE = Stratified(np.zeros(7, np.intp))
SIX = Stratified(np.zeros(6, np.intp))
VARIANCE = {"method": "mean", "keep": "variance"}
NAMED = ('set repair = "merge" or "search" under [privacy].', JobError)


def job(k=2, **sections):
    roles = {"quasi-identifier": NUMBERS, **sections.pop("roles", {})}
    privacy = {"k": k, **sections.pop("privacy", {})}
    plain = {"partition": {"method": "mdav"}}
    return Job(roles=roles, privacy=privacy, **{**plain, **sections})


def table(asked, frame=FRAME):
    named = [name for _, names in asked.roles for name in names]
    return Table.of(frame[named], asked.roles, asked.attributes, missing=asked.missing)


# --- strata


def test_strata_whose_variance_is_kept_have_records_of_two_groups() -> None:
    within = {"roles": {"stratum": ["s"]}}
    says = "{} fewer than 2k = {} records, {} records in all: they make one group "
    says += "each, and one value cannot keep a variance."
    fix = 'set keep = "overall" under [strata], which keeps the variance of all '
    fix += "records together; or choose a smaller k, fewer columns as stratum, or "
    fix += "aggregate by the mean as it is."
    require_twice(job(k=3, aggregation=VARIANCE, **within), None)
    require_twice(job(k=3, **within), XY)
    together = {"strata": {"keep": "overall"}}
    require_twice(job(k=3, aggregation=VARIANCE, **within, **together), XY)
    require_twice(job(k=3, aggregation=VARIANCE, **within), SIX)
    with refused(says.format("1 of 2 strata has", 4, 3), fix, InfeasibleInputError):
        require_twice(job(k=2, aggregation=VARIANCE, **within), XY)
    with refused(says.format("2 of 2 strata have", 6, 7), fix, InfeasibleInputError):
        require_twice(job(k=3, aggregation=VARIANCE, **within), XY)
    with refused(says.format("1 of 1 stratum has", 8, 7), fix, InfeasibleInputError):
        require_twice(job(k=4, aggregation=VARIANCE, **within), ONE)


def test_a_stratum_alone_is_called_one() -> None:
    held = Confidential("ill", ONE.labels, (Diversity("ill", ONE.labels, 2),))
    with refused(
        "Within strata no groups keep what is promised: distinct l >= 2 of 'ill' is "
        "not kept by 1 of 1 stratum, each taken as one group.",
        LESS,
        InfeasibleInputError,
    ):
        require_kept([held], ONE, True)
    asked = job(roles={"stratum": ["s"]}, missing={"policy": "fill"})
    frame = FRAME.assign(a=FRAME["a"].where(FRAME.index == 0))
    own = table(asked, frame)
    with refused(
        "'a' has fewer than 2 values that are not missing in 1 of 1 stratum, with "
        "k = 2.",
        "drop it, as identifier, choose a smaller k, or fewer columns as stratum.",
        InfeasibleInputError,
    ):
        require_there(own, own.matrix(), asked, ONE)


def test_what_looks_at_all_records_is_not_made_within_strata(tmp_path) -> None:
    within = {"stratum": ["s"], "confidential": ["h"]}
    diverse = {"partition": {"method": "diverse_vmdav"}, "privacy": {"l": 2}}
    swap = {"privacy": {"t": 0.5, "repair": "swap"}}
    whole = {"partition": {"method": "individual_ranking", "centroids": "integer"}}
    for asked in (diverse, swap, whole):
        require_within(job(roles={"confidential": ["h"]}, **asked))
    require_within(job(roles=within, privacy={"l": 2, "repair": "merge"}))
    require_within(job(roles=within, strata={"jobs": 2}))
    with refused(
        "diverse_vmdav looks at confidential values of all records together, and "
        "groups are made within strata.",
        'choose method = "mdav" or another, with repair = "merge" under [privacy].',
        JobError,
    ):
        require_within(job(roles=within, **diverse))
    with refused("The repair 'swap' is not made within strata.", *NAMED):
        require_within(job(roles=within, **swap))
    with refused(
        'centroids = "integer" is of values in their own units, and within strata '
        "distances are measured in standard deviations of all records.",
        "leave centroids out under [partition].",
        JobError,
    ):
        require_within(job(roles=within, **whole))
    with _log.logged(tmp_path / "log"):
        require_within(job(roles=within))
        with refused(
            "[strata] jobs = 2, and a log of solvers is kept, which is of one process.",
            "set jobs = 1, or keep no log.",
            JobError,
        ):
            require_within(job(roles=within, strata={"jobs": 2}))


# --- weights


def weighted(*, repair=None, **sections):
    privacy = {"l": 2, "repair": repair} if repair else {}
    roles = {"weight": "w", "confidential": ["h"]}
    return job(roles=roles, privacy=privacy, **sections)


def test_weights_are_such_as_groups_are_made_with() -> None:
    def ask(asked, frame=FRAME):
        own = table(asked, frame)
        require_weighed(asked, own, own.matrix(), [[0, 1]])

    ask(job())
    ask(weighted(repair="merge"))
    with refused("The repair 'swap' does not keep the dominance of [weights].", *NAMED):
        ask(weighted(repair="swap"))
    with pytest.raises(TableError, match=r"^Column 'w': The largest of 7 weig"):
        ask(weighted(), FRAME.assign(w=[1.0, 1, 1, 1, 1, 1, 1e9]))
    heavy = weighted(weights={"dominance": 0.5})
    with pytest.raises(InfeasibleInputError, match="dominan"):
        ask(heavy, FRAME.assign(w=[1.0, 1, 1, 1, 1, 1, 7]))
    ask(weighted(weights={"dominance": 0.8}), FRAME)


def test_groups_that_one_record_would_dominate_are_merged_apart_or_not() -> None:
    sampling = weights_in(table(weighted()))
    for method, apart in (("mdav", False), ("local_search", True)):
        asked = weighted(partition={"method": method})
        found, (why,) = with_dominance(asked, sampling, apart=apart)
        assert found.privacy.repair.method == "merge"
        assert ("within patterns of missing values" in why) == apart
    assert with_dominance(asked, sampling, apart=False) == (asked, ())


# --- what is confidential


def test_promises_need_confidential_attributes_and_a_search_gets_a_repair() -> None:
    asked = job(privacy={"l": 2, "repair": "merge"})
    with refused(
        "l = 2 is promised, and no attribute is confidential.",
        'name those that are under [roles]: confidential = ["NAME"].',
        JobError,
    ):
        require_guarantees(asked)
    secret = {"roles": {"confidential": ["h"]}}
    search = {"partition": {"method": "local_search"}, **secret}
    left = (
        job(**search),
        job(privacy={"l": 2}, **secret),
        job(privacy={"l": 2, "repair": "merge"}, **search),
    )
    for each in left:
        assert with_search(each) == (each, ())
    found, why = with_search(job(privacy={"l": 2}, **search))
    assert found == job(privacy={"l": 2, "repair": "search"}, **search)
    assert why == (
        "l = 2 is promised, and no repair is named: the groups of "
        "'local_search' are merged until they keep it, then searched further, by "
        'repair = "search".',
    )


# --- units


def of_units(**sections):
    roles = {"unit": ["h"], **sections.pop("roles", {})}
    return job(roles=roles, **sections)


def test_groups_of_k_units_are_made_by_a_repair() -> None:
    units = Members(np.array([0, 0, 1, 1, 2, 2, 3]))
    asked = of_units()
    assert with_repair(asked, None) == (asked, ())
    assert with_repair(asked, Members(units.of, table(asked))) == (asked, ())
    secret = {"privacy": {"l": 2, "repair": "merge"}, "roles": {"confidential": ["s"]}}
    merged = of_units(**secret)
    assert with_repair(merged, units) == (merged, ())
    said = "k counts units: groups are merged until each has records of k units, "
    found, why = with_repair(asked, units)
    assert found.privacy.repair.method == "search"
    assert found.model_copy(update={"privacy": asked.privacy}) == asked
    assert why == (f'{said}then searched further, by repair = "search".',)
    kept = of_units(partition={"method": "keep_groups", "keep_groups": "earlier.csv"})
    found, why = with_repair(kept, units)
    assert found.privacy.repair.method == "merge"
    assert why == (f'{said}by repair = "merge".',)


def test_numbers_of_units_that_nobody_named_are_refused_from_2k_on() -> None:
    frame = FRAME.assign(a=FRAME["h"] * 2.0, b=FRAME["h"] % 3)
    roles = {"other": ["h"]}
    require_said(job(k=3, roles=roles), table(job(roles=roles), frame))
    with pytest.raises(JobError, match=r"^3 values of 'h' are of several records each"):
        require_said(job(roles=roles), table(job(roles=roles), frame))


def test_blocks_are_of_units_alone_or_of_records_alone() -> None:
    blocks = [[0], [1]]
    units = Members(np.array([0, 0, 1, 1, 2, 2, 3]))
    asked = of_units(roles={"quasi-identifier": NUMBERS})
    with pytest.raises(JobError, match="are grouped in 2 blocks"):
        require_units(asked, blocks, units, None)
    apart = of_units(units={"attributes": ["a"]}, privacy={"scope": "blocks"})
    require_units(apart, blocks, units, None)


def test_pseudonyms_are_of_units_that_nothing_tells_apart() -> None:
    pairs = Members(np.array([0, 0, 1, 1, 2, 2]))
    alone = Members(np.arange(7))
    asked = of_units(units={"attributes": NUMBERS, "published": "pseudonym"})
    require_linkable(of_units(), pairs, None)
    require_linkable(asked, None, None)
    require_linkable(asked, alone, None)
    with pytest.raises(JobError, match="records of a unit are masked each by itself"):
        require_linkable(asked, pairs, None)
    require_linkable(asked, Members(pairs.of, table(asked)), None)
    sizes = Members(np.array([0, 0, 1, 2, 2, 3]), table(asked))
    require_linkable(asked, sizes, Stratified(np.array([0, 1, 0, 1])))
    for strata in (None, Stratified(np.array([0, 0, 1, 1]))):
        with pytest.raises(JobError, match="4 units have 2 different numbers of rec"):
            require_linkable(asked, sizes, strata)


# --- values, wishes and answers


def test_attributes_without_holes_have_as_many_values_as_there_are_records() -> None:
    own = table(job())
    require_values(own, own.matrix(), job(k=8))
    holed = FRAME["a"].where(FRAME.index > 4)
    asked = job(k=3, missing={"policy": "patterns"})
    own = table(asked, FRAME.assign(a=holed))
    with pytest.raises(InfeasibleInputError, match="'a' has 2 values that are not"):
        require_values(own, own.matrix(), asked)


def test_a_covariance_is_asked_of_each_stratum_that_is_aggregated_by_itself() -> None:
    kept = {"aggregation": {"method": "mean", "keep": "covariance"}}
    within = {"roles": {"stratum": ["s"]}}
    fix = 'choose a smaller k, fewer quasi-identifiers, or keep = "variance".'
    X, both = FRAME[NUMBERS].to_numpy(), [[0, 1]]

    def ask(asked, strata=None, places=both, values=X):
        require_covariance(table(asked), values, places, asked, strata)

    ask(job(**kept))
    ask(job(k=7, aggregation=VARIANCE))
    ask(job(k=7, **kept), values=np.where(X == 1, np.nan, X))
    ask(job(k=3, **kept), values=X * [0, 1])
    ask(job(**kept, **within, strata={"keep": "overall"}), XY)
    ask(job(**kept, **within), ONE)
    says = "{} with k = {} make {} at most, and a covariance matrix of rank 2 is kept "
    says += "by 3 or more."
    with refused(says.format("7 records", 3, "2 groups"), fix, InfeasibleInputError):
        ask(job(k=3, **kept))
    one = says.format("3 records of one stratum", 2, "1 group")
    with refused(one, fix, InfeasibleInputError):
        ask(job(**kept, **within), XY)
    apart = 'keep = "covariance" is of attributes that are grouped together, and '
    apart += "[partition] attributes puts the numbers into 2 blocks."
    with pytest.raises(JobError) as no:
        ask(job(**kept), places=[[0], [1]])
    assert no.value.problem == apart


def test_columns_of_wishes_are_read_by_what_the_job_shifts() -> None:
    roles = {"wish": ["far"]}
    shifts = {"aggregation": {"method": "p3m", "delta": {"column": "far"}}}
    require_all_read(job(roles=roles, **shifts))
    with pytest.raises(JobError, match="far"):
        require_all_read(job(roles=roles))
    asked = job(roles=roles, **shifts)
    found = wishes_of(table(asked), table(asked).matrix(), asked)
    assert found["delta"].tolist() == [[0.1, 0.1]] * 7


def test_what_failed_is_named_with_its_solver() -> None:
    failed = {
        name: Certificate(status, np.nan, None, np.nan, "own", 0.0)
        for name, status in (("a", Status.FAILED), ("b", Status.INFEASIBLE))
    }
    with pytest.raises(SolverError) as no:
        require_solved(failed)
    assert no.value.problem == (
        "No usable answer was found for 'a': failed (own), 'b': infeasible (own)."
    )
    require_solved({})
