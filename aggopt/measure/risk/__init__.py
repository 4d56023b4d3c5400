"""Disclosure risks that take more than a table and its release: keys, weights, units.

Each is a pure function.  Linkage, interval disclosure with its chance level, and the
share of unchanged records are measures of every release: `linkage`, `sdid`,
`sdid_chance`, `types.unchanged`.
"""

from aggopt.measure.risk._attribution import Attribution, attribution
from aggopt.measure.risk._individual import dominance, household_risk, individual_risk
from aggopt.measure.risk.sample_uniques import Suda, count_unique_and_paired, dis, suda

__all__ = [
    "Attribution",
    "Suda",
    "attribution",
    "count_unique_and_paired",
    "dis",
    "dominance",
    "household_risk",
    "individual_risk",
    "suda",
]
