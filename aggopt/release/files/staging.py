"""Write files so that none ever exists incomplete, and none is lost.

A process that writes into the folder removes the remains of a killed one; but not
`.aggopt.before.*`, second names of files that were about to be overwritten.
"""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from hashlib import file_digest
from pathlib import Path
from types import TracebackType

from aggopt.core import guardian
from aggopt.core.deferred_signals import defer_signals, names_given
from aggopt.core.regular_files import resolve_path
from aggopt.core.stale_files import find_scratch_parent, make_file_prefix, remove_stale
from aggopt.errors import PlaceError, TableError

_BEFORE = ".aggopt.before."
_aside_now: set[Path] = set()  # of this process


def remove_staged() -> None:
    """Remove all staged files now: this process is about to end without notice."""
    for aside in _aside_now:
        aside.unlink(missing_ok=True)


def compute_sha256(path: Path) -> str:
    """Return the SHA-256 of a file's bytes, in hexadecimal."""
    with path.open("rb") as stream:
        return file_digest(stream, "sha256").hexdigest()


@contextmanager
def made_folder(folder: Path) -> Iterator[None]:
    """Make a folder, unless it exists; remove it if the block fails and it is empty.

    Raises
    ------
    PlaceError
        It cannot be made.
    """
    is_new = not os.path.exists(folder)  # of Path, it raises if the name is too long
    make_folder(folder)
    try:
        yield
    except BaseException:
        if is_new:
            with suppress(OSError):  # it is not empty
                folder.rmdir()
        raise


def make_folder(folder: Path) -> None:
    """Make a folder, unless it exists.

    Raises
    ------
    PlaceError
        It cannot be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise PlaceError(
            f"The folder {folder} cannot be made: {error.strerror}.",
            fix="choose another: its name may be too long, a file, or in a folder that "
            "may not be written to.",
        ) from None


def check_places(*places: Path, overwrite: bool, inputs: Iterable[Path] = ()) -> None:
    """Refuse early a path that could not be written, or a file that would be lost.

    Raises
    ------
    TableError
        A path is one of `inputs`, a folder or a link; its folder does not exist; or
        a file exists and `overwrite` is not set.
    PlaceError
        The system refuses a path.
    """
    try:
        _check_places(places, overwrite, {resolve_path(path) for path in inputs})
    except OSError as error:
        raise PlaceError(
            f"{places[0]} cannot be written: {error.strerror}.",
            fix="choose another place, or a shorter name.",
        ) from None


def _check_places(places: Sequence[Path], overwrite: bool, read: set[Path]) -> None:
    same = [p.name for p in places if resolve_path(p) in read]
    if same:
        raise TableError(
            f"{same[0]} would be written over the input itself.",
            fix="write to another name.",
        )
    for folder in _list_folders(places):
        if not folder.is_dir():
            raise TableError(f"There is no folder {folder}.", fix="make it first.")
    odd = [p.name for p in places if p.is_symlink() or (p.exists() and not p.is_file())]
    if odd:
        raise TableError(
            f"{', '.join(odd)} is a folder, a link or a device.",
            fix="name a plain file.",
        )
    existing = [p.name for p in places if p.exists()]
    if existing and not overwrite:
        raise _make_taken_error(existing)


def _make_taken_error(names: list[str]) -> TableError:
    return TableError(
        f"{', '.join(names)} would be overwritten.",
        fix="choose another name, or allow it: --overwrite, overwrite=True.",
    )


class Staging:
    """Staged files, mode 0600, that appear only when all are complete.

    Inside `with`, write each staged file; `commit` syncs and renames them in the given
    order, all or none.  Files that were not committed are removed.
    """

    def __init__(self) -> None:
        self._staged: dict[Path, Path] = {}
        self._lost: dict[Path, Path] = {}  # second names of overwritten files

    def __enter__(self) -> "Staging":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with defer_signals():
            for aside in (*self._staged.values(), *self._lost.values()):
                aside.unlink(missing_ok=True)
                _aside_now.discard(aside)
                guardian.send_message("removed", aside.absolute())

    def write(self, final: Path, writer: Callable[[Path], object]) -> Path:
        """Return where `writer` wrote what will become `final`; same ending."""
        with _name_place(final):
            remove_stale(final.parent)
            remove_stale(find_scratch_parent())
            writer(_make_aside(self._staged, final, make_file_prefix()))
        return self._staged[final]

    def commit(
        self,
        *finals: Path,
        public: Path | tuple[Path, ...] = (),
        overwrite: bool,
    ) -> None:
        """Sync, then rename the files to their names, in this order.

        The `public` ones get the usual mode of a new file, the others stay 0600.
        Without `overwrite` a file that appeared in the meantime is left untouched and
        refused.  On any failure no file appears, and the files to be overwritten are
        unchanged.  An interrupt waits until all have appeared.
        """
        for final in finals:
            with _name_place(final), self._staged[final].open("rb") as stream:
                os.fsync(stream.fileno())
        if overwrite:
            for final in filter(Path.exists, finals):
                with _name_place(final):
                    _second_name(final, _make_aside(self._lost, final, _BEFORE))
        with names_given():
            opened = public if isinstance(public, tuple) else (public,)
            self._name_files(finals, opened, overwrite=overwrite)

    def _name_files(
        self, finals: Sequence[Path], public: Sequence[Path], *, overwrite: bool
    ) -> None:
        done: list[Path] = []
        try:
            for final in finals:
                with _name_place(final):
                    _rename_file(self._staged[final], final, overwrite=overwrite)
                done.append(final)
            for place in public:  # not before: the mode also opens the staged file
                with _name_place(place):
                    place.chmod(0o666 & ~read_umask())
            for folder in _list_folders(finals):
                with _name_place(folder):
                    _sync_folder(folder)
        except BaseException:
            for final in done:
                self._take_back(final)
            raise

    def _take_back(self, final: Path) -> None:
        """Restore the file that was replaced under a name, or remove the new one."""
        if final in self._lost:
            self._lost[final].replace(final)
        else:
            final.unlink()


@contextmanager
def _name_place(place: Path) -> Iterator[None]:
    """Name the final path, not the staged file, when the disk refuses.

    Raises
    ------
    PlaceError
        It cannot be written.
    TableError
        A file appeared at this path in the meantime.
    """
    try:
        yield
    except FileExistsError:
        raise _make_taken_error([place.name]) from None
    except OSError as error:
        raise PlaceError(
            f"{place} cannot be written: {error.strerror or 'the disk refuses'}.",
            fix="make room, or choose a folder that may be written to; nothing was "
            "left behind.",
        ) from None


def _list_folders(places: Iterable[Path]) -> list[Path]:
    """Return the folders that hold files, each once."""
    return list(dict.fromkeys(place.parent for place in places))


def _make_aside(staged: dict[Path, Path], final: Path, prefix: str) -> Path:
    """Make an empty file next to `final`, of equal ending, that is removed later."""
    with defer_signals():
        handle, name = tempfile.mkstemp(
            dir=final.parent, prefix=prefix, suffix=final.suffix
        )
        os.close(handle)
        staged[final] = Path(name)
        _aside_now.add(staged[final])
        guardian.send_message("file", staged[final].absolute())
    return staged[final]


def _second_name(final: Path, aside: Path) -> None:
    """Give a final file its temporary name as well, by a link or a copy."""
    aside.unlink()
    try:
        os.link(final, aside)
    except OSError:  # a file system without links
        shutil.copy2(final, aside)


def _rename_file(aside: Path, final: Path, *, overwrite: bool) -> None:
    if overwrite:
        aside.replace(final)
    else:
        os.link(aside, final)  # unlike a rename, refuses a name that is taken


def read_umask() -> int:
    """Return which modes the user's new files do not have."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _sync_folder(folder: Path) -> None:
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
