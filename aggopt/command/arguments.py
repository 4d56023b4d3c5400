"""Arguments and options that several commands take."""

from pathlib import Path
from typing import Annotated

import typer

TableFile = Annotated[
    Path, typer.Argument(metavar="TABLE", help="A .csv or .parquet file.")
]
JobFile = Annotated[Path, typer.Argument(metavar="JOB", help="The job, a TOML file.")]
AsJson = Annotated[
    bool, typer.Option("--json", help="Print one JSON object instead of text.")
]
PrivateFolder = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR", help="The folder of manifest and key, if not beside the table."
    ),
]
Overwrite = Annotated[bool, typer.Option(help="Replace files that are there already.")]
