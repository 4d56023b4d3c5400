"""What certificates say together: nothing that one of them does not prove."""

from dataclasses import replace

import numpy as np
import pytest

from aggopt.solvers import Certificate, Status
from aggopt.solvers.certificate import (
    HEADER,
    PROVEN,
    Claim,
    choose_gap_size,
    find_largest_gap,
    is_gap_closed,
    list_statuses,
    make_certificate_rows,
    measure_gap_size,
    sum_certificates,
    total_bound,
)


def certificate(objective=3.0, bound=2.0, status=Status.LOCAL):
    return Certificate(status, objective, bound, 0.0, "own", 0.1)


@pytest.mark.parametrize(
    ("objective", "bound", "gap"),
    [
        *((3.0, 2.0, 1 / 3), (0.5, 0.25, 0.5), (-4.0, -5.0, 0.25), (3.0, None, None)),
        *((0.0, 0.0, 0.0), (0.0, -1e-9, np.inf), (3e-9, 2e-9, 1 / 3)),
    ],
)
def test_a_gap_is_a_share_of_the_objective(objective, bound, gap):
    assert certificate(objective, bound).gap == pytest.approx(gap)


@pytest.mark.parametrize(("bound", "gap"), [(1.5, 0.5), (None, None)])
def test_its_gap_is_shown_beside_its_bound(bound, gap):
    shown = repr(certificate(3.0, bound))
    assert f"objective=3.0, bound={bound}, gap={gap}, violation=0.0, " in shown
    assert shown.startswith("Certificate(status=<Status.LOCAL")
    assert shown.endswith("solver='own', seconds=0.1)")


def test_together_they_prove_what_each_of_them_proves():
    proven = [certificate(3.0, 2.0), certificate(8.0, 1.0)]
    assert total_bound(proven) == 3.0
    assert find_largest_gap(proven) == 7 / 8


def test_a_sum_is_of_all_parts_and_ended_as_the_worst_of_them():
    parts = [
        Certificate(Status.LIMIT, 3.0, 2.0, 0.25, "one", 0.5),
        Certificate(Status.OPTIMAL, 8.0, 8.0, 0.125, "two", 0.25),
        Certificate(Status.HEURISTIC, 1.0, 0.5, 0.0, "one", 1.0),
    ]
    worst = max((c.status for c in parts), key=list(Status).index)
    assert sum_certificates(parts) == Certificate(
        worst, 12.0, 10.5, 0.25, "one, two", 1.75
    )
    assert sum_certificates(parts[1:]).status is Status.HEURISTIC
    assert sum_certificates(parts[:1]) is parts[0]


def test_a_sum_kept_its_input_only_where_all_of_its_parts_did():
    kept, found, best = (
        certificate(status=s) for s in (Status.KEPT, Status.LOCAL, Status.OPTIMAL)
    )
    assert sum_certificates([kept, kept]).status is Status.KEPT
    assert sum_certificates([kept, found]).status is Status.LOCAL
    assert sum_certificates([best, kept]).status is Status.LOCAL
    assert (
        sum_certificates([kept, certificate(status=Status.LIMIT)]).status
        is Status.LIMIT
    )


def test_one_without_a_bound_leaves_nothing_proven():
    some = [certificate(3.0, 2.0), certificate(8.0, None)]
    assert total_bound(some) is None
    assert find_largest_gap(some) is None


def test_bounds_of_zero_are_bounds():
    assert total_bound([certificate(0.0, 0.0)]) == 0.0
    assert find_largest_gap([certificate(0.0, 0.0)]) == 0.0


def test_endings_are_named_once_each_in_words():
    ended = [Status.LIMIT, Status.OPTIMAL, Status.UNPROVEN, Status.LIMIT]
    assert (
        list_statuses([certificate(status=status) for status in ended])
        == "ended without a proof, best point kept; optimal; "
        "stopped at a limit, best point kept"
    )


def test_a_gap_that_was_asked_for_is_no_limit():
    assert Status.GAP.value == "stopped at the gap asked for, best point kept"
    assert Status.GAP.usable
    some = [certificate(status=status) for status in (Status.OPTIMAL, Status.GAP)]
    assert sum_certificates(some).status is Status.GAP
    assert (
        sum_certificates([*some, certificate(status=Status.LOCAL)]).status
        is Status.LOCAL
    )


def test_what_failed_may_not_be_released():
    assert [status for status in Status if not status.usable] == [
        Status.INFEASIBLE,
        Status.FAILED,
        Status.EXHAUSTED,
    ]


def test_plain_values_have_the_gap_and_the_status_in_words():
    assert certificate().to_dict() == {
        "status": "locally optimal",
        "objective": 3.0,
        "bound": 2.0,
        "violation": 0.0,
        "solver": "own",
        "seconds": 0.1,
        "gap": 1 / 3,
    }


TOLD = replace(
    certificate(), iterations=7, multipliers={"mean": np.array([0.625, 0.125])}
)


def test_what_a_solver_told_is_there_where_it_is_and_multipliers_never():
    assert certificate().iterations is certificate().multipliers is None
    assert TOLD.to_dict() == {**certificate().to_dict(), "iterations": 7}
    assert repr(TOLD).endswith("seconds=0.1, iterations=7)")
    assert "625" not in repr(TOLD) + TOLD._repr_html_()
    assert replace(TOLD, iterations=None) == certificate()
    assert hash(replace(TOLD, iterations=None)) == hash(certificate())
    assert sum_certificates([TOLD]) is TOLD
    assert (
        sum_certificates([TOLD, TOLD]).iterations
        is sum_certificates([TOLD, TOLD]).multipliers
        is None
    )


def test_a_row_has_a_cell_under_each_head():
    found = make_certificate_rows({"pay": certificate(), "debt": certificate(8.0, 1.0)})
    assert [row[0] for row in found] == ["pay", "debt"]
    for row, shown in zip(found, (certificate(), certificate(8.0, 1.0)), strict=True):
        cells = dict(zip(HEADER, row, strict=True))
        del cells[""]
        assert cells == shown.to_dict()


def test_a_notebook_shows_a_table_of_plain_values():
    shown = certificate()._repr_html_()
    assert (
        "<strong>Certificate</strong><table>"
        '<tr><th scope="col"></th><th scope="col">value</th></tr>'
        "<tr><td>status</td><td>locally optimal</td></tr>"
    ) in shown
    assert "<tr><td>gap</td><td>0.333333</td></tr>" in shown


@pytest.mark.parametrize(
    ("objective", "bound", "is_closed"),
    [
        (-5.0, -5.0, True),
        (0.0, 0.0, True),
        (0.0, -1e-15, False),
        (1e-9, 1e-9 - 1e-12, False),
        (0.5, 0.5 - 1.5 * PROVEN, False),
        (1e3, 1e3 - 900 * PROVEN, True),
        (1e3, 1e3 - 1100 * PROVEN, False),
    ],
)
def test_a_gap_is_closed_within_a_millionth(objective, bound, is_closed):
    assert is_gap_closed(objective, bound) is is_closed


def test_a_gap_may_be_relative_to_what_can_be_won():
    shifted = replace(certificate(1e9 + 5, 1e9 + 4), size=10.0)
    assert shifted.gap == 0.1
    assert shifted.to_dict()["size"] == 10.0
    assert "size" not in certificate().to_dict()
    assert is_gap_closed(1e9 + 5, 1e9 + 4)
    assert not is_gap_closed(1e9 + 5, 1e9 + 4, size=10.0)
    both = sum_certificates([shifted, certificate(20.0, 10.0)])
    assert both.size == 30.0
    assert both.gap == pytest.approx(11 / 30)


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
@pytest.mark.parametrize("constant", [-1e4, 0.0, 1e4])
def test_neither_a_unit_nor_a_constant_changes_what_can_be_won(unit, constant):
    moved = [unit * (value + constant) for value in (95.0, 90.0, 100.0, 95.01)]
    objective, bound, *references = moved
    size = measure_gap_size(objective, bound, references, 20)
    assert (unit * 5.01 if size is None else size) == pytest.approx(unit * 5.01)


def test_what_can_be_won_may_be_unknown():
    assert measure_gap_size(2.0, 1.0, [np.nan, np.inf], 20) is None
    assert measure_gap_size(2.0, 1.0, [1.0], 20) is None
    assert measure_gap_size(2e9, 1.0, [-4.0], 20) == 5.0  # it breaks a constraint
    assert choose_gap_size(0.5, 1.0) == 1.0
    assert choose_gap_size(-2.0, 1.0) is None


CLAIMED = Certificate(
    Status.LOCAL, 3.0, None, 0.0, "own", 0.1, claimed=Claim(2.5, "mine.py, sha256 ab")
)


def test_a_claim_is_no_bound_and_is_shown_as_a_claim():
    assert CLAIMED.gap is None
    assert total_bound([CLAIMED]) is find_largest_gap([CLAIMED]) is None
    said = "2.5 claimed by mine.py, sha256 ab"
    assert str(CLAIMED.claimed) == said
    assert CLAIMED.to_dict()["claimed"] == {"bound": 2.5, "by": "mine.py, sha256 ab"}
    assert CLAIMED.to_dict()["bound"] is None
    assert repr(CLAIMED).endswith(f"seconds=0.1, claimed={CLAIMED.claimed!r})")
    for bound, proven in ((None, "nothing proven"), (1.25, "1.25 proven")):
        (row,) = make_certificate_rows({"pay": replace(CLAIMED, bound=bound)})
        assert dict(zip(HEADER, row, strict=True))["bound"] == f"{proven}, {said}"


def test_claims_of_parts_are_added_as_a_claim():
    other = replace(CLAIMED, claimed=Claim(1.25, "mine.py, sha256 cd"))
    both = sum_certificates([CLAIMED, other, CLAIMED])
    assert both.claimed == Claim(6.25, "mine.py, sha256 ab, mine.py, sha256 cd")
    assert both.bound is None
    assert sum_certificates([CLAIMED]).claimed == CLAIMED.claimed


def test_a_part_without_a_claim_counts_with_its_bound_or_leaves_none():
    of_both = sum_certificates([CLAIMED, certificate(bound=2.0)])
    assert of_both.claimed == Claim(4.5, CLAIMED.claimed.by)
    assert of_both.bound is None
    assert sum_certificates([certificate(bound=None), CLAIMED]).claimed is None
    assert sum_certificates([certificate(), certificate()]).claimed is None
    twice = replace(CLAIMED, bound=1.0)
    assert sum_certificates([twice, twice]).claimed.bound == 5.0
    assert sum_certificates([twice, twice]).bound == 2.0


def test_a_sum_names_each_judge_of_its_parts_once():
    first, second = (replace(CLAIMED, judge=f"{name}.py") for name in ("one", "two"))
    assert sum_certificates([first, second, first]).judge == "one.py, two.py"
    assert sum_certificates([certificate(), certificate()]).judge is None
