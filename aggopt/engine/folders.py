"""The folders of a run: new ones, aside until all is done, then there at once."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from aggopt.core.leftovers import folder_prefix, left_in
from aggopt.core.section import given
from aggopt.core.signals import held
from aggopt.engine.config import Config
from aggopt.engine.journal import STAGE, Identity, Journal, LeftRun
from aggopt.engine.left_runs import removed, resumed
from aggopt.engine.pieces import InputParts
from aggopt.engine.workspace import STOP
from aggopt.errors import TableError
from aggopt.input.formats import ENDINGS
from aggopt.job import Job
from aggopt.job._engine import Engine
from aggopt.output.staging import umask

APPEARING = "-appearing"  # how the name ends of a folder that will have another


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


def require_no_file(folder: Path) -> None:
    """Refuse the name of a file where a folder of Parquet files is to appear.

    Raises
    ------
    TableError
        It ends like a file of a table.
    """
    if folder.suffix.lower() in ENDINGS:
        raise TableError(
            f"{folder} is called like a file, and a folder of Parquet files is to "
            "appear.",
            fix=f"name a folder: {folder.stem}.",
        )


class Staged(NamedTuple):
    """The folders of a run, in the journal of what it has done, and its secret.

    `notes` say which killed runs were removed before.
    """

    journal: Journal
    secret: str
    notes: tuple[str, ...] = ()

    @property
    def folders(self) -> tuple[Path, Path]:
        """That of files in between, and that of the release that is being made."""
        return self.journal.work, self.journal.stage


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
        What was left to go on with is of another job, input or version, or damaged; or
        it is this job's, which does not say whether to `resume`.
    """
    parent = Path(job.engine.work or out.parent)
    asked = LeftRun.of(out, Identity.of(job, parts), known, parent)
    made: list[Path] = []
    try:
        staged = _gone_on_with(job.engine, asked, known)
        if staged is None:
            notes = _cleared(job.engine, asked)
            made.append(_folder(parent))
            made.append(out.parent / f"{made[0].name}{STAGE}")
            made[1].mkdir(mode=0o700)
            staged = Staged(Journal(*made), asked.secret, notes)
            staged.journal.begin(asked)
        made = list(staged.folders)
        yield staged
    except BaseException:
        if made:
            with suppress(OSError):  # of a full disk
                (made[0] / STOP).touch()
        raise
    finally:
        with held():
            if len(made) == 2:
                Journal(*made).end()
            for folder in made:
                shutil.rmtree(folder, ignore_errors=True)


def _gone_on_with(engine: Engine, asked: LeftRun, known: str | None) -> Staged | None:
    before = resumed(asked, known) if engine.resume else None
    return None if before is None else Staged(*before)


def _cleared(engine: Engine, asked: LeftRun) -> tuple[str, ...]:
    """Remove what killed runs have left, unless it might be gone on with later."""
    return () if engine.resume else removed(asked, anew="resume" in given(engine))


@contextmanager
def appearing(out: Path) -> Iterator[Path]:
    """Yield a folder (mode 0700) that gets its name at the end, or is removed.

    What a killed process left that was to appear beside it is removed first.

    Raises
    ------
    TableError
        It cannot be written.
    """
    for left in left_in(out.parent):
        if left.name.endswith(APPEARING):
            shutil.rmtree(left, ignore_errors=True)
    made = _folder(out.parent, APPEARING)
    try:
        yield made
        with held():
            made.rename(out)
    except OSError as error:
        raise _unwritable(out, error) from None
    finally:
        with held():
            shutil.rmtree(made, ignore_errors=True)


def _unwritable(out: Path, error: OSError) -> TableError:
    return TableError(
        f"{out} cannot be written: {error.strerror or 'the disk refuses'}.",
        fix="make room, or choose a folder that may be written to; nothing was left "
        "behind.",
    )


def _folder(parent: Path, ending: str = "") -> Path:
    try:
        return Path(tempfile.mkdtemp(ending, folder_prefix(), parent))
    except OSError as error:
        raise TableError(
            f"No folder can be made in {parent}: {error.strerror}.",
            fix="name one that may be written to: [engine] work, or another --out.",
        ) from None


def give_names(config: Config, out: Path, private: Path) -> None:
    """Give both folders their names: both, or none; the public one last.

    Raises
    ------
    TableError
        One has been made meanwhile, or cannot be made.
    """
    with held():
        require_new(out, private)
        try:
            config.private.rename(private)
            try:
                config.public.chmod(0o777 & ~umask())
                config.public.rename(out)
            except OSError:
                private.rename(config.private)
                raise
        except OSError as error:
            raise _unwritable(out, error) from None
