"""l and t: what keeps them, and which jobs are refused because nothing would."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

import numpy as np

from aggopt.core.deadline import Clock
from aggopt.core.validation import Floats, Labels, groups
from aggopt.errors import JobError, UnknownNameError
from aggopt.input.confidential import Confidential, confidential_of
from aggopt.input.table import Table
from aggopt.job import DiverseVmdav, Guarding, Job, MergeUntilClose, Privacy
from aggopt.models import MODELS
from aggopt.partition._in_blocks import called
from aggopt.partition._shared.block import Block
from aggopt.pipeline.infeasibility import measured, too_diverse
from aggopt.privacy._promise import Promise
from aggopt.solvers import choose


@dataclass(frozen=True)
class _Repair:
    """What a repair leaves of the promises that it finds kept, and what it adds."""

    leaves: frozenset[str]
    adds: frozenset[str]
    any_distance: bool = False


REPAIRS = {
    "merge": _Repair(frozenset("klt"), frozenset("lt"), any_distance=True),
    "merge-ilp": _Repair(frozenset("kl"), frozenset("t")),
    "swap": _Repair(frozenset("k"), frozenset("t")),
    "sweep": _Repair(frozenset("k"), frozenset("t")),
}


def require_guarantees(job: Job) -> None:
    """Refuse a job that promises what neither its partition nor its repair keeps.

    Raises
    ------
    JobError
        No attribute is confidential, [privacy] names one that is not, the partition
        takes what is not promised, or the promise would only be hoped for.
    SolverError
        The solver of the repair is not installed.
    """
    privacy, names = job.privacy, job.roles.confidential
    for name in privacy.confidential:
        if name not in names:
            raise UnknownNameError("confidential attribute", name, names)
    idle = sorted(job.partition.guarantees - privacy.asked)
    if idle:
        raise JobError(
            f"{job.partition.method} keeps {idle[0]}, and [privacy] states no "
            f"{idle[0]}.",
            fix=f"state {idle[0]} under [privacy], or choose another method.",
        )
    if privacy.asked == {"k"}:
        return
    if privacy.repair and privacy.t is None and privacy.repair.method != "merge":
        raise JobError(
            f"The repair {privacy.repair.method!r} keeps t, and [privacy] states no t.",
            fix='state t, leave repair out, or set repair = "merge", which keeps l.',
        )
    _require_solver(privacy)
    if not names:
        raise JobError(
            f"{_stated(privacy)}, and no attribute is confidential.",
            fix='name those that are under [roles]: confidential = ["NAME"].',
        )
    hoped = sorted(privacy.asked - _kept_by(job))
    if hoped:
        raise JobError(
            f"{_stated(privacy)}, and {_together(job)} does not guarantee "
            f"{' and '.join(hoped)} {_of(job)}.",
            fix='set repair = "merge" under [privacy], which keeps every promise; or, '
            "of one confidential attribute: for l, of values or entropy, method = "
            '"diverse_vmdav"; for t, of the ordered distance, method = '
            '"closeness_first" or another of its kind, or repair = "sweep".'
            + measured(privacy),
        )


def read(table: Table, job: Job, decimal: str) -> tuple[Confidential, ...]:
    """Return the confidential attributes if l or t is promised of them.

    Raises
    ------
    TableError, JobError
        As `confidential_of`.
    InfeasibleInputError
        Not even all records together are as diverse as the job promises.
    """
    held = confidential_of(table.frame, table.roles, job.privacy, decimal)
    everybody = np.zeros(len(table.frame), np.intp)
    for promise in _promises(held, job.privacy):
        most = promise.kept(everybody)
        if not most.holds:
            raise too_diverse(most, job.privacy, int(promise.codes.max()) + 1)
    return held


def partitioner(job: Job, held: Sequence[Confidential]) -> str | Callable[..., Labels]:
    """Return the function of the job's partition, given what is confidential."""
    how = job.partition
    if not isinstance(how, Guarding):
        return how.function

    def divide(X: Floats, k: int, *, progress: Any, **settings: Any) -> Labels:
        package = import_module("aggopt.partition")
        function = getattr(package, how.function)
        if isinstance(how, MergeUntilClose):
            settings["start"] = getattr(package, how.start)
        told = _confided(how, job.privacy, held)
        with _constants_left_to_the_audit():
            return np.asarray(
                called(function, X, k=k, progress=progress, **settings, **told)
            )

    return divide


def _confided(
    how: Guarding, privacy: Privacy, held: Sequence[Confidential]
) -> dict[str, Any]:
    """Return what a method is told of the confidential attributes and the promise."""
    if not isinstance(how, DiverseVmdav):
        return {"confidential": _places(held), "t": privacy.t}
    return {
        "confidential": held[0].codes,
        "l": privacy.l,
        "diversity": privacy.diversity,
        "levels": "values",
    }


def repaired(
    block: Block, X: Floats, job: Job, held: Sequence[Confidential], told: Any
) -> Block:
    """Return the groups of a block, made to keep what the job promises.

    What the partition has proven of all groups of k holds of the repaired ones too,
    and is kept where it is the highest bound.
    """
    how = job.privacy.repair
    if how is None or block.interrupted:
        return block
    from aggopt import repair
    from aggopt.repair._bound import highest
    from aggopt.repair._merge_any import certified, merge_any

    k, t, start = job.privacy.k, job.privacy.t, _bound_of_start(block, job)
    if how.method == "merge":
        promises = _promises(held, job.privacy)
        clock = Clock(None, told)
        merged = groups(merge_any(X, block.labels, promises, progress=told), len(X))
        if np.array_equal(merged, block.labels):
            return block
        proof = certified(X, merged, promises, clock.spent, k, start)
        return replace(block, labels=merged, certificate=proof)
    with _constants_left_to_the_audit():
        result = called(
            repair.closeness,
            X,
            _places(held),
            block.labels,
            k,
            t,
            method=how.method,
            solver=how.solver,
            seconds=how.time_limit,
            progress=told,
        )
    labels = groups(result.labels, len(X))
    proof = highest(result.certificate, [start], X.size)
    return replace(block, labels=labels, certificate=proof)


def _bound_of_start(block: Block, job: Job) -> float | None:
    """Return what is proven of the loss of any groups of k, on z-scores.

    Not what is proven of another cost, or of centroids that are whole numbers.
    """
    how, found = job.partition, block.certificate
    if found is None or getattr(how, "cost", "sse") != "sse":
        return None
    return found.bound if getattr(how, "centroids", "any") == "any" else None


@contextmanager
def _constants_left_to_the_audit() -> Iterator[None]:
    """Keep functions from warning of a constant attribute: the audit does."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*one value only", UserWarning)
        yield


def _require_solver(privacy: Privacy) -> None:
    """Refuse now a solver that the repair could not use."""
    repair = privacy.repair
    if repair and (repair.solver is not None or repair.method == "merge-ilp"):
        choose(repair.solver, *MODELS["closeness_merge"].kinds)


def _kept_by(job: Job) -> frozenset[str]:
    """Return what the partition and its repair keep, whatever the table."""
    start, privacy = job.partition.guarantees, job.privacy
    several = len(job.roles.confidential) > 1
    ordered = all(
        privacy.treatment(name).distance == "ordered" for name in job.roles.confidential
    )
    if not ordered or (several and not getattr(job.partition, "several", False)):
        start -= {"t"}
    if privacy.diversity == "recursive" or several:
        start -= {"l"}
    if privacy.repair is None:
        return start
    repair = REPAIRS[privacy.repair.method]
    fits = repair.any_distance or (ordered and not several)
    return (start & repair.leaves) | (repair.adds if fits else frozenset())


def _promises(held: Sequence[Confidential], privacy: Privacy) -> list[Promise]:
    return [promise for each in held for promise in each.promises(privacy)]


def _places(held: Sequence[Confidential]) -> Any:
    """Return ranks of confidential values, (n,) of one attribute or (n, c)."""
    ranks = [each.distance.place for each in held if each.distance is not None]
    return ranks[0] if len(ranks) == 1 else np.stack(ranks, axis=1)


def _stated(privacy: Privacy) -> str:
    one = privacy.l is None or privacy.t is None
    return f"{_listed(privacy)} {'is' if one else 'are'} promised"


def _listed(privacy: Privacy) -> str:
    stated = {"l": privacy.l, "t": privacy.t}
    return " and ".join(f"{n} = {v}" for n, v in stated.items() if v is not None)


def _together(job: Job) -> str:
    repair = job.privacy.repair
    return job.partition.method + (f" with repair {repair.method!r}" if repair else "")


def _of(job: Job) -> str:
    names, privacy = job.roles.confidential, job.privacy
    kinds = dict.fromkeys(str(privacy.treatment(name).distance) for name in names)
    many = "one attribute" if len(names) == 1 else f"{len(names)} attributes"
    said = [f"of {many}"]
    if privacy.t is not None:
        said.append(f"by the {' and '.join(kinds)} distance")
    if privacy.l is not None:
        said.append(f"in the sense of {privacy.diversity} diversity")
    return ", ".join(said)
