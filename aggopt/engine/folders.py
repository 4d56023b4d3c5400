"""The folders of a run: new ones, aside until all is done, then there at once."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from aggopt.core.leftovers import folder_prefix, left_in, remove_run, run_prefix
from aggopt.core.section import given
from aggopt.core.signals import held, names_given
from aggopt.engine.config import Config
from aggopt.engine.journal import PUBLIC, STAGE, Identity, Journal, LeftRun
from aggopt.engine.left_runs import cleared, resumed
from aggopt.engine.pieces import InputParts
from aggopt.engine.workspace import STOP
from aggopt.errors import PlaceError, TableError
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

    `notes` say which runs were discarded before, and which were not.
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

    After Ctrl-C or SIGTERM they are kept, as after a kill, until a run goes on with
    them, if the job says `resume`, or discards them.  `known` is the secret of a
    release that is to be made again.

    Raises
    ------
    PlaceError
        No folder can be made.
    LeftRunError
        What was left to go on with is of another job, input or version, or damaged; or
        it is there, and the job does not say whether to `resume`.
    """
    out = out.absolute()  # who carries out tasks may work elsewhere
    parent = Path(job.engine.work or out.parent).absolute()
    asked = LeftRun.of(out, Identity.of(job, parts), known, parent)
    made: list[Path] = []
    try:
        staged = _gone_on_with(job.engine, asked, known)
        if staged is None:
            notes = _cleared(job.engine, asked)
            made.append(_folder(out.parent, run_prefix(), STAGE))
            made.append(_work_beside(made[0], parent))
            made.reverse()
            staged = Staged(Journal(*made), asked.secret, notes)
            staged.journal.begin(asked)
        made = list(staged.folders)
        yield staged
    except BaseException as error:
        if len(made) == 2:
            with suppress(OSError):  # of a full disk
                (made[0] / STOP).touch(0o600)
            if _is_signal(error) and _keep(Journal(*made), error):
                made = []
        raise
    finally:
        with held():
            for folder in made:
                remove_run(folder)


def _is_signal(error: BaseException) -> bool:
    """Whether Ctrl-C raises it, or what a command does of SIGTERM."""
    return isinstance(error, KeyboardInterrupt | SystemExit)


def _keep(journal: Journal, ended: BaseException) -> bool:
    """Keep what is done, and say in what has ended the run where it is."""
    if not (journal.stage / PUBLIC).exists():  # the release has its name by now
        return False
    with held():
        kept = journal.keep()
    if kept is not None:
        ended.add_note(
            f"What was done is kept in {kept.work} and {kept.stage}, which hold "
            "originals: resume=True goes on with it, resume=False discards it."
        )
    return kept is not None


def _gone_on_with(engine: Engine, asked: LeftRun, known: str | None) -> Staged | None:
    before = resumed(asked, known) if engine.resume else None
    return None if before is None else Staged(*before)


def _cleared(engine: Engine, asked: LeftRun) -> tuple[str, ...]:
    """Remove what is of no use, unless it might be gone on with later."""
    if engine.resume:
        return ()
    return cleared(asked, discard="resume" in given(engine))


@contextmanager
def appearing(out: Path) -> Iterator[Path]:
    """Yield a folder (mode 0700) that gets its name at the end, or is removed.

    What a killed process left that was to appear beside it is removed first.

    Raises
    ------
    PlaceError
        It cannot be written.
    """
    for left in left_in(out.parent):
        if left.name.endswith(APPEARING):
            shutil.rmtree(left, ignore_errors=True)
    made = _folder(out.parent, folder_prefix(), APPEARING)
    try:
        yield made
        with names_given():
            made.rename(out)
    except OSError as error:
        raise _unwritable(out, error) from None
    finally:
        with held():
            shutil.rmtree(made, ignore_errors=True)


def _unwritable(out: Path, error: OSError) -> PlaceError:
    return PlaceError(
        f"{out} cannot be written: {error.strerror or 'the disk refuses'}.",
        fix="make room, or choose a folder that may be written to; nothing was left "
        "behind.",
    )


def _folder(parent: Path, prefix: str, ending: str) -> Path:
    try:
        return Path(tempfile.mkdtemp(ending, prefix, parent))
    except OSError as error:
        raise _unmakeable(parent, error) from None


def _work_beside(stage: Path, parent: Path) -> Path:
    """Return a new folder in `parent` that is called like the stage."""
    work = parent / stage.name.removesuffix(STAGE)
    try:
        work.mkdir(mode=0o700)
    except OSError as error:
        raise _unmakeable(parent, error) from None
    return work


def _unmakeable(parent: Path, error: OSError) -> PlaceError:
    return PlaceError(
        f"No folder can be made in {parent}: {error.strerror}.",
        fix="name one that may be written to: [engine] work, or another --out.",
    )


def give_names(config: Config, out: Path, private: Path) -> None:
    """Give both folders their names: both, or none; the public one last.

    Raises
    ------
    TableError
        One has been made meanwhile.
    PlaceError
        One cannot be made.
    """
    with names_given():
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
