"""Which jobs can be carried out block by block, and how others can be."""

from collections.abc import Iterator

import pyarrow as pa

from aggopt.errors import JobError, TableError
from aggopt.job import Job, Recommended
from aggopt.job._risk import Risk
from aggopt.partition._shared.settings import TOGETHER
from aggopt.privacy._values import REFUSE

MEMORY = 'engine = "memory" does it, of a table that fits'
OF_GROUPS = frozenset({"k", "l", "p"})  # which ask a group about itself alone
PARTITION = "blocked"


def require_able(job: Job) -> None:
    """Refuse what needs all records at once, or is not built for blocks.

    Raises
    ------
    JobError
        The message names the setting, and what to write in its place.
    """
    for what, fix in _unable(job):
        raise JobError(
            f"{what}: an engine that works block by block does not do that.",
            fix=f"{fix}; {MEMORY}.",
        )


def _unable(job: Job) -> Iterator[tuple[str, str]]:
    """Yield each setting that cannot be carried out, and what can."""
    out = "leave it out"
    for role in ("stratum", "unit", "wish"):
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
    yield from _of_privacy(job)
    yield from _of_partition(job)
    yield from _of_aggregation(job)


def _of_privacy(job: Job) -> Iterator[tuple[str, str]]:
    privacy = job.privacy
    if privacy.scope != "combination":
        yield f"scope = {privacy.scope!r}", 'set scope = "combination"'
    beyond = sorted(privacy.asked - OF_GROUPS)
    if beyond:
        yield f"[privacy] {', '.join(beyond)} is promised", "promise k, l or p"
    treated = (privacy.treatment(name) for name in job.roles.confidential)
    if any(treatment.levels is not None for treatment in treated):
        yield "l counts levels of numbers", "let it count values"
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
    fix = 'set method = "mean", with keep = "variance" or "covariance", or "median"'
    if how.method not in ("mean", "median"):
        yield f"[aggregation] method = {how.method!r}", fix
    elif not isinstance(getattr(how, "keep", "mean"), str):
        yield "[aggregation] keep names columns", 'set keep = "covariance"'


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
        if not _is_number(schema.field(name).type)
    ]
    if other:
        raise TableError(
            f"Quasi-identifiers that are no numbers: {', '.join(other)}.",
            fix=f"give them numbers, or mask the table in parts that fit; {MEMORY}.",
        )


def _is_number(kind: pa.DataType) -> bool:
    tests = (pa.types.is_boolean, pa.types.is_integer, pa.types.is_floating)
    return any(test(kind) for test in tests)
