"""Where the files of a release are."""

from dataclasses import dataclass
from pathlib import Path

from aggopt.errors import TableError
from aggopt.input.files import check_ending
from aggopt.output.staging import Staging, check_places


@dataclass(frozen=True)
class Files:
    """Where a written release is."""

    table: Path
    manifest: Path
    private: Path

    @classmethod
    def beside(cls, table: Path, private: Path | None = None) -> "Files":
        """Return the three paths of the release whose table is at `table`.

        Manifest and key lie in the folder `private`; beside the table when omitted.
        """
        if not table.name:
            raise TableError(f"{table} is no name for a file.", fix="name one.")
        folder = table.parent if private is None else private
        return cls(
            table,
            folder / f"{table.stem}.manifest.json",
            folder / f"{table.stem}.private.csv",
        )

    def check(self, *, overwrite: bool, inputs: tuple[Path, ...] = ()) -> None:
        """Refuse early what could not be written, or would be lost."""
        check_ending(self.table)
        places = (self.table, self.manifest, self.private)
        check_places(*places, overwrite=overwrite, inputs=inputs)

    def appear(self, staging: Staging, *, overwrite: bool) -> "Files":
        """Give what was written aside these names; the table comes last."""
        places = (self.private, self.manifest, self.table)
        staging.commit(*places, public=self.table, overwrite=overwrite)
        return self
