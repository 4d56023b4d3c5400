"""Paths of the files of a release."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from aggopt.core.regular_files import resolve_path
from aggopt.data.formats.registry import require_column_names, require_format
from aggopt.errors import TableError
from aggopt.release.files.staging import Staging, check_places, compute_sha256
from aggopt.release.manifest import read_manifest_or_none
from aggopt.solvers.solver_log import require_no_log


@dataclass(frozen=True)
class ReleaseFiles:
    """Paths of a written release."""

    table: Path
    manifest: Path
    private: Path
    report: Path | None = None
    ddi: Path | None = None

    @classmethod
    def of_table(
        cls,
        table: Path,
        private: Path | None = None,
        report: Path | None = None,
        *,
        ddi: bool = False,
    ) -> "ReleaseFiles":
        """Return the three paths of the release whose table is at `table`.

        Manifest and key are in the folder `private`; next to the table when omitted.
        The `report` has its own path, if one is requested.  With `ddi`, a DDI codebook
        is next to the table.
        """
        if not table.name:
            raise TableError(f"{table} is no name for a file.", fix="name one.")
        folder = table.parent if private is None else private
        return cls(
            table,
            folder / f"{table.stem}.manifest.json",
            folder / f"{table.stem}.private.csv",
            report,
            _name_ddi(table) if ddi else None,
        )

    def to_dict(self) -> dict[str, str]:
        """Return the existing paths as text, by their purpose."""
        return {what: str(path) for what, path in asdict(self).items() if path}

    def check(
        self,
        *,
        overwrite: bool,
        inputs: Sequence[Path] = (),
        masked: str | None = None,
        names: Sequence[str] = (),
    ) -> None:
        """Refuse early any file that could not be written, or would be lost.

        `masked` is the SHA-256 of the file that was masked, at any path, and `names`
        are the columns that the table will have.

        Raises
        ------
        TableError
            As `check_places`, `require_format` and `require_column_names`; or a file
            would be lost that `overwrite` does not cover: the table that was masked,
            or manifest and key of another table; or an earlier release's manifest and
            key would stay next to a table that has its own in another folder, or its
            DDI codebook next to this table; or a log of solvers has this path.
        """
        require_format(self.table, written=True)
        if self.report is not None:
            require_html(self.report)
        require_column_names(self.table, names)
        require_no_log(self.table.parent, self.manifest.parent)
        places = (self.table, self.manifest, self.private, *self.documents)
        check_places(*places, overwrite=overwrite, inputs=inputs)
        for place in places:
            if masked and place.exists() and compute_sha256(place) == masked:
                raise TableError(
                    f"{place.name} is the table that was masked, and would be "
                    "overwritten.",
                    fix="write to another name.",
                )
        self._require_own()
        self._require_none_beside()

    def _require_own(self) -> None:
        """Refuse to replace manifest and key of another table."""
        existing = _join_existing(self.manifest, self.private)
        if existing and not (self.table.exists() and self._is_described()):
            raise TableError(
                f"{existing} may be of another release than {self.table.name}, and "
                "would be overwritten.",
                fix="choose another name or folder; or delete what no release needs.",
            )

    def _is_described(self) -> bool:
        """Whether the manifest describes this table, or there is none."""
        return read_manifest_or_none(self.manifest, "output", "file") in (
            None,
            self.table.name,
        )

    def _require_none_beside(self) -> None:
        """Refuse to leave files next to a table that are of another release."""
        ddi = _name_ddi(self.table)
        if self.ddi is None and ddi.exists():
            raise TableError(
                f"{ddi.name} describes another table than {self.table.name} will be.",
                fix="write one for this table, too: --ddi, or ddi=True in Python; or "
                "delete it.",
            )
        old = ReleaseFiles.of_table(self.table)
        existing = _join_existing(old.manifest, old.private)
        if existing and resolve_path(old.private) != resolve_path(self.private):
            raise TableError(
                f"{existing} of a release before would stay beside {self.table.name}.",
                fix="delete what you no longer need of them, or move it elsewhere: who "
                "has a manifest or a key finds out which record is which.",
            )

    def appear(self, staging: Staging, *, overwrite: bool) -> "ReleaseFiles":
        """Rename the staged files to these names; the table is the last."""
        places = (self.private, self.manifest, *self.documents, self.table)
        public = (*self.documents, self.table)
        staging.commit(*places, public=public, overwrite=overwrite)
        return self

    @property
    def documents(self) -> tuple[Path, ...]:
        """Its report and its DDI codebook, as far as they are requested."""
        return tuple(path for path in (self.report, self.ddi) if path is not None)


def _name_ddi(table: Path) -> Path:
    """Return the path of the DDI codebook of a table."""
    return table.parent / f"{table.stem}.ddi.xml"


def require_html(path: Path) -> None:
    """Refuse a name that browsers would not open as a page.

    Raises
    ------
    TableError
        It does not end in .html.
    """
    if path.suffix.lower() not in (".html", ".htm"):
        raise TableError(
            f"A report is a page of HTML, and {path.name} is no name of one.",
            fix="give it the ending .html.",
        )


def _join_existing(*places: Path) -> str:
    """Return the names of the paths that exist, as text."""
    return " and ".join(place.name for place in places if place.exists())
