"""Reject settings that the out-of-core engine does not support."""

from collections.abc import Iterator

from aggopt.aggregate.categories.registry import CategorySection
from aggopt.aggregate.distance_requests import ByAttribute
from aggopt.aggregate.shift_settings import DECIDES, INSISTS
from aggopt.errors import JobError
from aggopt.job import Job, Mean, P3m, Recommended, Repairing, Risk
from aggopt.partition.shared.evidence import QUICK
from aggopt.partition.shared.settings import TOGETHER
from aggopt.pipeline.prepare.defaults import (
    describe_requirement,
    list_requirement_names,
)
from aggopt.pipeline.prepare.job_settings import is_aggregated_by_stratum
from aggopt.pipeline.validate.privacy_guarantees import require_guarantees

MEMORY = "or leave [engine] and --engine out, which does it of a table that fits memory"
PARTITION = "blocked"
MERGE = "merge"
SOLVER = "lagrangian"
CATEGORIES = ("plurality", "frequencies")


def require_supported_job(job: Job) -> None:
    """Refuse a job with settings that block-wise masking does not support.

    Raises
    ------
    JobError
        The message names the setting, and what to write in its place.
    """
    for error in find_unsupported(job):
        raise error


def find_unsupported(job: Job) -> Iterator[JobError]:
    """Yield an error for each setting that block-wise masking does not support."""
    for what, fix in _iter_unsupported(job):
        yield JobError(
            f"{what}: an engine that works block by block does not do that.",
            fix=f"{fix}; {MEMORY}.",
        )


def require_keepable_requirements(job: Job) -> None:
    """Refuse a job with requirements that merging groups cannot satisfy.

    Raises
    ------
    JobError, SolverError
        As `require_guarantees`; or no repair is named.
    """
    privacy = job.privacy
    if not privacy.models or privacy.repair is not None:
        require_guarantees(job)
        return
    merged = privacy.model_copy(update={"repair": Repairing(method=MERGE)})
    require_guarantees(job.model_copy(update={"privacy": merged}))
    requests = " and ".join(
        list_requirement_names(sorted(privacy.asked - {"k"}), privacy)
    )
    raise JobError(
        f"{describe_requirement(privacy)}, and {PARTITION} does not guarantee "
        f"{requests}.",
        fix=f'set repair = "{MERGE}" under [privacy], by which blocks keep it.',
    )


def _iter_unsupported(job: Job) -> Iterator[tuple[str, str]]:
    """Yield a text on each unsupported setting, and one on an alternative."""
    out = "leave it out"
    for role in ("unit", "wish"):
        if getattr(job.roles, role):
            yield f"[roles] {role} is given", out
    for name, section in job.attributes.items():
        if section.bounded and _is_moved_by_map(job):
            keep = getattr(job.aggregation, "keep", None)
            yield (
                f"[attributes.{name}] lower or upper, with keep = {keep!r}",
                'set keep = "variance", or leave it out',
            )
    if job.missing.report_compatible:
        yield "[missing] report_compatible is given", out
    if not job.measures.idle:
        yield "[measures] is given", out
    if job.risk != Risk():
        yield "[risk] is given", out
    if not job.output.shuffle or job.output.seed is not None:
        yield "[output] shuffle or seed is given", "let the order be random"
    if job.weights.published == "as is":
        yield "[weights] published = 'as is'", 'set published = "group mean" or "drop"'
    if is_aggregated_by_stratum(job):
        yield "what is kept is kept in each stratum", 'set keep = "overall"'
    yield from _iter_unsupported_privacy(job)
    yield from _iter_unsupported_partition(job)
    yield from _iter_unsupported_aggregation(job)


def _is_moved_by_map(job: Job) -> bool:
    """Whether one linear map moves all means, which cannot keep bounds."""
    aggregation = job.aggregation
    return isinstance(aggregation, Mean) and aggregation.keep not in (
        "mean",
        "variance",
    )


def _iter_unsupported_privacy(job: Job) -> Iterator[tuple[str, str]]:
    """Yield texts on unsupported settings of [privacy], with alternatives."""
    privacy = job.privacy
    if privacy.keys is not None:
        yield "[privacy] keys are given", "leave them out"
    elif privacy.scope != "combination":
        yield f"scope = {privacy.scope!r}", 'set scope = "combination"'
    for key in ("average_risk", "linkage"):
        if getattr(privacy, key) is not None:
            yield (
                f"[privacy] {key} is given",
                "set risk, which no average and no linkage of groups exceeds",
            )
    repair = privacy.repair
    if repair is not None and repair.method != MERGE:
        yield f"repair = {repair.method!r}", f'set repair = "{MERGE}"'


def _iter_unsupported_partition(job: Job) -> Iterator[tuple[str, str]]:
    """Yield texts on unsupported settings of [partition], with alternatives."""
    partition = job.partition
    if not isinstance(partition, Recommended) and partition.method != PARTITION:
        yield (
            f"[partition] method = {partition.method!r}",
            f"set method = {PARTITION!r}",
        )
    if getattr(partition, "time_limit", None) is not None:
        yield "[partition] time_limit is given", 'choose an effort, "fast" or "best"'
    if partition.attributes != TOGETHER or partition.weights != "variance":
        yield "[partition] attributes or weights are given", "leave them out"
    if partition.bound != QUICK:
        yield "[partition] bound is given", "leave it out"


def _iter_unsupported_aggregation(job: Job) -> Iterator[tuple[str, str]]:
    """Yield texts on unsupported settings of [aggregation]."""
    aggregation = job.aggregation
    if aggregation.categories is not None:
        yield from _iter_unsupported_categories(aggregation.categories)
    if isinstance(aggregation, P3m):
        yield from _iter_unsupported_shifts(aggregation)
    elif aggregation.method not in ("mean", "median"):
        fix = 'set method = "mean", "median" or "p3m"'
        yield f"[aggregation] method = {aggregation.method!r}", fix
    elif not isinstance(getattr(aggregation, "keep", "mean"), str):
        yield "[aggregation] keep names columns", 'set keep = "covariance"'


def _iter_unsupported_categories(method: CategorySection) -> Iterator[tuple[str, str]]:
    """Yield texts on unsupported settings of [aggregation.categories]."""
    where = "[aggregation.categories]"
    if method.method not in CATEGORIES:
        fix = 'set method = "plurality" or "frequencies"'
        yield f"{where} method = {method.method!r}", fix
    for key, called in (("occurring",) * 2, ("cross",) * 2, ("with_", "with")):
        if getattr(method, key, None):
            yield f"{where} {called} is given", "leave it out"
    if getattr(method, "time_limit", None) is not None:
        yield f"{where} time_limit is given", "leave it out"


def _iter_unsupported_shifts(p3m: P3m) -> Iterator[tuple[str, str]]:
    """Yield texts on unsupported settings of P3M, with alternatives."""
    if p3m.keep != "variance":
        yield "[aggregation] keep", 'leave it out, or set method = "mean"'
    if p3m.solver not in (None, SOLVER):
        yield f"[aggregation] solver = {p3m.solver!r}", f"set solver = {SOLVER!r}"
    if p3m.time_limit is not None or "time_limit" in p3m.options:
        yield "[aggregation] time_limit is given", "leave it out"
    inner = p3m.importance
    importances = (
        list(inner.attributes.values()) if isinstance(inner, ByAttribute) else [inner]
    )
    if p3m.alpha > DECIDES or not all(
        isinstance(value, float) and value <= INSISTS for value in importances
    ):
        yield (
            "[aggregation] asks for distances that are kept exactly",
            f"set importance to {INSISTS:g} or less, a number, and alpha to "
            f"{DECIDES:g} or less",
        )
