"""Solver `slots`: frequencies, by rounding, fixing and HiGHS on what is left."""

from aggopt.solvers._slots.run import run as run
