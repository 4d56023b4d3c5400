"""P3M with gamma eliminated: one quartic per group, two coupling constraints.

With gamma_i = (delta_i^2 - (c_j - x_i)^2) / (1 - w_i) and t_j = c_j - C_j the program
of `aggopt.models.p3m` becomes
    minimise sum_j f_j(t_j)   s.t.  sum_j n_j t_j = 0,  sum_j n_j (C_j + t_j)^2 = n
    f_j(t) = alpha * sum_i s_i ((t - e_i)^2 - delta_i^2)^2 + (1 - alpha) n_j t^2
with s_i = (1 - w_i)^-2 and e_i = x_i - C_j.  Hard records, w_i = 1, are no part of f_j:
they leave c_j two values at most.
"""

import numpy as np

from aggopt.arrays import Floats
from aggopt.models.p3m import Data


def quartics(data: Data) -> Floats:
    """Return the coefficients of f_j in t, constant first, (5, m)."""
    m = len(data.sizes)
    forgiven = np.where(data.hard, np.inf, 1 - data.importance)
    s = data.alpha / forgiven**2
    e = data.x - data.means[data.labels]
    reach = data.delta**2

    def summed(terms: Floats) -> Floats:
        return np.asarray(np.bincount(data.labels, terms, m), dtype=np.float64)

    return np.stack(
        [
            summed(s * (e**2 - reach) ** 2),
            summed(-4 * s * e * (e**2 - reach)),
            summed(s * (6 * e**2 - 2 * reach)) + (1 - data.alpha) * data.sizes,
            summed(-4 * s * e),
            summed(s),
        ]
    )
