"""The folders of a run: new ones, aside until all is done, then there at once."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from aggopt.core.leftovers import folder_prefix, remove_left
from aggopt.core.signals import held
from aggopt.engine.config import Config
from aggopt.engine.workspace import STOP
from aggopt.errors import TableError
from aggopt.job import Job
from aggopt.output.staging import umask


def require_new(out: Path, private: Path) -> None:
    """Refuse folders that are there, or cannot be made.

    Raises
    ------
    TableError
        A folder of a release is never overwritten.
    """
    for folder in (out, private):
        if folder.exists() or folder.is_symlink():
            raise TableError(
                f"{folder} is there already.",
                fix="name a new folder; or remove that one, if no release needs it.",
            )
    if not out.parent.is_dir():
        raise TableError(f"There is no folder {out.parent}.", fix="make it first.")


@contextmanager
def staging(out: Path, job: Job) -> Iterator[tuple[Path, Path]]:
    """Yield folders for files in between, and for the release; removed at the end.

    What a killed process leaves, the next one removes.
    """
    made: list[Path] = []
    try:
        for parent in (Path(job.engine.work or out.parent), out.parent):
            made.append(_folder(parent))
        yield made[0], made[1]
    except BaseException:
        if made:
            (made[0] / STOP).touch()
        raise
    finally:
        with held():
            for folder in made:
                shutil.rmtree(folder, ignore_errors=True)


def _folder(parent: Path) -> Path:
    remove_left(parent)
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
