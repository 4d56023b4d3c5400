"""Refusals of executors: their settings, and the code and versions of workers."""

import pickle
from collections.abc import Collection, Mapping
from typing import Any
from urllib.parse import urlsplit

from aggopt.errors import EngineError, JobError
from aggopt.job import Job
from aggopt.job.engine_section import Engine

HERE = frozenset({"127.0.0.1", "localhost", "::1"})


def require_memory_settings(
    engine: str | None, client: Any, keys: Mapping[str, Any]
) -> None:
    """Refuse engine settings if no output folder is named."""
    text = ", ".join(key for key, value in keys.items() if value is not None)
    if text:
        raise JobError(
            f"Settings of an engine are named ({text}), and no folder to write.",
            fix=f'name it: out = "masked"; or leave {text} out.',
        )
    if engine not in (None, "memory") or client is not None:
        raise JobError(
            "An engine is named for a folder, and no folder to write.",
            fix='name it: out = "masked".',
        )


def require_picklable(job: Job) -> None:
    """Refuse a job with functions that other processes cannot import."""
    try:
        pickle.dumps(job)
    except (pickle.PicklingError, AttributeError, TypeError):
        raise JobError(
            "The job holds a function that no module has, and tasks are told of it by "
            "its name.",
            fix='write it in a file, and name it: "mine.py:several".',
        ) from None


def require_one_cluster(engine: Engine, client: Any) -> None:
    """Refuse a Dask cluster that is configured twice, or not at all."""
    is_named = engine.workers is not None or engine.scheduler is not None
    if is_named == (client is not None):
        raise JobError(
            "Dask is given as a client, and named under [engine]."
            if is_named
            else "Neither workers, a scheduler nor a client of Dask is named.",
            fix="leave one of the two out."
            if is_named
            else 'set workers = 2 under [engine], or scheduler = "tls://HOST:8786".',
        )


def require_secure(address: str, insecure: bool) -> None:
    """Refuse a Dask scheduler that other users can connect to, unless allowed.

    Raises
    ------
    JobError
        The message has the remedy.
    """
    at = urlsplit(address if "://" in address else f"tcp://{address}")
    if insecure or at.scheme in ("tls", "inproc") or at.hostname in HERE:
        return
    raise JobError(
        f"Whoever reaches the scheduler at {at.hostname} runs code as you do, and its "
        "messages are in clear.",
        fix='use one with TLS, "tls://HOST:8786"; or allow it in a network that is '
        "yours alone: insecure = true under [engine].",
    )


def require_same_version(versions: Collection[str | None], here: str) -> None:
    """Refuse workers that have another version of this package, or none.

    Raises
    ------
    EngineError
        How many of them, and what to do.
    """
    other = [has for has in versions if has != here]
    if other or not versions:
        raise EngineError(
            f"{len(other)} of {len(versions)} workers have not aggopt {here}, as here."
            if versions
            else "The scheduler has no worker.",
            fix="install it there as well, of this version."
            if versions
            else "start one.",
        )
