"""Print a release, its review, a proposed job and the demo."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from aggopt.command import console
from aggopt.command.console import print_command, print_line, print_table
from aggopt.command.show_release import (
    format_certificates,
    format_folder_release,
    format_release,
    list_amber_advice,
)
from aggopt.core.plural import format_percent, plural
from aggopt.core.regular_files import is_folder_or_pattern
from aggopt.data.formats.registry import find_release_suffix

if TYPE_CHECKING:
    from aggopt.command.demo import DemoResult
    from aggopt.engine.folder_release import FolderRelease
    from aggopt.inspection.draft import Draft
    from aggopt.measure import Assessment
    from aggopt.measure.criteria import Criteria
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


def print_finished(written: "Release", files: "ReleaseFiles", *, as_json: bool) -> None:
    """Print a release whose files are written; a failed print leaves the files."""
    if as_json:
        stated = written.manifest()
        stated["notes"] += written.notes_on(files.table)
        console.print_json({"files": files.to_dict(), **stated})
    else:
        print_release(written, files)


def print_release(release: "Release", files: "ReleaseFiles") -> None:
    """Print the verdict, the risk, the loss and the certificates of a release."""
    _print_styled(format_release(release, files, console.get_line_width()))
    if release.criteria is not None:
        print_criteria(release.criteria)


def print_criteria(criteria: "Criteria") -> None:
    """Print the attacks of the three criteria, with chance, control and excess."""
    rows = [
        (
            attack.name,
            *map(format_percent, (attack.rate, attack.chance, attack.control)),
            f"{format_percent(attack.excess)} "
            f"({' to '.join(map(format_percent, attack.excess_interval))})",
            "HELPS" if attack.helps else "no help shown",
        )
        for attack in criteria.attacks
    ]
    title = (
        f"Singling out, linkability, inference: control of {criteria.control} records"
        f"{', left out of a second masking' if criteria.is_second_masking else ''}; "
        f"all intervals together: {100 * criteria.level:g} %"
    )
    heading = ("attack", "reaches", "chance", "control", "excess", "the release")
    print_table(heading, rows, title=title, right=range(1, len(heading)))


def print_folder_release(release: "FolderRelease") -> None:
    """Print the verdict, the risk, the loss and the certificates of a folder."""
    _print_styled(format_folder_release(release, console.get_line_width()))


def _print_styled(lines: Iterable[str]) -> None:
    for text in lines:
        print_line(
            text, style=next((s for w, s in STYLES.items() if text.startswith(w)), None)
        )


def print_review(review: "Review") -> None:
    """Print the review of a release."""
    print_audit(review.audit)
    for warning in filter(None, (review.loss, review.warning)):
        print_line(f"WARNING: {warning}", style="bold red")
    _print_measures(review.measures, review.audit)
    _print_notes(review.audit.notes, review.audit)


def print_audit(audit: "Audit") -> None:
    """Print whether the requirements hold on the values, and the open risks."""
    print_line(audit.verdict)
    if audit.warning:
        print_line(f"WARNING: {audit.warning}", style="bold red")
    for advice in list_amber_advice(audit):
        print_line(advice, style=STYLES["AMBER"])
    if audit.identifiers:
        print_line(f"Must not be there: {', '.join(audit.identifiers)}.")


def _print_measures(measures: "Assessment | None", audit: "Audit") -> None:
    """Print the measures, with the counts of the audit among the risks."""
    if measures is None:
        return
    what = audit.whole.what
    rows = [("unique", audit.whole, f"{what}s unique with their combination")]
    rows += [
        (extra.short, extra.count, f"records unique, {extra.what} known too")
        for extra in audit.beside
        if extra.count.what == "record"
    ]
    counted = [
        (name, count.unique / count.total, f"{says} ({count.unique})")
        for name, count, says in rows
    ]
    if what == "record" and measures.n < audit.records:
        of = f"{measures.n:,} of {audit.records:,} records"
        print_line(
            f"Measured on the {of} of which nothing is missing, before and after."
        )
    print_line(measures.table(counted))


def print_demo(shown: "DemoResult") -> None:
    """Print risk and loss of the originals, of plain means and of P3M."""
    print_audit(shown.release.audit)
    print_line(
        "\n".join(
            format_certificates(
                shown.release.certificates, width=console.get_line_width()
            )
        )
    )
    rows = [
        (
            meaning,
            *(
                _format_count_or_percent(getattr(a, short))
                for a in shown.compared.values()
            ),
        )
        for short, meaning in _SHOWN.items()
    ]
    header = ("measure", *shown.compared)
    title = "Risk and loss in %, before and after"
    console.print_table(header, rows, title=title, right=range(1, len(header)))
    _print_files(shown.files)
    print_line(f"Picture       {shown.picture}  (shows originals: keep it to yourself)")


def _format_count_or_percent(figure: int | float) -> str:
    return str(figure) if isinstance(figure, int) else f"{100 * figure:.2f}"


def print_draft(table: Path, job: Path, draft: "Draft", *, as_json: bool) -> None:
    """Print the proposed role of each column, and the next commands.

    No entry of the table is shown.
    """
    if as_json:
        console.print_json({"job": str(job), **draft.to_dict()})
        return
    console.print_table(("column", "role", "reason"), _list_proposals(draft))
    if draft.sample:
        print_line(draft.sample)
    columns = len(
        {obstacle.column for obstacle in draft.undecided if obstacle.column is not None}
    )
    others = sum(obstacle.column is None for obstacle in draft.undecided)
    if columns:
        count = plural(columns, "column")
        print_line(
            f"Wrote {job}. Decide on {count}, marked ? above and DECIDE in {job}."
        )
    if others:
        first = "Decide" if columns else f"Wrote {job}. Decide"
        print_line(f"{first} on {plural(others, 'point')} at the head of {job}.")
    if columns or others:
        print_line("Then run")
    else:
        print_line(f"Wrote {job}. Look at the roles that are proposed in it, then run")
    ending = "" if is_folder_or_pattern(table) else find_release_suffix(table)
    table_name = quote(str(table))
    print_command(f"aggopt check {table_name} {job}")
    print_command(f"aggopt mask {table_name} {job} --out masked{ending}")


def _list_proposals(draft: "Draft") -> Iterator[tuple[str, str, str]]:
    """Yield a row for each column: its role, or that it is open, and the reason."""
    from aggopt.inspection.proposal import describe_proposal

    open_ = {obstacle.column for obstacle in draft.undecided}
    for proposal in draft.proposed:
        role = "?" if proposal.look.name in open_ else str(proposal.role)
        yield repr(proposal.look.name), role, describe_proposal(proposal)


def _print_notes(notes: Iterable[str], audit: "Audit") -> None:
    for note in notes:
        if note != audit.warning:  # it stands above, with the verdict
            print_line(f"Note: {note}")


def _print_files(files: "ReleaseFiles") -> None:
    print_line(f"Masked table  {files.table}")
    print_line(
        f"Manifest      {files.manifest}  (how it was made: keep it to yourself)"
    )
    advice = "(keep it to yourself: it links records to groups)"
    print_line(f"Private key   {files.private}  {advice}")
    if files.report is not None:
        print_line(f"Report        {files.report}  (for the public)")
    if files.ddi is not None:
        print_line(f"Codebook      {files.ddi}  (for the public)")


def print_warm_up(kernels: int, instead: Path | None, *, as_json: bool) -> None:
    """Print how many kernels were compiled, and their folder if it is another one."""
    if as_json:
        cache = {} if instead is None else {"kept_in": str(instead)}
        console.print_json({"compiled": kernels, **cache})
        return
    if instead is not None:
        console.print_line(
            "The folder that NUMBA_CACHE_DIR names cannot be written to, and is passed "
            f"over: kernels are kept in {instead}, and in others beside it."
        )
    if kernels:
        console.print_line(
            f"Compiled {kernels} kernels; later runs read them from a cache."
        )
    else:
        console.print_line("All kernels are compiled already.")
