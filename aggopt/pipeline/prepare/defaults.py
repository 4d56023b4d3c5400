"""Choose the open settings of a job for its table: a method, and implied repairs."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from aggopt.aggregate.categories.plurality import Plurality
from aggopt.core.columns import REFUSE
from aggopt.core.section import Section, list_written_keys
from aggopt.core.types import Floats
from aggopt.data.context.units import RecordUnits
from aggopt.data.context.weights import SamplingWeights
from aggopt.data.table import Table
from aggopt.encoding import Encoded
from aggopt.job import (
    Job,
    Privacy,
    Repairing,
    choose_partition,
    find_sufficient_k,
)
from aggopt.job.earlier_section import EarlierGroups
from aggopt.partition.block_partition import select_block
from aggopt.partition.neighbours import RecordPlaces
from aggopt.partition.registry import PARTITIONERS
from aggopt.pipeline.prepare.job_settings import Columns
from aggopt.pipeline.prepare.prepared_table import PreparedTable
from aggopt.privacy.model import OWN_MODELS


def add_defaults(
    job: Job, prepared: PreparedTable, columns: Columns
) -> tuple[Job, tuple[str, ...]]:
    """Return the job with open settings chosen, and texts of the reasons.

    `columns` are the attributes that are grouped together.
    """
    records = prepared.records
    differing = partial(count_most_distinct, records, columns)
    size = len(prepared.whole)
    weighted = prepared.weights is not None
    job, chosen = choose_partition(
        job, size, count_widest_block(records, columns), differing, weighted=weighted
    )
    job, added = add_repair_for_search(set_category_method(job, prepared.table))
    job, repaired = add_repair_for_units(job, prepared.units)
    job, merged = add_dominance_repair(job, prepared.sampling, apart=prepared.apart)
    raised = describe_group_size(job.privacy)
    return job, (*chosen, *raised, *added, *repaired, *merged, *prepared.notes)


def describe_group_size(privacy: Privacy) -> tuple[str, ...]:
    """Return a note on the k that the largest risk of a record requires, if any."""
    if privacy.risk is None or privacy.scope != "combination":
        return ()
    if privacy.k > find_sufficient_k(privacy.risk):
        return ()
    return (
        f"risk = {privacy.risk:g} is required: each group has k = {privacy.k} records "
        "or more.",
    )


def count_widest_block(records: Floats | Encoded, columns: Columns) -> int:
    """Return the largest number of coordinates of a block of attributes.

    A category has two at least: no method for one number takes it.
    """
    if not isinstance(records, Encoded):
        return max(map(len, columns))
    return max(_count_block_coordinates(records.only(block)) for block in columns)


def count_most_distinct(records: Floats | Encoded, columns: Columns) -> int:
    """Return the largest number of distinct records in a block of attributes."""
    parts = (select_block(records, block) for block in columns)
    return max(len(RecordPlaces.of(np.asarray(part)).rows) for part in parts)


def _count_block_coordinates(block: Encoded) -> int:
    """Return the coordinates of a block, at least 2 with a category."""
    names = any(attribute.categories is not None for attribute in block.attributes)
    return max(block.shape[1], 2 if names else 1)


def set_category_method(job: Job, table: Table) -> Job:
    """Return the job with plurality for categories, if none is named."""
    aggregation = job.aggregation
    if not table.domains or aggregation.categories is not None:
        return job
    plurality = aggregation.model_copy(update={"categories": Plurality()})
    return job.model_copy(update={"aggregation": plurality})


def add_repair_for_search(job: Job) -> tuple[Job, tuple[str, ...]]:
    """Return the job with a repair if its partition searches, and the reason.

    Partitions that search take no requirement during the search.  Their groups are
    merged until they satisfy all requirements, and then searched further with a check
    of each change.  A job that names a repair, or requires only k, is returned
    unchanged.
    """
    privacy = job.privacy
    partition = job.partition
    method = PARTITIONERS.of(partition)
    if not (method.searches and privacy.models) or privacy.repair:
        return job, ()
    reason = (
        f"{describe_requirement(privacy)}, and no repair is named: the groups of "
        f"{partition.method!r} are "
        'merged until they keep it, then searched further, by repair = "search".'
    )
    repaired = privacy.model_copy(update={"repair": Repairing(method="search")})
    return job.model_copy(update={"privacy": repaired}), (reason,)


def add_dominance_repair(
    job: Job, sampling: SamplingWeights | None, *, apart: bool
) -> tuple[Job, tuple[str, ...]]:
    """Return the job with a repair for dominated groups, if needed, and notes.

    No repair is added if the partition keeps dominance, or if any groups of k records
    do.  The partition does not keep it within patterns of missing values, `apart`.
    """
    if sampling is None or job.privacy.repair:
        return job, ()
    share = job.weights.dominance
    method = PARTITIONERS.of(job.partition)
    largest = float(sampling.values.max())
    lightest = float(np.sort(sampling.values)[: job.privacy.k - 1].sum())
    keeps = method.dominates and sampling.scaled is not None and not apart
    if largest <= share * (largest + lightest) or keeps:
        return job, ()
    return merge_for_dominance(job, apart=apart)


def merge_for_dominance(
    job: Job, *, apart: bool = False
) -> tuple[Job, tuple[str, ...]]:
    """Return the job with merging until no record dominates a group, and a note.

    Groups are within patterns of missing values if `apart`.
    """
    repaired = job.privacy.model_copy(update={"repair": Repairing(method="merge")})
    method = PARTITIONERS.of(job.partition)
    within = " within patterns of missing values" if apart and method.dominates else ""
    reason = (
        f"No record is to have more than {job.weights.dominance:g} of the weight of "
        f"its group, which {method.name!r} does not look at{within}: groups are merged "
        'until none has, by repair = "merge".'
    )
    return job.model_copy(update={"privacy": repaired}), (reason,)


def add_repair_for_units(
    job: Job, units: RecordUnits | None
) -> tuple[Job, tuple[str, ...]]:
    """Return the job with a repair for groups of k units, if needed, and a note."""
    if units is None or units.records is not None or job.privacy.repair:
        return job, ()
    if "units" in list_method_requirements(job):
        return job, ()
    keeps_earlier_groups = isinstance(job.partition, EarlierGroups)
    method, then = (
        ("merge", "") if keeps_earlier_groups else ("search", "then searched further, ")
    )
    repaired = job.privacy.model_copy(update={"repair": Repairing(method=method)})
    reason = (
        "k counts units: groups are merged until each has records of k units, "
        f'{then}by repair = "{method}".'
    )
    return job.model_copy(update={"privacy": repaired}), (reason,)


def list_method_requirements(job: Job) -> frozenset[str]:
    """Return the requirements in addition to k that the partition method takes.

    They are l or t of one confidential attribute, and units, if no value is missing.
    Within strata t is not taken: groups are to be close to the whole table.
    """
    taken = PARTITIONERS.of(job.partition).takes_also
    if job.missing.policy != REFUSE:
        return frozenset()
    privacy = job.privacy
    treatments = [privacy.treatment(name) for name in job.roles.confidential]
    simple = {m.name for m in privacy.models if m.simple(privacy, treatments)}
    required = {"l", "t"} & privacy.asked
    if (
        len(treatments) != 1
        or len(required) > 1
        or (required == {"t"} and job.roles.stratum)
    ):
        required = set()
    return taken & (required & simple | {"units"})


def describe_requirement(privacy: Privacy) -> str:
    """Return the text of all requirements, as "l = 3 is promised"."""
    verb = "is" if len(privacy.models) == 1 else "are"
    return f"{_join_requirements(privacy)} {verb} promised"


def _join_requirements(privacy: Privacy) -> str:
    """Return the text of all requirements, as "l = 3 and t = 0.2"."""
    return " and ".join(
        model.name
        if model.origin
        else f"{model.name} = {_format_value(getattr(privacy, model.name))}"
        for model in privacy.models
    )


def _format_value(value: Any) -> str:
    """Return a setting's value as TOML text."""
    if not isinstance(value, Section):
        return str(value)
    inner = (
        f"{key} = {_format_value(v)}"
        for key, v in value
        if key in list_written_keys(value)
    )
    return f"{{ {', '.join(inner)} }}"


def list_requirement_names(names: Sequence[str], privacy: Privacy) -> list[str]:
    """Return the names of requirements, with those of user models."""
    user_models = [model.name for model in privacy.models if model.origin]
    return [
        n for name in names for n in (user_models if name == OWN_MODELS else [name])
    ]
