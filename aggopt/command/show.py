"""What the command prints for people."""

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict
from pathlib import Path
from traceback import extract_tb
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

if TYPE_CHECKING:
    from aggopt.command.demo import Shown
    from aggopt.compare import Row
    from aggopt.output.recheck import Review
    from aggopt.output.release import Files, Release
    from aggopt.solvers import Certificate, Solver
    from aggopt.sweep import Point

_SHOWN = {
    "dld": "records linked to themselves (DLD)",
    "sdid": "values told within 0.05 standard deviations (SDID)",
    "dr": "disclosure risk (DR)",
    "il": "information loss (IL)",
    "pil": "probabilistic information loss (PIL)",
    "si": "scoring index (SI), lower is better",
    "sl": "values at least 0.1 standard deviations away (SL)",
}


class _Patient(Console):
    """A console whose reader may stop reading: the work is done all the same."""

    def on_broken_pipe(self) -> None:
        """Throw the rest away."""
        _unheard()


def _unheard() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


_wide = None if sys.stdout.isatty() else 110  # a file or a pipe has no width
_out = _Patient(highlight=False, width=_wide)
_err = Console(stderr=True, highlight=False)


@contextmanager
def progress(*, quiet: bool = False) -> Iterator[Callable[[str, float], None]]:
    """Yield a function that shows the step and its share, while someone watches.

    If `quiet`, what a solver prints goes to standard error meanwhile: standard output
    is kept for the one JSON object.
    """
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TimeElapsedColumn(),
        console=_err,
        transient=True,
        disable=quiet or not _err.is_terminal,
    )
    task = bar.add_task("read", total=1.0)
    with bar, _kept_clean() if quiet else nullcontext():
        yield lambda step, share: bar.update(task, description=step, completed=share)


@contextmanager
def _kept_clean() -> Iterator[None]:
    sys.stdout.flush()
    saved = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        os.dup2(saved, 1)
        os.close(saved)


def release(release: "Release", files: "Files") -> None:
    """Print what was released, how risky it is and what is proven."""
    audit(release.audit)
    _certificates(release.certificates)
    _out.print(str(release.measures), markup=False)
    _notes(release.notes)
    _files(files)


def review(review: "Review") -> None:
    """Print what a second look found."""
    audit(review.audit)
    _out.print(str(review.measures), markup=False)
    _notes(review.audit.notes)


def audit(audit: Any) -> None:
    """Print whether the promise holds on the values."""
    verdict = "holds" if audit.holds else "DOES NOT HOLD"
    _out.print(
        f"k = {audit.k} {verdict}: {audit.records} records, {audit.groups} published "
        f"combinations, the rarest in {audit.smallest} records.",
        markup=False,
        soft_wrap=True,
    )
    if audit.identifiers:
        left = ", ".join(audit.identifiers)
        _out.print(f"Must not be there: {left}.", markup=False, soft_wrap=True)


def demo(shown: "Shown") -> None:
    """Print risk and loss of the originals, of plain means and of P3M."""
    audit(shown.release.audit)
    _certificates(shown.release.certificates)
    table = Table(title="Risk and loss in %, before and after")
    table.add_column("measure")
    for name in shown.compared:
        table.add_column(name, justify="right")
    for short, meaning in _SHOWN.items():
        shares = [100 * getattr(a, short) for a in shown.compared.values()]
        _row(table, meaning, *(f"{share:.2f}" for share in shares))
    _out.print(table)
    _files(shown.files)
    picture = f"Picture       {shown.picture}  (shows originals: keep it)"
    _out.print(picture, markup=False, soft_wrap=True)


def solvers(solvers: Sequence["Solver"]) -> None:
    """Print the table of solvers, and below it how to get those that are not here."""
    table = Table(title="Solvers", box=SIMPLE_HEAD)
    for heading in ("name", "takes", "finds", "here"):
        table.add_column(heading, no_wrap=True)
    for solver in solvers:
        takes = " ".join(sorted(solver.takes))
        here = "yes" if solver.installed else f"no: {solver.lacks}"
        _row(table, solver.name, takes, solver.finds, here)
    _out.print(table)
    for solver in solvers:
        if not solver.installed:
            command = f"{solver.name}: {solver.install}"
            _out.print(command, markup=False, soft_wrap=True)


def solver_facts(solver: "Solver") -> dict[str, Any]:
    """Return what a user may ask of a solver, as plain values."""
    return {
        "name": solver.name,
        "takes": sorted(solver.takes),
        "finds": solver.finds,
        "installed": solver.installed,
        "install": solver.install,
    }


def compared(rows: Sequence["Row"]) -> None:
    """Print what each solver found, proved and took."""
    title = "Sums over attributes; gap and violation are the largest"
    table = Table(title=title, box=SIMPLE_HEAD)
    headings = ("objective", "bound", "gap", "violation", "SL %", "SI %", "seconds")
    table.add_column("solver", no_wrap=True)
    for heading in headings:
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("status")
    for row in rows:
        if row.status:
            _row(table, row.solver, *_figures(row), row.status)
    _out.print(table)
    for row in rows:
        if row.note:
            _out.print(f"{row.solver}: {row.note}", markup=False, soft_wrap=True)


def _figures(row: "Row") -> tuple[str, ...]:
    return (
        _figure(row.objective, ".6g"),
        _figure(row.bound, ".6g"),
        _figure(row.gap, ".1e"),
        _figure(row.violation, ".1e"),
        _figure(row.sl, ".2%").rstrip("%"),
        _figure(row.si, ".2%").rstrip("%"),
        _figure(row.seconds, ".2f"),
    )


def swept(points: Sequence["Point"], files: Iterable[Path]) -> None:
    """Print the points of a sweep, those that no other beats marked."""
    from aggopt.sweep import pareto

    best = pareto(points)
    table = Table(title="* no other point has less risk and less loss")
    for heading in ("alpha", "delta", "SI %", "DR %", "PIL %", "SL %", "IL %", "gap"):
        table.add_column(heading, justify="right")
    table.add_column("")
    table.add_column("status")
    for p in sorted(points, key=lambda p: (p.delta, p.alpha)):
        shares = (f"{100 * share:.2f}" for share in (p.si, p.dr, p.pil, p.sl, p.il))
        gap, mark = _figure(p.gap, ".1e"), "*" if p in best else ""
        _row(table, f"{p.alpha:g}", f"{p.delta:g}", *shares, gap, mark, p.status)
    _out.print(table)
    for path in files:
        _out.print(str(path), markup=False, soft_wrap=True)


def _figure(value: float | None, form: str) -> str:
    return "none" if value is None else format(value, form)


def paths(files: "Files") -> dict[str, str]:
    """Return where the files of a release are, as text."""
    return {what: str(path) for what, path in asdict(files).items()}


def written(table: Path, job: Path) -> None:
    """Print what to do with a job that was written for a table."""
    for line in (
        f"Wrote {job}. Give every column a role in it, then run",
        f"    aggopt mask {table} {job} --out masked.csv",
    ):
        _out.print(line, markup=False, soft_wrap=True)


def as_json(value: dict[str, Any]) -> None:
    """Print one JSON object."""
    try:
        print(json.dumps(value, indent=2), flush=True)
    except BrokenPipeError:
        _unheard()


def error(problem: str, fix: str) -> None:
    """Print what was wrong and what to do."""
    _err.print(f"Error: {problem}", markup=False, style="red", soft_wrap=True)
    _err.print(f"To fix: {fix}", markup=False, soft_wrap=True)


def defect(error: Exception) -> str:
    """Return where a defect struck, and not its message, which may quote a record."""
    frame = extract_tb(error.__traceback__)[-1]
    return (
        f"Internal error: {type(error).__name__} at {Path(frame.filename).name}:"
        f"{frame.lineno}. Its message is withheld, because it may quote a record."
    )


@contextmanager
def after_release() -> Iterator[None]:
    """Keep the exit code of a release that is written, should printing fail."""
    try:
        yield
    except (OSError, UnicodeError) as error:
        _err.print(f"The release is written; printing failed ({type(error).__name__}).")
        _unheard()


def _certificates(certificates: dict[str, "Certificate"]) -> None:
    table = Table(title="Certificates (standardised units)")
    for heading in ("attribute", "solver", "status", "objective", "bound", "violation"):
        right = heading in ("objective", "bound", "violation")
        table.add_column(heading, justify="right" if right else "left")
    for name, c in certificates.items():
        bound = "none" if c.bound is None else f"{c.bound:.6g}"
        row = (name, c.solver, c.status.value, f"{c.objective:.6g}", bound)
        _row(table, *row, f"{c.violation:.1e}")
    _out.print(table)


def _row(table: Table, *cells: str) -> None:
    """Add a row of plain text: a name may look like markup."""
    table.add_row(*map(escape, cells))


def _notes(notes: Iterable[str]) -> None:
    for note in notes:
        _out.print(f"Note: {note}", markup=False, soft_wrap=True)


def _files(files: "Files") -> None:
    where = (
        f"Masked table  {files.table}",
        f"Manifest      {files.manifest}  (how it was made: keep it)",
        f"Private key   {files.private}  (keep it: it links records to groups)",
    )
    for line in where:
        _out.print(line, markup=False, soft_wrap=True)
