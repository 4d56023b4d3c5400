"""The three criteria of the Article 29 opinion 05/2014, each by an attack.

Singling out, linkability and inference: each attack runs on the records of a release
and, as a control, on records that are not in it.  `assess` runs all of them.
"""

from aggopt.measure.criteria._assess import Criteria, assess
from aggopt.measure.criteria._attack import AttackResult, wilson_interval
from aggopt.measure.criteria._inference import inference
from aggopt.measure.criteria._linkability import linkability
from aggopt.measure.criteria._singling_out import singling_out

__all__ = [
    "AttackResult",
    "Criteria",
    "assess",
    "inference",
    "linkability",
    "singling_out",
    "wilson_interval",
]
