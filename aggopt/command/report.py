"""The command that writes the report of a release."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from aggopt.command import console
from aggopt.command.arguments import AsJson, MaskedOrParts, Overwrite, Trust
from aggopt.command.causes import NO
from aggopt.command.interrupt import interrupts
from aggopt.errors import JobError

if TYPE_CHECKING:
    from aggopt.release.report.facts import Facts

Report = Annotated[
    Path | None,
    typer.Option(metavar="HTML", help="Write the public report of the release, too."),
]


Page = Annotated[Path, typer.Option(help="Where to write: a file NAME.html.")]
Original = Annotated[
    Path | None,
    typer.Option(metavar="TABLE", help="The table that was masked, to compare."),
]
Private = Annotated[
    Path | None,
    typer.Option(
        metavar="TABLE",
        help="The same, and the report has what the office alone may see.",
    ),
]
Manifests = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR", help="The folder of manifest and key, if not beside MASKED."
    ),
]
Promised = Annotated[
    Path | None,
    typer.Option(
        metavar="JOB", help="The job, to compare what the manifest promises with."
    ),
]


def report(
    masked: MaskedOrParts,
    out: Page,
    trust: Trust,
    original: Original = None,
    private: Private = None,
    manifests: Manifests = None,
    job: Promised = None,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Write the report of MASKED: one page of HTML, which opens offline.

    MASKED is a table, or the folder that an engine has written.  The page is for the
    public, and shows no value of a single original, unless --private TABLE names the
    originals.  What was promised is what the manifest says; with --job it must be what
    the job says, too, and the page says which.  Exit code 1 if the release does not
    hold it.
    """
    from aggopt.core.plugins.trust import trust_files
    from aggopt.engine.report_data import read_folder_report
    from aggopt.pipeline.review.report_data import read_report_data
    from aggopt.release.files.output_paths import require_html
    from aggopt.release.files.staging import check_places
    from aggopt.release.report.release_report import written

    if original is not None and private is not None:
        raise JobError(
            "Both --original and --private name the table that was masked.",
            fix="name it once: --original for the public report, --private for yours.",
        )
    table = original if private is None else private
    require_html(out)
    check_places(out, overwrite=overwrite, inputs=[masked, *([table] if table else [])])
    with console.progress(quiet=as_json), trust_files(trust):
        if masked.is_dir():
            _require_none(table)
            facts = read_folder_report(masked, private=manifests, asked=job)
        else:
            own = private is not None
            where = {"folder": manifests, "asked": job}
            facts = read_report_data(masked, original=table, private=own, **where)
        with interrupts.result(f"{out.name} is written"):
            written(facts, out, overwrite=overwrite)
    _told(out, facts, as_json=as_json)


def _require_none(table: Path | None) -> None:
    """Refuse originals of a folder."""
    if table is not None:
        raise JobError(
            "A folder of an engine's release is not compared with its originals, and "
            f"{table} is named.",
            fix="leave --original and --private out: the loss is in the manifest.",
        )


def _told(out: Path, facts: "Facts", *, as_json: bool) -> None:
    holds, private = facts.audit.holds, facts.private is not None
    if as_json:
        found = {"report": str(out), "holds": holds, "private": private}
        seal = asdict(facts.audit.seal)
        console.as_json({**found, "promised_by": facts.promised_by, "seal": seal})
    else:
        said = (
            "keep it to yourself: it shows originals" if private else "for the public"
        )
        console.line(f"Report        {out}  ({said})")
        console.line(f"Promises      stated by {facts.promised_by}")
        console.line(
            f"Seal          {facts.audit.seal.state}: {facts.audit.seal.heading}"
        )
        if not holds:
            console.line("What was promised DOES NOT HOLD: see there.", "bold red")
    if not holds:
        raise typer.Exit(NO)
