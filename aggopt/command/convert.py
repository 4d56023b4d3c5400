"""The command that makes Parquet files of CSV files of any size."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from aggopt.command import console
from aggopt.command.arguments import AsJson, Encoding, split_words
from aggopt.command.interrupt import interrupts

if TYPE_CHECKING:
    from aggopt.engine.column_plan import ConversionSummary


Files = Annotated[
    str,
    typer.Argument(metavar="CSV", help='A CSV file, a folder of them, or "in/*.csv".'),
]
Folder = Annotated[Path, typer.Argument(metavar="OUT", help="The new folder.")]
ReadAs = Annotated[
    Path | None,
    typer.Option(
        metavar="JOB",
        help="Read the files as this job does: its roles decide the types.",
    ),
]
Separator = Annotated[
    str | None,
    typer.Option(help='The separator, such as ";". By default aggopt detects it.'),
]
Decimal = Annotated[
    str | None,
    typer.Option(help='The decimal point, "." or ",". By default aggopt detects it.'),
]
Multiline = Annotated[
    bool, typer.Option("--multiline", help="Entries may span several lines.")
]
Numbers = Annotated[
    str,
    typer.Option(
        metavar="COLUMNS",
        help="Columns that are numbers, however they are spelled: age,income.",
    ),
]


def run_convert(
    table: Files,
    out: Folder,
    job: ReadAs = None,
    separator: Separator = None,
    decimal: Decimal = None,
    multiline: Multiline = False,
    encoding: Encoding = "utf-8",
    numbers: Numbers = "",
    as_json: AsJson = False,
) -> None:
    """Convert CSV files of any size into a folder of Parquet files, for mask --engine.

    All entries of a column decide its type.  A column remains text if its numbers could
    not be written again with equal spelling.  OUT holds originals: only you can read
    it.
    """
    from aggopt.engine.convert import convert as convert_files

    interrupts.outcome = f"no folder {out.name} was made"
    with (
        console.track_progress(quiet=as_json) as on_progress,
        interrupts.announce_result(f"the folder {out.name} is whole"),
    ):
        summary = convert_files(
            table,
            out,
            job=job,
            separator=separator,
            decimal=decimal,
            multiline=multiline,
            encoding=encoding,
            numbers=split_words(numbers),
            progress=on_progress,
        )
    _print_summary(summary, as_json=as_json)


def _print_summary(summary: "ConversionSummary", *, as_json: bool) -> None:
    if as_json:
        console.print_json(summary.to_dict())
        return
    console.print_line(str(summary))
    console.print_line(f"{summary.path} holds the originals: keep it to yourself.")
