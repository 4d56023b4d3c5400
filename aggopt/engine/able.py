"""Which jobs can be carried out block by block, and how others can be."""

from collections.abc import Iterator

import pyarrow as pa

from aggopt.aggregate._shifting import DECIDES, INSISTS
from aggopt.aggregate._wish_sections import ByAttribute
from aggopt.errors import JobError, TableError
from aggopt.job import Job, P3m, Recommended
from aggopt.job._risk import Risk
from aggopt.partition._shared.settings import TOGETHER
from aggopt.pipeline.by_stratum import each_by_itself
from aggopt.privacy._values import REFUSE

MEMORY = 'engine = "memory" does it, of a table that fits'
OF_BLOCKS = frozenset({"k", "l", "p", "t"})  # of a group, or beside all records
PARTITION = "blocked"
SOLVER = "lagrangian"


def require_able(job: Job) -> None:
    """Refuse what needs all records at once, or is not built for blocks.

    Raises
    ------
    JobError
        The message names the setting, and what to write in its place.
    """
    for error in unable(job):
        raise error


def unable(job: Job) -> Iterator[JobError]:
    """Yield what refuses each setting that needs all records, or is not built."""
    for what, fix in _unable(job):
        yield JobError(
            f"{what}: an engine that works block by block does not do that.",
            fix=f"{fix}; {MEMORY}.",
        )


def _unable(job: Job) -> Iterator[tuple[str, str]]:
    """Yield each setting that cannot be carried out, and what can."""
    out = "leave it out"
    for role in ("unit", "wish"):
        if getattr(job.roles, role):
            yield f"[roles] {role} is given", out
    if job.attributes:
        yield "[attributes] is given", out
    if job.missing.policy != REFUSE:
        yield f"[missing] policy = {job.missing.policy!r}", "fill the holes first"
    if job.measures.extra:
        yield "[measures] is given", out
    if job.risk != Risk():
        yield "[risk] is given", out
    if not job.output.shuffle or job.output.seed is not None:
        yield "[output] shuffle or seed is given", "let the order be random"
    if job.strata.small == "merge":
        yield "[strata] small = 'merge'", 'set small = "refuse" or "drop"'
    if job.weights.published == "as is":
        yield "[weights] published = 'as is'", 'set published = "group mean" or "drop"'
    if job.roles.stratum and job.engine.borders:
        yield "[engine] borders, within strata", "leave borders out"
    if each_by_itself(job):
        yield "what is kept is kept in each stratum", 'set keep = "overall"'
    yield from _of_privacy(job)
    yield from _of_partition(job)
    yield from _of_aggregation(job)


def _of_privacy(job: Job) -> Iterator[tuple[str, str]]:
    privacy = job.privacy
    if privacy.scope != "combination":
        yield f"scope = {privacy.scope!r}", 'set scope = "combination"'
    beyond = sorted(privacy.asked - OF_BLOCKS)
    if beyond:
        yield f"[privacy] {', '.join(beyond)} is promised", "promise k, l, p or t"
    repair = privacy.repair
    if repair is not None and repair.method != "merge":
        yield f"repair = {repair.method!r}", 'set repair = "merge"'


def _of_partition(job: Job) -> Iterator[tuple[str, str]]:
    how = job.partition
    if not isinstance(how, Recommended) and how.method != PARTITION:
        yield f"[partition] method = {how.method!r}", f"set method = {PARTITION!r}"
    if getattr(how, "time_limit", None) is not None:
        yield "[partition] time_limit is given", 'choose an effort, "fast" or "best"'
    if how.attributes != TOGETHER or how.weights != "variance":
        yield "[partition] attributes or weights are given", "leave them out"


def _of_aggregation(job: Job) -> Iterator[tuple[str, str]]:
    how = job.aggregation
    if isinstance(how, P3m):
        yield from _of_shifts(how)
    elif how.method not in ("mean", "median"):
        fix = 'set method = "mean", "median" or "p3m"'
        yield f"[aggregation] method = {how.method!r}", fix
    elif not isinstance(getattr(how, "keep", "mean"), str):
        yield "[aggregation] keep names columns", 'set keep = "covariance"'


def _of_shifts(how: P3m) -> Iterator[tuple[str, str]]:
    """Yield what P3M asks that pieces of cost functions do not answer."""
    if how.keep != "variance":
        yield "[aggregation] keep", 'leave it out, or set method = "mean"'
    if how.solver not in (None, SOLVER):
        yield f"[aggregation] solver = {how.solver!r}", f"set solver = {SOLVER!r}"
    if how.time_limit is not None or "time_limit" in how.options:
        yield "[aggregation] time_limit is given", "leave it out"
    inner = how.importance
    most = (
        list(inner.attributes.values()) if isinstance(inner, ByAttribute) else [inner]
    )
    if how.alpha > DECIDES or not all(
        isinstance(each, float) and each <= INSISTS for each in most
    ):
        yield (
            "[aggregation] asks for distances that are kept exactly",
            f"set importance to {INSISTS:g} or less, a number, and alpha to "
            f"{DECIDES:g} or less",
        )


def require_numbers(schema: pa.Schema, job: Job) -> None:
    """Refuse quasi-identifiers that are no numbers, by what the files say of them.

    Raises
    ------
    TableError
        Their names are in it.
    """
    other = [
        f"{name!r} ({schema.field(name).type})"
        for name in job.roles.quasi_identifier
        if name in schema.names and not _is_number(schema.field(name).type)
    ]
    if other:
        raise TableError(
            f"Quasi-identifiers that are no numbers: {', '.join(other)}.",
            fix=f"give them numbers, or mask the table in parts that fit; {MEMORY}.",
        )


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))
