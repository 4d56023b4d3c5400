"""What a run has done so far, so that another can go on where it was killed.

Each step's results are noted once all of its files are there.  All files of a step come
from the job, the input, the versions of packages and the secret: a run of the same
goes on with them, and gives the same bytes.  Notes are JSON text: what somebody else
wrote among them is data of the types that steps return, or damaged, and never code.
"""

import json
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import GenericAlias
from typing import Any, NamedTuple, get_type_hints

from pydantic import TypeAdapter

from aggopt.core.randomness import make_secret, require_secret
from aggopt.core.regular_files import resolve_path
from aggopt.core.stale_files import release_run_folder
from aggopt.engine.executors.tasks import ROUNDS, TASKS
from aggopt.engine.storage.input_parts import InputFolder
from aggopt.engine.storage.scratch_files import write_atomically
from aggopt.job import Job
from aggopt.release.manifest import list_versions

PACKAGES = ("aggopt", "numpy", "scipy", "pandas", "pyarrow", "narwhals", "numba")
SAYS = "run"  # the name of the file that says whose the steps are
DONE = "done-"  # how the names of files begin that say what a step returned
PUBLIC = "public"  # the folder within the stage that has the release
PRIVATE = "private"  # the folder within the stage that has keys
STAGE = "-stage"  # what the name of the second folder has beside that of the first
_CARRIERS = {"name", "jobs", "workers", "scheduler", "insecure", "work", "resume"}


def private_folder(out: Path) -> Path:
    """Return the folder of keys of a release."""
    return out.with_name(f"{out.name}.private")


class Identity(NamedTuple):
    """What the bytes of a release come from, beside its secret."""

    job: Any
    input: Any
    versions: Any

    @classmethod
    def of(cls, job: Job, parts: InputFolder) -> "Identity":
        """Return that of a job and of files: by name, size and time of change."""
        said = job.model_dump(mode="json", by_alias=True)
        engine = said["engine"].items()
        said["engine"] = {key: value for key, value in engine if key not in _CARRIERS}
        said["code"] = [origin.to_dict() for origin in job.code]
        states = {piece.path: piece.state for piece in parts.pieces}
        files = [[str(resolve_path(path)), *state] for path, state in states.items()]
        return cls(said, files, list_versions(["python", *PACKAGES]))

    def differs(self, other: "Identity") -> list[str]:
        """Return in what they differ."""
        both = zip(self._fields, self, other, strict=True)
        return [name for name, own, others in both if own != others]


class RunRecord(NamedTuple):
    """What is said of a run: where it goes, of what, its secret, and where it works."""

    out: Path
    identity: Identity
    secret: str
    parent: Path

    @classmethod
    def of(
        cls, out: Path, identity: Identity, known: str | None, parent: Path
    ) -> "RunRecord":
        """Return a run whose secret is known, or drawn; its folder lies in `parent`."""
        own = make_secret() if known is None else require_secret(known)
        return cls(out.absolute(), identity, own, parent.absolute())

    def differs(self, other: "RunRecord") -> list[str]:
        """Return in what the bytes of both differ, their secrets aside."""
        return self.identity.differs(other.identity)


@dataclass(frozen=True)
class Journal:
    """Notes of the steps that a run has done, in its folder of files in between.

    Whose they are is said beside the release that is being made, which lies where the
    folder is to appear, whatever folder the files in between are in.
    """

    work: Path
    stage: Path

    def begin(self, run: RunRecord) -> None:
        """Say whose the steps are."""
        _write(self.stage / SAYS, run, TypeAdapter(RunRecord))

    def keep(self) -> "Journal | None":
        """Return where the steps are kept for another run; None if none is done yet."""
        if next(self.work.glob(f"{DONE}*"), None) is None:
            return None
        return Journal(release_run_folder(self.work), release_run_folder(self.stage))

    def note(self, step: str, results: list[Any]) -> None:
        """Note what a step has returned."""
        _write(self.work / f"{DONE}{step}", results, _type_of_results(step))

    def results(self, step: str) -> list[Any] | None:
        """Return what a step returned; None if it is yet to be done."""
        path = self.work / f"{DONE}{step}"
        return read_results(path) if path.exists() else None


def read_run(stage: Path) -> RunRecord:
    """Return what is said of a run in its folder.

    Raises
    ------
    ValueError
        It is damaged.
    OSError
        It cannot be read.
    """
    run: RunRecord = _read(stage / SAYS, TypeAdapter(RunRecord))
    return run


def read_results(path: Path) -> list[Any]:
    """Return what a step returned, from the file that `Journal.note` wrote.

    Raises
    ------
    ValueError
        It is damaged.
    OSError
        It cannot be read.
    """
    step = path.name.removeprefix(DONE)
    if step.rstrip(ROUNDS) not in TASKS:
        raise ValueError(f"There is no step {step!r}.")
    return list(_read(path, _type_of_results(step)))


def _type_of_results(step: str) -> TypeAdapter[Any]:
    """Return the type of the list of what the tasks of a step return."""
    task = TASKS[step.rstrip(ROUNDS)]
    function = task.func if isinstance(task, partial) else task
    returned = get_type_hints(function).get("return", Any)
    of_all: Any = GenericAlias(list, (returned,))
    return TypeAdapter(of_all)


def _read(path: Path, kind: TypeAdapter[Any]) -> Any:
    return kind.validate_python(json.loads(path.read_bytes()))


def _write(to: Path, what: object, kind: TypeAdapter[Any]) -> None:
    text = json.dumps(kind.dump_python(what, mode="json"))
    write_atomically(to, lambda aside: aside.write_text(text, encoding="ascii"))
