"""The commands of experiments: `compare-solvers`, `sweep` and `reproduce`."""

import tomllib
from functools import partial
from math import prod
from pathlib import Path
from typing import Annotated, Any

import typer

from aggopt.command import console, show_solvers
from aggopt.command.arguments import (
    AsJson,
    JobFile,
    Overwrite,
    TableFile,
    Trust,
    numbers,
    words,
)
from aggopt.command.interrupt import interrupts
from aggopt.data.formats.registry import name_suffixes
from aggopt.errors import JobError

Alphas = Annotated[str, typer.Option(help="Values, separated by commas.")]
Deltas = Annotated[
    str, typer.Option(help="Distances in place of JOB's own, with commas between.")
]
Kept = Annotated[
    str, typer.Option(help="variance, covariance, or both with a comma; else JOB's.")
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=VALUES",
        help="A setting of JOB's own model or aggregation: cap=1.0,2.0.",
    ),
]
Out = Annotated[
    Path, typer.Option(help="Where to write OUT.csv and the picture OUT.png.")
]
Jobs = Annotated[int, typer.Option(help="Processes; -1 means one per core.")]


def compare_solvers(
    table: TableFile,
    job: JobFile,
    trust: Trust,
    solvers: Annotated[
        str, typer.Option(help="Names, separated by commas; all when left out.")
    ] = "",
    time_limit: Annotated[
        float | None,
        typer.Option(
            help="Seconds for each solver and attribute: else the job's, or 60."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Solve JOB's program on TABLE with every solver that takes it; write nothing.

    The values that each finds are audited: whether they satisfy what JOB requires.
    JOB's program is the last that a solver carries out: of its aggregation, its repair
    or its partition.  Groups of one attribute at a time are not audited.
    """
    from aggopt.experiments.compare_solvers import compare

    with console.progress(quiet=as_json) as report:
        of_job = compare(
            table, job, words(solvers), time_limit, progress=report, trust=trust
        )
        rows = list(of_job)
    if as_json:
        console.as_json({row.solver: row.to_dict() for row in rows})
    else:
        show_solvers.compared(rows)


def sweep(
    table: TableFile,
    job: JobFile,
    trust: Trust,
    alpha: Alphas = "",
    delta: Deltas = "",
    keep: Kept = "",
    over: Settings = None,
    out: Out = Path("sweep"),
    jobs: Jobs = -1,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Run JOB's P3M over a grid of alpha, delta, keep: risk and loss of each point.

    Of a model or an aggregation of your own, over a grid of its settings (--over).

    OUT.csv is written anew as points are done (with a local solver, rows of equal
    delta), and kept if you interrupt; OUT.png shows risk against loss, with the points
    that no other beats.  Each point is audited: whether it satisfies what JOB requires.
    The distances of --delta stand in for JOB's own, those in columns too; its
    importance and margin stay.
    """
    from aggopt.command import sweep_files
    from aggopt.experiments.sweep import sweep as points

    grid = numbers(alpha, "alpha"), numbers(delta, "delta")
    statistics, own = words(keep), dict(map(_values, over or ()))
    with (
        console.progress(quiet=as_json) as report,
        sweep_files.keep(out, overwrite=overwrite, inputs=(job, table)) as kept,
    ):
        done = f"points that are done are kept in {kept.table.name}"
        total = len(grid[0]) * len(grid[1]) * max(1, len(statistics))
        total = total or prod(map(len, own.values()))
        of_grid = partial(
            points, alpha=grid[0], delta=grid[1], keep=statistics, over=own
        )
        for point in of_grid(table, job, jobs=jobs, progress=report, trust=trust):
            with interrupts.result(done, is_last=False):
                kept.add(point)
            report("sweep", len(kept.points) / total)
        with interrupts.result(done):
            kept.draw()
    if as_json:
        console.as_json(kept.to_dict())
    else:
        show_solvers.swept(kept.points, kept.files)


def reproduce(
    study: Annotated[
        str, typer.Argument(metavar="STUDY", help="Its name; without, a list of them.")
    ] = "",
    table: Annotated[
        str | None, typer.Option(help="Number of the table; all when left out.")
    ] = None,
    data: Annotated[
        Path | None, typer.Option(help=f"A {name_suffixes()} file of your own.")
    ] = None,
    columns: Annotated[
        str, typer.Option(help="Its quasi-identifiers, separated by commas.")
    ] = "",
    confidential: Annotated[
        str, typer.Option(help="Its confidential columns, for tables of t-closeness.")
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Print published tables of the field beside ours, of their data or of yours."""
    from aggopt.command import show_reproduced
    from aggopt.experiments.reproduce import reproduce as reproduced

    own = {"columns": words(columns), "confidential": words(confidential)}
    if not study:
        given = table is not None or data is not None or any(own.values())
        show_reproduced.listed(given=given, json=as_json)
        return
    with console.progress(quiet=as_json) as report:
        cells = list(reproduced(study, table, data=data, **own, progress=report))
    show_reproduced.reproduced(study, cells, json=as_json)


def _values(stated: str) -> tuple[str, list[Any]]:
    """Return the name of a setting and its values, as a job file would have them."""
    name, is_named, values = stated.partition("=")
    if not (is_named and name):
        raise JobError(f"over is {stated!r}.", fix="write NAME=VALUES: cap=1.0,2.0.")
    return name, [_value(word) for word in words(values)]


def _value(word: str) -> Any:
    """Return a word as the number or truth value that it spells, or as it is."""
    try:
        return tomllib.loads(f"value = {word}")["value"]
    except tomllib.TOMLDecodeError:
        return word
