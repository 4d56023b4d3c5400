"""Certificate of groups that publish true values: their loss and a lower bound."""

from math import fsum, inf

import numpy as np

from aggopt.algorithms.boxes.ascent import raise_prices
from aggopt.algorithms.boxes.box_list import MOST_MEMBERS, list_boxes
from aggopt.algorithms.boxes.exact import solve_places
from aggopt.algorithms.boxes.loss_tables import pack_losses
from aggopt.core.deadline import Deadline
from aggopt.core.types import F64, I64, Labels
from aggopt.core.validation import renumber_groups
from aggopt.encoding.generalisation import GeneralisedTable
from aggopt.models import generalised_loss as model
from aggopt.partition._generalising.search import EXACT, estimate_prices, find_near_rows
from aggopt.partition._generalising.state import FurtherRequirements
from aggopt.partition.shared.evidence import MET, Budget, Evidence, make_certificate
from aggopt.partition.shared.scaling import Weighing
from aggopt.solvers import Certificate, Solver, Status
from aggopt.solvers.certificate import is_gap_closed

DEAREST = 1.5  # times the largest loss in the groups: dearer boxes matter little
LEAST_MEMBERS, PER_RECORD = 1_000_000, 2000  # of a list; the second per distinct record
SHORT = 300_000  # members of boxes up to which dearer ones are listed, too


def certify_generalised(
    table: GeneralisedTable,
    labels: Labels,
    k: int,
    weighing: Weighing,
    requirements: FurtherRequirements | None = None,
    *,
    seconds: float,
    status: Status,
    by: str = "generalising",
) -> Evidence:
    """Return the loss of groups that publish true values, with its certificate.

    The bound holds for all groups that satisfy the requirements: see
    `bound_generalised_loss`.
    """

    def objective() -> float:
        return table.compute_loss(labels, weighing.values) * weighing.unit

    def proven(loss: float, budget: Budget) -> Certificate:
        bound = min(
            bound_generalised_loss(table, labels, k, weighing, requirements), loss
        )
        is_met = loss - bound <= MET * loss
        return make_certificate(is_met, status, loss, bound, by, seconds)

    return Evidence(status, objective, proven)


def bound_generalised_loss(
    table: GeneralisedTable,
    labels: Labels,
    k: int,
    weighing: Weighing,
    requirements: FurtherRequirements | None = None,
) -> float:
    """Return a lower bound on the loss of all groups that satisfy the requirements.

    Groups of entropy log l have l values, so that l is taken as distinct.  t is left
    out.  Units are kinds, and so are the values of l: the higher bound of the two is
    returned.  `labels` (n,) are such groups: their losses say which boxes matter.
    """
    required = (
        []
        if requirements is None
        else [requirements.promise.diverse, requirements.units]
    )
    counted: list[tuple[I64 | None, int]] = [
        (each.level, each.required) for each in required if len(each.level) > 0
    ]
    return max(
        _bound_loss(table, labels, k, weighing, kinds, number)
        for kinds, number in counted or [(None, 1)]
    )


def _bound_loss(
    table: GeneralisedTable,
    labels: Labels,
    k: int,
    weighing: Weighing,
    kinds: I64 | None,
    l: int,  # noqa: E741
) -> float:
    """Return a lower bound on the loss of all groups of k records of l kinds (n,)."""
    distinct = table.combine(weighing.values, kinds)
    dearest = float(table.compute_group_losses(labels).max())
    if dearest == 0.0:
        return 0.0
    boxes = list_boxes(table, distinct, k, l=l, max_members=SHORT)
    if boxes.cap < DEAREST * dearest and len(boxes) > 0:  # else many cost too much
        max_members = min(max(LEAST_MEMBERS, PER_RECORD * len(distinct)), MOST_MEMBERS)
        boxes = list_boxes(
            table, distinct, k, l=l, cap=DEAREST * dearest, max_members=max_members
        )
    priced = boxes.price(distinct, k, l)
    bound = priced.compute_bound(raise_prices(priced, clock=Deadline(None)))
    has_whole_costs = (boxes.losses == np.rint(boxes.losses)).all()
    if has_whole_costs and weighing.values is None:
        bound = float(np.ceil(bound))
    if boxes.cap < inf:
        bound = max(bound, bound_by_pairs(table, k, weighing))
    return bound * weighing.unit


def bound_by_pairs(table: GeneralisedTable, k: int, weighing: Weighing) -> float:
    """Return a lower bound on the loss of all groups of k records, by pairs of records.

    A group loses no less than any two of its records, so that a record loses no less
    than with the (k - 1)-th nearest other one.  0 for more distinct records than are
    compared with all.
    """
    distinct = table.combine(weighing.values)
    if len(distinct) > EXACT or len(distinct) == 1:
        return 0.0
    losses = pack_losses(table.attributes)
    near, distances = find_near_rows(losses, distinct.positions)
    prices = estimate_prices(distinct.counts, near, distances, k)
    return fsum(distinct.counts * distinct.weights * prices) * (1 - ROUNDING)


def prove_optimum(
    table: GeneralisedTable,
    labels: Labels,
    k: int,
    weighing: Weighing,
    solver: Solver,
    clock: Deadline,
) -> tuple[Labels, Certificate]:
    """Return the groups that a solver finds, or the initial ones, with its lower bound.

    Raises
    ------
    InfeasibleInputError
        Prices leave more places than solvers take.
    """
    distinct = table.combine(weighing.values)
    boxes = list_boxes(table, distinct, k)
    priced = boxes.price(distinct, k)
    prices = raise_prices(priced, clock=Deadline(None))
    data = boxes.make_data(distinct, k)
    loss = table.compute_loss(labels, weighing.values)
    limit = None if clock.seconds is None else max(clock.left, LEAST)
    answer = solve_places(data, prices, loss, solver, time_limit=limit)
    if answer.reading is not None:
        labels = publish_boxes(data, answer.reading, distinct.of_record)
        loss = table.compute_loss(labels, weighing.values)
    bound = priced.compute_bound(prices) if answer.bound is None else answer.bound
    bound = min(bound, loss)
    certificate = make_certificate(
        is_gap_closed(loss, bound),
        Status.LIMIT,
        loss * weighing.unit,
        bound * weighing.unit,
        solver.name,
        clock.spent,
    )
    return labels, certificate


ROUNDING = 1e-12  # of a sum of losses, whose attributes are added in another order
LEAST = 1.0  # second for a solver, if the search has taken all time


def publish_boxes(data: model.Data, numbers: F64, of_record: I64) -> Labels:
    """Return the group of each record (n,), from the numbers (p,) that boxes publish.

    Records of one combination are sent to its boxes in their order.
    """
    by_combination = np.argsort(data.combination, kind="stable")
    counts = np.rint(numbers[by_combination]).astype(np.int64)
    labels = np.empty(len(of_record), np.intp)
    records = np.argsort(of_record, kind="stable")
    labels[records] = np.repeat(data.box[by_combination], counts)
    return renumber_groups(labels)
