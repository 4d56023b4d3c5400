"""Solvers that a job names, refused when it is read if they cannot be meant."""

from collections.abc import Iterator
from contextlib import suppress

from aggopt.core.plugins.section import UserMethodSection
from aggopt.core.section import MethodSection, SolverSection
from aggopt.errors import SolverError, naming
from aggopt.job._privacy import Privacy
from aggopt.partition.registry import PARTITIONERS
from aggopt.repair.registry import REPAIRS


def require_solvers(
    privacy: Privacy, partition: MethodSection, aggregation: MethodSection
) -> None:
    """Refuse a solver that is unknown, or that does not take its section's model.

    Its installation is checked later, because a job is valid on every machine.

    Raises
    ------
    UnknownNameError, JobError
        The message names the section, and the solvers that take the model.
    """
    for section, name, title in _list_solvers(privacy, partition, aggregation):
        from aggopt.models import MODELS
        from aggopt.solvers import SOLVERS, choose

        if SOLVERS.names_own(name):
            continue  # to read a job runs no code
        with suppress(SolverError), naming(f"[{section}] solver"):
            choose(name, *MODELS[title].kinds)


def _list_solvers(
    privacy: Privacy, partition: MethodSection, aggregation: MethodSection
) -> Iterator[tuple[str, str, str]]:
    """Yield the section, the solver and the model of each solver that is named."""
    repair = privacy.repair
    if repair is not None and repair.solver is not None:
        model = REPAIRS[repair.method].model
        if model is not None:
            yield "privacy", repair.solver, model
    solver = getattr(partition, "solver", None)
    if solver is not None and (registered := PARTITIONERS.of(partition).model):
        yield "partition", solver, registered
    for section, section_value in (
        ("aggregation", aggregation),
        ("aggregation.categories", getattr(aggregation, "categories", None)),
    ):
        if isinstance(section_value, UserMethodSection):
            continue  # of whose model nothing is known before it is loaded
        if (
            isinstance(section_value, SolverSection)
            and section_value.solver is not None
        ):
            yield section, section_value.solver, section_value.function
