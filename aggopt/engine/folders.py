"""The folders of a run: new ones, aside until all is done, then there at once."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from aggopt.core.leftovers import folder_prefix, remove_left
from aggopt.core.signals import held
from aggopt.engine.config import Config
from aggopt.engine.journal import STAGE, Identity, Journal, LeftRun, resumed
from aggopt.engine.pieces import InputParts
from aggopt.engine.workspace import STOP
from aggopt.errors import TableError
from aggopt.job import Job
from aggopt.output.staging import umask


def require_new(*folders: Path) -> None:
    """Refuse folders that are there, or cannot be made.

    Raises
    ------
    TableError
        A folder of a release is never overwritten.
    """
    for folder in folders:
        if folder.exists() or folder.is_symlink():
            raise TableError(
                f"{folder} is there already.",
                fix="name a new folder; or remove that one, if no release needs it.",
            )
        if not folder.parent.is_dir():
            raise TableError(
                f"There is no folder {folder.parent}.", fix="make it first."
            )


class Staged(NamedTuple):
    """The folders of a run, the journal of what it has done, and its secret."""

    work: Path
    stage: Path
    journal: Journal
    secret: str


@contextmanager
def staging(
    out: Path, job: Job, parts: InputParts, known: str | None
) -> Iterator[Staged]:
    """Yield folders for files in between, and for the release; removed at the end.

    What a killed process leaves, the next one removes; or goes on with, if the job says
    `resume`.  `known` is the secret of a release that is to be made again.

    Raises
    ------
    TableError
        No folder can be made.
    EngineError
        What was left to go on with is of another job, input or version.
    """
    asked = LeftRun.of(out, Identity.of(job, parts), known)
    made: list[Path] = []
    try:
        parent = Path(job.engine.work or out.parent)
        before = resumed(parent, asked, known) if job.engine.resume else None
        if before is None:
            if not job.engine.resume:
                remove_left(parent)
                remove_left(out.parent)
            made.append(_folder(parent))
            made.append(out.parent / f"{made[0].name}{STAGE}")
            made[1].mkdir(mode=0o700)
            Journal(made[0]).begin(asked)
        else:
            made += before[:2]
            asked = asked._replace(secret=before[2])
        yield Staged(made[0], made[1], Journal(made[0]), asked.secret)
    except BaseException:
        if made:
            with suppress(OSError):  # of a full disk
                (made[0] / STOP).touch()
        raise
    finally:
        with held():
            if made:
                Journal(made[0]).end()
            for folder in made:
                shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def appearing(out: Path) -> Iterator[Path]:
    """Yield a folder (mode 0700) that gets its name at the end, or is removed.

    Raises
    ------
    TableError
        It cannot be written.
    """
    made = _folder(out.parent)
    try:
        yield made
        with held():
            made.rename(out)
    except OSError as error:
        raise TableError(
            f"{out} cannot be written: {error.strerror or 'the disk refuses'}.",
            fix="make room, or choose a folder that may be written to; nothing was "
            "left behind.",
        ) from None
    finally:
        with held():
            shutil.rmtree(made, ignore_errors=True)


def _folder(parent: Path) -> Path:
    try:
        return Path(tempfile.mkdtemp(prefix=folder_prefix(), dir=parent))
    except OSError as error:
        raise TableError(
            f"No folder can be made in {parent}: {error.strerror}.",
            fix="name one that may be written to: [engine] work, or another --out.",
        ) from None


def give_names(config: Config, out: Path, private: Path) -> None:
    """Give both folders their names: both, or none; the public one last."""
    with held():
        config.private.rename(private)
        try:
            config.public.chmod(0o777 & ~umask())
            config.public.rename(out)
        except OSError:
            private.rename(config.private)
            raise
