"""Bounds on the loss of true statements: prices that rise against lists of boxes."""

from aggopt.algorithms.boxes.ascent import run

__all__ = ["run"]
