"""What the command prints for people."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from traceback import extract_tb
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from aggopt.errors import AggoptError

if TYPE_CHECKING:
    from aggopt.demo import Shown
    from aggopt.recheck import Review
    from aggopt.release import Files, Release
    from aggopt.solvers import Certificate, Solver

_SHOWN = {
    "dld": "records linked to themselves (DLD)",
    "sdid": "values told within 0.05 standard deviations (SDID)",
    "dr": "disclosure risk (DR)",
    "il": "information loss (IL)",
    "pil": "probabilistic information loss (PIL)",
    "si": "scoring index (SI), lower is better",
    "sl": "values at least 0.1 standard deviations away (SL)",
}

_out = Console(highlight=False)
_err = Console(stderr=True, highlight=False)


@contextmanager
def progress(*, quiet: bool = False) -> Iterator[Callable[[str, float], None]]:
    """Yield a function that shows the step and its share, while someone watches."""
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TimeElapsedColumn(),
        console=_err,
        transient=True,
        disable=quiet or not _err.is_terminal,
    )
    task = bar.add_task("read", total=1.0)
    with bar:
        yield lambda step, share: bar.update(task, description=step, completed=share)


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
        table.add_row(meaning, *(f"{share:.2f}" for share in shares))
    _out.print(table)
    _files(shown.files)
    _out.print(
        f"Picture       {shown.picture}  (shows originals: keep it)", markup=False
    )


def solvers(solvers: Iterable["Solver"]) -> None:
    """Print the table of solvers."""
    table = Table(title="Solvers")
    for heading in ("name", "takes", "finds", "here", "to install"):
        table.add_column(heading)
    for solver in solvers:
        facts = solver_facts(solver)
        table.add_row(
            facts["name"],
            " ".join(facts["takes"]),
            facts["finds"],
            "yes" if facts["installed"] else "no",
            "" if facts["installed"] else facts["install"],
        )
    _out.print(table)


def solver_facts(solver: "Solver") -> dict[str, Any]:
    """Return what a user may ask of a solver, as plain values."""
    return {
        "name": solver.name,
        "takes": sorted(solver.solves),
        "finds": solver.proves,
        "installed": solver.installed,
        "install": solver.install,
    }


def paths(files: "Files") -> dict[str, str]:
    """Return where the files of a release are, as text."""
    return {what: str(path) for what, path in asdict(files).items()}


def error(error: AggoptError) -> None:
    """Print what was wrong and what to do."""
    _err.print(f"Error: {error.problem}", markup=False, style="red", soft_wrap=True)
    _err.print(f"To fix: {error.fix}", markup=False, soft_wrap=True)


def internal(error: Exception) -> None:
    """Print where a defect struck, and not its message, which may quote a record."""
    frame = extract_tb(error.__traceback__)[-1]
    _err.print(
        f"Internal error: {type(error).__name__} at {Path(frame.filename).name}:"
        f"{frame.lineno}. Nothing was released. The message is withheld because it "
        "may quote a record; please report this line.",
        markup=False,
        soft_wrap=True,
    )


def _certificates(certificates: dict[str, "Certificate"]) -> None:
    table = Table(title="Certificates (standardised units)")
    for heading in ("attribute", "solver", "status", "objective", "bound", "violation"):
        right = heading in ("objective", "bound", "violation")
        table.add_column(heading, justify="right" if right else "left")
    for name, c in certificates.items():
        bound = "none" if c.bound is None else f"{c.bound:.6g}"
        row = (name, c.solver, c.status.value, f"{c.objective:.6g}", bound)
        table.add_row(*row, f"{c.violation:.1e}")
    _out.print(table)


def _notes(notes: Iterable[str]) -> None:
    for note in notes:
        _out.print(f"Note: {note}", markup=False, soft_wrap=True)


def _files(files: "Files") -> None:
    where = (
        f"Masked table  {files.table}",
        f"Manifest      {files.manifest}  (may be published)",
        f"Private key   {files.private}  (keep it: it links records to groups)",
    )
    for line in where:
        _out.print(line, markup=False, soft_wrap=True)
