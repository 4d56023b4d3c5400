"""The native solver of the pair program: its optimum, its proofs, and its edges."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from conftest import require_solver
from partition.weighted import all_partitions

from aggopt.algorithms.pair_bound import bound_partitions
from aggopt.algorithms.pair_bound.closeness import NestedCloseness, OrderedCloseness
from aggopt.algorithms.pair_bound.program import PairProgram, RoundEffort
from aggopt.algorithms.pair_bound.requirements import DistinctClasses, LimitedShares
from aggopt.algorithms.pair_bound.row_kernels import FIRST, ITSELF
from aggopt.core.record_weights import compute_sse
from aggopt.errors import JobError
from aggopt.models import MODELS
from aggopt.models import pair_bound as model
from aggopt.partition import mdav
from aggopt.privacy.nested import Nested
from aggopt.privacy.ordered_attribute import Ordered
from aggopt.solvers import SOLVERS, Status, solve
from aggopt.solvers.run_solver import run_solver

FAMILIES = ("caps", "triangles", "common", "sizes")
PAIR_BOUND = SOLVERS["pair_bound"]


def records(n, d, seed=0):
    """Return records within [-1, 1], some of them equal."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d)) + 3 * rng.integers(0, 3, size=(n, 1))
    x[1] = x[0]
    return x / 16


@pytest.mark.parametrize(("n", "k", "seed"), [(8, 2, 0), (11, 3, 1), (16, 4, 2)])
def test_it_agrees_with_a_solver_of_linear_programs(n, k, seed):
    require_solver("cvxpy:highs")
    rng = np.random.default_rng(seed)
    data = model.Data(records(n, 2, seed), k, inside=rng.random((5, n)) < 0.4)
    answer = run_solver(MODELS["pair_bound"], data, PAIR_BOUND, None)
    value = solve(model.build(data, "cvxpy"), "cvxpy:highs").bound
    assert answer.status is Status.OPTIMAL
    assert answer.bound == pytest.approx(value, rel=1e-5)
    assert model.objective(data, answer.reading) == pytest.approx(value, rel=1e-5)
    assert MODELS["pair_bound"].violation(data, answer.reading) <= 1e-6


@pytest.mark.parametrize(("n", "k"), [(5, 1), (5, 3), (4, 2)])
def test_data_without_a_choice_have_their_only_value(n, k):
    x = np.zeros((n, 1)) if k == 2 else records(n, 1)
    answer = run_solver(MODELS["pair_bound"], model.Data(x, k), PAIR_BOUND, None)
    labels = np.arange(n) if k == 1 else np.zeros(n, int)
    assert answer.status is Status.OPTIMAL
    assert answer.bound == pytest.approx(compute_sse(x, labels), abs=1e-15)


def test_only_a_limit_of_time_is_an_option():
    with pytest.raises(JobError, match="no option 'steps'"):
        run_solver(
            MODELS["pair_bound"],
            model.example(),
            PAIR_BOUND,
            None,
            options={"steps": 3},
        )


def prove_exactly(program):
    """Return the bound of a program's multipliers over all pairs, in fractions."""
    n, k = program.n, program.k
    x = [[Fraction(v) for v in row] for row in program.records.tolist()]
    pairs = [*combinations(range(n), 2)]
    apart = {
        (i, j): sum((a - b) ** 2 for a, b in zip(x[i], x[j], strict=True))
        for i, j in pairs
    }
    scale = Fraction(program.scale)
    y = [Fraction(v) for v in program.y.tolist()]
    r = {(i, j): apart[i, j] / (k * scale) - y[i] - y[j] for i, j in pairs}
    rho = [-v for v in y]
    total = k * sum(y)
    pool, cuts = program.pool, program.pool.cuts
    for (i, j), p in zip(cuts.caps.tolist(), pool.caps.tolist(), strict=True):
        r[min(i, j), max(i, j)] += Fraction(p)
        rho[i] -= Fraction(p)
    triangles = zip(cuts.triangles.tolist(), pool.triangles.tolist(), strict=True)
    for (apex, one, other), v in triangles:
        r[min(apex, one), max(apex, one)] += Fraction(v)
        r[min(apex, other), max(apex, other)] += Fraction(v)
        r[min(one, other), max(one, other)] -= Fraction(v)
        rho[apex] -= Fraction(v)
    for c, (i, j) in enumerate(cuts.ends.tolist()):
        u = Fraction(float(pool.common[c]))
        part = slice(cuts.end_start[c], cuts.end_start[c + 1])
        sides = dict(
            zip(
                cuts.end_record[part].tolist(),
                cuts.end_side[part].tolist(),
                strict=True,
            )
        )
        r[i, j] += (k - 2 - [*sides.values()].count(ITSELF)) * u
        for l in {*range(n)} - {i, j}:  # noqa: E741
            first = apart[min(i, l), max(i, l)] >= apart[min(j, l), max(j, l)]
            side = sides.get(l, FIRST if first else 1 - FIRST)
            if side != ITSELF:
                end = i if side == FIRST else j
                r[min(end, l), max(end, l)] -= u
    for s, z in enumerate(pool.sizes.tolist()):
        inside = {*cuts.member[cuts.set_start[s] : cuts.set_start[s + 1]].tolist()}
        total -= k * (len(inside) // k) * Fraction(z)
        for i in inside:
            rho[i] += Fraction(z)
        for i, j in pairs:
            if (i in inside) != (j in inside):
                r[i, j] -= Fraction(z)
    low = Fraction(k, 2 * k - 1)
    total += sum(min(a, low * a) for a in rho) + sum(min(a, 0) for a in r.values())
    return total * scale


@pytest.mark.parametrize("seed", range(6))
def test_no_rounding_lifts_the_bound_of_multipliers(seed):
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 6))
    x = records(26, int(rng.integers(1, 6)), seed)
    if seed % 2:  # distances that differ by many orders of magnitude
        x = x * np.exp(-3 * rng.random((26, 1)) ** 2 * 4)
    program = PairProgram(x, k, effort=RoundEffort())
    families = set()
    for _ in range(8):
        program.improve()
        value = program.certify()
        exact = prove_exactly(program)
        assert Fraction(value) <= exact
        assert float(exact) - value <= 1e-12 * abs(float(exact))
        families |= {name for name in FAMILIES if len(getattr(program.pool, name))}
        program.separate()
        program.list_missing()
    assert {"triangles", "common"} <= families or k == 2


@pytest.mark.parametrize(("n", "d", "k"), [(200, 2, 3), (300, 6, 5), (150, 3, 10)])
def test_the_tree_misses_no_pair(n, d, k):
    program = PairProgram(records(n, d, 3).round(2), k, effort=RoundEffort(3, 10))
    for _ in range(4):
        program.improve()
        value = program.certify()
        program.separate()
        program.list_missing()
    program.improve()
    value = program.certify()
    listed = {*program.keys.tolist()} | {*program.missing.tolist()}
    program.keys = np.arange(n * n).reshape(n, n)[np.triu_indices(n, 1)]
    program.w = np.zeros(len(program.keys))
    program.build()
    every = program.certify()
    assert value == pytest.approx(every, rel=1e-12)
    assert len(listed) < len(program.keys)
    assert not len(program.missing)


def test_an_interrupt_leaves_the_best_bound_so_far():
    x = records(300, 3)

    def interrupt(share):
        if share > 0.3:
            raise KeyboardInterrupt

    whole = bound_partitions(x, 5, 0.2)
    part = bound_partitions(x, 5, 0.2, progress=interrupt)
    assert part.interrupted
    assert not whole.interrupted
    assert part.rounds < whole.rounds
    assert part.neighbour_bound < part.bound <= whole.bound


def test_a_known_loss_ends_the_search():
    x = np.repeat(records(20, 2), 3, axis=0) + np.tile([[0.0], [1e-3], [2e-3]], (20, 1))
    labels = mdav(x, 3, scale="none").labels
    bound = bound_partitions(x, 3, 5.0, loss=compute_sse(x, labels))
    assert bound.rounds < 40


def test_lists_are_cut_to_fit_memory_and_the_bound_stays_valid():
    x = records(400, 3, 2)
    bounds = []
    for memory in (0, 400 * 250 * 6, 400 * 250 * 12, None):
        proven = bound_partitions(x, 5, 0.1, memory=memory)
        assert proven.is_cut == (memory is not None)
        assert proven.neighbour_bound * (1 - 1e-11) <= proven.bound
        assert proven.bound <= compute_sse(x, mdav(x, 5, scale="none").labels)
        bounds.append(proven)
    assert (bounds[0].rounds, bounds[0].is_short) == (0, False)
    assert bounds[0].bound < bounds[1].bound


@pytest.mark.parametrize("n", [2, 17])
def test_copies_by_the_thousand_take_few_pairs(n):
    others = records(60, 2, 5)
    x = np.vstack([np.repeat(records(n, 2), 1500, axis=0), others])
    program = PairProgram(x, 4, effort=RoundEffort())
    for _ in range(3):
        program.improve()
        program.certify()
        program.separate()
        program.list_missing()
    assert len(program.keys) < 40 * len(x)
    assert 0 < program.bound <= compute_sse(others, mdav(others, 4, scale="none"))


@pytest.mark.parametrize("kind", ["shares", "distinct values", "units"])
def test_no_partition_that_satisfies_a_requirement_goes_below(kind):
    rng = np.random.default_rng(9)
    shares = []
    while len(shares) < 12:
        k = int(rng.integers(2, 4))
        n = int(rng.integers(2 * k + 1, 9))
        x = rng.normal(size=(n, 2)).round(1) / 8
        classes = rng.integers(0, 3 if kind == "shares" else 4, n)
        classes = np.unique(classes, return_inverse=True)[1]
        if kind == "shares":
            requirement = LimitedShares(classes, 0.6)
        else:
            requirement = DistinctClasses(classes, 2 if kind == "units" else 3)

        def is_satisfied(labels, kind=kind, classes=classes):
            counts = np.zeros((labels.max() + 1, classes.max() + 1))
            np.add.at(counts, (labels, classes), 1)
            if kind == "shares":
                return (counts.max(axis=1) <= 0.6 * counts.sum(axis=1)).all()
            return ((counts > 0).sum(axis=1) >= (2 if kind == "units" else 3)).all()

        losses = [
            compute_sse(x, labels)
            for labels in all_partitions(n, k)
            if is_satisfied(labels)
        ]
        if not losses or min(losses) == 0:
            continue
        proven = bound_partitions(x, k, 0.05, requirements=[requirement])
        assert proven.bound <= min(losses) * (1 + 1e-12)
        shares.append(proven.bound / min(losses))
    assert np.median(shares) > 0.7


@pytest.mark.parametrize(
    "kind", ["ordered", "blocks", "equal", "hierarchical", "shares", "distinct"]
)
def test_no_row_is_violated_by_a_group_that_satisfies_the_requirement(kind):
    rng = np.random.default_rng(3)
    for _ in range(60):
        n = int(rng.integers(6, 40))
        codes = np.unique(rng.integers(0, 12, n), return_inverse=True)[1]
        group = rng.choice(n, int(rng.integers(2, n)), replace=False)
        count = codes.max() + 1
        counts = np.bincount(codes[group], minlength=count)
        size, k = len(group), 2
        labels = np.ones(n, int)
        labels[group] = 0
        if kind in ("ordered", "blocks"):
            far = float(Ordered.of(codes).emd(labels)[0])
            rows = OrderedCloseness(codes, far)
            rows = rows.limit_classes(5) if kind == "blocks" else rows
        elif kind == "shares":
            rows = LimitedShares(codes, counts.max() / size)
        elif kind == "distinct":
            rows = DistinctClasses(codes, int((counts > 0).sum()))
        else:
            nested = Nested.equal(codes)
            if kind == "hierarchical":
                tree = {"a": {"b": [*range(5)]}, "c": [*range(5, 12)]}
                nested = Nested.of(np.unique(codes).tolist(), codes, tree)
            far = float(nested.emd(labels)[0])
            weights = nested.weight / (2 * nested.height)
            rows = NestedCloseness(codes, far, nested.paths, weights)
        assert rows.find_least_size(1) <= size
        together = np.zeros((n, rows.count))
        in_group = np.bincount(rows.classes[group], minlength=rows.count)
        together[group] = k / size * in_group
        x = np.zeros(n)
        x[group] = k / size
        found = rows.separate(together, x, k)
        assert not np.isin(found.apex, group).any()
        limits = rows.limit_shares(np.ones(n), k, is_weighted=False)
        assert (x[group] <= limits[group] + 1e-12).all()
        # the rows of any point hold for the group
        apart = rng.dirichlet(np.ones(rows.count), n)
        found = rows.separate(k * apart, np.ones(n), k)
        is_member = np.isin(found.apex, group)
        left = found.levels[is_member] @ in_group * (k / size)
        own = found.levels[np.arange(len(found.apex)), rows.classes[found.apex]]
        left += (found.own - own)[is_member] * k / size
        assert (left >= found.sides[is_member] - 1e-12).all()
