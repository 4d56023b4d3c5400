"""Options under a solver's own names: which are passed on and which are refused."""

from collections.abc import Iterator, Mapping
from math import inf
from typing import Any

from aggopt.core.deadline import ENDLESS, quote_limit
from aggopt.core.validation import is_number
from aggopt.errors import AggoptError, JobError, SolverError
from aggopt.solvers.solver import Solver

_WRITING = ("print", "output", "file", "log", "verbose", "display", "dump")
_LANGUAGE = (  # arguments of cvxpy, not options of a solver
    "gp",
    "qcp",
    "nlp",
    "requires_grad",
    "enforce_dpp",
    "ignore_dpp",
    "canon_backend",
    "solver_path",
    "solver",
    "method",
    "best_of",
)

# options that change the program: what counts as 0 or as infinite, and its scale
_CHANGING = frozenset(
    {
        "small_matrix_value",  # HiGHS
        "large_matrix_value",
        "infinite_cost",
        "infinite_bound",
        "user_objective_scale",
        "user_cost_scale",
        "user_bound_scale",
        "qp_regularization_value",
        "numerics/epsilon",  # SCIP
        "numerics/sumepsilon",
        "numerics/infinity",
        "numerics/hugeval",
        "nlp_lower_bound_inf",  # Ipopt, and solvers with its options
        "nlp_upper_bound_inf",
        "obj_scaling_factor",  # a negative one maximises
        "fixed_variable_treatment",
    }
)


def make_native_options(
    solver: Solver, time_limit: float | None, options: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Return all options under the solver's own names.

    Raises
    ------
    JobError
        The time limit is not positive, or given twice.  An option makes the solver
        print or write: its output contains values of records.  Or an option changes the
        program that is solved.
    """
    _require_mapping(options)
    if solver.run is not None:  # a user's solver: its arguments decide what it takes
        check_time_limit(time_limit)
        return dict(options or {})
    listed = solver.time_limit is not None or solver.language is not None
    if not listed and (options or time_limit is not None):
        option_names = ["time_limit"] * (time_limit is not None) + sorted(options or ())
        raise JobError(
            f"{solver.name} takes no options and no time limit, "
            f"but got {option_names}.",
            fix="leave them out, or name another solver.",
        )
    _require_silent(options or {})
    _require_same_program(options or {})
    native = {**solver.fixed, **(options or {})}
    check_time_limit(time_limit)
    if time_limit is not None and solver.time_limit in (options or {}):
        raise JobError(
            f"The limit of time is given twice: time_limit = {time_limit}, and the "
            f"option {solver.time_limit!r}.",
            fix="leave one of them out.",
        )
    if time_limit is not None and solver.time_limit is not None:
        native[solver.time_limit] = float(time_limit)  # Ipopt refuses an int
    return native


def require_only_time_limit(solver: Solver, native: Mapping[str, Any]) -> None:
    """Refuse options other than time_limit, for a solver of this package."""
    if unknown := sorted(set(native) - {"time_limit"}):
        raise JobError(
            f"{solver.name} has no option {unknown[0]!r}.",
            fix="it takes time_limit only, in seconds.",
        )


def _require_mapping(options: object) -> None:
    if not (options is None or isinstance(options, Mapping)):
        raise JobError(
            f"options is a {type(options).__name__}.",
            fix="pass a dict of the solver's own options.",
        )


def _require_silent(options: Mapping[str, Any]) -> None:
    """Refuse options of the language, and options that make a solver print or write."""
    for name in _iter_option_names(options):
        if name in _LANGUAGE or any(word in name.lower() for word in _WRITING):
            raise JobError(
                f"The option {name!r} is not allowed: it is not a solver "
                "option, or enables logging, which would write record values to disk.",
                fix="leave it out.",
            )


def _require_same_program(options: Mapping[str, Any]) -> None:
    """Refuse options that change the program that is solved."""
    for name in _iter_option_names(options):
        if name.lower() in _CHANGING:
            raise JobError(
                f"The option {name!r} is not allowed: it changes the program that is "
                "solved, and not how it is solved.",
                fix="leave it out; state the program itself in other units if its "
                "numbers are too large or too small.",
            )


def require_limited(solver: Solver, time_limit: float | None) -> None:
    """Refuse, before any work, a time limit that the user's code does not take.

    Other solvers are killed at the limit if they do not stop.

    Raises
    ------
    JobError
        The solver is the user's, and takes no time limit.
    """
    if time_limit is not None and solver.origin and not solver.limited:
        raise JobError(
            f"{solver.name} takes no time_limit.",
            fix="leave time_limit out, or give the function an argument of this name.",
        )


def _iter_option_names(options: Mapping[str, Any]) -> Iterator[str]:
    """Yield the names of options, including names within a group of options."""
    for name, value in options.items():
        yield str(name)
        if isinstance(value, Mapping):
            yield from _iter_option_names(value)


def check_time_limit(seconds: object) -> None:
    """Refuse a limit that is neither None nor a positive, finite number."""
    if seconds is None or (is_number(seconds) and 0 < seconds < inf):  # type: ignore[operator]
        return
    raise JobError(
        f"time_limit = {quote_limit(seconds)}.",
        fix=f"allow a positive number of seconds; {ENDLESS}.",
    )


def explain_refusal(
    solver: Solver, native: Mapping[str, Any], why: object
) -> AggoptError:
    """Return the error that names the solver that refused its options, and why."""
    limit = solver.time_limit or ""
    same = {**solver.fixed, limit: native.get(limit)}
    native_names = sorted(k for k in native if k not in same or native[k] != same[k])
    if not native_names:  # the reason may quote the problem
        return SolverError(
            f"{solver.name} failed to start ({type(why).__name__}).",
            fix="name another solver, and report this.",
        )
    return JobError(
        f"{solver.name} refused one of its options {native_names}: {why}.",
        fix="look its options up in its own manual, under the names it uses.",
    )


# by default, solvers of integer programs stop at a gap of 1e-4
EXACTLY = {
    "highs": {
        "mip_rel_gap": 0.0,
        "mip_abs_gap": 1e-7,
        "mip_feasibility_tolerance": 1e-8,
    }
}


TRUST = 5e-7  # of the objective: errors that a solver's tolerances allow
