"""Arguments and options that several commands take."""

from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperArgument

from aggopt.data.formats.registry import list_suffixes, name_suffixes
from aggopt.errors import JobError


def require_no_table(context: typer.Context, job: Path | None) -> Path | None:
    """Return the path of a job; refuse that of a table before it is read as one."""
    if job is not None and job.suffix.lower() in list_suffixes():
        arguments = (p for p in context.command.params if isinstance(p, TyperArgument))
        order = " ".join(str(argument.metavar) for argument in arguments)
        raise JobError(
            f"{job.name} is a table by its name, and stands where the job is expected.",
            fix=f"write them in this order: aggopt {context.info_name} {order}.",
        )
    return job


def require_in_memory(context: typer.Context, table: Any) -> Any:
    """Return the paths of tables in memory; refuse the parts of one."""
    for path in table if isinstance(table, list) else [table]:
        if path is not None and (path.is_dir() or "*" in path.name):
            from aggopt.engine.validate.input_files import require_one_file

            require_one_file(path, _FIXES.get(str(context.info_name), _OF_ONE))
    return table


_OF_ONE = (
    "name one file. Of a folder that an engine released, `aggopt report` counts the "
    "files once more, and audit, measures and certificates are in the manifest.json of "
    "its private folder."
)
_FIXES = {
    "repeat": "make a folder again in Python, with the secret under output in its "
    'manifest: aggopt.mask(folder, job, out="again", secret=...).',
}
FILES = name_suffixes()
TableFile = Annotated[
    Path,
    typer.Argument(
        metavar="TABLE", help=f"A {FILES} file.", callback=require_in_memory
    ),
]
TableOrFolder = Annotated[
    Path,
    typer.Argument(
        metavar="TABLE", help=f"A {FILES} file, or a folder of .parquet files."
    ),
]
TableOrParts = Annotated[
    Path,
    typer.Argument(
        metavar="TABLE",
        help=f"A {FILES} file; with --engine a folder of .parquet files.",
    ),
]
_TOML = "The job, a TOML file."
JobFile = Annotated[
    Path,
    typer.Argument(
        metavar="JOB", help="The job, a TOML file.", callback=require_no_table
    ),
]
JobBehind = Annotated[
    Path | None,
    typer.Argument(
        metavar="JOB", help="The job, a TOML file.", callback=require_no_table
    ),
]
MaskedOrParts = Annotated[
    Path,
    typer.Argument(metavar="MASKED", help="The released table, or an engine's folder."),
]
SameOrder = Annotated[
    bool,
    typer.Option(
        "--same-order",
        help="Say that both tables have their records in the same order.",
    ),
]


def require_control_named(context: typer.Context, control: str) -> str:
    """Refuse a control that is an empty text, such as an unset variable of a shell."""
    source = context.get_parameter_source("control")
    if not control and source is not None and source.name != "DEFAULT":
        raise JobError(
            "--control is an empty text.",
            fix="pass a share such as 0.1, or the file of other persons.",
        )
    return control


Control = Annotated[
    str,
    typer.Option(
        metavar="CONTROL",
        callback=require_control_named,
        help="Measure singling out, linkability and inference, with this control: the "
        "file of persons outside the release, or a share such as 0.1 of TABLE that a "
        "second masking leaves out.",
    ),
]
TableOrCode = Annotated[
    Path,
    typer.Argument(
        metavar="TABLE", help=f"A {FILES} file; or FILE.py, or FILE.py:NAME."
    ),
]
JobIfTable = Annotated[
    Path | None,
    typer.Argument(
        metavar="JOB",
        help="The job of a table, a TOML file.",
        callback=require_no_table,
    ),
]
AsJson = Annotated[
    bool, typer.Option("--json", help="Print one JSON object instead of text.")
]
PrivateFolder = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        help="The folder of the manifest and the key, if they are not next to the "
        "released table.",
    ),
]
Encoding = Annotated[
    str,
    typer.Option(
        help="The encoding of a CSV file: utf-8, cp1252 (Windows) or latin-1. aggopt "
        "does not detect it."
    ),
]
Overwrite = Annotated[
    bool, typer.Option("--overwrite", help="Replace files that exist already.")
]
Trust = Annotated[
    list[Path],
    typer.Option(
        "--trust",
        metavar="FILE",
        help="A file of your code that the job may run. The code sees the originals.",
        default_factory=list,
        show_default=False,
    ),
]


def parse_numbers(listed: str, name: str) -> list[float]:
    """Return numbers that are separated by commas; refuse all other text."""
    try:
        return [float(word) for word in split_words(listed)]
    except ValueError:
        raise JobError(
            f"{name} is {listed!r}.", fix="list numbers: 0.2,0.4,0.6."
        ) from None


def split_words(listed: str) -> list[str]:
    """Return names that are separated by commas."""
    return [word.strip() for word in listed.split(",") if word.strip()]


def require_job(job: Path | None) -> Path:
    """Return the job that a table is checked with; refuse a table without one."""
    if job is None:
        raise JobError(
            "A table is checked with its job, and none is named.",
            fix="write aggopt check TABLE JOB; of code of your own, aggopt check "
            "FILE.py.",
        )
    return job


def require_no_job(job: Path | None) -> None:
    """Refuse a job with a file of code: the laws have tables of their own."""
    if job is not None:
        raise JobError(
            "A file of code is checked by itself, on the tables of its laws, and a job "
            "is named beside it.",
            fix="leave the job out; to use the code in it, run aggopt mask TABLE JOB "
            "--trust FILE.py.",
        )
