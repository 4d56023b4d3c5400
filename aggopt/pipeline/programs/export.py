"""Write the program of an attribute for other solvers, and judge their solution.

The file contains the standardised originals and the secret margins.  Its key contains
the secret; import uses it to rebuild the program.
"""

import json
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from itertools import takewhile
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple

from aggopt.aggregate import Aggregation
from aggopt.aggregate.user_model import ByModel
from aggopt.core.stale_files import make_scratch_folder
from aggopt.errors import JobError, require_known
from aggopt.job import Job
from aggopt.pipeline.prepare.inputs import load_job
from aggopt.pipeline.programs.declare import (
    declare_program,
    judge_centroids,
    read_problem,
)
from aggopt.release.files.staging import Staging, check_places
from aggopt.release.files.write_table import write_json
from aggopt.solvers.solve_problem import find_problem_class

FORMATS = ("nl", "lp", "mps")
PLAIN = {"linear_presolve": False}  # of the writer of NL: it then writes every variable


class ExportedProgram(NamedTuple):
    """Paths of a program, and of the key that reads its solution."""

    program: Path
    key: Path


def export(
    data: Any,
    job: Job | str | Path,
    attribute: str,
    out: str | Path,
    *,
    format: str = "nl",
    trust: Iterable[str | Path] = (),
    overwrite: bool = False,
) -> ExportedProgram:
    """Write the program of an attribute for other solvers; return the files' paths.

    Pyomo writes it; HiGHS does if the model is declared only in cvxpy.  Names of rows
    and columns mean nothing, but the numbers are the originals, standardised: both
    files are readable only by their owner (mode 0600).  Do not share them.

    Parameters
    ----------
    data, job, attribute, trust
        As for `aggopt.declare`.
    out
        Where to write; the key is written next to it, as `age.nl.key.json` next to
        `age.nl`.
    format
        "nl" (AMPL), "lp" or "mps"; the last two hold only linear and quadratic terms. A
        problem of cvxpy is written as "lp" or "mps", if it is of class LP, MILP or QP.
    overwrite
        Whether existing files are replaced.

    Raises
    ------
    JobError
        The format cannot represent the program; or as `aggopt.declare`.
    TableError
        A file exists already, or cannot be written.

    Examples
    --------
    >>> import pandas as pd, aggopt
    >>> people = pd.DataFrame({"age": [20, 21, 22, 60, 61, 65]})
    >>> roles, p3m = {"quasi-identifier": ["age"]}, {"method": "p3m"}
    >>> job = aggopt.Job(roles=roles, privacy={"k": 3}, aggregation=p3m)
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     made = export(people, job, "age", f"{folder}/age.nl")
    >>> made.program.name, made.key.name
    ('age.nl', 'age.nl.key.json')
    """
    require_known("format of programs", format, FORMATS)
    program = Path(out)
    exported_program = ExportedProgram(program, _make_key_path(program))
    job = load_job(job, trust)
    language = _choose_language(job, format)
    check_places(*exported_program, overwrite=overwrite)
    problem, declared, secret = declare_program(data, job, attribute, language, trust)
    stated = {
        "format": format,
        "attribute": attribute,
        "table": declared.table,
        "job": declared.digest,
        "secret": secret,
    }
    with Staging() as staging:
        staging.write(program, lambda to: write_problem(problem, to, format))
        staging.write(exported_program.key, lambda to: write_json(to, stated))
        staging.commit(*exported_program, overwrite=overwrite)
    return exported_program


def import_solution(
    data: Any,
    job: Job | str | Path,
    attribute: str,
    solution: str | Path,
    *,
    key: str | Path | None = None,
    trust: Iterable[str | Path] = (),
) -> Aggregation:
    """Return the published values of a solution, judged by the attribute's model.

    Parameters
    ----------
    data, job, attribute, trust
        As for `export`.
    solution
        Of an exported NL file the `.sol` file that a solver of AMPL wrote; of LP or MPS
        the solution file of HiGHS (style 0) or SCIP, whose variables are identified by
        name.
    key
        The key of the export. When omitted, the key next to the solution with its name:
        `age.nl.key.json` (or lp, mps) for `age.sol`.

    Returns
    -------
    Aggregation
        Of this attribute only; the solver of the certificate is "file", and nothing is
        proven: the status is HEURISTIC, or FAILED if a constraint is missed.

    Raises
    ------
    JobError
        Key or solution do not exist, cannot be read, or are of another table, job,
        attribute or program; or keys of several formats are next to the solution.

    Examples
    --------
    >>> import pandas as pd, aggopt
    >>> people = pd.DataFrame({"age": [20, 21, 22, 60, 61, 65]})
    >>> roles, p3m = {"quasi-identifier": ["age"]}, {"method": "p3m"}
    >>> job = aggopt.Job(roles=roles, privacy={"k": 3}, aggregation=p3m)
    >>> import_solution(people, job, "age", "age.sol")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    aggopt.errors.JobError: There is no key age.nl.key.json...
    """
    place = _find_key(Path(solution)) if key is None else Path(key)
    for file, noun, remedy in (
        (place, "key", "name the key that `aggopt export` wrote next to it."),
        (Path(solution), "solution", "name the file that a solver wrote."),
    ):
        if not file.exists():
            raise JobError(f"There is no {noun} {file}.", fix=remedy)
    stated = _read_key(place)
    if stated.get("attribute") != attribute:
        raise JobError(
            f"{place.name} is not the key of {attribute!r}.",
            fix="name the attribute and the key of one export.",
        )
    format = str(stated.get("format", "nl"))
    require_known("format of programs", format, FORMATS)
    job = load_job(job, trust)
    language = _choose_language(job, format)
    secret = str(stated.get("secret"))
    problem, declared, _ = declare_program(
        data, job, attribute, language, trust, secret
    )
    if stated.get("table") != declared.table:
        raise JobError(
            f"{place.name} is the key of another table.", fix="pass that table."
        )
    if stated.get("job") != declared.digest:
        raise JobError(
            f"{place.name} is the key of another job.",
            fix="pass the job of the export; or export the program of this one.",
        )
    _load_solution(problem, Path(solution), format, language)
    reading = read_problem(declared, problem)
    if reading is None:
        raise _make_solution_error(Path(solution))
    return judge_centroids(declared, reading, by="file")


def _make_key_path(file: Path) -> Path:
    """Return the path of the key of a program's file."""
    return file.with_name(f"{file.name}.key.json")


def _find_key(solution: Path) -> Path:
    """Return the path of the key next to a solution, with any suffix."""
    endings = ("", *(f".{format}" for format in FORMATS))
    keys = [_make_key_path(solution.with_suffix(ending)) for ending in endings]
    existing = [key for key in keys if key.exists()]
    if len(existing) > 1:
        raise JobError(
            f"{' and '.join(key.name for key in existing)} lie beside {solution.name}.",
            fix="name the key of the file that was solved.",
        )
    return existing[0] if existing else _make_key_path(solution.with_suffix(".nl"))


def _choose_language(job: Job, format: str) -> str:
    """Return the modelling language to write: "pyomo" if declared, else "cvxpy".

    Raises
    ------
    JobError
        There is none, and the format is Pyomo's alone.
    """
    aggregation = job.aggregation
    if not isinstance(aggregation, ByModel) or "pyomo" in aggregation.program.languages:
        return "pyomo"
    if format == "nl":
        raise JobError(
            f"{aggregation.program.name} is declared in cvxpy alone, and the format "
            "'nl' needs "
            "a declaration in Pyomo.",
            fix='write it with format "lp" or "mps"; or write a file of a model with '
            '"pyomo" among its LANGUAGES.',
        )
    return "cvxpy"


def _read_key(key: Path) -> dict[str, Any]:
    """Return the content of a key of an export; refuse other files."""
    try:
        content = json.loads(key.read_bytes())
    except (OSError, ValueError, RecursionError):
        pass
    else:
        if isinstance(content, dict):
            return content
    raise JobError(
        f"{key} is no key of an export, or cannot be read.",
        fix="pass the file that `aggopt export` wrote beside the program.",
    )


def write_problem(problem: Any, to: Path, format: str) -> None:
    """Write a cvxpy problem or a Pyomo model to a file.

    Raises
    ------
    JobError
        The format does not hold it.
    """
    if hasattr(problem, "var_dict"):
        _write_cvxpy(problem, to, format)
    else:
        _write_pyomo(problem, to, format)


def _write_cvxpy(problem: Any, to: Path, format: str) -> None:
    """Write a cvxpy problem as LP or MPS, by HiGHS."""
    from aggopt.solvers.cvxpy_file import HOLDS, write_program

    kind = find_problem_class(problem)
    if kind not in HOLDS:
        raise JobError(
            f"The format {format!r} does not hold this program, which is of class "
            f"{kind}.",
            fix="declare one with linear constraints and a linear or quadratic cost "
            f"({', '.join(HOLDS)}); or solve the problem of aggopt.declare.",
        )
    with (
        make_scratch_folder() as folder
    ):  # the writer knows the format by the name of the file
        file = folder / f"program.{format}"
        try:
            write_program(problem, file)
        except ValueError:
            raise JobError(
                "HiGHS cannot write this program: a number of it is tiny or huge.",
                fix="state it with coefficients between 1e-9 and 1e15.",
            ) from None
        shutil.copyfile(file, to)


def _write_pyomo(problem: Any, to: Path, format: str) -> Any:
    """Write a Pyomo model; return Pyomo's key of the names in the file."""
    io_options = PLAIN if format == "nl" else {}
    try:
        with _disable_pyomo_log():
            return problem.write(str(to), format=format, io_options=io_options)[1]
    except (RuntimeError, ValueError):
        raise JobError(
            f"The format {format!r} does not hold this program.",
            fix='write it with format "nl", which holds any.',
        ) from None


def _load_solution(problem: Any, solution: Path, format: str, language: str) -> None:
    """Set the variables of a problem to the values of a solution file."""
    names = None
    read = _read_cvxpy
    if language == "pyomo":
        read = _read_nl if format == "nl" else _read_by_name
        with make_scratch_folder() as folder:
            names = _write_pyomo(problem, folder / format, format)
    try:
        with _disable_pyomo_log():
            read(problem, solution, names)
    except MemoryError:
        raise
    except Exception:  # whatever a reader raises may quote the file
        pass
    else:
        return
    raise _make_solution_error(solution)


def _read_nl(problem: Any, solution: Path, names: Any) -> None:
    """Set the variables of a Pyomo model from a .sol file."""
    from pyomo.opt import ReaderFactory

    with ReaderFactory("sol") as reader:
        results = reader(str(solution))
        results._smap_id = names
        problem.solutions.load_from(results)


def _read_by_name(problem: Any, solution: Path, names: Any) -> None:
    """Set the variables of a Pyomo model from a solution file with names."""
    from pyomo.environ import Var

    symbols = problem.solutions.symbol_map[names].bySymbol
    variables = {name: v for name, v in symbols.items() if v.ctype is Var}
    set_pyomo_values(parse_solution(solution.read_bytes().decode()), variables)


def _read_cvxpy(problem: Any, solution: Path, names: Any) -> None:
    """Set the variables of a cvxpy problem from a solution file with names."""
    from aggopt.solvers.cvxpy_file import read_values

    values = parse_solution(solution.read_bytes().decode())
    read_values(problem, partial(list_values, values))


def _make_solution_error(solution: Path) -> JobError:
    """Return the error for a file that is not a solution."""
    return JobError(
        f"{solution.name} is no solution of the program, or cannot be read.",
        fix="pass the file that a solver wrote of the exported one: of NL a .sol file, "
        "of LP or MPS a solution file of HiGHS or SCIP.",
    )


@contextmanager
def _disable_pyomo_log() -> Iterator[None]:
    """Suppress the log of Pyomo, which may quote the problem."""
    from pyomo.common.log import LoggingIntercept

    with LoggingIntercept(module="pyomo"):
        yield


_PRIMAL = "# Primal solution values"
_COLUMNS = "# Columns "
_SAID = ("solution status:", "objective value:")


class FileSolution(NamedTuple):
    """Values of variables by their names in a file; `others` that of all else."""

    values: Mapping[str, float]
    others: float | None


def parse_solution(text: str) -> FileSolution:
    """Return the values of variables in a solution file of HiGHS or SCIP.

    Raises
    ------
    ValueError, LookupError
        The file has another format, no solution, or a value that is not finite.
    """
    lines = text.splitlines()
    solution = _read_highs(lines) if _PRIMAL in lines else _read_scip(lines)
    if not solution.values or not all(map(isfinite, solution.values.values())):
        raise ValueError
    return solution


def _read_highs(lines: list[str]) -> FileSolution:
    """Return the values of variables in the lines of a HiGHS solution file."""
    after = lines[lines.index(_PRIMAL) :]
    head = [line.startswith(_COLUMNS) for line in after].index(True)  # unless "None"
    count = int(after[head].removeprefix(_COLUMNS))
    listed = takewhile(lambda line: not line.startswith("#"), after[head + 1 :])
    values = dict(map(_read_pair, listed))
    if len(values) != count:  # cut short, or a name twice
        raise ValueError
    return FileSolution(values, None)


def _read_scip(lines: list[str]) -> FileSolution:
    """Return the values of variables in the lines of a SCIP solution file."""
    if not any(line.startswith(_SAID) for line in lines):
        raise ValueError
    listed = (line for line in lines if line and not line.startswith((*_SAID, "#")))
    return FileSolution(dict(map(_read_pair, listed)), 0.0)


def _read_pair(line: str) -> tuple[str, float]:
    """Return the variable's name and its value in a line."""
    name, value, *_ = line.split()
    return name, float(value)


def set_pyomo_values(solution: FileSolution, variables: Mapping[str, Any]) -> None:
    """Set Pyomo variables, by their names in the file, to a solution's values.

    Raises
    ------
    ValueError
        It has none of them, or lacks some and gives no value for the others.
    """
    for name, value in list_values(solution, variables).items():
        variables[name].set_value(value)


def list_values(solution: FileSolution, names: Iterable[str]) -> dict[str, float]:
    """Return the values of the named variables in a solution, by name.

    Raises
    ------
    ValueError
        It has none of them, or lacks some and gives no value for the others.
    """
    wanted = list(names)
    lacking = {*wanted} - solution.values.keys()
    others = solution.others
    if lacking and (others is None or len(lacking) == len(wanted)):
        raise ValueError
    return {name: solution.values.get(name, others or 0.0) for name in wanted}
