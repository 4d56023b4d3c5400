"""Write files so that none is ever half there."""

import os
import tempfile
from collections.abc import Callable
from hashlib import file_digest
from pathlib import Path
from types import TracebackType


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file's bytes, in hexadecimal."""
    with path.open("rb") as stream:
        return file_digest(stream, "sha256").hexdigest()


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
            dir=final.parent, prefix=f".{final.stem}.", suffix=final.suffix
        )
        os.close(handle)
        self._staged[final] = aside = Path(name)
        writer(aside)
        return aside

    def commit(self, *finals: Path, private: Path) -> None:
        """Sync, then rename in this order; all but `private` may be read by others."""
        for final in finals:
            with self._staged[final].open("rb") as stream:
                os.fsync(stream.fileno())
            if final != private:
                self._staged[final].chmod(0o666 & ~_umask())
        for final in finals:
            self._staged.pop(final).replace(final)
            _sync_folder(final.parent)


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
