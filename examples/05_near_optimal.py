"""How near to the best a partition is: the published heuristic, a search, a proof.

Run:  python examples/05_near_optimal.py
"""

import numpy as np

from aggopt import aggregate
from aggopt.partition import local_search, loss_bound, mdav, optimal


def main() -> None:
    X = np.random.default_rng(0).gamma(2.0, size=(200, 3))

    heuristic = aggregate.mean(X, mdav(X, k=3))
    lost = sum(certificate.objective for certificate in heuristic.certificates)
    print(f"mdav          lost {lost:.3f}; no partition loses less than ", end="")
    print(f"{loss_bound(X, k=3):.3f}")

    for name, result in {
        "local_search": local_search(X, k=3),
        "optimal": optimal(X, k=3, time_limit=20),
    }.items():
        found = result.certificate
        print(
            f"{name:13} lost {found.objective:.3f}; no partition loses less than "
            f"{found.bound:.3f}: {found.status}"
        )


if __name__ == "__main__":
    main()
