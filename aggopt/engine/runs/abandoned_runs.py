"""Remains of ended runs, which another run resumes or discards."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from aggopt.core.stale_files import (
    adopt_run_folder,
    find_abandoned_runs,
    remove_run,
    remove_stale,
    strip_owner,
)
from aggopt.engine.runs.journal import (
    DONE,
    PRIVATE,
    SAYS,
    STAGE,
    Journal,
    RunRecord,
    make_private_path,
    read_results,
    read_run,
)
from aggopt.engine.storage.scratch_files import STOP
from aggopt.errors import LeftRunError

ANEW = "begin anew: --discard, or resume = false, which removes it"

Found = TypeVar("Found")


def resume_run(run_record: RunRecord, secret: str | None) -> tuple[Journal, str] | None:
    """Return the journal of an ended run with this identity, and its secret.

    None if no such run exists.  Its folders belong to this process from now on, even if
    the job now names another scratch folder.  `secret` is the secret of a release to
    reproduce.

    Raises
    ------
    LeftRunError
        The run for this output is of another job, input or version, or it is damaged.
    """
    for stage, left in _find_runs_for(run_record.out):
        _require_equal_run(stage, left, run_record, secret)
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
    """Remove the remains of runs to one output folder; return notes.

    Scratch files of a run for another output folder stay, and a note reports them.

    Raises
    ------
    LeftRunError
        Remains exist, and `discard` is false.
    """
    notes = []
    for stage in _list_stages(run_record.out.parent):
        left = _describe_run(stage)
        if left is not None and left.out != run_record.out:
            notes.append(
                f"{stage.name} has what a run had done for {left.out.name}: it stays "
                "until such a run goes on with it (--resume), or discards it."
            )
            continue
        if left is not None and not discard:
            _require_equal_run(stage, left, run_record, None)
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
    """Return the folders with finished steps of runs for `out`; () if none exists."""
    for stage in _list_stages(out.absolute().parent):
        left = _describe_run(stage)
        work = _find_scratch_folder(left.parent, stage) if left is not None else None
        if left is not None and left.out == out.absolute() and work is not None:
            return work, stage
    return ()


def _restore_keys(stage: Path, private: Path) -> None:
    """Take the keys back that had their name already, when the release had not."""
    own = stage / PRIVATE
    if private.is_dir() and not own.exists():
        private.rename(own)


def _find_runs_for(out: Path) -> Iterator[tuple[Path, RunRecord]]:
    for stage in _list_stages(out.parent):
        if not (stage / SAYS).exists():
            continue
        left = _read_undamaged(read_run, stage, stage / SAYS)
        if left.out == out:
            yield stage, left


def _list_stages(folder: Path) -> list[Path]:
    abandoned_runs = find_abandoned_runs(folder)
    return sorted(
        stage for stage in abandoned_runs if strip_owner(stage).endswith(STAGE)
    )


def _find_scratch_folder(parent: Path, stage: Path) -> Path | None:
    """Return the scratch folder of the run, if it is in `parent`."""
    name = strip_owner(stage)
    folders = (path for path in find_abandoned_runs(parent) if path.is_dir())
    return next((path for path in folders if strip_owner(path) + STAGE == name), None)


def _describe_run(stage: Path) -> RunRecord | None:
    try:
        return read_run(stage)
    except (ValueError, RecursionError, OSError):  # it is removed with all else
        return None


def _read_undamaged(read: Callable[[Path], Found], path: Path, file: Path) -> Found:
    try:
        return read(path)
    except (ValueError, RecursionError, OSError):  # its words may quote the file
        pass
    raise LeftRunError(
        f"What an ended run has left in {file.parent} cannot be gone on with: "
        f"{file.name} is damaged.",
        fix=f"{ANEW}.",
    )


def _require_equal_run(
    stage: Path, left: RunRecord, run_record: RunRecord, secret: str | None
) -> None:
    differs = run_record.differs(left)
    if secret is not None and left.secret != secret:
        differs.append("secret")
    if differs:
        raise LeftRunError(
            f"An ended run has left {stage.name} for {run_record.out.name}, and has "
            "not the "
            f"same {', '.join(differs)}.",
            fix=f"run what it was, with --resume; or {ANEW}.",
        )
