"""The commands `compare-solvers`, `sweep`, `reproduce` and `experiment`."""

import tomllib
from functools import partial
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from aggopt.command import console, show_experiments
from aggopt.command.arguments import (
    AsJson,
    JobFile,
    Overwrite,
    TableFile,
    Trust,
    parse_numbers,
    split_words,
)
from aggopt.command.causes import NO
from aggopt.command.interrupt import interrupts
from aggopt.core.plural import plural
from aggopt.data.formats.registry import name_suffixes
from aggopt.errors import JobError, TableError
from aggopt.release.files.staging import check_places

if TYPE_CHECKING:
    from aggopt.experiments.experiment import Experiment

Alphas = Annotated[str, typer.Option(help="Values of alpha: 0.2,0.5.")]
Deltas = Annotated[
    str, typer.Option(help="Distances that replace those of JOB: 0.1,0.4.")
]
Kept = Annotated[
    str,
    typer.Option(
        help="The statistics that the values keep: variance,covariance. Default: that "
        "of JOB."
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=VALUES",
        help="Values of a setting of your own model or aggregation: cap=1.0,2.0. "
        "Repeat it for more settings.",
    ),
]
Out = Annotated[
    Path, typer.Option(help="The name of the table OUT.csv and the picture OUT.png.")
]
Jobs = Annotated[int, typer.Option(help="Number of processes; -1 is one per core.")]


def run_compare_solvers(
    table: TableFile,
    job: JobFile,
    trust: Trust,
    solvers: Annotated[
        str, typer.Option(help="Names of solvers, separated by commas. Default: all.")
    ] = "",
    time_limit: Annotated[
        float | None,
        typer.Option(
            help="Seconds for each solver and attribute. Default: the limit of the "
            "job, or 60."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Solve the program of JOB on TABLE with each solver that takes it.

    The program is that of the aggregation of JOB; if that needs no solver, that of its
    repair, or of its partition.  aggopt audits the values of each solver: whether they
    satisfy the requirements of JOB.  It does not audit groups of one attribute at a
    time.  It writes nothing.
    """
    from aggopt.experiments.compare_solvers import compare

    with console.track_progress(quiet=as_json) as report:
        of_job = compare(
            table, job, split_words(solvers), time_limit, progress=report, trust=trust
        )
        rows = list(of_job)
    if as_json:
        console.print_json({row.solver: row.to_dict() for row in rows})
    else:
        show_experiments.print_comparison(rows)


def run_sweep(
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
    """Run JOB over a grid of settings: risk and loss of each point.

    The grid is of alpha, delta and keep if JOB publishes by P3M; of your own settings
    (--over) if it publishes by a model or an aggregation of your own.

    aggopt writes OUT.csv again after each point (with a local solver: after each row of
    equal delta), and keeps it if you interrupt.  OUT.png shows risk against loss, and
    the points that no other point beats.  aggopt audits each point: whether it
    satisfies the requirements of JOB.  The distances of --delta replace all distances
    of JOB, also distances in columns; its importance and margin remain.
    """
    from aggopt.command import show_experiments
    from aggopt.experiments.sweep import sweep as run_sweep

    grid = parse_numbers(alpha, "alpha"), parse_numbers(delta, "delta")
    statistics = split_words(keep)
    settings = dict(map(_parse_setting, over or ()))
    with (
        console.track_progress(quiet=as_json) as report,
        show_experiments.open_sweep_files(
            out, overwrite=overwrite, inputs=(job, table)
        ) as files,
    ):
        done = f"points that are done are kept in {files.table.name}"
        total = len(grid[0]) * len(grid[1]) * max(1, len(statistics))
        total = total or prod(map(len, settings.values()))
        of_grid = partial(
            run_sweep, alpha=grid[0], delta=grid[1], keep=statistics, over=settings
        )
        for point in of_grid(table, job, jobs=jobs, progress=report, trust=trust):
            with interrupts.announce_result(done, is_last=False):
                files.add(point)
            report("sweep", len(files.points) / total)
        with interrupts.announce_result(done):
            files.draw()
    if as_json:
        console.print_json(files.to_dict())
    else:
        show_experiments.print_sweep(files.points, files.files)


def run_reproduce(
    study: Annotated[
        str,
        typer.Argument(
            metavar="STUDY", help="The name of a study; without it, all are listed."
        ),
    ] = "",
    table: Annotated[
        str | None, typer.Option(help="The number of a table. Default: all tables.")
    ] = None,
    data: Annotated[
        Path | None, typer.Option(help=f"Your own table: a {name_suffixes()} file.")
    ] = None,
    columns: Annotated[
        str, typer.Option(help="The quasi-identifiers of your table: age,income.")
    ] = "",
    confidential: Annotated[
        str,
        typer.Option(
            help="The confidential columns of your table, for t-closeness: illness."
        ),
    ] = "",
    figure: Annotated[
        Path | None,
        typer.Option(help="Draw our curves, and the printed figures, to this .png."),
    ] = None,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Compute published tables again, of their data or of yours, and print both."""
    from aggopt.command import show_experiments
    from aggopt.experiments.reproduce import reproduce as reproduce_study

    data_columns = {
        "columns": split_words(columns),
        "confidential": split_words(confidential),
    }
    if not study:
        has_options = (
            table is not None
            or data is not None
            or figure is not None
            or any(data_columns.values())
        )
        show_experiments.print_studies(has_options=has_options, json=as_json)
        return
    _check_figure(figure, data, overwrite=overwrite)
    with console.track_progress(quiet=as_json) as report:
        cells = list(
            reproduce_study(study, table, data=data, **data_columns, progress=report)
        )
    if figure is not None:
        show_experiments.draw_study(cells, figure)
    show_experiments.print_study(study, cells, json=as_json)


def _check_figure(figure: Path | None, data: Path | None, *, overwrite: bool) -> None:
    """Refuse a picture that cannot be written, and --overwrite without a picture."""
    if figure is not None:
        _require_png(figure)
        check_places(figure, overwrite=overwrite, inputs=(data,) if data else ())
    elif overwrite:
        raise JobError(
            "--overwrite is for a picture, and none is named.",
            fix="add --figure curves.png, or leave --overwrite out.",
        )


def _require_png(figure: Path) -> None:
    """Refuse the path of a picture that does not end in .png."""
    if figure.suffix != ".png":
        raise TableError(
            f"{figure.name} is no name of a picture.",
            fix="end it in .png: --figure curves.png.",
        )


def _parse_setting(stated: str) -> tuple[str, list[Any]]:
    """Return the name of a setting and its values, as a job file would have them."""
    name, is_named, values = stated.partition("=")
    if not (is_named and name):
        raise JobError(f"over is {stated!r}.", fix="write NAME=VALUES: cap=1.0,2.0.")
    return name, [_parse_value(word) for word in split_words(values)]


def _parse_value(word: str) -> Any:
    """Return the number or truth value that a word spells, or the word."""
    try:
        return tomllib.loads(f"value = {word}")["value"]
    except tomllib.TOMLDecodeError:
        return word


ENDINGS = (".csv", ".parquet")
NUMBERS = ("k", "seed", "objective", "gap", "linkage", "pil")


Grid = Annotated[Path, typer.Argument(metavar="GRID", help="The grid, a TOML file.")]
Rows = Annotated[Path, typer.Option(help="The file for the rows: .csv or .parquet.")]
GridJobs = Annotated[
    int | None,
    typer.Option(
        help="Number of processes; -1 is one per core. Default: that of GRID."
    ),
]


def run_experiment(
    grid: Grid,
    out: Rows,
    trust: Trust,
    jobs: GridJobs = None,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Run all cells of GRID, and write a row for each cell and attribute to OUT.

    GRID has tables, roles, settings, seeds, time_limit, jobs and cache, as in
    docs/experiments.md; paths are relative to GRID.  The row of a cell that fails has
    the reason, and the exit code is then 1.  With a cache, finished cells are kept if
    you interrupt: run the command again to continue.
    """
    from aggopt.experiments.experiment import experiment as run_experiment
    from aggopt.experiments.grid import GridFile
    from aggopt.release.files.staging import check_places

    _require_ending(out)
    grid_file = GridFile.read(grid)
    inputs = (grid, *grid_file.tables.values())
    check_places(out, overwrite=overwrite, inputs=inputs)
    settings = (
        {**grid_file.arguments}
        if jobs is None
        else {**grid_file.arguments, "jobs": jobs}
    )
    cache = settings.get("cache")
    interrupts.outcome = (
        "name a cache in GRID to go on another time"
        if cache is None
        else f"cells that are done are kept in {cache}"
    )
    with console.track_progress(quiet=as_json) as report:
        rows = run_experiment(
            dict(grid_file.tables),
            **settings,
            on_error="row",
            trust=trust,
            progress=report,
        )
        write = rows.to_csv if out.suffix.lower() == ".csv" else rows.to_parquet
        with interrupts.announce_result(f"{out.name} is written"):
            write(out, overwrite=overwrite)
    failed = len(rows.failures)
    if as_json:
        console.print_json({"file": str(out), "rows": len(rows), "failed": failed})
    else:
        _print_rows(rows)
        console.print_line(f"Rows: {out}, {plural(len(rows), 'row')}")
    if failed:
        raise typer.Exit(NO)


def _print_rows(experiment: "Experiment") -> None:
    """Print the first rows, and why cells failed, each reason once."""
    header, rows = experiment.first_rows
    cell = [name for name in header if name in experiment.cell_columns]
    shown = [name for name in header if name != "error"]
    entries = [dict(zip(header, row, strict=True)) for row in rows]
    for row in entries:
        if row.get("error"):
            row["status"] = "failed"
    console.print_line(experiment.verdict)
    console.print_table(
        shown,
        [[row.get(name, "") for name in shown] for row in entries],
        title="The first rows" if len(experiment) > len(rows) else "All rows",
        right=[j for j, name in enumerate(shown) if name in NUMBERS],
        keys=len(cell) + ("attribute" in shown),
    )
    by_message: dict[str, list[str]] = {}
    for row in experiment.failures:
        of = ", ".join(f"{name} = {row[name]}" for name in cell)
        by_message.setdefault(str(row["message"]), []).append(f"({of})")
    for message, cells in by_message.items():
        console.print_line(f"{', '.join(cells)} failed: {message}")


def _require_ending(out: Path) -> None:
    """Refuse a file that no rows are written to."""
    if out.suffix.lower() not in ENDINGS:
        raise JobError(
            f"{out.name} ends in neither {' nor '.join(ENDINGS)}.",
            fix="give it one of these endings.",
        )
