"""Every correlation kept: SI, certificates, speed, beside P3M and published figures.

Run:  python benchmarks/joint.py                      means and settings, ten minutes
      python benchmarks/joint.py [means | settings | kin | rivals | large | groups]
      python benchmarks/joint.py all                  hours
Data, sizes k and partitions that are named as well are
shown alone, as in `groups Tarragona 3 10 mdav`.  The reference tables are fetched once,
or read from the folder AGGOPT_DATA names.

Published figures: Mortazavi and Jalili 2017, Table 4 (the best of their 16 pairs of
alpha and Delta).  SI, SL and IL are in %.  Seconds of `settings` are of the processor:
set OMP_NUM_THREADS=1 and they are of one thread.
"""

import sys
import time
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from _reference import SIZES, tables
from p3m import TABLE_4, console, labels, table
from scipy.spatial.distance import cdist

from aggopt import datasets
from aggopt.aggregate import Aggregation, mean, p3m, p3m_onesided, satisfaction
from aggopt.experiments.reproduce import draw_matlab_random
from aggopt.measure import Assessment, assess
from aggopt.partition import local_search, mdav
from aggopt.solvers import SOLVERS, Status

LIMIT = 240  # processor seconds that a rival has for a cell
AT_ONCE = 1000  # nothing of the assignment is shown here: leave it in small blocks
SETTINGS = (
    (0.5, 0.1, 0.001),
    (0.6, 0.8, 0.001),
    (0.8, 0.8, 0.001),
    (0.8, 0.4, 0.5),
    (0.5, 0.5, None),  # importance at random
)
GROUPED = {"mdav": labels, "local_search": lambda name, k: local_search(X_of(name), k)}


def X_of(name: str) -> np.ndarray:
    return tables()[name]


def chosen(every: Iterable[Any]) -> list[Any]:
    """Return those that the command line names, or else all."""
    every = list(every)
    return [one for one in every if str(one) in sys.argv[1:]] or every


def timed(
    made: Callable[..., Aggregation],
    *given: Any,
    clock: Callable[[], float] = time.perf_counter,
    **named: Any,
) -> tuple[Aggregation, float]:
    started = clock()
    found = made(*given, **named)
    return found, clock() - started


def first_linked(X: np.ndarray, Y: np.ndarray) -> float:
    """DLD that links to the first of the nearest, as programs do, not by chance."""
    varies = X.std(axis=0) > 0
    away, scale = X[:, varies].mean(axis=0), X[:, varies].std(axis=0)
    z, published = ((T[:, varies] - away) / scale for T in (X, Y))
    rows, first = np.unique(published, axis=0, return_index=True)
    return float(np.mean(first[cdist(z, rows).argmin(axis=1)] == np.arange(len(X))))


def measured(X: np.ndarray, found: Aggregation, delta: float = 0.1) -> Assessment:
    return assess(X, found.values, delta=delta, whole=AT_ONCE)


def correlations_moved(X: np.ndarray, found: Aggregation) -> float:
    varies = X.std(axis=0) > 0
    before, after = (np.corrcoef(Y[:, varies].T) for Y in (X, found.values))
    return float(np.abs(before - after).max())


def means() -> None:
    shown = table(
        "Means of MDAV's groups, that keep what is named: SI (IL); correlations moved",
        "data", "k", "mean", "variance", "covariance", "moved, variance",
        "moved, covariance", "gap", "SI, DLD of the first",
    )  # fmt: skip
    varying = datasets.eia().select_dtypes("number")
    varying = varying.loc[:, varying.std() > 0].to_numpy(float)
    every = {**tables(), f"EIA, all {varying.shape[1]}": varying}
    for name in chosen(every):
        X = every[name]
        for k in chosen(SIZES):
            cells, group = [], mdav(X, k)
            for keep in ("mean", "variance", "covariance"):
                found = mean(X, group, keep=keep)
                of = measured(X, found)
                cells.append((f"{100 * of.si:.1f} ({100 * of.il:.1f})", found))
            moved = [f"{correlations_moved(X, f):.0e}" for _, f in cells[1:]]
            gap = cells[2][1].certificates[0].gap
            said = [text for text, _ in cells]
            si = of.si + (first_linked(X, found.values) - of.dld) / 4
            shown.add_row(name, str(k), *said, *moved, f"{gap:.0e}", f"{100 * si:.1f}")
    console.print(shown)


def settings() -> None:
    shown = table(
        "P3M and joint P3M (keep = covariance), MDAV's groups",
        "data", "k", "alpha", "Delta", "w", "SI P3M", "joint", "SL P3M", "joint",
        "IL P3M", "joint", "gap %", "s",
    )  # fmt: skip
    gaps = []
    for name in chosen(tables()):
        X = X_of(name)
        for k in chosen((3, 10)):
            for alpha, delta, w in SETTINGS:
                importance = draw_matlab_random(X.shape) if w is None else w
                wish = {"alpha": alpha, "delta": delta, "importance": importance}
                of = [measured(X, p3m(X, labels(name, k), **wish), delta)]
                wish |= {"keep": "covariance", "clock": time.process_time}
                joint, spent = timed(p3m, X, labels(name, k), **wish)
                of.append(measured(X, joint, delta))
                gaps.append(100 * joint.certificates[0].gap)
                shown.add_row(
                    name, str(k), f"{alpha:g}", f"{delta:g}",
                    "random" if w is None else f"{w:g}",
                    *(f"{100 * a.si:.1f}" for a in of),
                    *(f"{100 * a.sl:.1f}" for a in of),
                    *(f"{100 * a.il:.1f}" for a in of),
                    f"{gaps[-1]:.2f}", f"{spent:.1f}",
                )  # fmt: skip
    console.print(shown)
    few = sum(gap <= 1 for gap in gaps)
    console.print(f"gaps: {few} of {len(gaps)} at most 1 %, largest {max(gaps):.2f} %")


def kin() -> None:
    shown = table(
        "One-sided P3M and satisfaction, attributes apart and jointly, MDAV's groups",
        "data", "k", "method", "Delta", "SI apart", "joint", "SL apart", "joint",
        "IL apart", "joint", "gap %", "s",
    )  # fmt: skip
    for name in chosen(tables()):
        X = X_of(name)
        for k in chosen((3, 10)):
            for made in (p3m_onesided, satisfaction):
                for delta in (0.1, 0.5):
                    group = labels(name, k)
                    of = [measured(X, made(X, group, delta=delta), delta)]
                    wish = {"delta": delta, "keep": "covariance"}
                    wish["clock"] = time.process_time
                    joint, spent = timed(made, X, group, **wish)
                    of.append(measured(X, joint, delta))
                    shown.add_row(
                        name, str(k), made.__name__, f"{delta:g}",
                        *(f"{100 * a.si:.1f}" for a in of),
                        *(f"{100 * a.sl:.1f}" for a in of),
                        *(f"{100 * a.il:.1f}" for a in of),
                        f"{100 * joint.certificates[0].gap:.2f}", f"{spent:.1f}",
                    )  # fmt: skip
    console.print(shown)


def rivals() -> None:
    shown = table(
        f"The same program by other solvers, from the means, {LIMIT} s of a processor: "
        "objective (if it ended), seconds",
        "data", "k", "alpha", "Delta", "stiefel", "s", "ipopt", "s", "cost less %",
        "times as fast",
    )  # fmt: skip
    if not SOLVERS["ipopt"].installed:
        console.print("IPOPT is not installed: what is held against it is left out.")
        return
    for name in chosen(tables()):
        X = X_of(name)
        for k in chosen((3, 10)):
            wish = {"alpha": 0.6, "delta": 0.8, "keep": "covariance"}
            made, own_s = timed(p3m, X, labels(name, k), **wish)
            wish |= {"solver": "ipopt", "time_limit": LIMIT}
            rival, other_s = timed(p3m, X, labels(name, k), **wish)
            own, other = (f.certificates[0].objective for f in (made, rival))
            ended = rival.certificates[0].status is Status.LOCAL
            shown.add_row(
                name, str(k), "0.6", "0.8", f"{own:.1f}", f"{own_s:.2f}",
                f"{other:.1f}" if ended else "-", f"{other_s:.2f}",
                f"{100 * (other - own) / other:.2f}" if ended else "-",
                f"{'' if ended else 'over '}{other_s / own_s:.1f}",
            )  # fmt: skip
    console.print(shown)


def large() -> None:
    rng = np.random.default_rng(0)
    for n, keep in ((1_000_000, mean), (100_000, p3m), (10_000_000, mean)):
        centres = rng.normal(size=(n // 5, 10)) @ rng.normal(size=(10, 10))
        group = np.repeat(np.arange(n // 5), 5)
        X = centres[group] + 0.3 * rng.normal(size=(n, 10))
        found, spent = timed(keep, X, group, keep="covariance")
        proof = found.certificates[0]
        console.print(
            f"{keep.__name__}, n = {n}, d = 10, k = 5: {spent:.1f} s, gap "
            f"{proof.gap:.1e}, violation {proof.violation:.0e}"
        )


def groups() -> None:
    shown = table(
        "Table 4's cells: published SI, P3M at its (alpha, Delta), least SI of joint "
        "P3M (one round) at no more IL, by groups",
        "data", "k", "published", "P3M SI (IL)", *chosen(GROUPED),
    )  # fmt: skip
    for name in chosen(tables()):
        X = X_of(name)
        for k in chosen(SIZES):
            alpha, delta, published = TABLE_4[name][SIZES.index(k)]
            plain = measured(X, p3m(X, labels(name, k), alpha=alpha, delta=delta))
            shown.add_row(
                name, str(k), f"{published:.2f}",
                f"{100 * plain.si:.1f} ({100 * plain.il:.1f})",
                *(least(X, GROUPED[how](name, k), plain.il) for how in chosen(GROUPED)),
            )  # fmt: skip
    console.print(shown)


def least(X: np.ndarray, group: np.ndarray, il: float) -> str:
    """Return the least SI of joint P3M at no more IL, and where it is."""
    tried = []
    for alpha in (0.5, 0.6, 0.8):
        for delta in (0.2, 0.3, 0.4, 0.6, 0.8):
            wish = {"alpha": alpha, "delta": delta, "keep": "covariance"}
            of = measured(X, p3m(X, group, options={"rounds": 1}, **wish))
            tried.append((of.si, of.il, alpha, delta))
    found = [cell for cell in tried if cell[1] <= il]
    if not found:
        return "none"
    si, il, alpha, delta = min(found)
    return f"{100 * si:.1f} ({100 * il:.1f}) at {alpha:g}, {delta:g}"


PARTS = {f.__name__: f for f in (means, settings, kin, rivals, large, groups)}


def main() -> None:
    p3m(np.arange(18.0).reshape(9, 2) ** 2, np.arange(9) // 3, keep="covariance")
    for name in chosen(PARTS) if sys.argv[1:] else ("means", "settings"):
        PARTS[name]()


if __name__ == "__main__":
    main()
