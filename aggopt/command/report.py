"""The command that writes the report of a release."""

from pathlib import Path
from typing import Annotated

import typer

from aggopt.command import console
from aggopt.command.arguments import AsJson, MaskedFile, Overwrite, Trust
from aggopt.errors import JobError

Report = Annotated[
    Path | None,
    typer.Option(metavar="HTML", help="Write the public report of the release, too."),
]


def report(
    masked: MaskedFile,
    out: Annotated[Path, typer.Option(help="Where to write: a file NAME.html.")],
    trust: Trust,
    original: Annotated[
        Path | None,
        typer.Option(metavar="TABLE", help="The table that was masked, to compare."),
    ] = None,
    private: Annotated[
        Path | None,
        typer.Option(
            metavar="TABLE",
            help="The same, and the report has what the office alone may see.",
        ),
    ] = None,
    manifests: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="The folder of manifest and key, if not beside MASKED."
        ),
    ] = None,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Write the report of MASKED: one page of HTML, which opens offline.

    It is for the public, and shows no value of a single original, unless --private
    TABLE names the originals.  Exit code 1 if the release does not hold what its
    manifest says was asked: the page says so.
    """
    from aggopt.core.trust import trusting
    from aggopt.output.places import require_html
    from aggopt.output.staging import check_places
    from aggopt.pipeline.reported import reported
    from aggopt.report.of_release import written

    if original is not None and private is not None:
        raise JobError(
            "Both --original and --private name the table that was masked.",
            fix="name it once: --original for the public report, --private for yours.",
        )
    table = original if private is None else private
    require_html(out)
    check_places(out, overwrite=overwrite, inputs=[masked, *([table] if table else [])])
    with console.progress(quiet=as_json), trusting(trust):
        facts = reported(
            masked, original=table, private=private is not None, folder=manifests
        )
        written(facts, out, overwrite=overwrite)
    _told(out, holds=facts.audit.holds, private=private is not None, as_json=as_json)


def _told(out: Path, *, holds: bool, private: bool, as_json: bool) -> None:
    if as_json:
        console.as_json({"report": str(out), "holds": holds, "private": private})
    else:
        said = (
            "keep it to yourself: it shows originals" if private else "for the public"
        )
        console.line(f"Report        {out}  ({said})")
        if not holds:
            console.line("What was promised DOES NOT HOLD: see there.", "bold red")
    if not holds:
        raise typer.Exit(1)
