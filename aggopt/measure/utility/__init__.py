"""How useful a release is: what analysts would compute, on both tables.

Each is a pure function of two tables of the same columns; records need not be in the
same order.  `assess` returns all of them.
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
