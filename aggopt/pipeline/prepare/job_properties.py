"""Properties of a job that several stages read."""

from aggopt.aggregate.kept_statistics import Keeping, KeptApart
from aggopt.aggregate.user_model import ByModel, choose_model_solver
from aggopt.job import Job, Mean, Median, SolverSection
from aggopt.models import MODELS, Model
from aggopt.solvers import Solver, choose


def is_aggregated_by_stratum(job: Job) -> bool:
    """Whether the numbers of each stratum are aggregated separately.

    False if the values of a group depend only on its own records.
    """
    how = job.aggregation
    of_groups = isinstance(how, Mean | Median) and not how.keeps - {"mean"}
    return bool(job.roles.stratum) and job.strata.keep == "stratum" and not of_groups


def find_model(how: SolverSection) -> Model:
    """Return the model of a method that uses a solver."""
    return how.program if isinstance(how, ByModel) else MODELS[how.function]


def choose_method_solver(how: SolverSection) -> Solver:
    """Return the solver that a method will use; raises as `choose`."""
    if isinstance(how, ByModel):
        return choose_model_solver(how.program, how.arguments, how.solver)
    return choose(how.solver, *find_model(how).kinds)


def keeps_variance(job: Job) -> bool:
    """Whether the aggregation keeps the variance of each attribute."""
    return "variance" in job.aggregation.keeps


def are_bounded_jointly(job: Job) -> bool:
    """Whether attributes with bounds are solved together, their covariance kept."""
    return any(
        section.bounded
        for name, section in job.attributes.items()
        if _kept_of(job, name) == "covariance"
    )


def _kept_of(job: Job, name: str) -> str | None:
    """Return the statistic that is kept of an attribute."""
    how = job.aggregation
    if not isinstance(how, Keeping):
        return None
    if not isinstance(how.keep, KeptApart):
        return how.keep
    return next((what for what, names in how.keep.parts if name in names), None)
