"""A release that is a folder: its path, manifest, audit and certificates."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aggopt.core.html import (
    render_html_lines,
    render_html_list,
    render_html_seal,
    render_html_section,
    render_html_table,
    render_text_table,
)
from aggopt.release.audit.audit import Audit
from aggopt.solvers import Certificate
from aggopt.solvers.certificate import HEADER, make_certificate_rows


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

    def report(
        self,
        path: str | Path,
        *,
        originals: str | Path | None = None,
        overwrite: bool = False,
    ) -> Path:
        """Write the report of the release for the public; return its path.

        It is one page of HTML, counted in the current files, which are all read
        into memory.  With the `originals`, the folder or the pattern that was masked,
        both are compared, up to two million masked values.

        Raises
        ------
        TableError, JobError
            It cannot be written to this path, files have changed, are others, or are
            too large for a page.
        """
        from aggopt.engine.report_data import read_folder_report
        from aggopt.release.report.release_report import require_place, write_page

        require_place(Path(path), overwrite=overwrite)
        folder = None if originals is None else Path(originals)
        facts = read_folder_report(self.path, private=self.private, originals=folder)
        return write_page(facts, Path(path), overwrite=overwrite)

    def __repr__(self) -> str:
        """Return verdict and certificates."""
        solved = render_text_table(HEADER, make_certificate_rows(self.certificates))
        return "\n\n".join([str(self.audit), solved, f"In {self.path}."])

    def _repr_html_(self) -> str:
        """Return verdict, certificates and notes for a notebook."""
        return render_html_section(
            "Release",
            render_html_seal(self.audit.seal.state, self.audit.seal.heading),
            render_html_lines(str(self.audit)),
            render_html_table(HEADER, make_certificate_rows(self.certificates)),
            render_html_list(self.notes),
        )
