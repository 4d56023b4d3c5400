"""Solver `slots`: frequencies, by rounding, fixing and HiGHS on the remainder."""

from aggopt.algorithms.slots.run import run as run
