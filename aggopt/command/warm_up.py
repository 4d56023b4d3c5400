"""Compiles all kernels: each method is called once on a small table."""

import inspect
import os
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from aggopt.core.deadline import compile_time
from aggopt.core.parallel import exclude_working_directory
from aggopt.core.types import F64
from aggopt.engine.executors.local import kill_processes
from aggopt.errors import EngineError, JobError

PROCESSES = 2
LARGE = 6000  # records from which trees and forests serve: others need none

COVARIANCE = {"aggregation": {"method": "mean", "keep": "covariance"}}
FREQUENCIES = {"method": "frequencies", "slack": 10}
JOBS: dict[str, dict[str, Any]] = {
    "categories": {
        "columns": ["a", "b", "sex"],
        "aggregation": {"method": "mean", "categories": FREQUENCIES},
    },
    "blocks": {
        "columns": ["a", "b", "sex"],
        "privacy": {"scope": "blocks"},
        "partition": {"attributes": [["a"], ["b", "sex"]]},
    },
    "missing values": {
        "columns": ["a", "b", "gap"],
        "missing": {"policy": "patterns"},
    },
    "units with weights": {
        "columns": ["a", "b"],
        "roles": {"unit": ["unit"], "weight": "weight"},
        "weights": {"published": "drop"},
    },
    "covariance": {"columns": ["a", "b", "c"], **COVARIANCE},
    "covariance with bounds": {
        "columns": ["a", "b", "c"],
        "attributes": {"a": {"lower": -1}},
        **COVARIANCE,
    },
}

Call = Callable[[], object]


def build_calls() -> dict[str, Call]:
    """Return calls that together compile all kernels, the longest first."""
    from aggopt import aggregate, partition
    from aggopt.aggregate.registry import AGGREGATORS

    rng = np.random.default_rng(0)
    X = rng.random((60, 3))
    confidential = rng.random(60)
    many = rng.random((LARGE, 3))
    arguments: dict[str, Any] = {
        "X": X,
        "x": X[:, 0],
        "k": 3,
        "confidential": confidential,
        "t": 0.4,
    }
    arguments |= {"l": 2, "labels": np.arange(60) // 3, "delta": 0.1}
    settings: dict[str, Any] = {"confidential": confidential, "t": 0.4, "l": 2}
    few: dict[str, Call] = {
        "local_search under requirements": partial(
            partition.local_search, X, 3, effort="fast", **settings
        ),
        "local_search in groups of 8": partial(
            partition.local_search, X, 8, effort="fast"
        ),
        "optimal on few records": partial(partition.optimal, X[:9], 3),
        "mdav on many records": partial(partition.mdav, many, 3),
        "mdav on one attribute of many": partial(partition.mdav, many[:, :1], 3),
        "blocked on many records": partial(partition.blocked, many, 8, jobs=1),
    }
    few |= _build_weighted_searches(X, many, settings)
    functions = {name: getattr(partition, name) for name in partition.__all__}
    functions |= {name: getattr(aggregate, name) for name in AGGREGATORS}
    for name, function in functions.items():
        needed = _list_required_parameters(function)
        if needed and set(needed) <= set(arguments):
            few[name] = partial(function, **{key: arguments[key] for key in needed})
    return few | _build_repairs(arguments) | _build_jobs()


def _build_weighted_searches(
    X: F64, many: F64, requirements: dict[str, Any]
) -> dict[str, Call]:
    """Return searches among records with weights, which have loops of their own."""
    from aggopt import partition

    weights = 1.0 + np.arange(len(many)) % 3
    search = partial(
        partition.local_search, X, 3, effort="fast", weights=weights[: len(X)]
    )
    return {
        "local_search with weights": search,
        "local_search with weights, under requirements": partial(
            search, **requirements
        ),
        "optimal with weights": partial(
            partition.optimal, X[:30], 3, weights=weights[:30]
        ),
        "blocked with weights": partial(
            partition.blocked, many, 8, jobs=1, weights=weights
        ),
    }


def _build_jobs() -> dict[str, Call]:
    """Return jobs whose columns need loops that no method needs."""
    return {f"mask, {name}": partial(_mask, **job) for name, job in JOBS.items()}


def _mask(columns: list[str], **job: Any) -> None:
    """Mask a small table whose columns are quasi-identifiers."""
    import pandas as pd

    import aggopt

    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.random((60, 3)), columns=list("abc"))
    frame["sex"] = rng.choice(["f", "m"], 60)
    frame["gap"] = frame["c"].where(rng.random(60) > 0.2)
    frame["unit"] = np.arange(60) // 2
    frame["weight"] = 1.0 + np.arange(60) % 3
    roles = {"quasi-identifier": columns} | job.pop("roles", {})
    names = [*columns, *(role for role in ("unit", "weight") if role in roles)]
    privacy = {"k": 3} | job.pop("privacy", {})
    aggopt.mask(frame[names], aggopt.Job(roles=roles, privacy=privacy, **job))


def _list_required_parameters(function: Any) -> list[str]:
    if not inspect.isfunction(function):
        return []
    parameters = inspect.signature(function).parameters.values()
    return [p.name for p in parameters if p.default is p.empty]


def _build_repairs(arguments: dict[str, Any]) -> dict[str, Call]:
    """Return the calls that compile the repairs of closeness, by name."""
    from aggopt import repair

    needed = {key: arguments[key] for key in ("X", "confidential", "labels", "k", "t")}
    return {
        f"repair {method!r}": partial(repair.closeness, **needed, method=method)
        for method in ("swap", "sweep", "merge-ilp")
    }


def compile_kernels() -> Iterator[tuple[float, str, int]]:
    """Yield for each call the share done, its name and the number of kernels.

    Raises
    ------
    JobError
        No folder can keep compiled kernels.
    EngineError
        A process ended before its call did.
    """
    names = list(build_calls())
    with (
        exclude_working_directory(),
        ProcessPoolExecutor(PROCESSES, get_context("spawn")) as pool,
    ):
        futures = {pool.submit(_compile_by_call, name): name for name in names}
        try:
            for done, future in enumerate(as_completed(futures), 1):
                yield done / len(names), futures[future], future.result()
        except BrokenProcessPool:
            kill_processes(pool)
            raise EngineError(
                "A process ended before its kernels were compiled.",
                fix="look whether the system ended it for want of memory, and call "
                "warm-up again: kernels compiled so far are kept.",
            ) from None
        finally:
            pool.shutdown(cancel_futures=True)


def find_other_cache() -> Path | None:
    """Return where kernels are kept if NUMBA_CACHE_DIR names a folder of no use."""
    from aggopt.partition.merging_kernels import merge_groups

    kernel: Any = merge_groups
    configured = os.environ.get("NUMBA_CACHE_DIR")
    actual = Path(kernel._cache.cache_path)
    if not configured or actual.resolve().is_relative_to(Path(configured).resolve()):
        return None
    return actual


def _compile_by_call(name: str) -> int:
    """Make one of the calls; return how many kernels were compiled for it."""
    before = compile_time.compiled
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a table that nobody releases
        build_calls()[name]()
    if compile_time.homeless:
        raise JobError(
            "No folder can be written to in which compiled kernels would be kept.",
            fix="name one in the environment: NUMBA_CACHE_DIR=/a/folder.",
        )
    return compile_time.compiled - before
