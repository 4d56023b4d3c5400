"""The command `choose`: one job over k, methods and settings; which to release."""

import re
import tomllib
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from aggopt.command import console
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
from aggopt.command.console import print_line, print_table
from aggopt.command.interrupt import interrupts
from aggopt.command.show_experiments import format_cell
from aggopt.core.plural import plural
from aggopt.errors import JobError

if TYPE_CHECKING:
    from aggopt.experiments.choose import ChoicePoint, Choices

PAGES = (".html", ".htm")
_TABLE = r"""\{(?:"[^"]*"|'[^']*'|\{[^{}]*\}|[^{}"'])*\}"""  # with tables in it
LISTED = re.compile(rf"{_TABLE}|[^,{{}}\s][^,{{}}]*|\S")  # or names, or what is neither

Page = Annotated[
    Path,
    typer.Option(help="The file for the page, .html; a .csv appears next to it."),
]
GroupSizes = Annotated[str | None, typer.Option(help="Values of k: 3,5,10.")]
Methods = Annotated[
    list[str] | None,
    typer.Option(
        help='Partition methods: mdav,optimal. One with settings: \'{method = "mhm", '
        'order = "tsp"}\'. Repeat the option for more.'
    ),
]
Kept = Annotated[
    str | None, typer.Option(help="Statistics that the values keep: mean,variance.")
]
Closeness = Annotated[
    str | None, typer.Option(help="Values of t: 0.2,none; none is without t-closeness.")
]
Diversity = Annotated[str | None, typer.Option(help="Values of l: 2,3,none.")]
Alphas = Annotated[str | None, typer.Option(help="Values of alpha of P3M: 0.2,0.5.")]
Deltas = Annotated[
    str | None,
    typer.Option(help="Distances of P3M that replace those of JOB: 0.1,0.4."),
]
AtMost = Annotated[
    float, typer.Option(help="The largest share of records that may be linked.")
]
Loss = Annotated[str, typer.Option(help="The loss to minimise: pil or il.")]
TimeLimit = Annotated[
    float | None,
    typer.Option(
        help="Seconds for each search of groups that has no limit of its own."
    ),
]
Cache = Annotated[
    Path | None,
    typer.Option(help="A folder that keeps finished points, for a later run."),
]
Jobs = Annotated[int, typer.Option(help="Number of processes; -1 is one per core.")]


def run_choose(
    table: TableFile,
    job: JobFile,
    out: Page,
    trust: Trust,
    k: GroupSizes = None,
    method: Methods = None,
    keep: Kept = None,
    t: Closeness = None,
    l: Diversity = None,  # noqa: E741
    alpha: Alphas = None,
    delta: Deltas = None,
    at_most: AtMost = 0.1,
    loss: Loss = "pil",
    time_limit: TimeLimit = None,
    cache: Cache = None,
    jobs: Jobs = -1,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Try JOB on TABLE with several k, methods and settings, and recommend one.

    Each combination is a point.  OUT gets the map of risk and loss, a recommendation
    and the job of each point; a CSV file next to it gets the figures.  Both are for you
    alone: they hold no value of a record, but figures of jobs that you do not release.
    Nothing is released.  If you interrupt, both have the finished points.  The exit
    code is 1 if a point fails; its row has the reason.
    """
    from aggopt.experiments.choose import Choosing
    from aggopt.experiments.grid_run import require_jobs

    files = _check_outputs(out, overwrite=overwrite, inputs=(table, job))
    require_jobs(jobs)
    axes = _parse_axes(k, method, keep, t, l, alpha, delta)
    settings: dict[str, Any] = {
        "at_most": at_most,
        "loss": loss,
        "time_limit": time_limit,
    }
    with console.track_progress(quiet=as_json) as report:
        report("read", 0.0)
        choice = Choosing.of(table, job, axes, **settings, cache=cache, trust=trust)
        interrupts.outcome = _describe_unwritten(out, cache)
        is_done = False
        try:
            _run_points(choice, jobs, report)
            is_done = True
        finally:
            with interrupts.announce_result(
                _describe_kept(out, cache), is_last=is_done
            ):
                _write(choices := choice.found, files, overwrite=overwrite)
    print_choices(choices, files, as_json=as_json)
    if choices.failures:
        raise typer.Exit(NO)


def _parse_axes(
    k: GroupSizes,
    method: Methods,
    keep: Kept,
    t: Closeness,
    l: Diversity,  # noqa: E741
    alpha: Alphas,
    delta: Deltas,
) -> dict[str, Any]:
    """Return the axes of the grid by name; None if an option lists nothing."""
    return {
        "k": _parse_values(k, "k", _parse_whole),
        "method": None if method is None else _parse_methods(method),
        "keep": None if keep is None else split_words(keep),
        "t": _parse_values(t, "t", _parse_number),
        "l": _parse_values(l, "l", _parse_whole),
        "alpha": None if alpha is None else parse_numbers(alpha, "alpha"),
        "delta": None if delta is None else parse_numbers(delta, "delta"),
    }


def _run_points(choice: Any, jobs: int, report: Callable[[str, float], None]) -> None:
    """Do the points."""
    with closing(choice.through(jobs)) as shares:
        for share in shares:
            report("points", share)


def _write(choices: Any, files: Sequence[Path], *, overwrite: bool) -> None:
    """Write page and table of the points that are done, if there are any."""
    from aggopt.experiments.tidy_rows import write_files

    if choices.points:
        writers = choices.page_writer(), choices.csv_writer()
        write_files(dict(zip(files, writers, strict=True)), overwrite)


def _describe_unwritten(out: Path, cache: Path | None) -> str:
    """Describe the points that are done but not written."""
    sentence = f"no {out.name} was written"
    return (
        sentence
        if cache is None
        else f"{sentence}; points that are done are in {cache}"
    )


def _describe_kept(out: Path, cache: Path | None) -> str:
    """Describe which file will hold the points that are done."""
    sentence = f"points that are done are in {out.name}"
    return (
        sentence if cache is None else f"{sentence}, and kept in {cache} to go on with"
    )


def _check_outputs(
    out: Path, *, overwrite: bool, inputs: tuple[Path, ...]
) -> list[Path]:
    """Return where page and table go; refuse what cannot be written."""
    from aggopt.release.files.staging import check_places

    if out.suffix.lower() not in PAGES:
        raise JobError(f"{out.name} does not end in .html.", fix="name a page.")
    files = [out, out.with_suffix(".csv")]
    check_places(*files, overwrite=overwrite, inputs=inputs)
    return files


def _parse_values(listed: str | None, name: str, read: Any) -> list[Any] | None:
    """Return values that are separated by commas; None without the option."""
    return (
        None if listed is None else [read(word, name) for word in split_words(listed)]
    )


def _parse_whole(word: str, name: str) -> Any:
    if word == "none" and name == "l":
        return None
    try:
        return int(word)
    except ValueError:
        raise JobError(f"{name} names {word!r}.", fix="list whole numbers.") from None


def _parse_number(word: str, name: str) -> float | None:
    return None if word == "none" else parse_numbers(word, name)[0]


def _parse_methods(stated: list[str]) -> list[Any]:
    """Return names of methods, and sections, files of code with their whole path."""
    from aggopt.job.user_code import with_paths

    here = Path.cwd()
    return [
        with_paths({"partition": section}, here)["partition"]
        for text in stated
        for section in _parse_sections(text)
    ]


def _parse_sections(stated: str) -> list[dict[str, Any]]:
    """Return names, and tables with settings, that commas separate."""
    parts = (part.strip() for part in LISTED.findall(stated))
    return [_parse_section(part, stated) for part in parts if part != ","]


def _parse_section(part: str, stated: str) -> dict[str, Any]:
    """Return a section of a job from a method's name or an inline TOML table."""
    if not part.startswith("{"):
        return {"method": part}
    try:
        section: dict[str, Any] = tomllib.loads(f"section = {part}")["section"]
    except tomllib.TOMLDecodeError:
        raise JobError(
            f"method is {stated!r}.",
            fix='write one with settings as a job file has it: \'{method = "mhm", '
            'order = "tsp"}\'.',
        ) from None
    return section


CHOICE_HEADINGS = (
    *("group\ngap %", "value\ngap %", "IL %", "PIL %", "linked\n%", "limit\n%"),
    *("SI %", "seconds"),
)
CHOICE_TITLE = "* no other point has less linkage and less loss"
LEGEND = (
    "holds: whether all requirements hold. Group gap, value gap: the groups, and their "
    "values, are at most so much worse than the best. IL, PIL: information loss. "
    "linked: records that a one-to-one linkage finds; limit: no linkage finds more. "
    "SI: risk and loss together. Lower is better."
)


def print_choices(choices: "Choices", files: list[Path], *, as_json: bool) -> None:
    """Print the points, the reasons of failures, the recommendation and the files."""
    if as_json:
        console.print_json(_serialise_choices(choices, files))
        return
    _print_points(choices)
    for message, points in _failures(choices).items():
        print_line(f"{', '.join(points)} failed: {message}")
    print_line(choices.verdict)
    print_line(choices.recommendation(), style="bold")
    print_line(f"The job of each point: {files[0]} (for you alone)")
    print_line(f"Figures: {files[1]}, {plural(len(choices), 'row')}")


def _failures(choices: "Choices") -> dict[str, list[str]]:
    """Return the points that failed, by the reason: many share one."""
    by_message: dict[str, list[str]] = {}
    for point in choices.points:
        if point.error is not None:
            by_message.setdefault(str(point.message), []).append(point.called)
    return by_message


def _print_points(choices: "Choices") -> None:
    settings = tuple(choices.points[0].asked)
    header = ("point", *settings, "holds", *CHOICE_HEADINGS)
    best = {point.number for point in choices.front}
    rows = []
    for point in choices.points:
        number = f"{'* ' if point.number in best else ''}{point.number}"
        values = ("none" if v is None else str(v) for v in point.asked.values())
        holds = {True: "yes", False: "NO", None: "failed"}[point.holds]
        rows.append((number, *values, holds, *_format_point(point)))
    keys = 1 + len(settings)
    right = {0, *range(keys + 1, len(header))}
    print_table(header, rows, title=CHOICE_TITLE, right=right, keys=keys)
    print_line(LEGEND)


def _format_point(point: "ChoicePoint") -> list[str]:
    if point.error is not None:
        return [""] * len(CHOICE_HEADINGS)
    gaps = point.groups_gap, point.gap
    shares = (*gaps, point.il, point.pil, point.linkage, point.linkage_limit, point.si)
    return [
        *(format_cell(None if s is None else 100 * s, ".1f") for s in shares),
        format_cell(point.seconds, ".1f"),
    ]


def _serialise_choices(choices: "Choices", files: list[Path]) -> dict[str, object]:
    best = choices.recommended()
    jobs = [point.job.as_text() for point in choices.points]
    rows = zip(choices.rows, jobs, strict=True)
    return {
        "recommended": None if best is None else best.number,
        "recommendation": choices.recommendation(),
        "points": [{**row, "job": job} for row, job in rows],
        "files": list(map(str, files)),
    }
