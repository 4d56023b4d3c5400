"""What `aggopt mask` prints: its release in fifteen lines, and all urgent notes.

These tell what persons may lose, and which values are impossible.  All else that is
known of a release is in its manifest, which `--json` prints, too; and `aggopt assess`
measures it again.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from aggopt.core.html import render_text_table
from aggopt.core.plural import plural
from aggopt.release.audit.seal import AMBER

if TYPE_CHECKING:
    from aggopt.engine.folder_release import FolderRelease
    from aggopt.measure import Assessment
    from aggopt.release.audit.audit import Audit
    from aggopt.release.files.output_paths import ReleaseFiles
    from aggopt.release.release import Release
    from aggopt.solvers import Certificate

PROOFS = 4  # lines of certificates, beside their header
NOTES = 3  # lines of notes that are not urgent
NAME = 40  # characters of the names that a certificate is of
MARGINS = (
    "Objectives include the secret margins of this release: compare solvers by aggopt "
    "compare-solvers, not by two releases."
)
HEADER = ("attribute", "solver", "status", "objective", "bound", "gap", "violation")


def said(
    release: "Release", files: "ReleaseFiles", width: int | None = None
) -> list[str]:
    """Return the lines: verdict, risk, loss, certificates, notes, files.

    The table of certificates fits into `width` characters.
    """
    return [
        *verdict(release.audit),
        *figures(release.measures),
        *certificates(release.proofs, width=width),
        *margins(release),
        *notes(release, files),
        "; ".join([f"Masked table   {files.table}", *_reports(files)]),
        f"For you alone  {files.manifest} (how it was made, with all figures), "
        f"{files.private} (links records to groups)",
    ]


def said_of_folder(release: "FolderRelease", width: int | None = None) -> list[str]:
    """Return the lines of a release that is a folder, as `said` those of a table."""
    from aggopt.engine.reduce.certificates import LOSSES
    from aggopt.engine.storage.manifest_file import MANIFEST

    audit, manifest = release.audit, release.private / MANIFEST
    urgent = [note for note in release.notes if note in audit.disclosures]
    others = [note for note in release.notes if note not in audit.disclosures]
    lost = {n: percent / 100 for n, percent in release.measures.items() if n in LOSSES}
    loss = _losses(lost[LOSSES[0]], *(lost.get(name) for name in LOSSES[1:]))
    return [
        *verdict(audit),
        f"Risk: {_percent(release.measures['highest risk'])} for the record most at "
        f"risk, {_percent(release.measures['average risk'])} on average (1 / records "
        "of its combination).",
        f"Loss: {loss} (IL).",
        *certificates(release.certificates, width=width),
        *_listed(urgent, others, audit, manifest),
        f"Masked table   {release.path}",
        f"For you alone  {release.private} (the manifest, with all figures, and keys "
        "that link records to groups)",
    ]


def _reports(files: "ReleaseFiles") -> list[str]:
    """Return where the report is, if one was asked for."""
    return [f"report for the public {page}" for page in files.reports]


def verdict(audit: "Audit") -> list[str]:
    """Return whether the requirements hold, what else does, and what they leave open.

    That is four lines at most.
    """
    of_k, *checks = audit.verdict.splitlines()
    warning = [] if audit.warning is None else [f"WARNING: {audit.warning}"]
    return [of_k, *([" ".join(checks)] if checks else []), *warning, *amber(audit)]


def amber(audit: "Audit") -> list[str]:
    """Return what an amber seal advises; nothing of a green or a red one."""
    seal = audit.seal
    return [f"AMBER: {seal.advice}"] if seal.state == AMBER else []


def figures(found: "Assessment | None") -> list[str]:
    """Return a line of what an intruder can do, and one of what is lost."""
    from aggopt.measure.types import means_by_kind

    if found is None:
        return []
    risk = (
        f"Risk: {_percent(found.linkage)} of records linked one to one (at most "
        f"{_percent(found.linkage_limit)}), {_percent(found.dld)} to the nearest "
        f"(DLD); {', '.join(_disclosed_values(found))}."
    )
    own = [f"{name} {value:.6g}" for name, value in found.own]
    loss = [
        f"{_losses(found.il, *means_by_kind(found.to_dict(), 'il'))} (IL)",
        f"PIL {_percent(found.pil)}",
        f"risk and loss together SI {_percent(found.si)}",
        *own,
    ]
    return [risk, f"Loss: {', '.join(loss)}."]


def _disclosed_values(found: "Assessment") -> Iterator[str]:
    """Yield SDID of numbers, and of categories, if they vary, each with its chance."""
    for what, (success, chance) in sdid_by_kind(found):
        yield f"{_percent(success)} of {what} (SDID; {_percent(chance)} by chance)"


def sdid_by_kind(found: "Assessment") -> Iterator[tuple[str, tuple[float, float]]]:
    """Yield the values that SDID counts, in words, with its share and its chance."""
    from aggopt.measure.types import means_by_kind

    measures = found.to_dict()
    both = (means_by_kind(measures, name) for name in ("sdid", "sdid_chance"))
    kinds = (
        f"values within {found.safety:g} standard deviations",
        "categories published as the original",
    )
    for what, success, chance in zip(kinds, *both, strict=True):
        if success is not None and chance is not None:
            yield what, (success, chance)


def _losses(of_all: float, numbers: float | None, categories: float | None) -> str:
    """Return the loss: of numbers and of categories separately, if both vary."""
    if numbers is None or categories is None:
        return f"{_percent(of_all)} of the sum of squares"
    return (
        f"{_percent(numbers)} of the sum of squares of numbers, "
        f"{_percent(categories)} of that of categories"
    )


def _percent(share: float) -> str:
    return f"{100 * share:.2f} %"


def certificates(
    found: Mapping[str, "Certificate"],
    most: int = PROOFS,
    width: int | None = None,
) -> list[str]:
    """Return a table of certificates, in standardised units.

    Where they are many, those of the widest gaps, unproven first, and what the others
    are at most.
    """
    shown = dict(found)
    if len(found) > most:
        widest = sorted(found, key=lambda name: _width(found[name]), reverse=True)
        shown = {name: found[name] for name in widest[: most - 1]}
    rows = [_row(name, proof) for name, proof in shown.items()]
    lines = render_text_table(HEADER, rows, width=width).splitlines() if rows else []
    rest = [proof for name, proof in found.items() if name not in shown]
    return lines + ([_rest(rest)] if rest else [])


def margins(release: "Release") -> list[str]:
    """Return a line on the secret margins that the objectives include, if any."""
    from aggopt.job import Shifting

    how = release.job.aggregation
    return [MARGINS] if isinstance(how, Shifting) and how.draws_margins else []


def _width(certificate: "Certificate") -> float:
    return float("inf") if certificate.gap is None else certificate.gap


def _row(name: str, c: "Certificate") -> tuple[str, ...]:
    named = _short_name(" ".join(name.split()))
    bound = "none" if c.bound is None else f"{c.bound:.6g}"
    gap = "none" if c.gap is None else f"{c.gap:.1e}"
    return (
        *(named, c.solver, c.status.value),
        *(f"{c.objective:.6g}", bound, gap, f"{c.violation:.1e}"),
    )


def _short_name(line: str) -> str:
    """Return a name of at most `NAME` characters; a list of names ends after one."""
    if len(line) <= NAME:
        return line
    names = line[: NAME - 1].rpartition(", ")[0]
    return f"{names}, …" if names else f"{line[: NAME - 1]}…"


def _rest(certificates: list["Certificate"]) -> str:
    """Return what is true of all certificates that have no row of their own."""
    gaps = [c.gap for c in certificates if c.gap is not None]
    unproven = len(certificates) - len(gaps)
    says = [f"{unproven} without a bound"] if unproven else []
    says += [f"gap {max(gaps):.1e} at most"] if gaps else []
    missed = max(c.violation for c in certificates)
    return (
        f"and {len(certificates)} more: {', '.join(says)}, "
        f"violation {missed:.1e} at most: see the manifest."
    )


def notes(release: "Release", files: "ReleaseFiles") -> list[str]:
    """Return the urgent notes, some of the others, and where the rest of them is."""
    last = len(release.notes) - release.trivial
    urgent = *release.notes[: release.urgent], *release.notes_on(files.table)
    others = [*release.notes[release.urgent : last], *_of_categories(release)]
    return _listed(urgent, others, release.audit, files.manifest)


def _listed(
    urgent: Sequence[str], others: Sequence[str], audit: "Audit", manifest: Path
) -> list[str]:
    """Return all urgent notes, some of the others, and where the rest of them is."""
    shown = others if len(others) <= NOTES else others[: NOTES - 1]
    more = len(others) - len(shown)
    listed = [note for note in (*urgent, *shown) if note != audit.warning]
    rest = [f"{plural(more, 'more note')}: see notes in {manifest}."]
    return [*(f"Note: {note}" for note in listed), *(rest if more else [])]


def _of_categories(release: "Release") -> list[str]:
    """Say what the figures of categories are: they have units of their own."""
    from aggopt.aggregate import CATEGORY_AGGREGATORS

    how = release.job.aggregation.categories
    if how is None:
        return []
    return [f"Of categories: {CATEGORY_AGGREGATORS[how.method].certificate}."]
