"""Laws of a repair: groups that satisfy a requirement that a partition violates."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np

from aggopt.checks._records import UNIT, build_requirement, iter_partitions, make_people
from aggopt.checks.law import list_laws, not_tried, require
from aggopt.core.deadline import compile_time
from aggopt.core.record_weights import compute_sse
from aggopt.core.types import F64, I64, Labels
from aggopt.partition import Partition, mdav
from aggopt.partition.shared.scaling import scale_records
from aggopt.privacy.model import OF_RECORDS, REQUIREMENTS
from aggopt.privacy.requirement import Requirement
from aggopt.repair.registry import OwnRepair, Repair, RepairInput

K = 3
N = 24  # few, as integer programs of all unions are solved
FEW = (1, 1, 1, 2, 3, 4, 5)  # pays of seven records, in units: three of them alike
HERE = "highs"  # which needs no process of its own, as the default does
SOON = 5.0  # seconds within which a limit of 0.05 is kept


@dataclass(frozen=True, eq=False)
class TriedRepair:
    """A repair with its settings, and how it is called by a law."""

    name: str
    method: Repair
    settings: Mapping[str, Any]
    excused: Mapping[str, str]

    @classmethod
    def of(
        cls, method: Repair, settings: Mapping[str, Any], name: str
    ) -> "TriedRepair":
        """Return a method as its laws see it."""
        return cls(name, method, settings, method.excused)

    @property
    def adds(self) -> list[str]:
        """The privacy models that it makes groups satisfy, in their order."""
        return [name for name in REQUIREMENTS if name in self.method.adds]

    def __call__(
        self, X: F64, labels: Labels, asked: Requirement, k: int = K, **settings: Any
    ) -> tuple[Labels, Partition | None]:
        """Return the groups after it, and its result."""
        here = {"solver": HERE} if self.method.asks_solver else {}
        arguments = {**here, **self.settings, **settings}
        function = self.method.function
        section: Any = (
            SimpleNamespace(settings=function.check_arguments(arguments))
            if isinstance(function, OwnRepair)
            else self.method.settings(**arguments)
        )
        result = function(RepairInput(X, k, (asked,), None, None), labels, section)
        if result is None:
            return labels, None
        kind = type(result).__name__
        require(isinstance(result, Partition), f"it returns a {kind}, no Partition")
        return result.labels, result


def it_keeps_k_and_what_it_adds(f: TriedRepair) -> None:
    """Its groups have k records or more, and satisfy each requirement that it adds."""
    require(f.adds, "it adds no requirement")
    for name in f.adds:
        X, labels, requirement_added = _make_task(name)
        repaired, _ = f(X, labels.copy(), requirement_added)
        require(repaired.shape == labels.shape, f"{name}: labels {repaired.shape}")
        smallest = int(np.bincount(repaired).min())
        require(smallest >= K, f"{name}: a group of {smallest} records, k = {K}")
        require(
            requirement_added.is_satisfied(repaired), f"{name}: its groups break it"
        )


def it_leaves_what_it_says(f: TriedRepair) -> None:
    """Groups still satisfy the requirements that it declares to keep."""
    left = f.method.leaves - f.method.adds - {OF_RECORDS}
    if not left:
        not_tried("it says that it leaves k alone, or adds all that it leaves")
    for name in sorted(f.adds):
        X, labels, requirement_added = _make_task(name)
        for other in sorted(left):
            requirement_left = build_requirement(REQUIREMENTS[other], make_people(N)[1])
            start = _merge_until_satisfied(X, labels, requirement_left)
            repaired, _ = f(X, start.copy(), requirement_added)
            require(
                requirement_left.is_satisfied(repaired),
                f"{name} is added, and {other} is lost",
            )


def groups_that_satisfy_it_lose_nothing(f: TriedRepair) -> None:
    """Groups that satisfy it already lose no more after it."""
    for name in f.adds:
        X, labels, requirement_added = _make_task(name)
        start = _merge_until_satisfied(X, labels, requirement_added)
        repaired, _ = f(X, start.copy(), requirement_added)
        before, after = (
            compute_sse(scale_records(X), labelling) for labelling in (start, repaired)
        )
        worse = f"{name}: they lost {before:.6g}, and lose {after:.6g}"
        require(after <= before * (1 + 1e-9), worse)


def certificate_is_true(f: TriedRepair) -> None:
    """The objective is the loss of the groups; no satisfying groups lose less."""
    for name in f.adds:
        X = make_people()[0][:7]
        requirement_added = build_requirement(
            REQUIREMENTS[name], UNIT * np.array(FEW, np.int64)
        )
        if not requirement_added.is_satisfied(np.zeros(len(X), np.intp)):
            continue
        repaired, result = f(X, np.array([0, 0, 0, 1, 1, 1, 1]), requirement_added, 2)
        if result is None:
            continue
        certificate = result.certificate
        loss = compute_sse(scale_records(X), repaired)
        stated = certificate.objective
        near = abs(stated - loss) <= 1e-6 * max(1.0, loss)
        require(near, f"{name}: objective {stated:.9g}, and the groups lose {loss:.9g}")
        missed = certificate.violation
        require(missed == 0, f"{name}: violation {missed:.3g} is stated")
        best = _find_least_loss(X, requirement_added)
        bound = certificate.bound
        if bound is not None:
            lies = f"{name}: it proves {bound:.9g}, and {best:.9g} is reached"
            require(bound <= best + 1e-6 * max(1.0, best), lies)


def groups_are_left_alone(f: TriedRepair) -> None:
    """The groups that it is given, and the records, are not changed."""
    X, labels, requirement_added = _make_task(f.adds[0])
    before = X.copy(), labels.copy()
    f(X, labels, requirement_added)
    same = np.array_equal(X, before[0]) and np.array_equal(labels, before[1])
    require(same, "records or labels are others afterwards")


def repeats_itself(f: TriedRepair) -> None:
    """The same groups are repaired alike."""
    X, labels, requirement_added = _make_task(f.adds[0])
    one, other = (f(X, labels.copy(), requirement_added)[0] for _ in range(2))
    require(np.array_equal(one, other), "two runs differ")


def a_time_limit_is_kept(f: TriedRepair) -> None:
    """With a limit of 0.05 seconds it is back within 5, with groups that hold."""
    if "time_limit" not in f.method.settings.model_fields:
        not_tried("it takes no time_limit")
    X, labels, requirement_added = _make_task(f.adds[0])
    started = compile_time.now()
    repaired, _ = f(X, labels.copy(), requirement_added, time_limit=0.05)
    spent = compile_time.now() - started
    require(spent < SOON, f"it took {spent:.1f} seconds")
    require(requirement_added.is_satisfied(repaired), "its groups break what was asked")


def _make_task(name: str) -> tuple[F64, Labels, Requirement]:
    """Return records, groups of MDAV, and the requirement on them."""
    X, pay = make_people(N)
    labels = np.asarray(mdav(X, k=K)).astype(np.intp)
    return X, labels, build_requirement(REQUIREMENTS[name], pay)


def _merge_until_satisfied(
    X: F64, labels: Labels, requirement_added: Requirement
) -> Labels:
    """Return groups that satisfy it: these, merged."""
    from aggopt.repair.merge_until_satisfied import merge_until_satisfied

    return merge_until_satisfied(X, labels, [requirement_added])


def _find_least_loss(X: F64, requirement_added: Requirement) -> float:
    """Return the least loss of groups of two or more that satisfy it."""
    Z = scale_records(X)
    best = np.inf
    for groups in iter_partitions(len(X), 2):
        labels: I64 = np.empty(len(X), np.intp)
        for g, group in enumerate(groups):
            labels[group] = g
        if requirement_added.is_satisfied(labels):
            best = min(best, compute_sse(Z, labels))
    return float(best)


LAWS = list_laws(
    it_keeps_k_and_what_it_adds,
    it_leaves_what_it_says,
    groups_that_satisfy_it_lose_nothing,
    certificate_is_true,
    groups_are_left_alone,
    repeats_itself,
    a_time_limit_is_kept,
)
