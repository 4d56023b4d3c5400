"""Arguments and options that several commands take."""

from pathlib import Path
from typing import Annotated

import typer
from typer.core import TyperArgument

from aggopt.errors import JobError


def _no_table(context: typer.Context, job: Path) -> Path:
    """Return the path of a job; refuse that of a table before it is read as one."""
    if job.suffix.lower() in (".csv", ".parquet"):
        given = (p for p in context.command.params if isinstance(p, TyperArgument))
        order = " ".join(str(argument.metavar) for argument in given)
        raise JobError(
            f"{job.name} is a table by its name, and stands where the job is expected.",
            fix=f"write them in this order: aggopt {context.info_name} {order}.",
        )
    return job


TableFile = Annotated[
    Path, typer.Argument(metavar="TABLE", help="A .csv or .parquet file.")
]
JobFile = Annotated[
    Path,
    typer.Argument(metavar="JOB", help="The job, a TOML file.", callback=_no_table),
]
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
Trust = Annotated[
    list[Path],
    typer.Option(
        "--trust",
        metavar="FILE",
        help="A file of code that the job may run; it sees the originals.",
        default_factory=list,
    ),
]
