"""Journal of the finished steps of a run, and the remains of runs that were killed.

Each step's results are noted once all of its files exist.  All files of a step are
determined by the job, the input, the versions of packages and the secret: a run with
equal ones resumes, and gives equal bytes.  Notes are JSON text.  Notes that another
person wrote are data of the types that steps return, or damaged, and never code.
"""

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import GenericAlias
from typing import Any, NamedTuple, TypeVar, get_type_hints

from pydantic import TypeAdapter

from aggopt.core.randomness import make_secret, require_secret
from aggopt.core.regular_files import resolve_path
from aggopt.core.stale_files import (
    adopt_run_folder,
    find_abandoned_runs,
    release_run_folder,
    remove_run,
    remove_stale,
    strip_owner,
)
from aggopt.engine.executors.tasks import ROUNDS, TASKS
from aggopt.engine.storage.input_parts import InputFolder
from aggopt.engine.storage.scratch_files import STOP, write_atomically
from aggopt.engine.validate.output_folders import ANEW, require_equal_run
from aggopt.errors import LeftRunError
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
    """Return the path of the private folder of the release in `out`.

    >>> make_private_path(Path("out")), make_private_path(Path("/data/out/.."))
    (PosixPath('out.private'), PosixPath('/data.private'))
    """
    folder = out if out.name.strip(".") else Path(os.path.abspath(out))
    return folder.parent / f"{folder.name}.private"


class Identity(NamedTuple):
    """Inputs that determine the bytes of a release, apart from its secret."""

    job: Any
    input: Any
    versions: Any

    @classmethod
    def of(cls, job: Job, parts: InputFolder) -> "Identity":
        """Return the identity of a job and its files, by name, size and change time."""
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
        """Return the names of the inputs that differ between two identities."""
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
        """Return the record of a run, whose secret is drawn if not given."""
        secret = make_secret() if known_secret is None else require_secret(known_secret)
        return cls(out.absolute(), identity, secret, parent.absolute())

    def differs(self, other: "RunRecord", secret: str | None = None) -> list[str]:
        """Return the names of the inputs that differ between two runs."""
        names = self.identity.differs(other.identity)
        return names if secret in (None, other.secret) else [*names, "secret"]


@dataclass(frozen=True)
class Journal:
    """Notes of the steps that a run has done, in its scratch folder.

    A file next to the release in preparation names their run.  That release is prepared
    next to its final place, for any scratch folder.
    """

    work: Path
    stage: Path

    def begin(self, run: RunRecord) -> None:
        """Write the record of the run to its folder."""
        _write_json(self.stage / SAYS, run, TypeAdapter(RunRecord))

    def keep(self) -> "Journal | None":
        """Release the run's folders for a later run; None if no step is finished."""
        if next(self.work.glob(f"{DONE}*"), None) is None:
            return None
        return Journal(release_run_folder(self.work), release_run_folder(self.stage))

    def note(self, step: str, results: list[Any]) -> None:
        """Write the results of a finished step."""
        _write_json(self.work / f"{DONE}{step}", results, _find_result_type(step))

    def results(self, step: str) -> list[Any] | None:
        """Return the recorded results of a step; None if it is not finished."""
        path = self.work / f"{DONE}{step}"
        return read_results(path) if path.exists() else None


def read_run(stage: Path) -> RunRecord:
    """Return the record of a run from its staging folder.

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
    """Return the validated content of a JSON file."""
    return kind.validate_python(json.loads(path.read_bytes()))


def _write_json(to: Path, what: object, kind: TypeAdapter[Any]) -> None:
    """Write a value of this type to a JSON file, atomically."""
    text = json.dumps(kind.dump_python(what, mode="json"))
    write_atomically(to, lambda aside: aside.write_text(text, encoding="ascii"))


Found = TypeVar("Found")


def resume_run(run_record: RunRecord, secret: str | None) -> tuple[Journal, str] | None:
    """Return journal and secret of an interrupted run with equal inputs, if any.

    None if no such run exists.  Its folders belong to this process from now on, even if
    the job now names another scratch folder.  `secret` is the secret of a release to
    reproduce.

    Raises
    ------
    LeftRunError
        The run for this output is of another job, input or version, or it is damaged.
    """
    for stage, left in _iter_runs_for(run_record.out):
        require_equal_run(stage, left.out, run_record.differs(left, secret))
        work = _find_scratch_folder(left.parent, stage)
        if work is not None:
            for done in work.glob(f"{DONE}*"):
                _read_undamaged(read_results, done, done)
            journal = Journal(adopt_run_folder(work), adopt_run_folder(stage))
            (journal.work / STOP).unlink(missing_ok=True)
            _restore_keys(journal.stage, make_private_path(run_record.out))
            return journal, left.secret
        remove_run(stage)  # half of it is of no use
    return None


def remove_runs(run_record: RunRecord, *, discard: bool) -> tuple[str, ...]:
    """Remove the remains of runs for one output folder; return texts of notes.

    Scratch files of a run for another output folder stay, and a note reports them.

    Raises
    ------
    LeftRunError
        Remains exist, and `discard` is false.
    """
    notes = []
    for stage in _list_stages(run_record.out.parent):
        left = _read_run_or_none(stage)
        if left is not None and left.out != run_record.out:
            notes.append(
                f"{stage.name} has what a run had done for {left.out.name}: it stays "
                "until such a run goes on with it (--resume), or discards it."
            )
            continue
        if left is not None and not discard:
            require_equal_run(stage, left.out, run_record.differs(left))
            raise LeftRunError(
                f"A run of this job that was ended has left what it had done for "
                f"{run_record.out.name}, in {stage.name}.",
                fix=f"go on with it: --resume, or resume = true; or {ANEW}.",
            )
        parent = run_record.parent if left is None else left.parent
        work = _find_scratch_folder(parent, stage)
        for folder in (work, stage):
            if folder is not None:
                remove_run(folder)
        if left is not None:
            notes.append(f"What a run had done for {left.out.name} was discarded.")
    remove_stale(run_record.parent)
    remove_stale(run_record.out.parent)
    return tuple(notes)


def find_kept_runs(out: Path) -> tuple[Path, ...]:
    """Return the scratch and staging folder of an interrupted run for `out`, or ()."""
    for stage in _list_stages(out.absolute().parent):
        left = _read_run_or_none(stage)
        work = _find_scratch_folder(left.parent, stage) if left is not None else None
        if left is not None and left.out == out.absolute() and work is not None:
            return work, stage
    return ()


def _restore_keys(stage: Path, private: Path) -> None:
    """Move a private folder back that was renamed before the release was."""
    private_stage = stage / PRIVATE
    if private.is_dir() and not private_stage.exists():
        private.rename(private_stage)


def _iter_runs_for(out: Path) -> Iterator[tuple[Path, RunRecord]]:
    """Yield the staging folder and the record of each run left for `out`."""
    for stage in _list_stages(out.parent):
        if not (stage / SAYS).exists():
            continue
        left = _read_undamaged(read_run, stage, stage / SAYS)
        if left.out == out:
            yield stage, left


def _list_stages(folder: Path) -> list[Path]:
    """Return the staging folders of ended runs in a folder, sorted."""
    abandoned_runs = find_abandoned_runs(folder)
    return sorted(
        stage for stage in abandoned_runs if strip_owner(stage).endswith(STAGE)
    )


def _find_scratch_folder(parent: Path, stage: Path) -> Path | None:
    """Return the scratch folder of a staged run in `parent`; None if none is."""
    name = strip_owner(stage)
    folders = (path for path in find_abandoned_runs(parent) if path.is_dir())
    return next((path for path in folders if strip_owner(path) + STAGE == name), None)


def _read_run_or_none(stage: Path) -> RunRecord | None:
    """Return the record of a run in its staging folder; None if it is damaged."""
    try:
        return read_run(stage)
    except (ValueError, RecursionError, OSError):  # it is removed with all else
        return None


def _read_undamaged(read: Callable[[Path], Found], path: Path, file: Path) -> Found:
    """Return `read(path)`; refuse a damaged file of an ended run."""
    try:
        return read(path)
    except (ValueError, RecursionError, OSError):  # its words may quote the file
        pass
    raise LeftRunError(
        f"What an ended run has left in {file.parent} cannot be gone on with: "
        f"{file.name} is damaged.",
        fix=f"{ANEW}.",
    )
