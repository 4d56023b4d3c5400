"""The command that writes the report of a release."""

from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from aggopt.command import console
from aggopt.command.arguments import (
    AsJson,
    Control,
    JobBehind,
    Overwrite,
    TableOrParts,
    Trust,
)
from aggopt.command.causes import NO
from aggopt.command.interrupt import interrupts
from aggopt.errors import JobError

if TYPE_CHECKING:
    from aggopt.release.report.facts import Facts

Report = Annotated[
    Path | None,
    typer.Option(metavar="HTML", help="Write the public report of the release here."),
]


Page = Annotated[Path, typer.Option(help="The file for the report, NAME.html.")]
ForTheOffice = Annotated[
    bool,
    typer.Option(
        "--private",
        help="Write the report for you alone: it also shows values of originals.",
    ),
]
Manifests = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        help="The folder of the manifest and the key, if they are not next to MASKED.",
    ),
]
ORDER = "aggopt report TABLE MASKED JOB --out NAME.html"

OptionalMasked = Annotated[
    Path | None,
    typer.Argument(metavar="MASKED", help="The released table, or an engine's folder."),
]


def run_report(
    table: TableOrParts,
    out: Page,
    trust: Trust,
    masked: OptionalMasked = None,
    job: JobBehind = None,
    private: ForTheOffice = False,
    manifests: Manifests = None,
    control: Control = "",
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Write a report of MASKED: one page of HTML, which opens offline.

    TABLE is the original table, and MASKED its release: a file, or the folder that an
    engine wrote.  JOB has the requirements, and the manifest must have equal ones.  You
    may publish the page, unless you pass --private: without it, the page shows no value
    of a single original.  aggopt compares a folder that an engine released with its
    originals if they have at most two million masked values.  The exit code is 1 if the
    release breaks a requirement.
    """
    from aggopt.core.plugins.loading import trust_files
    from aggopt.engine.report_data import read_folder_report
    from aggopt.pipeline.review.report_data import read_report_data
    from aggopt.release.files.output_paths import require_html
    from aggopt.release.files.staging import check_places
    from aggopt.release.report.release_report import write_page

    if masked is None or job is None:
        raise JobError(
            "report takes three files, the table, its release and the job; "
            f"{'one' if masked is None else 'two'} of them "
            f"{'is' if masked is None else 'are'} named.",
            fix=f"write {ORDER}.",
        )
    require_html(out)
    _require_order(table, masked, manifests)
    check_places(out, overwrite=overwrite, inputs=[masked, table, job])
    with console.track_progress(quiet=as_json), trust_files(trust):
        if masked.is_dir():
            _require_public(private)
            where = {"private": manifests, "job_file": job, "originals": table}
            facts = read_folder_report(masked, **where)
        else:
            where = {"folder": manifests, "job_file": job, "original": table}
            facts = read_report_data(masked, private=private, **where)
        if control:
            facts = _add_criteria(facts, table, masked, job, manifests, control)
        with interrupts.announce_result(f"{out.name} is written"):
            write_page(facts, out, overwrite=overwrite)
    _print_report(out, facts, as_json=as_json)


def _add_criteria(
    facts: "Facts",
    table: Path,
    masked: Path,
    job: Path,
    manifests: Path | None,
    control: str,
) -> "Facts":
    """Return the facts with the three criteria, measured with a control."""
    from aggopt.command.assessments import measure_with_control
    from aggopt.engine.folder_review import find_release
    from aggopt.job.release_job import read_job_of_release

    loaded_job = read_job_of_release(job).load_code()
    both = find_release(table, masked, same_order=False, private=manifests)
    criteria = measure_with_control(table, both, loaded_job, control)
    return replace(facts, criteria=criteria)


def _require_order(table: Path, masked: Path, manifests: Path | None) -> None:
    """Refuse two files if the first is the release.

    Raises
    ------
    JobError
        Only the first has a manifest.
    """
    if _has_manifest(table, manifests) and not _has_manifest(masked, manifests):
        raise JobError(
            f"{table.name} is a release by its manifest, and {masked.name} has none: "
            "the release is named in the place of the table.",
            fix=f"write the table first: aggopt report {masked} {table} JOB.",
        )


def _has_manifest(path: Path, manifests: Path | None) -> bool:
    from aggopt.engine.runs.journal import make_private_path
    from aggopt.engine.validate.output_folders import MANIFEST
    from aggopt.release.files.output_paths import ReleaseFiles

    if path.is_dir():
        return ((manifests or make_private_path(path)) / MANIFEST).exists()
    return ReleaseFiles.of_table(path, manifests).manifest.exists()


def _require_public(private: bool) -> None:
    """Refuse a private report of a folder.

    Raises
    ------
    JobError
        The option is set.
    """
    if private:
        raise JobError(
            "A report of a folder is for the public, and --private is named.",
            fix="leave --private out: what is for you alone is in the manifest.",
        )


def _print_report(out: Path, facts: "Facts", *, as_json: bool) -> None:
    holds = facts.audit.holds
    private = facts.private is not None
    if as_json:
        summary = {"report": str(out), "holds": holds, "private": private}
        seal = asdict(facts.audit.seal)
        console.print_json({**summary, "promised_by": facts.promised_by, "seal": seal})
    else:
        audience = (
            "keep it to yourself: it shows originals" if private else "for the public"
        )
        console.print_line(f"Report        {out}  ({audience})")
        console.print_line(f"Promises      stated by {facts.promised_by}")
        console.print_line(
            f"Seal          {facts.audit.seal.state}: {facts.audit.seal.heading}"
        )
        if not holds:
            console.print_line(
                "What was promised DOES NOT HOLD: see there.", "bold red"
            )
    if not holds:
        raise typer.Exit(NO)
