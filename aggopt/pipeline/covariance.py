"""What a job that keeps the covariance needs: attributes together, enough groups."""

from aggopt.core.plural import many
from aggopt.core.standardise import Scale
from aggopt.core.validation import Floats
from aggopt.errors import InfeasibleInputError, JobError
from aggopt.job import Job
from aggopt.models._joint import root
from aggopt.pipeline.attribute_blocks import Columns


def require_covariance(X: Floats, places: Columns, job: Job) -> None:
    """Refuse numbers X (n, p) whose covariance no groups of the job could keep.

    `places` are the columns of X that are grouped together, block by block.

    Raises
    ------
    JobError
        They are not all grouped together.
    InfeasibleInputError
        They are of a rank that more groups keep than k leaves.
    """
    if "covariance" not in job.aggregation.keeps:
        return
    if len(places) > 1:
        raise JobError(
            'keep = "covariance" is of attributes that are grouped together, and '
            f"[partition] attributes puts the numbers into {len(places)} blocks.",
            fix='leave attributes out under [partition], or set keep = "variance".',
        )
    scale = Scale.of(X)
    rank = len(root(scale.standardise(X)[:, ~scale.constant]))
    most = len(X) // job.privacy.k
    if most <= rank:
        raise InfeasibleInputError(
            f"{len(X)} records with k = {job.privacy.k} make {many(most, 'group')} at "
            f"most, and a covariance matrix of rank {rank} is kept by {rank + 1} or "
            "more.",
            fix='choose a smaller k, fewer quasi-identifiers, or keep = "variance".',
        )
