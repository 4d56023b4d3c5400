"""Which method: loss, linkage and seconds of partitions, aggregations and repairs.

Run:  python benchmarks/methods.py
The 442 patients of scikit-learn's diabetes table (age, sex, bmi, bp) and Census, 1080
persons with 13 attributes; k = 5 unless a column says another.  Seconds are of the
processor, after a first run that compiles.  `docs/methods.md` quotes the tables.
"""

from collections.abc import Callable
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
    "optimal": {"time_limit": 60},
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
    """Return what work returns, and the seconds of its second run."""
    work()
    started = process_time()
    return work(), process_time() - started


def losses(X: np.ndarray, title: str) -> None:
    shown = table(title, "method", *(f"IL %, k = {k}" for k in (3, K, 10)), "linked %",
                  "gap", "s")  # fmt: skip
    for name, settings in PARTITIONS.items():
        divide = getattr(partition, name)
        row, linked, gap, seconds = [], 0.0, None, 0.0
        for k in (3, K, 10):
            work = lambda k=k: divide(X, k, **settings)  # noqa: B023, E731
            labels, spent = (work(), 0.0) if k != K else timed(work)
            Y = aggregate.mean(X, labels).values
            row.append(f"{100 * measure.il(X, Y):.2f}")
            if k == K:
                linked, seconds = float(measure.linkage(X, Y)), spent
                gap = getattr(labels, "certificate", None)
        left = f"{gap.gap:.2g}" if gap and gap.gap is not None else "none"
        shown.add_row(name, *row, f"{100 * linked:.1f}", left, f"{seconds:.2f}")
    console.print(shown)


def values(X: np.ndarray, title: str) -> None:
    labels = partition.local_search(X, K)
    shown = table(title, "method", "IL %", "PIL %", "correlations", "linked %",
                  "SDID %", "SL %", "gap", "s")  # fmt: skip
    for name, publish in AGGREGATIONS.items():
        made, seconds = timed(lambda publish=publish: publish(X, labels))
        Y, proofs = made.values, made.certificates
        gaps = [c.gap for c in proofs]
        shown.add_row(
            name,
            *(f"{100 * f(X, Y):.2f}" for f in (measure.il, measure.pil)),
            f"{measure.correlation_error(X, Y):.4f}",
            f"{100 * float(measure.linkage(X, Y)):.1f}",
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
        release, seconds = timed(lambda job=job: aggopt.mask(people, job))
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
