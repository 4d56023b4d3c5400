"""The command `aggopt`.

Exit codes: 0 done and audited, 1 the privacy promise does not hold, 2 bad input or job.
"""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from aggopt import show
from aggopt.errors import AggoptError, JobError, PrivacyError

app = typer.Typer(
    help="Mask microdata by microaggregation: similar records are grouped, at least "
    "k each, and one value per group is published.\n\nStart with `aggopt demo`, or "
    "with `aggopt init TABLE`, which writes a commented job to edit.\n\nExit codes: 0 "
    "done and audited, 1 the privacy promise does not hold (nothing is written), 2 "
    "bad input or job.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

TableFile = Annotated[Path, typer.Argument(help="A .csv or .parquet file.")]
JobFile = Annotated[Path, typer.Argument(help="The job, a TOML file.")]
AsJson = Annotated[
    bool, typer.Option("--json", help="Print one JSON object instead of text.")
]
Overwrite = Annotated[bool, typer.Option(help="Replace files that are there already.")]


@app.command()
def mask(
    table: TableFile,
    job: JobFile,
    out: Annotated[Path, typer.Option(help="Where to write: .csv or .parquet.")],
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Mask TABLE as JOB says and write the audited release to OUT.

    Beside OUT come NAME.manifest.json, which may be published, and NAME.private.csv,
    which links records to groups and must stay with you.
    """
    from aggopt.job import Job
    from aggopt.pipeline import mask as masked
    from aggopt.release import Files

    Files.beside(out).check(overwrite=overwrite)
    if out.resolve() == table.resolve():
        raise JobError("OUT is the table itself.", fix="write to another file.")
    with show.progress(quiet=as_json) as told:
        release = masked(table, Job.read(job), progress=told)
        files = release.write(out, overwrite=overwrite)
    if as_json:
        _print_json({"files": show.paths(files), **release.manifest()})
    else:
        show.release(release, files)


@app.command()
def assess(
    table: TableFile,
    masked: Annotated[Path, typer.Argument(help="The released .csv or .parquet.")],
    job: JobFile,
    same_order: Annotated[
        bool,
        typer.Option("--same-order", help="The two tables have the same record order."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Recount MASKED from its values and measure its risk and loss against TABLE."""
    from aggopt.job import Job
    from aggopt.recheck import review

    found = review(table, masked, Job.read(job), same_order=same_order)
    if as_json:
        _print_json(found.to_dict())
    else:
        show.review(found)
    if not found.audit.holds:
        raise typer.Exit(1)


@app.command()
def init(
    table: TableFile,
    out: Annotated[Path, typer.Option(help="Where to write the job.")] = Path(
        "job.toml"
    ),
    separator: Annotated[str, typer.Option(help="Between the entries of a CSV.")] = ",",
    decimal: Annotated[str, typer.Option(help="Decimal point of a CSV.")] = ".",
    overwrite: Overwrite = False,
) -> None:
    """Write a commented job for TABLE, to be edited."""
    from aggopt.job import input_section
    from aggopt.template import template

    if out.exists() and not overwrite:
        raise JobError(f"{out} is there already.", fix="name another --out.")
    text = template(table, out, input_section(separator, decimal))
    out.write_text(text, encoding="utf-8")
    typer.echo(f"Wrote {out}. Give every column a role in it, then run")
    typer.echo(f"    aggopt mask {table} {out} --out masked.csv")


@app.command()
def solvers(as_json: AsJson = False) -> None:
    """List the solvers: what each takes, whether it is here, how to get it."""
    from aggopt.solvers import SOLVERS

    if as_json:
        _print_json({name: show.solver_facts(s) for name, s in SOLVERS.items()})
    else:
        show.solvers(SOLVERS.values())


@app.command()
def demo(
    folder: Annotated[Path, typer.Option(help="Where to leave the files.")] = Path(
        "aggopt-demo"
    ),
) -> None:
    """Mask 442 real patients, compare risk and loss before and after."""
    from aggopt.demo import run

    with show.progress() as told:
        shown = run(folder, told)
    show.demo(shown)


def main() -> None:
    """Run the command; turn what went wrong into a message and an exit code."""
    with _refusals_as_exit_codes("--json" in sys.argv):
        app()


@contextmanager
def _refusals_as_exit_codes(as_json: bool) -> Iterator[None]:
    try:
        yield
    except AggoptError as error:
        code = 1 if isinstance(error, PrivacyError) else 2
        if as_json:
            _print_json({"error": error.problem, "fix": error.fix, "exit": code})
        else:
            show.error(error)
        sys.exit(code)
    except Exception as error:  # outermost: a traceback may quote records
        show.internal(error)
        sys.exit(2)


def _print_json(value: dict[str, Any]) -> None:
    typer.echo(json.dumps(value, indent=2))
