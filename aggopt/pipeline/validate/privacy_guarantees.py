"""Steps that enforce privacy requirements; rejects jobs without an enforcing step."""

import json

from aggopt.errors import JobError, UnknownNameError
from aggopt.job import Job, Privacy, Treatment
from aggopt.models import MODELS
from aggopt.partition.registry import PARTITIONERS, ConfidentialUse
from aggopt.pipeline.prepare.defaults import (
    describe_requirement,
    list_method_requirements,
    list_requirement_names,
)
from aggopt.pipeline.validate.infeasibility import suggest_measuring
from aggopt.privacy.model import OWN_MODELS
from aggopt.repair.registry import REPAIRS
from aggopt.solvers import choose_solver
from aggopt.solvers.options import require_limited

PLAIN_REPAIRS = ("merge", "search")


_MADE_FOR = {
    "l": 'values or entropy, method = "diverse_vmdav"',
    "t": 'the ordered distance, method = "closeness_first" or another of its kind, or '
    'repair = "sweep"',
}


def require_guarantees(job: Job) -> None:
    """Refuse a requirement that neither partition nor repair guarantees.

    Raises
    ------
    JobError
        No attribute is confidential, [privacy] names one that is not, the partition
        takes a requirement that the job lacks, or no step guarantees a requirement.
    SolverError
        The solver of the repair is not installed.
    """
    privacy = job.privacy
    names = job.roles.confidential
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
    _require_useful_repair(privacy)
    _require_solver(privacy)
    if not names:
        raise JobError(
            f"{describe_requirement(privacy)}, and no attribute is confidential.",
            fix="list under [roles] what must not be given away, such as "
            f"confidential = [{_suggest_confidential(job)}].",
        )
    hoped = sorted(privacy.asked - _list_guaranteed(job))
    if hoped:
        raise JobError(
            f"{describe_requirement(privacy)}, and {_describe_method(job)} does not "
            "guarantee "
            f"{' and '.join(list_requirement_names(hoped, privacy))} "
            f"{_describe_attributes(job)}.",
            fix='set repair = "merge" under [privacy], which keeps every promise, or '
            '"search", which loses less and takes longer'
            f"{_suggest_methods(privacy)}.{suggest_measuring(privacy)}",
        )


def _suggest_confidential(job: Job) -> str:
    """Return a column's name as TOML text, for a suggestion."""
    name = [*job.roles.quasi_identifier, *job.roles.other][-1]
    return json.dumps(name, ensure_ascii=False)


def _suggest_methods(privacy: Privacy) -> str:
    """Return the text of methods made for l-diversity or t-closeness alone."""
    names = [model.name for model in privacy.models]
    if len(names) > 1 or names[0] not in _MADE_FOR:
        return ""
    return f"; or, of one confidential attribute and {_MADE_FOR[names[0]]}"


def _require_useful_repair(privacy: Privacy) -> None:
    """Refuse a repair that enforces none of the requirements."""
    if privacy.repair is None:
        return
    repair = REPAIRS.of(privacy.repair)
    if not repair.adds & privacy.asked:
        requirements = " or ".join(sorted(repair.adds))
        raise JobError(
            f"The repair {repair.name!r} keeps {requirements}, and [privacy] states no "
            f"{requirements}.",
            fix=f'state {requirements}, leave repair out, or set repair = "merge", '
            "which keeps "
            "every promise.",
        )


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


def _require_solver(privacy: Privacy) -> None:
    """Refuse a solver that the repair could not use."""
    if privacy.repair is None:
        return
    repair = REPAIRS.of(privacy.repair)
    name = privacy.repair.solver
    if repair.model and (name is not None or repair.asks_solver):
        solver = choose_solver(name, *MODELS[repair.model].kinds)
        require_limited(solver, privacy.repair.time_limit)


def _list_guaranteed(job: Job) -> frozenset[str]:
    """Return the names of requirements that partition and repair guarantee."""
    privacy = job.privacy
    method = PARTITIONERS.of(job.partition)
    guarantees = method.guarantees | list_method_requirements(job)
    treatments = _list_treatments(job)
    several = len(treatments) > 1
    simple = {m.name for m in privacy.models if m.simple(privacy, treatments)}
    alone = several and method.confides is not ConfidentialUse.SEVERAL
    start = guarantees & ({"k"} if alone else {"k", *simple})
    start |= {OWN_MODELS} if method.origin else set()  # the audit checks these
    if privacy.repair is None:
        return start
    repair = REPAIRS.of(privacy.repair)
    fits = repair.any_distance or not (several or repair.adds - simple)
    return (start & repair.leaves) | (repair.adds if fits else frozenset())


def _list_treatments(job: Job) -> list[Treatment]:
    """Return the treatment of each confidential attribute."""
    return [job.privacy.treatment(name) for name in job.roles.confidential]


def _describe_method(job: Job) -> str:
    """Return the text of the partition's name with that of its repair."""
    repair = job.privacy.repair
    return job.partition.method + (f" with repair {repair.method!r}" if repair else "")


def _describe_attributes(job: Job) -> str:
    """Return the text on the confidential attributes and their requirements."""
    treatments = _list_treatments(job)
    privacy = job.privacy
    many = "one attribute" if len(treatments) == 1 else f"{len(treatments)} attributes"
    senses = (model.sense(privacy, treatments) for model in reversed(privacy.models))
    return ", ".join([f"of {many}", *filter(None, senses)])
