"""Which method: loss, linkage and seconds of partitions, aggregations and repairs.

Run:  python benchmarks/methods.py
The 442 patients of scikit-learn's diabetes table (age, sex, bmi, bp) and Census, 1080
persons with 13 attributes; k = 5 unless a column says another.  Seconds are of the
processor, after a run on few records that compiles; `docs/methods.md` quotes all.
"""

from collections.abc import Callable
from functools import partial
from time import process_time
from typing import Any

import numpy as np
import pandas as pd
from _reference import tables
from p3m import console, table
from sklearn.datasets import load_diabetes

import aggopt
from aggopt import aggregate, measure, partition

K = 5
PARTITIONS: dict[str, dict[str, Any]] = {
    "mdav": {},
    "cbfs": {},
    "vmdav": {},
    "mhm": {},
    "projection": {},
    "local_search": {},
    "optimal": {"time_limit": 20},
    "individual_ranking": {},
}
AGGREGATIONS: dict[str, Callable[[Any, Any], Any]] = {
    'mean, keep = "mean"': aggregate.mean,
    'mean, keep = "variance"': lambda X, g: aggregate.mean(X, g, keep="variance"),
    'mean, keep = "covariance"': lambda X, g: aggregate.mean(X, g, keep="covariance"),
    "median": aggregate.median,
    "p3m": aggregate.p3m,
    'p3m, keep = "covariance"': lambda X, g: aggregate.p3m(X, g, keep="covariance"),
    "p3m_onesided": aggregate.p3m_onesided,
    "satisfaction": aggregate.satisfaction,
}
CLOSE: dict[str, dict[str, Any]] = {  # the partition, and the repair
    "mdav, then merge": {"partition": "mdav", "repair": "merge"},
    "mdav, then swap": {"partition": "mdav", "repair": "swap"},
    "mdav, then sweep": {"partition": "mdav", "repair": "sweep"},
    "local_search, then search": {"partition": "local_search", "repair": "search"},
    "merge_until_close": {"partition": "merge_until_close"},
    "anonymity_first": {"partition": "anonymity_first"},
    "closeness_first": {"partition": "closeness_first"},
}
T = 0.2


def patients() -> pd.DataFrame:
    whole = load_diabetes(as_frame=True, scaled=False)
    return whole.data[["age", "sex", "bmi", "bp"]].assign(progression=whole.target)


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    started = process_time()
    return work(), process_time() - started


def losses(X: np.ndarray, title: str) -> None:
    shown = table(title, "method", *(f"IL %, k = {k}" for k in (3, K, 10)), "linked %",
                  "gap", "s")  # fmt: skip
    for name, settings in PARTITIONS.items():
        divide = partial(getattr(partition, name), **settings)
        divide(X[:40], 3)
        row = {k: timed(partial(divide, X, k)) for k in (3, K, 10)}
        means = {k: aggregate.mean(X, labels).values for k, (labels, _) in row.items()}
        proof = getattr(row[K][0], "certificate", None)
        gap = "none" if proof is None or proof.gap is None else f"{proof.gap:.2f}"
        shown.add_row(
            name,
            *(f"{100 * measure.il(X, Y):.2f}" for Y in means.values()),
            f"{100 * measure.linkage(X, means[K]).share:.1f}",
            gap,
            f"{row[K][1]:.2f}",
        )
    console.print(shown)


def values(X: np.ndarray, title: str) -> None:
    labels = np.asarray(partition.local_search(X, K))
    shown = table(title, "method", "IL %", "PIL %", "correlations", "linked %",
                  "SDID %", "SL %", "gap", "s")  # fmt: skip
    for name, publish in AGGREGATIONS.items():
        publish(X[labels < 9], labels[labels < 9])
        made, seconds = timed(partial(publish, X, labels))
        Y, proofs = made.values, made.certificates
        gaps = [c.gap for c in proofs]
        shown.add_row(
            name,
            *(f"{100 * f(X, Y):.2f}" for f in (measure.il, measure.pil)),
            f"{measure.correlation_error(X, Y):.4f}",
            f"{100 * measure.linkage(X, Y).share:.1f}",
            f"{100 * measure.sdid(X, Y):.1f}",
            f"{100 * measure.sl(X, Y, delta=0.1):.1f}",
            "none" if None in gaps else f"{max(gaps):.0e}",
            f"{seconds:.2f}",
        )
    console.print(shown)


def close(people: pd.DataFrame) -> None:
    shown = table(f"442 patients, k = {K}, t = {T} of progression, group means",
                  "method", "groups", "IL %", "largest distance", "s")  # fmt: skip
    *quasi, confidential = people.columns
    for name, how in CLOSE.items():
        privacy: dict[str, Any] = {"k": K, "t": T}
        job = aggopt.Job(
            roles={"quasi-identifier": quasi, "confidential": [confidential]},
            privacy=privacy | {n: how[n] for n in ("repair",) if n in how},
            partition={"method": how["partition"]},
        )
        aggopt.mask(people, job)
        release, seconds = timed(partial(aggopt.mask, people, job))
        (found,) = release.audit.promises
        groups = str(len(np.unique(release.labels)))
        loss = f"{100 * release.measures.il:.2f}"
        shown.add_row(name, groups, loss, f"{found.found:.4f}", f"{seconds:.2f}")
    console.print(shown)


def main() -> None:
    people = patients()
    X, census = people.to_numpy(float)[:, :4], tables()["Census"]
    losses(X, "442 patients, 4 attributes: group means")
    losses(census, "Census, 1080 persons, 13 attributes: group means")
    values(X, f"442 patients, groups of local_search, k = {K}")
    close(people)


if __name__ == "__main__":
    main()
