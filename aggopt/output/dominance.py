"""What the groups of a release are to keep of sampling weights."""

from aggopt.core.validation import Floats
from aggopt.job import Job
from aggopt.privacy._dominance import Dominance


def dominance_of(job: Job, weights: Floats | None) -> Dominance | None:
    """Return what the job asks of records with these weights (n,); None if nothing."""
    if weights is None or job.weights.dominance == 1:
        return None
    (name,) = job.roles.weight
    return Dominance(weights, job.weights.dominance, name)
