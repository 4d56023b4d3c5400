"""Regressions kept: how many there is room for, and what they lose.

Run:  python benchmarks/regression.py
Each attribute of a reference table in turn is the response, published as it is; it is
regressed on the three that follow it in the table, which MDAV groups.  Drift is the
largest change of a standardised coefficient where the covariance alone is kept, the
median over the responses there is room for; IL, in %, is the mean over the same.
"""

import numpy as np
from _reference import SIZES, tables
from p3m import console, table

from aggopt.aggregate import mean
from aggopt.errors import InfeasibleInputError
from aggopt.measure import il
from aggopt.partition import mdav


def coefficients(A: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.linalg.lstsq(A - A.mean(axis=0), y - y.mean(), rcond=None)[0]


def one(
    A: np.ndarray, y: np.ndarray, k: int
) -> tuple[float, float, float, float] | None:
    """Return drift without and with the rows, and IL; None where there is no room."""
    A, y = A / A.std(axis=0), y / y.std()
    groups, own = mdav(A, k).labels, coefficients(A, y)
    plain = mean(A, groups, keep="covariance").values
    try:
        kept = mean(A, groups, keep={"regression": [0, 1, 2]}, response=y).values
    except InfeasibleInputError:
        return None
    drifts = [float(abs(coefficients(v, y) - own).max()) for v in (plain, kept)]
    return drifts[0], drifts[1], 100 * il(A, plain), 100 * il(A, kept)


def main() -> None:
    shown = table(
        "Regressions of each attribute on the next three, MDAV's groups",
        "data", "k", "room for", "drift, covariance", "drift, regression",
        "IL, covariance", "IL, regression",
    )  # fmt: skip
    for name, X in tables().items():
        X = X[:, X.std(axis=0) > 0]
        d = X.shape[1]
        turns = [np.roll(np.arange(d), -j)[:4] for j in range(d)]
        for k in SIZES:
            found = [one(X[:, turn[1:]], X[:, turn[0]], k) for turn in turns]
            some = np.array([each for each in found if each is not None])
            drift = np.median(some[:, :2], axis=0)
            lost, more = some[:, 2:].mean(axis=0)
            shown.add_row(
                name, str(k), f"{len(some)} of {d}", f"{drift[0]:.2g}",
                f"{drift[1]:.1g}", f"{lost:.2f}", f"{more:.2f}",
            )  # fmt: skip
    console.print(shown)


if __name__ == "__main__":
    main()
