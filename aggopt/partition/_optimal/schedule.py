"""Schedule of `optimal`: pricing, rounding, cuts, integer programs, branching."""

import heapq
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np

from aggopt.algorithms.pair_bound import PairPrices
from aggopt.core.deadline import Deadline, Progress
from aggopt.core.types import Floats, Labels
from aggopt.partition._local_search.search import Collection, improve_labels
from aggopt.partition._local_search.setup import create_weights
from aggopt.partition._mdav import mdav_labels
from aggopt.partition._optimal.column_generation import ColumnGeneration, choose_groups
from aggopt.partition._optimal.columns import GroupColumns, group_columns, number_groups
from aggopt.partition._optimal.incumbent import SMALL, Incumbent
from aggopt.partition._optimal.pricing import Pair, Pricer, PricingEffort
from aggopt.solvers import Solver
from aggopt.solvers.options import TRUST

NEAREST = 10  # neighbours whose groups a record may change with


class Searches:
    """Local searches that collect the groups of their changes."""

    def __init__(
        self,
        Z: Floats,
        k: int,
        near: Labels,
        seed: int,
        weights: Floats | None = None,
    ) -> None:
        self.Z = Z
        self.k = k
        self.weights = create_weights(weights, len(Z), k)
        self.near = np.ascontiguousarray(near[:, :NEAREST])
        self.met = Collection(len(Z))
        self.rng = np.random.default_rng(seed)
        self._given = 0

    def improve(self, labels: Labels, perturbations: float, clock: Deadline) -> Labels:
        """Return labels (n,) of the same or less SSE, by local search."""
        seed = int(self.rng.integers(2**31))
        labels_found = improve_labels(
            self.Z,
            labels,
            self.k,
            self.near,
            perturbations=perturbations,
            seed=seed,
            clock=clock,
            pool=self.met,
            weights=self.weights,
        )
        return np.asarray(labels_found, np.intp)

    def new_groups(self) -> GroupColumns:
        """Return the groups that local search met since the last call."""
        start, ids = self.met.groups()
        start = start[self._given :]
        before = self._given
        self._given = before + len(start) - 1
        sizes = np.diff(start)
        rows = np.full((len(sizes), 2 * self.k - 1), -1, np.int32)
        group = np.repeat(np.arange(len(sizes)), sizes)
        ids = ids[start[0] :]
        rows[group, np.arange(len(ids)) - (start[:-1] - start[0])[group]] = ids
        return GroupColumns(rows, sizes)


def continue_search(
    generation: ColumnGeneration,
    searches: Searches,
    labels: Labels,
    perturbations: float,
    clock: Deadline,
) -> bool:
    """Search from labels, add the groups met; return whether the incumbent improved."""
    improved_labels = searches.improve(labels, perturbations, clock)
    if (
        not generation.pricer.duplicates.some
    ):  # otherwise collected groups differ in duplicates only
        generation.add(searches.new_groups())
    return generation.offer(improved_labels)


STEPS = (0.5, 0.7, 0.8, 0.85, 0.89, 0.92, 0.94, 0.96, 0.98)
MIXES = (0.25, 0.5, 0.75, 0.9, 1.0)


def raise_bound_by_mixing(generation: ColumnGeneration, clock: Deadline) -> bool:
    """Raise the bound by mixtures of the duals of the pair program and the master.

    A group that prices out at them does so at the master's, too.  The nearer they are
    to the pair program's, the sooner exact pricing ends.  Return whether it ended each
    time.
    """
    root = generation.root
    if root is None:
        return raise_bound_by_scaling(generation, clock)
    for share in MIXES:
        solved = generation.solve()
        if solved is None or clock.over:
            return False
        duals = root.mix(solved.duals, share)
        if duals.value <= generation.best.bound and share < 1:
            continue
        priced = generation.pricer.price_groups(duals, PricingEffort(), clock)
        if not priced.done:
            return False
        generation.prove(duals, priced.lowest)
        if len(priced.reduced):
            generation.add(priced.groups.at(np.argsort(priced.reduced)[:20_000]))
    return not clock.over


def raise_bound_by_scaling(generation: ColumnGeneration, clock: Deadline) -> bool:
    """Raise the bound by scaled duals; return whether pricing ended at all scales.

    If no group prices out at duals u, none does at a share of them.  The smaller the
    share, the sooner exact pricing ends.
    """
    for share in STEPS:
        if clock.over:
            return False
        duals = generation.prices.scale(share)
        priced = generation.pricer.price_groups(duals, PricingEffort(), clock)
        if not priced.done:
            return False
        generation.prove(duals, priced.lowest)
        if len(priced.reduced):  # they price out at the full duals, too
            generation.add(priced.groups.at(np.argsort(priced.reduced)[:20_000]))
    return not clock.over


LEAST_SHARE = 0.05  # shares below are not drawn
EXTRA_SHARE = 0.3  # added to a share: the probability of being drawn
ROUNDING_PERTURBATIONS = 20  # per record


def try_roundings(
    generation: ColumnGeneration, searches: Searches, trials: int, within: Deadline
) -> bool:
    """Round the linear program's solution; return whether the incumbent improved."""
    better = False
    for _ in range(trials):
        if within.over:
            break
        better |= continue_search(
            generation,
            searches,
            _round_solution(generation, searches),
            ROUNDING_PERTURBATIONS,
            within,
        )
    return better


def _round_solution(generation: ColumnGeneration, searches: Searches) -> Labels:
    """Return labels (n,): groups drawn by their shares, and MDAV for the rest."""
    solved = generation.solved
    n = generation.master.n
    k = generation.best.k
    labels = np.full(n, -1, np.intp)
    if solved is not None:
        _draw_groups(generation, searches, solved.share, labels)
    left = np.flatnonzero(labels < 0)
    while 0 < len(left) < k:
        distances = generation.pricer.apart[left[0]]
        nearest = np.where(labels < 0, np.inf, distances).argmin()
        labels[labels == labels[nearest]] = -1
        left = np.flatnonzero(labels < 0)
    if len(left):
        labels[left] = labels.max() + 1 + mdav_labels(generation.best.Z[left], k)
    return number_groups(group_columns(np.unique(labels, return_inverse=True)[1], k), n)


def _draw_groups(
    generation: ColumnGeneration, searches: Searches, share: Floats, labels: Labels
) -> None:
    """Write labels of disjoint groups, drawn at random by their shares, to `labels`."""
    candidates = np.flatnonzero(share > LEAST_SHARE)
    rng = searches.rng
    order = np.argsort(-share[candidates] * rng.uniform(0.6, 1.4, len(candidates)))
    is_drawn = rng.random(len(candidates)) < share[candidates] + EXTRA_SHARE
    group = 0
    for q in candidates[order][is_drawn[order]]:
        size = generation.pool.all.sizes[q]
        records = generation.pool.all.members[q, :size]
        if (labels[records] < 0).all():
            labels[records] = group
            group += 1


# a solver is fast among few groups; many contain a better choice, but take too
# long
FIRST = 1.5  # groups for each record in the first program
GROWTH = 1.5  # times as many after a proof
FEWER = 0.6  # times as many without one
NARROW = 1 / 64  # share of the gap below which all groups are searched first
SOUGHT = 4  # groups for each record that are searched
ROOM = 10  # groups for each record that may be found
PROGRAM_PERTURBATIONS = 30  # per record, of local search after a program


def search_among_groups(
    generation: ColumnGeneration,
    searches: Searches,
    solver: Solver,
    clock: Deadline,
    seconds: float,
) -> None:
    """Solve integer programs over the best groups, and search from their solutions.

    The number of groups grows until a solver cannot choose among them within `seconds`,
    or falls until it can.
    """
    best = generation.best
    if clock.over or best.ended:
        return
    _price_all(generation, clock)
    max_groups = int(FIRST * len(best.Z))
    tried = 0
    before = best.value
    while not (clock.over or best.ended):
        wanted = _select_groups(generation, max_groups)
        if len(wanted) in (0, tried):
            return
        done = choose_groups(generation, solver, wanted, clock, seconds)
        if best.value < before:
            continue_search(
                generation, searches, best.labels, PROGRAM_PERTURBATIONS, clock
            )
        elif not done and not tried:
            max_groups = int(FEWER * max_groups)
            continue
        if not done:
            return
        max_groups = int(GROWTH * max_groups)
        tried = len(wanted)
        before = best.value


def _select_groups(generation: ColumnGeneration, max_groups: int) -> Labels:
    """Return up to `max_groups` groups that a better partition may contain."""
    solved = generation.solve()
    if solved is None:
        return np.empty(0, np.intp)
    gap = generation.best.value - solved.value
    reduced = generation.master.compute_reduced_costs(
        solved.duals, generation.pool.costs
    )
    order = np.argsort(reduced, kind="stable")
    return order[reduced[order] <= gap][:max_groups]


def _price_all(generation: ColumnGeneration, clock: Deadline) -> None:
    """Add the groups of least reduced cost, found by exact pricing of all groups."""
    if generation.proof is None or generation.pricer.duplicates.some:
        return
    best = generation.best
    n = len(generation.best.Z)
    duals = generation.proof[0]
    effort = PricingEffort(keep=ROOM * n, room=ROOM * n)
    gap = best.value - generation.pricer.bound(*generation.proof)
    share = NARROW
    count = SOUGHT * n
    while share <= 1:
        priced = generation.pricer.price_groups(
            duals, effort, clock, max_cost=share * gap
        )
        if not priced.complete:
            return
        order = np.argsort(priced.reduced, kind="stable")[:count]
        generation.add(priced.groups.at(order))
        if len(priced.reduced) >= count:
            return
        share *= 2


RESTARTS = 4  # initial local searches
PERTURBATIONS = 30  # per record, in each of them
TRIALS = 8  # roundings in a batch
PATIENCE = 3  # batches without improvement
STALLED = 1e-3  # share of the gap that a round of cuts must close
LONGEST = 300.0  # seconds for an integer program without a deadline
QUICK = 200  # records up to which branching precedes integer programs
FEW = 8  # nodes of that branching, at least
NODES = 4000  # for one record: an integer program also costs a process


@dataclass(frozen=True, eq=False)
class OptimalProblem:
    """Records (n, d), k, neighbours (n, c), initial labels and integer solver.

    Also sampling weights (n,), None if all are equal, and prices of the pair program.
    """

    Z: Floats
    k: int
    near: Labels
    start: Labels
    solver: Solver
    seed: int
    weights: Floats | None = None
    prices: PairPrices | None = None


def run_schedule(
    task: OptimalProblem, best: Incumbent, clock: Deadline, report: Progress
) -> None:
    """Improve and bound the incumbent until its gap is closed or time is over.

    It also ends when a partition is found that requires other units.

    Raises
    ------
    NoAnswer
        HiGHS did not return in time, or its process ended.
    """
    pricer = Pricer(task.Z, task.k, task.near, task.weights)
    generation = ColumnGeneration(best, pricer, clock, task.start, task.prices)
    with generation.master:
        _run_steps(generation, task, best, clock, report)


def _run_steps(
    generation: ColumnGeneration,
    task: OptimalProblem,
    best: Incumbent,
    clock: Deadline,
    report: Progress,
) -> None:
    """Run all steps of the search, each within its share of the time."""
    searches = Searches(task.Z, task.k, task.near, task.seed, task.weights)
    within = _make_deadline(clock, 0.15)
    for _ in range(RESTARTS):
        if not within.over:
            continue_search(generation, searches, task.start, PERTURBATIONS, within)
    if best.outgrown:
        return
    report(0.1)
    generation.price_heuristically(_make_deadline(clock, 0.25))
    if task.k >= SMALL:
        _round_until_idle(generation, searches, _make_deadline(clock, 0.1))
    if task.k > SMALL:  # pricing may take all the remaining time
        _choose_groups(generation, searches, task, _make_deadline(clock, 0.2))
    report(0.2)
    converged = _price_until_done(generation, task, clock)
    report(0.4)
    if converged:
        _cut_until_done(generation, _make_deadline(clock, 0.5))
    report(0.5)
    branches = BranchAndPrice(generation)
    if converged and len(task.Z) <= QUICK:
        branches.process(_make_deadline(clock, 0.5), max(FEW, NODES // len(task.Z)))
    if not best.ended:
        _round_until_idle(generation, searches, _make_deadline(clock, 0.1))
        _choose_groups(generation, searches, task, _make_deadline(clock, 0.5))
    report(0.7)
    if converged and not best.ended:
        _cut_until_done(
            generation, _make_deadline(clock, 0.3)
        )  # with a smaller gap more cuts pay
        prove_by_enumeration(generation, task.solver, clock, _limit_program(clock, 0.6))
    report(0.8)
    if converged:
        branches.process(clock)


def _make_deadline(clock: Deadline, share: float) -> Deadline:
    """Return a deadline at a share of the clock's remaining time."""
    return Deadline(share * clock.left if np.isfinite(clock.left) else None)


def _limit_program(clock: Deadline, share: float) -> float:
    """Return an integer program's time limit in seconds, a share of the rest."""
    return share * clock.left if np.isfinite(clock.left) else LONGEST


def _round_until_idle(
    generation: ColumnGeneration, searches: Searches, within: Deadline
) -> None:
    """Round solutions of the linear program until the incumbent stays the same."""
    failed = 0
    while failed < PATIENCE and not within.over:
        better = try_roundings(generation, searches, TRIALS, within)
        failed = 0 if better else failed + 1
        generation.price_heuristically(within)


def _price_until_done(
    generation: ColumnGeneration, task: OptimalProblem, clock: Deadline
) -> bool:
    """Add groups until none prices out; return whether that is proven."""
    generation.add_sizes()
    if task.k <= SMALL:
        raise_bound_by_mixing(generation, _make_deadline(clock, 0.3))
        return generation.price()
    if generation.best.ended or not raise_bound_by_mixing(
        generation, _make_deadline(clock, 0.5)
    ):
        return False
    return generation.price()


def _cut_until_done(generation: ColumnGeneration, within: Deadline) -> None:
    """Add cuts and groups until the gap is closed or hardly falls."""
    best = generation.best
    while not (best.ended or within.over):
        before = best.bound
        if not generation.cut() or not generation.price():
            return
        if best.bound - before < STALLED * (best.value - before):
            return


def _choose_groups(
    generation: ColumnGeneration,
    searches: Searches,
    task: OptimalProblem,
    within: Deadline,
) -> None:
    """Improve the incumbent by integer programs, within limited time each."""
    search_among_groups(
        generation, searches, task.solver, within, _limit_program(within, 0.3)
    )


INTEGRALITY = 1e-6  # tolerance of integrality
TRIED = 6  # pairs for strong branching
ITERATIONS = 200  # of the dual simplex method, in strong branching
CUTS = 4  # rounds of cuts in a node
ALONE = 20.0  # cost of a single record, in units of the most costly group


Pairs = tuple[Pair, ...]
Sides = tuple[Pairs, Pairs]


class BranchNode(NamedTuple):
    """Node of the branching tree with its lower bound."""

    bound: float
    number: int
    together: Pairs
    apart: Pairs


class BranchAndPrice:
    """Open nodes, and the least bound of the closed ones."""

    def __init__(self, generation: ColumnGeneration) -> None:
        self.generation = generation
        self.count = 1
        self.ended = np.inf
        self.open = [BranchNode(generation.best.bound, 0, (), ())]

    def process(self, clock: Deadline, max_nodes: float = np.inf) -> None:
        """Branch, lowest bound first, on up to `max_nodes` nodes or to a closed gap."""
        generation = self.generation
        best = self.generation.best
        before = generation.bound
        processed = 0
        while self.open and processed < max_nodes and not best.ended:
            if clock.over or generation.clock.over:
                break
            self._process_node(heapq.heappop(self.open))
            processed += 1
            lowest = self.open[0].bound if self.open else best.value
            best.prove(min(best.value, lowest, self.ended))
        generation.master.branch((), (), 0.0)
        generation.bound = before

    def _process_node(self, node: BranchNode) -> None:
        """Bound a node; replace it by two nodes unless it is pruned."""
        bound, pair = _bound_node(self.generation, node)
        if self.generation.clock.over:
            heapq.heappush(self.open, node._replace(bound=bound))
        elif pair is None:
            self.ended = min(self.ended, bound)
        else:
            for together, apart in _split_node(node, pair):
                heapq.heappush(
                    self.open, BranchNode(bound, self.count, together, apart)
                )
                self.count += 1


def _split_node(node: BranchNode, pair: Pair) -> tuple[Sides, Sides]:
    """Return the constraints of two nodes: a pair is in one group, or is not."""
    return ((*node.together, pair), node.apart), (node.together, (*node.apart, pair))


def _bound_node(
    generation: ColumnGeneration, node: BranchNode
) -> tuple[float, Pair | None]:
    """Return a node's lower bound, and the pair to branch on; None if pruned."""
    _enter_node(generation, node.together, node.apart)
    generation.bound = node.bound
    for _ in range(CUTS):
        if not generation.price() or generation.pruned or not generation.cut():
            break
    if generation.pruned or generation.clock.over:
        return generation.bound, None
    return generation.bound, _choose_pair(generation, node)


def _enter_node(generation: ColumnGeneration, together: Pairs, apart: Pairs) -> None:
    """Restrict the linear program to groups that a node's pairs allow."""
    alone = ALONE * max(1.0, float(generation.pool.costs.max()))
    generation.master.branch(together, apart, alone)


def _choose_pair(generation: ColumnGeneration, node: BranchNode) -> Pair | None:
    """Return the pair of records to branch on, by the rise of both bounds."""
    before = generation.bound
    best = None
    best_score = 0.0
    for pair in _list_fractional_pairs(generation)[:TRIED]:
        rises = []
        for together, apart in _split_node(node, pair):
            _enter_node(generation, together, apart)
            guess = generation.master.guess(ITERATIONS, generation.clock.left)
            rises.append(max(1e-6, guess - before))
        score = min(rises[0], 1e3) * min(rises[1], 1e3)
        if score > best_score:
            best = pair
            best_score = score
    return best


def _list_fractional_pairs(generation: ColumnGeneration) -> list[Pair]:
    """Return pairs of records that share groups in part, the most promising first."""
    solved = generation.solved
    if solved is None:
        return []
    many = generation.pricer.duplicates.many
    share = solved.share
    u = np.maximum(solved.duals.u, 0.0)
    weights: dict[Pair, float] = {}
    for q in np.flatnonzero((share > INTEGRALITY) & (share < 1 - INTEGRALITY)):
        records = generation.pool.all.members[q, : generation.pool.all.sizes[q]]
        for pair in combinations(records[~many[records]].tolist(), 2):
            weights[pair] = weights.get(pair, 0.0) + float(share[q])
    partly = [p for p, w in weights.items() if INTEGRALITY < w < 1 - INTEGRALITY]

    def worth(pair: Pair) -> float:
        unclear = min(weights[pair], 1 - weights[pair])
        return float(unclear * (u[pair[0]] + u[pair[1]] + 1e-3))

    return sorted(partly, key=lambda pair: (-worth(pair), pair))


ENUMERATED = 60_000  # most groups of the integer program
FIRST_ENUMERATED = (
    25_000  # groups of a first program, whose better incumbent leaves fewer
)
EDGE = 1 + 1e-9  # for rounding in the gap


def prove_by_enumeration(
    generation: ColumnGeneration, solver: Solver, clock: Deadline, seconds: float
) -> bool:
    """Enumerate groups that may improve; return whether the gap is now closed.

    A partition with a group of reduced cost r or more costs at least the bound plus r.
    So the best partition into groups below r is optimal, or the optimum is at least the
    bound plus r.  Once the groups up to r have no better partition, one must have a
    group above r, and its others below the gap less r.
    """
    best = generation.best
    if generation.proof is None or generation.pricer.duplicates.some:
        return False
    bound = generation.pricer.bound(*generation.proof)
    gap = (best.value - bound) * EDGE
    effort = PricingEffort(keep=ENUMERATED, room=ENUMERATED)
    priced = generation.pricer.price_groups(
        generation.proof[0], effort, clock, max_cost=gap
    )
    if not priced.complete:
        return False
    covered = -np.inf
    for count in (FIRST_ENUMERATED, ENUMERATED):
        order = priced.reduced.argsort(kind="stable")[: count + 1]
        gap = (best.value - bound) * EDGE
        highest = gap
        if len(order) > count:
            highest = min(highest, float(priced.reduced[order[-1]]))
        reduced = priced.reduced[order[:count]]
        beside = (reduced <= gap - covered) | (reduced >= covered)
        cheap = priced.groups.at(order[:count][(reduced <= highest) & beside])
        generation.add(cheap)
        which = generation.pool.places(cheap)
        if not choose_groups(generation, solver, which, clock, seconds):
            return False
        best.prove(min(best.value - TRUST * best.value, bound + highest))
        if best.closed:
            return True
        covered = highest
    return False
