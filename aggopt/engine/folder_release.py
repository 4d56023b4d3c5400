"""A release that is a folder: its manifest, certificates, measures and notes."""

from dataclasses import dataclass, field
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any

from aggopt.core import html
from aggopt.core.plural import plural
from aggopt.engine.certificates import GROUPS, FolderCertificates
from aggopt.engine.runs.journal import PACKAGES
from aggopt.engine.state.run_state import BlockState
from aggopt.engine.steps.weights import describe_folder_weights
from aggopt.engine.storage.input_parts import count_records_before
from aggopt.engine.storage.scratch_files import load_state, write_atomically
from aggopt.engine.validate.output_folders import DIGEST, MANIFEST
from aggopt.errors import JobError
from aggopt.job import Job, P3m
from aggopt.pipeline.aggregate import margins
from aggopt.release.audit.audit import Audit
from aggopt.release.files.staging import compute_sha256
from aggopt.release.files.write_table import write_json
from aggopt.release.manifest import (
    SHUFFLED,
    describe_results,
    describe_run,
    list_versions,
)
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
        """Write the public HTML report of the release; return its path.

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
        if originals is not None and not isinstance(originals, str | PathLike):
            raise JobError(
                f"originals is a {type(originals).__name__}, and no path.",
                fix="name the folder or the pattern that was masked.",
            )
        folder = None if originals is None else Path(originals)
        facts = read_folder_report(self.path, private=self.private, originals=folder)
        return write_page(facts, Path(path), overwrite=overwrite)

    def __repr__(self) -> str:
        """Return verdict and certificates."""
        solved = html.render_text_table(
            HEADER, make_certificate_rows(self.certificates)
        )
        return "\n\n".join([str(self.audit), solved, f"In {self.path}."])

    def _repr_html_(self) -> str:
        """Return verdict, certificates and notes as HTML for a notebook."""
        return html.render_html_section(
            "Release",
            html.render_html_seal(self.audit.seal.state, self.audit.seal.heading),
            html.render_html_lines(str(self.audit)),
            html.render_html_table(HEADER, make_certificate_rows(self.certificates)),
            html.render_html_list(self.notes),
        )


def make_folder_release(
    proofs: FolderCertificates,
    audit: Audit,
    config: BlockState,
    files: list[dict[str, Any]],
    folders: tuple[Path, Path],
) -> FolderRelease:
    """Return the release object, with manifest, before its folders are renamed."""
    measures = {
        **proofs.losses,
        "highest risk": 1 / audit.combination,
        "average risk": audit.groups / audit.records,
    }
    certificates = {GROUPS: proofs.partition, **proofs.attributes()}
    strata = None if config.strata is None else load_state(config.strata)
    notes = _list_notes(proofs, audit, config)
    drifts = proofs.figures.drifts(config)
    manifest = {
        **describe_run(config.job, list_versions(["python", *PACKAGES])),
        "input": {
            "files": sorted(count_records_before(config.pieces)),
            "records": sum(piece.records for piece in config.pieces),
        },
        "order": SHUFFLED,
        "blocks": len(config.blocks),
        "audit": audit.to_dict(),
        "measures": measures,
        **describe_results(certificates, notes, drifts),
        **({"strata": strata.to_dict()} if strata else {}),
        "output": {"files": files, "secret": config.secret},
    }
    out, private = folders
    return FolderRelease(
        path=out,
        private=private,
        manifest=manifest,
        audit=audit,
        certificates=certificates,
        measures=measures,
        notes=notes,
    )


def _list_notes(
    proofs: FolderCertificates, audit: Audit, config: BlockState
) -> tuple[str, ...]:
    """Return the texts of all notes on the release."""
    strata = None if config.strata is None else load_state(config.strata)
    return (
        *audit.disclosures,
        *_describe_margins(config.job),
        *config.reasons,
        *(strata.notes if strata else ()),
        *describe_folder_weights(config),
        *proofs.categories.notes(),
        *_describe_missing(audit),
        "Linkage and interval disclosure are not measured: they compare all records, "
        "as aggopt assess does, of folders that fit memory.",
        _describe_blocks(config, proofs.groups.n),
    )


def _describe_blocks(config: BlockState, n: int) -> str:
    """Return the text on the number and size of the blocks of n records."""
    blocks = len(config.blocks)
    block_size = n // blocks
    return (
        f"Groups were made in {plural(blocks, 'block')} of about {block_size} records."
    )


def _describe_missing(audit: Audit) -> tuple[str, ...]:
    """Return the texts of notes on missing values."""
    if audit.missing is None:
        return ()
    text = "Information loss is that of the values that are there and published."
    suppressed = () if audit.missing.suppressed is None else (text,)
    return (*audit.missing.notes, *suppressed)


def _describe_margins(job: Job) -> tuple[str, ...]:
    """Return the text of a note on secret margins, if distances are requested."""
    aggregation = job.aggregation
    if not isinstance(aggregation, P3m):
        return ()
    return (margins.WARNING if aggregation.margin == 0 else margins.ASKED,)


def write_manifest(private: Path, stated: dict[str, Any]) -> None:
    """Write manifest and digest into the private folder of a release."""
    to = private / MANIFEST
    write_atomically(to, partial(write_json, stated=stated))
    line = f"{compute_sha256(to)}  {MANIFEST}\n"
    write_atomically(private / DIGEST, lambda aside: aside.write_text(line))
