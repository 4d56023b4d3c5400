"""Write files so that none is ever half there, and none is lost."""

import os
import tempfile
from collections.abc import Callable, Iterable
from hashlib import file_digest
from pathlib import Path
from types import TracebackType

from aggopt.errors import TableError


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file's bytes, in hexadecimal."""
    with path.open("rb") as stream:
        return file_digest(stream, "sha256").hexdigest()


def check_places(*places: Path, overwrite: bool, inputs: Iterable[Path] = ()) -> None:
    """Refuse early where a file could not be written, or one would be lost.

    Raises
    ------
    TableError
        A place is one of `inputs`, a folder or a link; its folder does not exist; or
        a file is there and `overwrite` is not set.
    """
    read = {path.resolve() for path in inputs}
    same = [p.name for p in places if p.resolve() in read]
    if same:
        raise TableError(
            f"{same[0]} would be written over the input itself.",
            fix="write to another name.",
        )
    folder = places[0].parent
    if not folder.is_dir():
        raise TableError(f"There is no folder {folder}.", fix="make it first.")
    odd = [p.name for p in places if p.is_symlink() or (p.exists() and not p.is_file())]
    if odd:
        raise TableError(
            f"{', '.join(odd)} is a folder, a link or a device.",
            fix="name a plain file.",
        )
    there = [p.name for p in places if p.exists()]
    if there and not overwrite:
        raise _taken(there)


def _taken(names: list[str]) -> TableError:
    return TableError(
        f"{', '.join(names)} would be overwritten.",
        fix="choose another name, or allow it: --overwrite, overwrite=True.",
    )


class Staging:
    """Files written aside, mode 0600, that appear only when all are there.

    Inside `with`, write each file aside; `commit` syncs and renames them in the order
    it is given.  Whatever was not committed is removed.
    """

    def __init__(self) -> None:
        self._staged: dict[Path, Path] = {}

    def __enter__(self) -> "Staging":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for aside in self._staged.values():
            aside.unlink(missing_ok=True)

    def write(self, final: Path, writer: Callable[[Path], object]) -> Path:
        """Return where `writer` wrote what will become `final`; same ending."""
        handle, name = tempfile.mkstemp(
            dir=final.parent, prefix=".aggopt.", suffix=final.suffix
        )
        os.close(handle)
        self._staged[final] = aside = Path(name)
        writer(aside)
        return aside

    def commit(
        self, *finals: Path, public: Path | None = None, overwrite: bool
    ) -> None:
        """Sync, then give the files their names, in this order.

        `public` gets the mode that a new file usually has, the others stay 0600.
        Without `overwrite` a file that came there meanwhile is left alone and
        refused, with those renamed before it taken back.
        """
        for final in finals:
            with self._staged[final].open("rb") as stream:
                os.fsync(stream.fileno())
        if public:
            self._staged[public].chmod(0o666 & ~_umask())
        done: list[Path] = []
        for final in finals:
            try:
                _rename(self._staged[final], final, overwrite=overwrite)
            except FileExistsError:
                for path in done:
                    path.unlink()
                raise _taken([final.name]) from None
            done.append(final)
            del self._staged[final]
        _sync_folder(finals[0].parent)


def _rename(aside: Path, final: Path, *, overwrite: bool) -> None:
    if overwrite:
        aside.replace(final)
        return
    os.link(aside, final)  # unlike a rename, refuses a name that is taken
    aside.unlink()


def _umask() -> int:
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
