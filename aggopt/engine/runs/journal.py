"""Journal of the finished steps of a run, so that another run can resume it.

Each step's results are noted once all of its files exist.  All files of a step are
determined by the job, the input, the versions of packages and the secret: a run with
equal ones resumes, and gives equal bytes.  Notes are JSON text.  Notes that another
person wrote are data of the types that steps return, or damaged, and never code.
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
SAYS = "run"  # the name of the file that identifies the run of the steps
DONE = "done-"  # prefix of the names of files with the results of a step
PUBLIC = "public"  # the folder within the stage that has the release
PRIVATE = "private"  # the folder within the stage that has keys
STAGE = "-stage"  # suffix of the second folder's name after the first's
_CARRIERS = {"name", "jobs", "workers", "scheduler", "insecure", "work", "resume"}


def make_private_path(out: Path) -> Path:
    """Return the folder of keys of a release."""
    return out.with_name(f"{out.name}.private")


class Identity(NamedTuple):
    """Inputs that determine the bytes of a release, apart from its secret."""

    job: Any
    input: Any
    versions: Any

    @classmethod
    def of(cls, job: Job, parts: InputFolder) -> "Identity":
        """Return that of a job and of files: by name, size and time of change."""
        job_entry = job.model_dump(mode="json", by_alias=True)
        engine = job_entry["engine"].items()
        job_entry["engine"] = {
            key: value for key, value in engine if key not in _CARRIERS
        }
        job_entry["code"] = [origin.to_dict() for origin in job.code]
        states = {piece.path: piece.state for piece in parts.pieces}
        files = [[str(resolve_path(path)), *state] for path, state in states.items()]
        return cls(job_entry, files, list_versions(["python", *PACKAGES]))

    def differs(self, other: "Identity") -> list[str]:
        """Return the names of the differing inputs."""
        both = zip(self._fields, self, other, strict=True)
        return [name for name, value, others in both if value != others]


class RunRecord(NamedTuple):
    """Record of a run: its output, identity, secret, and scratch folder."""

    out: Path
    identity: Identity
    secret: str
    parent: Path

    @classmethod
    def of(
        cls, out: Path, identity: Identity, known_secret: str | None, parent: Path
    ) -> "RunRecord":
        """Return a run with a known or drawn secret; its folder is in `parent`."""
        secret = make_secret() if known_secret is None else require_secret(known_secret)
        return cls(out.absolute(), identity, secret, parent.absolute())

    def differs(self, other: "RunRecord") -> list[str]:
        """Return the names of inputs that change the bytes, except the secrets."""
        return self.identity.differs(other.identity)


@dataclass(frozen=True)
class Journal:
    """Notes of the steps that a run has done, in its scratch folder.

    A file next to the release in preparation names their run.  That release is prepared
    next to its final place, for any scratch folder.
    """

    work: Path
    stage: Path

    def begin(self, run: RunRecord) -> None:
        """Record the run of the steps."""
        _write_json(self.stage / SAYS, run, TypeAdapter(RunRecord))

    def keep(self) -> "Journal | None":
        """Return the folder of steps kept for another run; None if no step is done."""
        if next(self.work.glob(f"{DONE}*"), None) is None:
            return None
        return Journal(release_run_folder(self.work), release_run_folder(self.stage))

    def note(self, step: str, results: list[Any]) -> None:
        """Note the results of a step."""
        _write_json(self.work / f"{DONE}{step}", results, _find_result_type(step))

    def results(self, step: str) -> list[Any] | None:
        """Return the results of a step; None if it is yet to be done."""
        path = self.work / f"{DONE}{step}"
        return read_results(path) if path.exists() else None


def read_run(stage: Path) -> RunRecord:
    """Return the record of a run in its folder.

    Raises
    ------
    ValueError
        It is damaged.
    OSError
        It cannot be read.
    """
    run: RunRecord = _read_json(stage / SAYS, TypeAdapter(RunRecord))
    return run


def read_results(path: Path) -> list[Any]:
    """Return the results of a step, from the file that `Journal.note` wrote.

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
    return list(_read_json(path, _find_result_type(step)))


def _find_result_type(step: str) -> TypeAdapter[Any]:
    """Return the type of the list of results that the tasks of a step return."""
    task = TASKS[step.rstrip(ROUNDS)]
    function = task.func if isinstance(task, partial) else task
    returned = get_type_hints(function).get("return", Any)
    of_all: Any = GenericAlias(list, (returned,))
    return TypeAdapter(of_all)


def _read_json(path: Path, kind: TypeAdapter[Any]) -> Any:
    return kind.validate_python(json.loads(path.read_bytes()))


def _write_json(to: Path, what: object, kind: TypeAdapter[Any]) -> None:
    text = json.dumps(kind.dump_python(what, mode="json"))
    write_atomically(to, lambda aside: aside.write_text(text, encoding="ascii"))
