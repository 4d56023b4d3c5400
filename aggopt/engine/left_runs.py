"""What killed runs have left: gone on with where that is asked for, else removed."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from aggopt.core.leftovers import adopted, left_in, own_part, remove_left
from aggopt.engine.journal import (
    DONE,
    PRIVATE,
    SAYS,
    STAGE,
    Journal,
    LeftRun,
    private_of,
    read_results,
    read_run,
)
from aggopt.errors import EngineError

ANEW = "begin anew: --no-resume, or resume = false, which removes it"

Found = TypeVar("Found")


def resumed(asked: LeftRun, known: str | None) -> tuple[Journal, str] | None:
    """Return the journal of a killed run that is asked for again, and its secret.

    None if there is none.  Its folders are this process's from here on, whatever folder
    for files in between is asked for now.  `known` is the secret of a release that is
    to be made again.

    Raises
    ------
    EngineError
        What was left for the same place is of another job, input or version, or it is
        damaged.
    """
    for stage, left in _left_for(asked.out):
        _require_same(stage, left, asked, known)
        work = _work_of(stage, left)
        if work is not None:
            for done in work.glob(f"{DONE}*"):
                _undamaged(read_results, done, done)
            journal = Journal(adopted(work), adopted(stage))
            _take_back(journal.stage, private_of(asked.out))
            return journal, left.secret
        shutil.rmtree(stage, ignore_errors=True)  # half of it is of no use
    return None


def removed(asked: LeftRun, *, anew: bool) -> tuple[str, ...]:
    """Remove what killed runs have left, here and beside the output; say of which.

    Raises
    ------
    EngineError
        One could be gone on with as it is, and it is not said to begin `anew`.
    """
    notes = []
    for stage in _stages(asked.out.parent):
        left = _said(stage)
        if left is None:
            continue
        if not anew and left.out == asked.out and not asked.differs(left):
            raise EngineError(
                f"A killed run of this job has left what it had done for "
                f"{asked.out.name}, in {stage.name}.",
                fix=f"go on with it: --resume, or resume = true; or {ANEW}.",
            )
        work = _work_of(stage, left)
        for folder in (work, stage):
            if folder is not None:
                shutil.rmtree(folder, ignore_errors=True)
        notes.append(
            f"What a killed run had done for {left.out.name} was removed: --resume "
            "goes on with such a run."
        )
    remove_left(asked.parent)
    remove_left(asked.out.parent)
    return tuple(notes)


def _take_back(stage: Path, private: Path) -> None:
    """Take the keys back that had their name already, when the release had not."""
    own = stage / PRIVATE
    if private.is_dir() and not own.exists():
        private.rename(own)


def _left_for(out: Path) -> Iterator[tuple[Path, LeftRun]]:
    for stage in _stages(out.parent):
        left = _undamaged(read_run, stage, stage / SAYS)
        if left.out == out:
            yield stage, left


def _stages(folder: Path) -> list[Path]:
    found = (path for path in left_in(folder) if own_part(path).endswith(STAGE))
    return sorted(stage for stage in found if (stage / SAYS).exists())


def _work_of(stage: Path, left: LeftRun) -> Path | None:
    """Return the folder of files in between of the same run, if it is there."""
    there = (path for path in left_in(left.parent) if path.is_dir())
    name = own_part(stage)
    return next((path for path in there if own_part(path) + STAGE == name), None)


def _said(stage: Path) -> LeftRun | None:
    try:
        return read_run(stage)
    except (ValueError, RecursionError, OSError):  # it is removed with all else
        return None


def _undamaged(read: Callable[[Path], Found], path: Path, file: Path) -> Found:
    try:
        return read(path)
    except (ValueError, RecursionError, OSError):  # its words may quote the file
        pass
    raise EngineError(
        f"What a killed run has left in {file.parent} cannot be gone on with: "
        f"{file.name} is damaged.",
        fix=f"{ANEW}.",
    )


def _require_same(
    stage: Path, left: LeftRun, asked: LeftRun, known: str | None
) -> None:
    differs = asked.differs(left)
    if known is not None and left.secret != known:
        differs.append("secret")
    if differs:
        raise EngineError(
            f"A killed run has left {stage.name} for {asked.out.name}, and has not the "
            f"same {', '.join(differs)}.",
            fix=f"run what it was; or {ANEW}.",
        )
