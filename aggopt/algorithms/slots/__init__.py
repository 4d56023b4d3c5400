"""Solver `slots`: frequencies, by rounding, fixing and HiGHS on what is left."""

from aggopt.algorithms.slots.run import run as run
