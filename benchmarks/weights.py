"""Sampling weights used, against weights ignored: groups by search, and weighted P3M.

Run:  python benchmarks/weights.py
The tables are read from the folder that AGGOPT_DATA names.

Weighted information loss, in % of the weighted variance, k = 5: of groups and means
that ignore weights; of the same groups with weighted means; and of groups searched by
weights, with what a prototype reached, which is to be met within 1 %, and how much the
bound leaves open.  Then by how much P3M misses the weighted mean, in standard
deviations, and the weighted variance, as a share, without weights and with them; and
its largest gap.
"""

import os
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table

from aggopt import aggregate
from aggopt.core.record_weights import compute_sse
from aggopt.core.standardise import Scale
from aggopt.partition import local_search

K = 5
CENSUS, TESTDATA = "census", "testdata, household_weights"
REACH = {TESTDATA: 0.719, "Census, 1/size": 7.45, "Census, lognormal": 5.02}


def by_size(X: np.ndarray) -> np.ndarray:
    """Return weights that fall as records get larger, their ends cut at 2 %."""
    size = np.log1p(np.abs(X))
    weights = np.exp(-Scale.of(size).standardise(size).mean(axis=1))
    return np.clip(weights, *np.quantile(weights, [0.02, 0.98]))


def instances() -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Yield the name of a table, its records (n, d), and their weights (n,)."""
    folder = Path(os.environ["AGGOPT_DATA"])
    frame = pd.read_csv(folder / "testdata.csv")
    X = frame[["expend", "income", "savings"]].to_numpy(float)
    yield TESTDATA, X, frame["household_weights"].to_numpy(float)
    X = pd.read_csv(folder / "census.csv").to_numpy(float)
    yield "Census, 1/size", X, by_size(X)
    rng = np.random.default_rng(3)
    rng.normal(size=len(X))  # the notes drew those for k = 3 first
    yield "Census, lognormal", X, np.exp(rng.normal(size=len(X)))


def moments(X: np.ndarray, Y: np.ndarray, w: np.ndarray) -> tuple[float, float]:
    """Return by how much weighted means and variances of Y are off, at most."""
    before, after = Scale.of(X, w), Scale.of(Y, w)
    mean = np.abs(after.mean - before.mean) / before.spread
    variance = np.abs((after.spread / before.spread) ** 2 - 1)
    return float(mean.max()), float(variance.max())


def main() -> None:
    losses, shifts = Table(title=f"weighted IL %, k = {K}"), Table(title="P3M")
    for heading in ("", "ignored", "means", "search", "to reach", "gap", "seconds"):
        losses.add_column(heading, justify="right")
    for heading in ("", "mean: ignored", "used", "variance: ignored", "used", "gap"):
        shifts.add_column(heading, justify="right")
    for name, X, w in instances():
        Z, plain = Scale.of(X, w).standardise(X), local_search(X, K)
        whole = w.sum() * Z.shape[1]
        means = aggregate.mean(Z, plain).values
        ignored = float((w[:, None] * (means - Z) ** 2).sum())
        begun = time.perf_counter()
        found = local_search(X, K, weights=w)
        seconds = time.perf_counter() - begun
        lost = [ignored, compute_sse(Z, plain.labels, w), found.loss]
        gap = 1 - found.certificate.bound / found.loss
        shown = [f"{100 * each / whole:.3f}" for each in lost]
        losses.add_row(name, *shown, f"{REACH[name]}", f"{gap:.0%}", f"{seconds:.1f}")
        off = []
        for weights in (None, w):
            made = aggregate.p3m(X, found, weights=weights)
            off.append(moments(X, made.values, w))
        worst = max(proof.gap for proof in made.certificates)
        each = [f"{one:.1e}" for pair in zip(*off, strict=True) for one in pair]
        shifts.add_row(name, *each, f"{worst:.1e}")
    console = Console(width=110)
    console.print(losses)
    console.print(shifts)


if __name__ == "__main__":
    main()
