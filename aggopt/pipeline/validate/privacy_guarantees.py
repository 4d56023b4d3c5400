"""Steps that enforce privacy requirements; rejects jobs without an enforcing step."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from aggopt.core.validation import Floats
from aggopt.data.context.confidential import (
    Confidential,
    list_requirements,
    read_confidential_attributes,
)
from aggopt.data.table import Table
from aggopt.encoding import Encoded
from aggopt.errors import JobError, UnknownNameError
from aggopt.job import (
    Job,
    Privacy,
    Repairing,
    Treatment,
)
from aggopt.models import MODELS
from aggopt.partition._in_blocks import call_with_progress
from aggopt.partition.registry import PARTITIONERS, Bound, ConfidentialUse, Partitioner
from aggopt.partition.shared.result import Block, Partition
from aggopt.pipeline.validate.infeasibility import advice_to_measure
from aggopt.pipeline.validate.requirement_names import (
    describe_requirement,
    requirement_names,
)
from aggopt.privacy.closeness import unwarned_of_constants
from aggopt.privacy.model import OWN_MODELS
from aggopt.privacy.models.l_diversity import Diversity
from aggopt.privacy.models.t_closeness import Closeness
from aggopt.privacy.requirement import Requirement
from aggopt.repair.registry import REPAIRS, RepairInput
from aggopt.solvers import choose
from aggopt.solvers.options import require_limited

PLAIN_REPAIRS = ("merge", "search")

Kind = TypeVar("Kind", bound=Requirement)

_MADE_FOR = {
    "l": 'values or entropy, method = "diverse_vmdav"',
    "t": 'the ordered distance, method = "closeness_first" or another of its kind, or '
    'repair = "sweep"',
}


def add_repair_for_search(job: Job) -> tuple[Job, tuple[str, ...]]:
    """Return the job with a repair for partitions that search, and the reason.

    Partitions that search take no requirement during the search.  Their groups are
    merged until they satisfy all requirements, and then searched further with a check
    of each change.  A job that names a repair, or requires only k, is returned
    unchanged.
    """
    privacy, how = job.privacy, job.partition
    method = PARTITIONERS.of(how)
    if not (method.searches and privacy.models) or privacy.repair:
        return job, ()
    reason = (
        f"{describe_requirement(privacy)}, and no repair is named: the groups of "
        f"{how.method!r} are "
        'merged until they keep it, then searched further, by repair = "search".'
    )
    asked = privacy.model_copy(update={"repair": Repairing(method="search")})
    return job.model_copy(update={"privacy": asked}), (reason,)


def require_guarantees(job: Job) -> None:
    """Refuse a requirement that neither the partition nor the repair keeps.

    Raises
    ------
    JobError
        No attribute is confidential, [privacy] names one that is not, the partition
        takes a requirement that the job lacks, or no step guarantees a requirement.
    SolverError
        The solver of the repair is not installed.
    """
    privacy, names = job.privacy, job.roles.confidential
    owned = (name for model in privacy.models for name in model.attributes(privacy))
    for name in (*privacy.confidential, *owned):
        if name not in names:
            raise UnknownNameError("confidential attribute", name, names)
    idle = sorted(PARTITIONERS.of(job.partition).guarantees - privacy.asked)
    if idle:
        raise JobError(
            f"{job.partition.method} keeps {idle[0]}, and [privacy] states no "
            f"{idle[0]}.",
            fix=f"state {idle[0]} under [privacy], or choose another method.",
        )
    if not privacy.models:
        return
    _require_use(privacy)
    _require_solver(privacy)
    if not names:
        raise JobError(
            f"{describe_requirement(privacy)}, and no attribute is confidential.",
            fix="list under [roles] what must not be given away, such as "
            f"confidential = [{_may_be_confidential(job)}].",
        )
    hoped = sorted(privacy.asked - _kept_by(job))
    if hoped:
        raise JobError(
            f"{describe_requirement(privacy)}, and {_together(job)} does not guarantee "
            f"{' and '.join(requirement_names(hoped, privacy))} {_of(job)}.",
            fix='set repair = "merge" under [privacy], which keeps every promise, or '
            '"search", which loses less and takes longer'
            f"{_made_for(privacy)}.{advice_to_measure(privacy)}",
        )


def _may_be_confidential(job: Job) -> str:
    """Return a column that is published unchanged, or else masked, as TOML has it."""
    name = [*job.roles.quasi_identifier, *job.roles.other][-1]
    return json.dumps(name, ensure_ascii=False)


def _made_for(privacy: Privacy) -> str:
    """Return the methods made for the requirement, if it is only l or only t."""
    names = [model.name for model in privacy.models]
    if len(names) > 1 or names[0] not in _MADE_FOR:
        return ""
    return f"; or, of one confidential attribute and {_MADE_FOR[names[0]]}"


def _require_use(privacy: Privacy) -> None:
    """Refuse a repair that keeps none of the requirements."""
    if privacy.repair is None:
        return
    repair = REPAIRS.of(privacy.repair)
    if not repair.adds & privacy.asked:
        kept = " or ".join(sorted(repair.adds))
        raise JobError(
            f"The repair {repair.name!r} keeps {kept}, and [privacy] states no {kept}.",
            fix=f'state {kept}, leave repair out, or set repair = "merge", which keeps '
            "every promise.",
        )


def read_confidential(table: Table, job: Job, decimal: str) -> tuple[Confidential, ...]:
    """Return the confidential attributes if anything is required of them.

    Raises
    ------
    TableError, JobError
        As `read_confidential_attributes`.
    InfeasibleInputError
        No groups satisfy the job's requirements.
    """
    held = read_confidential_attributes(table.frame, table.roles, job.privacy, decimal)
    for requirement in list_requirements(held):
        if refusal := requirement.infeasible(job.privacy.k):
            raise refusal
    return held


def make_partitioner(
    job: Job, held: Sequence[Confidential]
) -> str | Callable[..., Partition]:
    """Return the function of the job's partition, with its confidential attributes."""
    how = job.partition
    method = PARTITIONERS.of(how)
    if method.confides is ConfidentialUse.NONE:
        return how.function if how.own is None else method.function

    def divide(
        X: Floats | Encoded, k: int, *, progress: Any, **settings: Any
    ) -> Partition:
        confidential_settings = _confidential_arguments(method, job.privacy, held)
        with unwarned_of_constants():
            made: Partition = call_with_progress(
                method.function,
                X,
                k=k,
                progress=progress,
                **settings,
                **confidential_settings,
            )
        return made

    return divide


def _confidential_arguments(
    method: Partitioner, privacy: Privacy, held: Sequence[Confidential]
) -> dict[str, Any]:
    """Return a method's arguments for confidential attributes and requirements."""
    if "t" in method.guarantees:
        return {"confidential": _places(held), "t": privacy.t}
    return {
        "confidential": _of_kind(held, Diversity)[0].codes,
        "l": privacy.l,
        "diversity": privacy.diversity,
        "levels": "values",
    }


def require_plain_repair(job: Job, why: str) -> None:
    """Refuse all repairs but merging and searching.

    These two keep any requirement, and keep near records together.

    Raises
    ------
    JobError
        It is another repair; the message states its limitation, `why`.
    """
    repair = job.privacy.repair
    if repair is not None and repair.method not in PLAIN_REPAIRS:
        raise JobError(
            f"The repair {repair.method!r} {why}",
            fix='set repair = "merge" or "search" under [privacy].',
        )


def repair_block(
    block: Block,
    X: Floats | Encoded,
    job: Job,
    held: Sequence[Confidential],
    on_progress: Any,
    more: Sequence[Requirement] = (),
    weights: Floats | None = None,
) -> Block:
    """Return the groups of a block, repaired to satisfy the job and `more`.

    A bound that the partition proved for all groups of k holds for repaired groups
    too, and is kept if it is the highest.  Records may have `weights` (n,).
    """
    how = job.privacy.repair
    if how is None or block.partition.interrupted:
        return block
    bound, asked = _bound_of_start(block, job), (*list_requirements(held), *more)
    given = RepairInput(X, job.privacy.k, asked, bound, on_progress, weights)
    made = REPAIRS.of(how).function(given, block.labels, how)
    return block if made is None else replace(block, partition=made)


def _bound_of_start(block: Block, job: Job) -> float | None:
    """Return the proven bound on the loss of any groups of k, on z-scores.

    None if the bound refers to another cost, or to whole-number centroids.
    """
    how = job.partition
    plain = getattr(how, "cost", "sse") == "sse"
    own = PARTITIONERS.of(how).bound is Bound.OWN
    if not (own and plain) or getattr(how, "centroids", "any") != "any":
        return None
    return block.certificate.bound


def _require_solver(privacy: Privacy) -> None:
    """Refuse now a solver that the repair could not use."""
    if privacy.repair is None:
        return
    repair, name = REPAIRS.of(privacy.repair), privacy.repair.solver
    if repair.model and (name is not None or repair.asks_solver):
        solver = choose(name, *MODELS[repair.model].kinds)
        require_limited(solver, privacy.repair.time_limit)


def _kept_by(job: Job) -> frozenset[str]:
    """Return the requirements that the partition and its repair keep for any table."""
    privacy, method = job.privacy, PARTITIONERS.of(job.partition)
    kept = method.guarantees
    treatments = _treatments(job)
    several = len(treatments) > 1
    simple = {m.name for m in privacy.models if m.simple(privacy, treatments)}
    alone = several and method.confides is not ConfidentialUse.SEVERAL
    start = kept & ({"k"} if alone else {"k", *simple})
    start |= {OWN_MODELS} if method.origin else set()  # the audit checks these
    if privacy.repair is None:
        return start
    repair = REPAIRS.of(privacy.repair)
    fits = repair.any_distance or not (several or repair.adds - simple)
    return (start & repair.leaves) | (repair.adds if fits else frozenset())


def _treatments(job: Job) -> list[Treatment]:
    return [job.privacy.treatment(name) for name in job.roles.confidential]


def _of_kind(held: Sequence[Confidential], kind: type[Kind]) -> list[Kind]:
    """Return the requirements of one privacy model."""
    return [each for each in list_requirements(held) if isinstance(each, kind)]


def _places(held: Sequence[Confidential]) -> Any:
    """Return ranks of confidential values, (n,) of one attribute or (n, c)."""
    ranks = [each.distance.place for each in _of_kind(held, Closeness)]
    return ranks[0] if len(ranks) == 1 else np.stack(ranks, axis=1)


def _together(job: Job) -> str:
    repair = job.privacy.repair
    return job.partition.method + (f" with repair {repair.method!r}" if repair else "")


def _of(job: Job) -> str:
    treatments, privacy = _treatments(job), job.privacy
    many = "one attribute" if len(treatments) == 1 else f"{len(treatments)} attributes"
    senses = (model.sense(privacy, treatments) for model in reversed(privacy.models))
    return ", ".join([f"of {many}", *filter(None, senses)])
