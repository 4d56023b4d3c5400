"""The partition and the repair that a job names, with their arguments."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from aggopt.core.validation import Floats
from aggopt.data.context.confidential import Confidential, list_requirements
from aggopt.encoding import Encoded
from aggopt.job import Job, Privacy
from aggopt.partition._in_blocks import call_with_progress
from aggopt.partition.registry import PARTITIONERS, Bound, ConfidentialUse, Partitioner
from aggopt.partition.shared.result import Block, Partition
from aggopt.privacy.closeness import suppress_constant_warnings
from aggopt.privacy.models.l_diversity import Diversity
from aggopt.privacy.models.t_closeness import Closeness
from aggopt.privacy.requirement import Requirement
from aggopt.repair.registry import REPAIRS, RepairInput

Kind = TypeVar("Kind", bound=Requirement)


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
        with suppress_constant_warnings():
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


def _of_kind(held: Sequence[Confidential], kind: type[Kind]) -> list[Kind]:
    """Return the requirements of one privacy model."""
    return [each for each in list_requirements(held) if isinstance(each, kind)]


def _places(held: Sequence[Confidential]) -> Any:
    """Return ranks of confidential values, (n,) of one attribute or (n, c)."""
    ranks = [each.distance.place for each in _of_kind(held, Closeness)]
    return ranks[0] if len(ranks) == 1 else np.stack(ranks, axis=1)


def weight_arguments(
    job: Job, weights: Floats | None, *, apart: bool = False
) -> dict[str, Any]:
    """Return the arguments that pass weights (n,) to a partition.

    Dominance is omitted if groups are within patterns of missing values, `apart`: some
    patterns may have no groups that keep it before they are merged.
    """
    if weights is None:
        return {}
    keeps = PARTITIONERS.of(job.partition).dominates and not apart
    dominance = {"dominance": job.weights.dominance} if keeps else {}
    return {"weights": weights, **dominance}
