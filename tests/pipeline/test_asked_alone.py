"""What each step asks of a job and its table, asked alone: when, and in which words."""

import numpy as np
import pytest
from asked import FRAME, ONE, XY, job, table
from refusals import refused

from aggopt.data.context.confidential import Confidential
from aggopt.data.context.strata import RecordStrata
from aggopt.data.context.weights import read_sampling_weights
from aggopt.errors import InfeasibleInputError, JobError, SolverError, TableError
from aggopt.pipeline.prepare.defaults import add_dominance_repair, add_repair_for_search
from aggopt.pipeline.prepare.record_requests import read_requests
from aggopt.pipeline.validate.distance_requests import require_all_read
from aggopt.pipeline.validate.missing_values import require_present_values
from aggopt.pipeline.validate.privacy_guarantees import require_guarantees
from aggopt.pipeline.validate.sampling_weights import require_weighed
from aggopt.pipeline.validate.solver_answers import require_solved
from aggopt.pipeline.validate.strata import (
    LESS,
    require_satisfiable_strata,
    require_two_groups_per_stratum,
    require_values_in_strata,
    require_within,
)
from aggopt.privacy.models.l_diversity import Diversity
from aggopt.solvers import Certificate, Status
from aggopt.solvers import solver_log as _log

SIX = RecordStrata(np.zeros(6, np.intp))
VARIANCE = {"method": "mean", "keep": "variance"}
NAMED = ('set repair = "merge" or "search" under [privacy].', JobError)


# --- strata


def test_strata_whose_variance_is_kept_have_records_of_two_groups() -> None:
    within = {"roles": {"stratum": ["s"]}}
    says = "{} fewer than 2k = {} records, {} records in all: they make one group "
    says += "each, and one value cannot keep a variance."
    fix = 'set keep = "overall" under [strata], which keeps the variance of all '
    fix += "records together; or choose a smaller k, fewer columns as stratum, or "
    fix += "aggregate by the mean as it is."
    require_two_groups_per_stratum(job(k=3, aggregation=VARIANCE, **within), None)
    require_two_groups_per_stratum(job(k=3, **within), XY)
    together = {"strata": {"keep": "overall"}}
    require_two_groups_per_stratum(
        job(k=3, aggregation=VARIANCE, **within, **together), XY
    )
    require_two_groups_per_stratum(job(k=3, aggregation=VARIANCE, **within), SIX)
    with refused(says.format("1 of 2 strata has", 4, 3), fix, InfeasibleInputError):
        require_two_groups_per_stratum(job(k=2, aggregation=VARIANCE, **within), XY)
    with refused(says.format("2 of 2 strata have", 6, 7), fix, InfeasibleInputError):
        require_two_groups_per_stratum(job(k=3, aggregation=VARIANCE, **within), XY)
    with refused(says.format("1 of 1 stratum has", 8, 7), fix, InfeasibleInputError):
        require_two_groups_per_stratum(job(k=4, aggregation=VARIANCE, **within), ONE)


def test_a_stratum_alone_is_called_one() -> None:
    held = Confidential("ill", ONE.labels, (Diversity("ill", ONE.labels, 2),))
    with refused(
        "Within strata no groups keep what is promised: distinct l >= 2 of 'ill' is "
        "not kept by 1 of 1 stratum, each taken as one group.",
        LESS,
        InfeasibleInputError,
    ):
        require_satisfiable_strata([held], ONE, True)
    asked = job(roles={"stratum": ["s"]}, missing={"policy": "fill"})
    frame = FRAME.assign(a=FRAME["a"].where(FRAME.index == 0))
    own = table(asked, frame)
    with refused(
        "'a' has fewer than 2 values that are not missing in 1 of 1 stratum, with "
        "k = 2.",
        "drop it, as identifier, choose a smaller k, or fewer columns as stratum.",
        InfeasibleInputError,
    ):
        require_values_in_strata(own, own.matrix(), asked, ONE)


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
    sampling = read_sampling_weights(table(weighted()))
    for method, apart in (("mdav", False), ("local_search", True)):
        asked = weighted(partition={"method": method})
        found, (why,) = add_dominance_repair(asked, sampling, apart=apart)
        assert found.privacy.repair.method == "merge"
        assert ("within patterns of missing values" in why) == apart
    assert add_dominance_repair(asked, sampling, apart=False) == (asked, ())


# --- what is confidential


def test_promises_need_confidential_attributes_and_a_search_gets_a_repair() -> None:
    asked = job(privacy={"l": 2, "repair": "merge"})
    with refused(
        "l = 2 is promised, and no attribute is confidential.",
        'list under [roles] what must not be given away, such as confidential = ["b"].',
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
        assert add_repair_for_search(each) == (each, ())
    found, why = add_repair_for_search(job(privacy={"l": 2}, **search))
    assert found == job(privacy={"l": 2, "repair": "search"}, **search)
    assert why == (
        "l = 2 is promised, and no repair is named: the groups of "
        "'local_search' are merged until they keep it, then searched further, by "
        'repair = "search".',
    )


# --- values, wishes and answers


def test_attributes_without_holes_have_as_many_values_as_there_are_records() -> None:
    own = table(job())
    require_present_values(own, own.matrix(), job(k=8))
    holed = FRAME["a"].where(FRAME.index > 4)
    asked = job(k=3, missing={"policy": "patterns"})
    own = table(asked, FRAME.assign(a=holed))
    with pytest.raises(InfeasibleInputError, match="'a' has 2 values that are not"):
        require_present_values(own, own.matrix(), asked)


def test_columns_of_wishes_are_read_by_what_the_job_shifts() -> None:
    roles = {"wish": ["far"]}
    shifts = {"aggregation": {"method": "p3m", "delta": {"column": "far"}}}
    require_all_read(job(roles=roles, **shifts))
    with pytest.raises(JobError, match="far"):
        require_all_read(job(roles=roles))
    asked = job(roles=roles, **shifts)
    found = read_requests(table(asked), table(asked).matrix(), asked)
    assert found["delta"].tolist() == [[0.1, 0.1]] * 7


def test_columns_of_wishes_are_read_by_what_the_job_says_of_categories() -> None:
    roles = {"quasi-identifier": ["a", "s"], "wish": ["far"]}
    alike = {"method": "wish", "importance": {"column": "far"}}
    for solved in ({**alike, "budget": 1.5}, alike):
        asked = job(roles=roles, aggregation={"method": "mean", "categories": solved})
        require_all_read(asked)
        own = table(asked)
        if "budget" in solved:
            assert read_requests(own, own.matrix(), asked) == {}
            continue
        with pytest.raises(JobError, match=r"^'s': All records ask for the same"):
            read_requests(own, own.matrix(), asked)
    how = {"method": "mean", "categories": {**alike, "delta": 2.0, "budget": 1.5}}
    with pytest.raises(JobError, match=r"^'s': delta is out of reach in 7 records"):
        read_requests(own, own.matrix(), job(roles=roles, aggregation=how))


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
