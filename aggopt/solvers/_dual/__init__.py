"""The dual method: separable programs solved to proven global optimality."""

from aggopt.solvers._dual.run import run

__all__ = ["run"]
