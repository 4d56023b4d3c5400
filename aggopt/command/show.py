"""What the command prints of a release, for people."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from aggopt.command import console
from aggopt.command.console import command, line
from aggopt.command.show_release import (
    amber,
    certificates,
    said,
    said_of_folder,
)
from aggopt.core.plural import plural
from aggopt.data.formats.registry import find_release_suffix
from aggopt.engine.storage.input_parts import is_folder_or_pattern

if TYPE_CHECKING:
    from aggopt.command.demo import Shown
    from aggopt.command.draft import Draft
    from aggopt.engine.folder_release import FolderRelease
    from aggopt.measure import Assessment
    from aggopt.pipeline.review.review_release import Review
    from aggopt.release.audit.audit import Audit
    from aggopt.release.files.output_paths import ReleaseFiles
    from aggopt.release.release import Release

STYLES = {"WARNING": "bold red", "AMBER": "bold yellow"}  # by the first word of a line

_SHOWN = {
    "highest_risk": "highest re-identification risk (1 / smallest group)",
    "average_risk": "average re-identification risk (groups / records)",
    "reidentifications": "expected re-identifications, records",
    "linkage": "records linked by the best one-to-one assignment",
    "dld": "records linked to the nearest (DLD)",
    "sdid": "values within 0.05 standard deviations of the original (SDID)",
    "sdid_chance": "the same by chance",
    "il": "information loss (IL)",
    "sl": "values at least 0.1 standard deviations away (SL)",
    "dr": "disclosure risk (DR)",
    "pil": "probabilistic information loss (PIL)",
    "si": "scoring index (SI), lower is better",
}


def finished(written: "Release", files: "ReleaseFiles", *, as_json: bool) -> None:
    """Print what was written, which nothing that goes wrong here undoes."""
    if as_json:
        stated = written.manifest()
        stated["notes"] += written.notes_on(files.table)
        console.as_json({"files": files.to_dict(), **stated})
    else:
        release(written, files)


def release(release: "Release", files: "ReleaseFiles") -> None:
    """Print what was released, how risky it is and what is proven."""
    _styled(said(release, files, console.width()))


def folder_release(release: "FolderRelease") -> None:
    """Print what was released into a folder, how risky it is and what is proven."""
    _styled(said_of_folder(release, console.width()))


def _styled(lines: Iterable[str]) -> None:
    for text in lines:
        line(
            text, style=next((s for w, s in STYLES.items() if text.startswith(w)), None)
        )


def review(review: "Review") -> None:
    """Print what a second look found."""
    audit(review.audit)
    for warning in filter(None, (review.loss, review.warning)):
        line(f"WARNING: {warning}", style="bold red")
    _measures(review.measures, review.audit)
    _notes(review.audit.notes, review.audit)


def audit(audit: "Audit") -> None:
    """Print whether the requirements hold on the values, and what it leaves open."""
    line(audit.verdict)
    if audit.warning:
        line(f"WARNING: {audit.warning}", style="bold red")
    for advice in amber(audit):
        line(advice, style=STYLES["AMBER"])
    if audit.identifiers:
        line(f"Must not be there: {', '.join(audit.identifiers)}.")


def _measures(measures: "Assessment | None", audit: "Audit") -> None:
    """Print the measures, and among the risks what the audit counted."""
    if measures is None:
        return
    what = audit.whole.what
    rows = [("unique", audit.whole, f"{what}s unique with their combination")]
    rows += [
        (each.short, each.count, f"records unique, {each.what} known too")
        for each in audit.beside
        if each.count.what == "record"
    ]
    counted = [
        (name, count.unique / count.total, f"{says} ({count.unique})")
        for name, count, says in rows
    ]
    if what == "record" and measures.n < audit.records:
        of = f"{measures.n:,} of {audit.records:,} records"
        line(f"Measured on the {of} of which nothing is missing, before and after.")
    line(measures.table(counted))


def demo(shown: "Shown") -> None:
    """Print risk and loss of the originals, of plain means and of P3M."""
    audit(shown.release.audit)
    line("\n".join(certificates(shown.release.certificates, width=console.width())))
    rows = [
        (
            meaning,
            *(_count_or_percent(getattr(a, short)) for a in shown.compared.values()),
        )
        for short, meaning in _SHOWN.items()
    ]
    header = ("measure", *shown.compared)
    title = "Risk and loss in %, before and after"
    console.table(header, rows, title=title, right=range(1, len(header)))
    _files(shown.files)
    line(f"Picture       {shown.picture}  (shows originals: keep it to yourself)")


def _count_or_percent(figure: int | float) -> str:
    return str(figure) if isinstance(figure, int) else f"{100 * figure:.2f}"


def written(table: Path, job: Path, made: "Draft", *, as_json: bool) -> None:
    """Print what is proposed for the columns of a table, and what to do with the job.

    No entry of the table is shown.
    """
    if as_json:
        console.as_json({"job": str(job), **made.to_dict()})
        return
    console.table(("column", "role", "reason"), _proposed(made))
    if made.sample:
        line(made.sample)
    columns = len({each.column for each in made.undecided if each.column is not None})
    others = sum(each.column is None for each in made.undecided)
    if columns:
        count = plural(columns, "column")
        line(f"Wrote {job}. Decide on {count}, marked ? above and DECIDE in {job}.")
    if others:
        first = "Decide" if columns else f"Wrote {job}. Decide"
        line(f"{first} on {plural(others, 'point')} at the head of {job}.")
    if columns or others:
        line("Then run")
    else:
        line(f"Wrote {job}. Look at the roles that are proposed in it, then run")
    ending = "" if is_folder_or_pattern(table) else find_release_suffix(table)
    named = quote(str(table))
    command(f"aggopt check {named} {job}")
    command(f"aggopt mask {named} {job} --out masked{ending}")


def _proposed(made: "Draft") -> Iterator[tuple[str, str, str]]:
    """Yield a row for each column: its role, or that it is open, and the reason."""
    from aggopt.command.proposal import described

    open_ = {each.column for each in made.undecided}
    for each in made.proposed:
        role = "?" if each.look.name in open_ else str(each.role)
        yield repr(each.look.name), role, described(each)


def _notes(notes: Iterable[str], audit: "Audit") -> None:
    for note in notes:
        if note != audit.warning:  # it stands above, with the verdict
            line(f"Note: {note}")


def _files(files: "ReleaseFiles") -> None:
    line(f"Masked table  {files.table}")
    line(f"Manifest      {files.manifest}  (how it was made: keep it to yourself)")
    kept = "(keep it to yourself: it links records to groups)"
    line(f"Private key   {files.private}  {kept}")
    for page in files.reports:
        line(f"Report        {page}  (for the public)")


def warmed_up(kernels: int, instead: Path | None, *, as_json: bool) -> None:
    """Print how many kernels were compiled, and where they are if not where named."""
    if as_json:
        kept = {} if instead is None else {"kept_in": str(instead)}
        console.as_json({"compiled": kernels, **kept})
        return
    if instead is not None:
        console.line(
            "The folder that NUMBA_CACHE_DIR names cannot be written to, and is passed "
            f"over: kernels are kept in {instead}, and in others beside it."
        )
    if kernels:
        console.line(f"Compiled {kernels} kernels; later runs read them from a cache.")
    else:
        console.line("All kernels are compiled already.")
