"""The folders of a run: new ones, aside until all is done, then there at once."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from aggopt.core.deferred_signals import defer_signals, names_given
from aggopt.core.section import list_written_keys
from aggopt.core.stale_files import (
    find_stale,
    make_folder_prefix,
    remove_run,
    run_prefix,
)
from aggopt.engine.runs.journal import (
    PUBLIC,
    STAGE,
    Identity,
    Journal,
    RunRecord,
    remove_runs,
    resume_run,
)
from aggopt.engine.state.run_state import RunState
from aggopt.engine.storage.input_parts import InputFolder
from aggopt.engine.storage.scratch_files import STOP
from aggopt.engine.validate.output_folders import require_new
from aggopt.errors import PlaceError
from aggopt.job import Job
from aggopt.job.engine_section import Engine
from aggopt.release.files.staging import read_umask

APPEARING = "-appearing"  # how the name ends of a folder that will have another


class StagedRun(NamedTuple):
    """Folders of a run, with the journal of its finished steps, and its secret.

    `notes` state which earlier runs were discarded, and which were not.
    """

    journal: Journal
    secret: str
    notes: tuple[str, ...] = ()

    @property
    def folders(self) -> tuple[Path, Path]:
        """The scratch folder, and the staging folder of the release."""
        return self.journal.work, self.journal.stage


@contextmanager
def stage_run(
    out: Path, job: Job, parts: InputFolder, secret: str | None
) -> Iterator[StagedRun]:
    """Yield the scratch and staging folders of a run; removed at the end.

    After Ctrl-C or SIGTERM they are kept, as after a kill, until a run resumes them, if
    the job sets `resume`, or discards them.  `secret` is the secret of a release to
    reproduce.

    Raises
    ------
    PlaceError
        No folder can be made.
    LeftRunError
        An unfinished run is of another job, input or version, or damaged; or it exists,
        and the job does not set `resume`.
    """
    out = out.absolute()  # processes of tasks may have another working folder
    parent = Path(job.engine.work or out.parent).absolute()
    run_record = RunRecord.of(out, Identity.of(job, parts), secret, parent)
    made_folders: list[Path] = []
    try:
        staged = _resume_run(job.engine, run_record, secret)
        if staged is None:
            notes = _remove_leftovers(job.engine, run_record)
            made_folders.append(_make_folder(out.parent, run_prefix(), STAGE))
            made_folders.append(_make_scratch_folder(made_folders[0], parent))
            made_folders.reverse()
            staged = StagedRun(Journal(*made_folders), run_record.secret, notes)
            staged.journal.begin(run_record)
        made_folders = list(staged.folders)
        yield staged
    except BaseException as error:
        if len(made_folders) == 2:
            with suppress(OSError):  # of a full disk
                (made_folders[0] / STOP).touch(0o600)
            if _is_signal(error) and _keep_journal(Journal(*made_folders), error):
                made_folders = []
        raise
    finally:
        with defer_signals():
            for folder in made_folders:
                remove_run(folder)


def _is_signal(error: BaseException) -> bool:
    """Whether the exception is of Ctrl-C or SIGTERM."""
    return isinstance(error, KeyboardInterrupt | SystemExit)


def _keep_journal(journal: Journal, ended: BaseException) -> bool:
    """Keep the finished steps of a run that a signal ended; return if it did."""
    if not (journal.stage / PUBLIC).exists():  # the release has its name by now
        return False
    with defer_signals():
        journal_kept = journal.keep()
    if journal_kept is not None:
        ended.add_note(
            f"What was done is kept in {journal_kept.work} and {journal_kept.stage}, "
            "which hold "
            "originals: resume=True goes on with it, resume=False discards it."
        )
    return journal_kept is not None


def _resume_run(
    engine: Engine, run_record: RunRecord, secret: str | None
) -> StagedRun | None:
    """Return the staged folders of a run to resume; None for a new run."""
    before = resume_run(run_record, secret) if engine.resume else None
    return None if before is None else StagedRun(*before)


def _remove_leftovers(engine: Engine, run_record: RunRecord) -> tuple[str, ...]:
    """Remove remains of ended runs, unless this run resumes one."""
    if engine.resume:
        return ()
    return remove_runs(run_record, discard="resume" in list_written_keys(engine))


@contextmanager
def make_appearing_folder(out: Path) -> Iterator[Path]:
    """Yield a private new folder that is renamed to `out` at the end.

    Remains of a killed process for this name are removed first.

    Raises
    ------
    PlaceError
        It cannot be written.
    """
    for left in find_stale(out.parent):
        if left.name.endswith(APPEARING):
            shutil.rmtree(left, ignore_errors=True)
    folder = _make_folder(out.parent, make_folder_prefix(), APPEARING)
    try:
        yield folder
        with names_given():
            folder.rename(out)
    except OSError as error:
        raise _make_unwritable_error(out, error) from None
    finally:
        with defer_signals():
            shutil.rmtree(folder, ignore_errors=True)


def _make_unwritable_error(out: Path, error: OSError) -> PlaceError:
    """Return the error for a path that cannot be written."""
    return PlaceError(
        f"{out} cannot be written: {error.strerror or 'the disk refuses'}.",
        fix="make room, or choose a folder that may be written to; nothing was left "
        "behind.",
    )


def _make_folder(parent: Path, prefix: str, ending: str) -> Path:
    """Return a new temporary folder in `parent`."""
    try:
        return Path(tempfile.mkdtemp(ending, prefix, parent))
    except OSError as error:
        raise _make_folder_error(parent, error) from None


def _make_scratch_folder(stage: Path, parent: Path) -> Path:
    """Return a new scratch folder in `parent`, named after the staging folder."""
    work = parent / stage.name.removesuffix(STAGE)
    try:
        work.mkdir(mode=0o700)
    except OSError as error:
        raise _make_folder_error(parent, error) from None
    return work


def _make_folder_error(parent: Path, error: OSError) -> PlaceError:
    """Return the error for a folder that cannot be made in `parent`."""
    return PlaceError(
        f"No folder can be made in {parent}: {error.strerror}.",
        fix="name one that may be written to: [engine] work, or another --out.",
    )


def rename_into_place(config: RunState, out: Path, private: Path) -> None:
    """Rename the private and the public folder to their final names, or neither.

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
                config.public.chmod(0o777 & ~read_umask())
                config.public.rename(out)
            except OSError:
                private.rename(config.private)
                raise
        except OSError as error:
            raise _make_unwritable_error(out, error) from None
