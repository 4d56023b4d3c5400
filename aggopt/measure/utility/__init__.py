"""Utility of a release: statistics that analysts compute, on both tables.

Each is a pure function of two tables with equal columns, and records in any order.
`assess` returns all of them.
"""

from aggopt.measure.utility._assess import Utility, assess
from aggopt.measure.utility._distributions import ks, wasserstein
from aggopt.measure.utility._propensity import Propensity, pmse, pmse_tree
from aggopt.measure.utility._regression import (
    Coefficient,
    RegressionKept,
    interval_overlap,
)
from aggopt.measure.utility._tables import Totals, contingency, totals

__all__ = [
    "Coefficient",
    "Propensity",
    "RegressionKept",
    "Totals",
    "Utility",
    "assess",
    "contingency",
    "interval_overlap",
    "ks",
    "pmse",
    "pmse_tree",
    "totals",
    "wasserstein",
]
