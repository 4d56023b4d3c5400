"""The optimal groups of one attribute, by three solvers, each with its certificate.

Run:  python examples/04_one_attribute.py
"""

import numpy as np

from aggopt import aggregate
from aggopt.partition import mdav, univariate


def main() -> None:
    incomes = np.random.default_rng(0).lognormal(10, 0.7, size=300).round()

    for solver in ("dynamic", "shortest_path", "cvxpy:highs"):
        result = univariate(incomes, k=5, solver=solver)
        certificate = result.certificate
        print(
            f"{solver:12} {certificate.status}: lost {certificate.objective:.6f}, "
            f"gap {certificate.gap:.0e}, {result.labels.max() + 1} groups"
        )

    heuristic = aggregate.mean(incomes[:, None], mdav(incomes[:, None], k=5))
    print(f"mdav         lost {heuristic.certificates[0].objective:.6f}")


if __name__ == "__main__":
    main()
