"""Formulas of regressions: read by formulaic, once they are known to be plain."""

import ast
import re
from collections.abc import Collection
from importlib import import_module
from typing import Any

from aggopt.errors import JobError, require_known

FUNCTIONS = {"log", "log10", "log2", "exp", "C", "I", "center", "scale", "poly"}
PLAIN = (
    *(ast.Expression, ast.Call, ast.Name, ast.Constant, ast.BinOp, ast.UnaryOp),
    *(ast.operator, ast.unaryop, ast.expr_context, ast.keyword),
)
EXAMPLE = 'write it as "y ~ a + b".'


def columns_of(formula: str, known: Collection[str]) -> list[str]:
    """Return the columns that a formula needs.

    Raises
    ------
    JobError
        It cannot be read, has not one response, names no column, or has more in it than
        columns, numbers and functions that are known: code would be run.
    """
    formulaic = installed("formulaic")
    try:
        parsed = formulaic.Formula(formula)
        sides = [parsed.lhs, parsed.rhs]
        factors = [f for side in sides for term in side for f in term.factors]
    except MemoryError:
        raise
    except Exception:  # of the parser, whose messages are its own
        raise JobError("The formula cannot be read.", fix=EXAMPLE) from None
    if len(parsed.lhs) != 1:
        raise JobError("The formula has not one response.", fix=EXAMPLE)
    for factor in factors:
        if factor.eval_method.value == "python":
            _require_plain(factor.expr)
    names = sorted(parsed.required_variables)
    for name in names:
        require_known("column", name, known)
    return names


def _require_plain(expression: str) -> None:
    """Refuse expressions of more than columns, numbers and known functions."""
    for node in ast.walk(ast.parse(re.sub(r"`[^`]*`", "_", expression), mode="eval")):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            require_known("function of a formula", node.func.id, FUNCTIONS)
        elif isinstance(node, ast.Call) or not isinstance(node, PLAIN):
            raise JobError(
                "The formula has more in it than columns, numbers and functions.",
                fix=f"use names, +, :, * and {', '.join(sorted(FUNCTIONS))}.",
            )


def installed(package: str) -> Any:
    """Return a package that only regressions need; a refusal names the fix."""
    try:
        return import_module(package)
    except ImportError:
        raise JobError(
            f"Regressions need the package {package}, which is not here.",
            fix="install the extra that holds it: pip install 'aggopt[stats]'.",
        ) from None
