"""Step of a job that compares solvers: the last one that a solver runs."""

from collections.abc import Callable
from typing import Any, NamedTuple

from aggopt.aggregate.own.section import ByModel
from aggopt.errors import JobError
from aggopt.experiments.solver_rows import (
    Row,
    Share,
    of_aggregation,
    of_blocks,
    of_categories,
    of_partition,
    of_repair,
)
from aggopt.job import Job, Shifting, SolverSection
from aggopt.models import MODELS, Model
from aggopt.partition.registry import PARTITIONERS
from aggopt.pipeline.partition.partitioned_table import PartitionedTable
from aggopt.pipeline.validate.bounds import are_bounded_jointly
from aggopt.pipeline.validate.preflight_checks import find_model
from aggopt.repair.registry import REPAIRS
from aggopt.solvers import Solver, choose
from aggopt.solvers._choose import able_for


class Step(NamedTuple):
    """Step of a job that a solver runs: model, time limit, row, section.

    Of a model of the user's `own` is the class of its programs, and `language` its
    modelling language; `within` is whether values have bounds that not all solvers
    keep.
    """

    model: Model
    limit: float | None
    row: Callable[[PartitionedTable, Solver, float, Share], Row]
    section: Any
    own: str = ""
    language: tuple[str, ...] | None = None
    within: bool = False

    @property
    def kinds(self) -> tuple[str, str]:
        """Names that a solver may declare if it takes the model."""
        return (self.model.name, self.own or self.model.kind)

    @property
    def able(self) -> list[Solver]:
        """The solvers that take it, the job's own first if the table has it not."""
        able = able_for(*self.kinds, language=self.language, within=self.within)
        named = getattr(self.section, "solver", None)
        known = [name for s in able for name in (s.name, s.name.partition(":")[2])]
        if named is None or named in known:
            return able
        own = choose(named, *self.kinds, language=self.language)
        return able if own.name in known else [own, *able]


def solved_by(job: Job) -> Step:
    """Return the last step of a job that a solver runs."""
    categories = job.aggregation.categories
    if isinstance(categories, SolverSection):
        limit = categories.time_limit
        return Step(find_model(categories), limit, of_categories, categories)
    how = job.aggregation
    if isinstance(how, ByModel):
        own = how.program
        kind = own.kind_with(how.arguments)
        return Step(own, how.time_limit, of_aggregation, how, kind, own.languages)
    if isinstance(how, Shifting):
        if len(how.programs) > 1:
            raise JobError(
                f"keep asks for {len(how.programs)} kinds of programs, and no solver "
                "is compared on two.",
                fix='set keep = "variance" or keep = "covariance" to compare solvers.',
            )
        within = are_bounded_jointly(job)
        return Step(find_model(how), how.time_limit, of_aggregation, how, within=within)
    repair = job.privacy.repair
    method = REPAIRS.of(repair) if repair else None
    named = repair is not None and repair.solver is not None
    if repair and method and method.model and (named or method.asks_solver):
        return Step(MODELS[method.model], repair.time_limit, of_repair, repair)
    if isinstance(job.partition, SolverSection):
        split = job.partition
        return Step(find_model(split), split.time_limit, of_partition, split)
    if model := PARTITIONERS.of(job.partition).model:
        limit = job.partition.settings["time_limit"]
        return Step(MODELS[model], limit, of_blocks, job.partition)
    raise JobError(
        f"No solver is asked in {job.partition.method!r} and "
        f"{job.aggregation.method!r}, nor in a repair: they have methods of their own.",
        fix='set method = "p3m" under [aggregation], or "frequencies" under '
        '[aggregation.categories]; or "optimal", "univariate" or '
        '"individual_ranking" under [partition]; or repair = "merge-ilp" under '
        "[privacy].",
    )
