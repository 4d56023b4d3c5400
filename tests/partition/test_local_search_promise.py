"""Local search that keeps t, l or both."""

from fractions import Fraction

import closeness as oracle
import numpy as np
import pytest
from from_python import from_python
from partition import exact
from refusals import refused

from aggopt.core.deadline import Deadline
from aggopt.core.record_weights import compute_sse
from aggopt.errors import AggoptError
from aggopt.partition import closeness_first, diverse_vmdav, local_search, mdav
from aggopt.partition._local_search import setup
from aggopt.partition._local_search.search import improve_labels
from aggopt.partition.constraints import ConstraintArguments, read_constraints
from aggopt.partition.neighbours import find_neighbours
from aggopt.solvers import Status

RNG = np.random.default_rng(2)
NORMAL = RNG.normal(size=(80, 3))
WAGE = RNG.integers(0, 30, size=80)
ILL = RNG.choice(list("abcdef"), size=80)
KEPT = {
    "t": {"confidential": WAGE, "t": 0.15},
    "rank": {"confidential": WAGE, "t": 0.1, "bins": "rank"},
    "l": {"confidential": ILL, "l": 3, "levels": "values"},
    "entropy": {"confidential": WAGE, "l": 3, "levels": 6, "diversity": "entropy"},
    "both": {"confidential": WAGE, "t": 0.15, "l": 3, "levels": 4},
    "both, entropy": {
        "confidential": WAGE % 4,
        "t": 0.2,
        "l": 2,
        "levels": "values",
        "diversity": "entropy",
    },
}
kept = pytest.mark.parametrize("options", KEPT.values(), ids=KEPT)


def broken(labels, options):
    return read_constraints(ConstraintArguments(**options), len(labels)).find_broken(
        labels
    )


@kept
def test_a_changed_group_is_judged_as_the_changed_labels_are(options) -> None:
    from aggopt.partition._local_search import constraint_kernels as kernels

    stays, may_swap = from_python(kernels.is_feasible), from_python(kernels.may_swap)

    given, nobody = read_constraints(ConstraintArguments(**options), 80), np.int64(-1)
    seen = set()
    for m in (6, 14, 30):
        labels = RNG.permutation(np.arange(80) % m)
        space = setup.create_space(
            NORMAL, find_neighbours(NORMAL, 5), 1, given.search_state
        )
        groups, already = setup.create_groups(space, labels), given.find_broken(labels)
        for i, j in RNG.integers(80, size=(20, 2)):
            g, h = labels[i], labels[j]
            if g == h:
                continue
            swapped, moved = labels.copy(), labels.copy()
            swapped[[i, j]], moved[i] = [h, g], h
            found = {id(now): given.find_broken(now) for now in (swapped, moved)}
            for now, of, out, into in (
                (labels, g, nobody, nobody),
                (swapped, g, i, j),
                (swapped, h, j, i),
                (moved, h, nobody, i),
                (moved, g, i, nobody),
            ):
                if (now == of).any() and (now is labels or not already[of]):
                    keeps = not found.get(id(now), already)[of]
                    assert stays(space, groups, of, out, into) == keeps
                    seen.add(keeps)
            if not already[[g, h]].any():
                both = not found[id(swapped)][[g, h]].any()
                assert may_swap(space, groups, i, j) == both
    assert seen == {True, False}


@pytest.fixture(scope="module")
def free():
    """Return groups that nothing is required of but their size."""
    return local_search(NORMAL, 3, effort="fast")


@kept
@pytest.mark.parametrize("initial", [None, "mdav"])
def test_what_is_promised_is_kept_and_less_is_lost(options, initial, free) -> None:
    first = local_search(NORMAL, 3, initial=initial, time_limit=0, **options)
    then = local_search(NORMAL, 3, initial=initial, effort="fast", **options)
    for found in (first, then):
        assert not broken(found.labels, options).any()
        assert np.bincount(found.labels).min() >= 3
    assert then.certificate.objective < first.certificate.objective
    assert broken(free, options).any()


@pytest.mark.parametrize("seed", range(4))
def test_small_tables_are_held_against_all_partitions(seed) -> None:
    Z, values = oracle.instance(seed, 8)
    t = (0.2, 0.3)[seed % 2]
    options = {"confidential": values, "t": t, "scale": "none"}
    found = local_search(Z, 2, effort="best", **options)
    assert oracle.holds(values, found.labels, 2, Fraction(str(t)))
    best = float(oracle.least(Z, values, 2, Fraction(str(t))))
    assert found.certificate.objective == pytest.approx(best, rel=0.1)
    assert found.certificate.objective >= best - 1e-9
    assert found.certificate.bound <= best + 1e-9


def test_diverse_small_tables_are_solved() -> None:
    Z = RNG.normal(size=(9, 2))
    level = np.arange(9) % 3
    every = []
    for parts in exact.partitions(list(range(9)), 2):
        labels = np.empty(9, int)
        for g, members in enumerate(parts):
            labels[members] = g
        if all(len(set(level[list(members)])) >= 2 for members in parts):
            every.append(compute_sse(Z, labels))
    options = {"confidential": level, "l": 2, "levels": "values", "scale": "none"}
    found = local_search(Z, 2, **options).certificate
    assert found.objective == pytest.approx(min(every))


@kept
def test_the_same_seed_gives_the_same_groups(options) -> None:
    one, two = (local_search(NORMAL, 3, effort="fast", **options) for _ in range(2))
    assert (one == two).all()


def test_labels_that_keep_the_promise_are_improved() -> None:
    close = closeness_first(NORMAL, WAGE, 3, 0.15)
    diverse = diverse_vmdav(NORMAL, ILL, 3, levels="values")
    for start, options in ((close, KEPT["t"]), (diverse, KEPT["l"])):
        found = local_search(NORMAL, 3, initial_labels=start, effort="fast", **options)
        assert compute_sse(NORMAL, found) < compute_sse(NORMAL, start)
        assert not broken(found, options).any()


def test_the_search_itself_keeps_what_it_is_told() -> None:
    given = read_constraints(ConstraintArguments(**KEPT["t"]), 80)
    start = closeness_first(NORMAL, WAGE, 3, 0.15)
    options = {"near": find_neighbours(NORMAL, 20), "seed": 0, "clock": Deadline(None)}
    found = improve_labels(
        NORMAL, start, 3, perturbations=20, promise=given.search_state, **options
    )
    assert compute_sse(NORMAL, found) < compute_sse(NORMAL, start)
    assert not given.find_broken(found).any()


@pytest.mark.parametrize("k", [1, 2, 20, 39, 40, 41, 80])
@pytest.mark.parametrize("name", ["t", "l"])
def test_for_any_k(k, name) -> None:
    labels = local_search(NORMAL, k, effort="fast", **KEPT[name])
    assert np.bincount(labels).min() >= k
    assert not broken(labels, KEPT[name]).any()
    assert k < 41 or len(labels.sizes) == 1


def test_duplicates_by_the_thousand_keep_t() -> None:
    X = np.repeat(NORMAL[:2], 500, axis=0)
    options = {"confidential": np.arange(1000) % 7, "t": 0.2}
    labels = local_search(X, 3, effort="fast", **options)
    assert not broken(labels, options).any()


def test_time_is_kept(ticking) -> None:
    shares: list[float] = []
    local_search(NORMAL, 3, time_limit=0.2, progress=shares.append, **KEPT["t"])
    assert 0.2 <= ticking.at < 0.3
    assert shares[-1] == 1.0


def test_a_constant_attribute_is_close_in_any_groups() -> None:
    with pytest.warns(UserWarning, match="one value only"):
        found = local_search(NORMAL, 3, confidential=np.ones(80), t=0.1, effort="fast")
    assert found.certificate.status is Status.LOCAL


@pytest.mark.parametrize(
    "options",
    [
        {"t": 0.1},
        {"t": 0.1, "l": 2},
        {"confidential": WAGE},
        {"confidential": WAGE, "l": 2, "bins": "rank"},
        {"confidential": WAGE, "t": 0.1, "levels": 3},
        {"confidential": WAGE, "t": 0.1, "boundaries": [1]},
        {"diversity": "entropy"},
        {"diversity": "entropie"},
        {"confidential": WAGE, "t": 1},
        {"confidential": WAGE, "t": 0.1, "bins": "ranks"},
        {"confidential": WAGE, "l": 0},
        {"confidential": WAGE, "l": 2.5},
        {"confidential": WAGE, "l": 9, "levels": 8},
        {"confidential": WAGE[1:], "t": 0.1},
        {"confidential": WAGE[1:], "l": 2},
        {"confidential": NORMAL, "t": 0.1},
        {"confidential": WAGE, "t": 0.01, "initial_labels": mdav(NORMAL, 3)},
        {**KEPT["l"], "initial_labels": mdav(NORMAL, 3)},
    ],
)
def test_what_cannot_be_kept_is_refused(options) -> None:
    with refused(AggoptError):
        local_search(NORMAL, 3, **options)


@pytest.mark.parametrize("n", [60, 120, 121])  # 1000 / n * n is not 1000
def test_it_ends_where_a_thousand_perturbations_are_no_whole_share(n) -> None:
    rng = np.random.default_rng(0)
    X, values = rng.gamma(2.0, size=(n, 2)), np.arange(n) % 7
    found = local_search(X, 5, confidential=values, t=0.3, effort="fast")
    assert found.certificate.status is not Status.LIMIT
