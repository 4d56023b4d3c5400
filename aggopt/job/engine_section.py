"""The section on the engine that runs the work, and on its division."""

from collections.abc import Collection
from typing import Any, Literal

from pydantic import (
    Field,
    SerializerFunctionWrapHandler,
    StrictBool,
    StrictInt,
    model_serializer,
)

from aggopt.core.section import Section, list_written_keys
from aggopt.errors import JobError

BLOCK = 100_000  # records: half a minute of work, a few hundred MiB
_FOLDERS = frozenset({"block", "work", "resume"})
_TAKES: dict[str, frozenset[str]] = {
    "memory": frozenset(),
    "local": _FOLDERS | {"jobs"},
    "dask": _FOLDERS | {"workers", "scheduler", "insecure"},
}
ENGINES = tuple(_TAKES)


class Engine(Section):
    """The engine: this process, several processes, or the processes of a cluster.

    Attributes
    ----------
    name
        "memory": the table is in memory, and the result is a table.  "local" and
        "dask": a folder of Parquet files becomes another, whatever its size; by
        processes of this machine, or by Dask.
    block
        Records that are partitioned together, about.
    work
        The folder for files in between, which hold originals (mode 0700, removed at the
        end, and kept after Ctrl-C and SIGTERM); next to the output when omitted.  All
        processes must see it.
    resume
        Resume a run of this job, to this folder, that was ended by Ctrl-C, SIGTERM or a
        kill.  False discards the files of that run.  When left out, these files are an
        error.
    jobs
        Of "local": the number of processes; 1 when omitted.
    workers
        Of "dask": the number of processes to start on this machine.
    scheduler
        Of "dask": the address of a running scheduler, "tls://HOST:8786".
    insecure
        Allow a scheduler whose traffic others can read: not tls, and not this machine.
    """

    name: Literal["memory", "local", "dask"] = "memory"
    block: StrictInt = Field(default=BLOCK, ge=2)
    work: str | None = None
    resume: StrictBool = False
    jobs: StrictInt = Field(default=1, ge=1)
    workers: StrictInt | None = Field(default=None, ge=1)
    scheduler: str | None = None
    insecure: StrictBool = False

    @model_serializer(mode="wrap")
    def _dump(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out keys of other engines, which would be refused."""
        taken = {"name", *_TAKES[self.name]}
        return {key: value for key, value in dump(self).items() if key in taken}


def find_engine(keys: Collection[str]) -> str:
    """Return the first engine that takes these keys; "memory", which has none, if none.

    >>> find_engine({"block"}), find_engine({"workers", "block"})
    ('local', 'dask')
    """
    return next((name for name in ENGINES if _TAKES[name] >= set(keys)), ENGINES[0])


def require_engine(engine: Engine) -> None:
    """Refuse keys of an engine that have no effect.

    Raises
    ------
    JobError
        Keys belong to another engine; both workers and a scheduler are named.
    """
    idle = sorted(list_written_keys(engine) - {"name"} - _TAKES[engine.name])
    if idle:
        raise JobError(
            f"[engine] {', '.join(idle)} {'does' if len(idle) == 1 else 'do'} nothing "
            f"where name = {engine.name!r}.",
            fix=f"{_name_engine(engine)}; or leave "
            f"{'it' if len(idle) == 1 else 'them'} "
            "out.",
        )
    if engine.workers is not None and engine.scheduler is not None:
        raise JobError(
            "[engine] names workers, to be started here, and a scheduler that runs.",
            fix="leave one of the two out.",
        )


def _name_engine(engine: Engine) -> str:
    """Return the text that names the engine whose keys are written."""
    wanted = find_engine(list_written_keys(engine) - {"name"})
    if wanted == ENGINES[0]:
        return "name the engine that it is for"
    return (
        f'name the engine that it is for, name = "{wanted}" under [engine] or --engine '
        f"{wanted}"
    )
