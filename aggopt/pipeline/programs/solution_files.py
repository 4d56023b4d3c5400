"""Solutions of programs in LP or MPS files, as HiGHS and SCIP write them.

HiGHS (`writeSolution`, style 0) lists every variable between "# Columns" and "# Rows";
SCIP (`write solution`) lists the nonzero variables, after lines with its status.

Source: the pages of HiGHS on solution files; SCIP's reader_sol.
"""

from collections.abc import Iterable, Mapping
from itertools import takewhile
from math import isfinite
from typing import Any, NamedTuple

_PRIMAL, _COLUMNS = "# Primal solution values", "# Columns "
_SAID = ("solution status:", "objective value:")


class FileSolution(NamedTuple):
    """Values of variables by their names in a file; `others` that of all else."""

    values: Mapping[str, float]
    others: float | None


def parse_solution(text: str) -> FileSolution:
    """Return the values of variables in a solution file.

    Raises
    ------
    ValueError, LookupError
        The file has another format, no solution, or a value that is not finite.
    """
    lines = text.splitlines()
    found = _of_highs(lines) if _PRIMAL in lines else _of_scip(lines)
    if not found.values or not all(map(isfinite, found.values.values())):
        raise ValueError
    return found


def _of_highs(lines: list[str]) -> FileSolution:
    after = lines[lines.index(_PRIMAL) :]
    head = [line.startswith(_COLUMNS) for line in after].index(True)  # unless "None"
    count = int(after[head].removeprefix(_COLUMNS))
    listed = takewhile(lambda line: not line.startswith("#"), after[head + 1 :])
    values = dict(map(_pair, listed))
    if len(values) != count:  # cut short, or a name twice
        raise ValueError
    return FileSolution(values, None)


def _of_scip(lines: list[str]) -> FileSolution:
    if not any(line.startswith(_SAID) for line in lines):
        raise ValueError
    listed = (line for line in lines if line and not line.startswith((*_SAID, "#")))
    return FileSolution(dict(map(_pair, listed)), 0.0)


def _pair(line: str) -> tuple[str, float]:
    name, value, *_ = line.split()
    return name, float(value)


def set_pyomo_values(found: FileSolution, variables: Mapping[str, Any]) -> None:
    """Give variables of Pyomo, by their names in the file, the values of a solution.

    Raises
    ------
    ValueError
        It has none of them, or lacks some and gives no value for the others.
    """
    for name, value in solution_values(found, variables).items():
        variables[name].set_value(value)


def solution_values(found: FileSolution, names: Iterable[str]) -> dict[str, float]:
    """Return the value that a solution has of each name.

    Raises
    ------
    ValueError
        It has none of them, or lacks some and gives no value for the others.
    """
    wanted = list(names)
    lacking = {*wanted} - found.values.keys()
    others = found.others
    if lacking and (others is None or len(lacking) == len(wanted)):
        raise ValueError
    return {name: found.values.get(name, others or 0.0) for name in wanted}
