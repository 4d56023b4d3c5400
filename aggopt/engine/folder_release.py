"""A release that is a folder: its path, manifest, audit and certificates."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aggopt.core.html import (
    html_lines,
    html_list,
    html_seal,
    html_section,
    html_table,
    text_table,
)
from aggopt.release.audit.audit import Audit
from aggopt.solvers import Certificate
from aggopt.solvers.certificate import HEADER, rows


@dataclass(frozen=True, eq=False, repr=False)
class FolderRelease:
    """A folder of masked Parquet files that passed its audit.

    No record is in memory: read the files with any reader of Parquet.

    Attributes
    ----------
    path
        The folder for the public; it holds `part-00000.parquet` and so on.
    private
        The folder for you only (mode 0700): `manifest.json` with its digest, and a
        key for each file, which records the source of each of its records.
    manifest
        Settings and origin of the release.  Private.
    audit
        Results of the audit of the written files.
    certificates
        One per quasi-identifier, by name, or one of all that were solved together;
        and the certificate of the groups.
    measures
        Loss and risk, as far as sums over blocks give them.
    notes
        Remarks for readers of the release.
    """

    path: Path
    private: Path
    manifest: dict[str, Any] = field(repr=False)
    audit: Audit
    certificates: dict[str, Certificate]
    measures: dict[str, float]
    notes: tuple[str, ...]

    def report(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write the report of the release for the public; return its path.

        It is one page of HTML, counted in the current files, which are all read
        into memory; the originals are not compared.

        Raises
        ------
        TableError, JobError
            It cannot be written to this path, files have changed, or are too large
            for a page.
        """
        from aggopt.engine.report_data import read_folder_report
        from aggopt.release.report.release_report import require_place, written

        require_place(Path(path), overwrite=overwrite)
        facts = read_folder_report(self.path, private=self.private)
        return written(facts, Path(path), overwrite=overwrite)

    def __repr__(self) -> str:
        """Return verdict and certificates."""
        solved = text_table(HEADER, rows(self.certificates))
        return "\n\n".join([str(self.audit), solved, f"In {self.path}."])

    def _repr_html_(self) -> str:
        """Return verdict, certificates and notes for a notebook."""
        return html_section(
            "Release",
            html_seal(self.audit.seal.state, self.audit.seal.heading),
            html_lines(str(self.audit)),
            html_table(HEADER, rows(self.certificates)),
            html_list(self.notes),
        )
