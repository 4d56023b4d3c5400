"""Privacy of a partition or a released table: k, l, t, ..., measured exactly.

Each function takes groups, as labels (n,) or as the quasi-identifiers of a released
table, and the confidential values.  It uses only its arguments, counts in whole
numbers and rounds once, at the end.
"""

from aggopt.core.columns import find_groups
from aggopt.privacy._diversity import distinct_l, entropy_l, p_sensitive, recursive_cl
from aggopt.privacy.closeness import n_t_closeness, t_closeness
from aggopt.privacy.models.dissimilarity import dissimilarity
from aggopt.privacy.models.epsilon_m import epsilon_m
from aggopt.privacy.models.k_anonymity import k_anonymity

__all__ = [
    "dissimilarity",
    "distinct_l",
    "entropy_l",
    "epsilon_m",
    "find_groups",
    "k_anonymity",
    "n_t_closeness",
    "p_sensitive",
    "recursive_cl",
    "t_closeness",
]
