"""What `aggopt mask` prints: its release in fifteen lines, and all urgent notes.

Urgent notes are on risks of people and on impossible values.  All else that is
known of a release is in its manifest, which `--json` prints, too; and `aggopt assess`
measures it again.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from aggopt.core.html import render_text_table, truncate_names
from aggopt.core.plural import format_percent, plural
from aggopt.release.audit.result import AMBER

if TYPE_CHECKING:
    from aggopt.engine.folder_release import FolderRelease
    from aggopt.measure import Assessment
    from aggopt.release.audit.audit import Audit
    from aggopt.release.files.output_paths import ReleaseFiles
    from aggopt.release.release import Release
    from aggopt.solvers import Certificate

PROOFS = 4  # lines of certificates, beside their header
NOTES = 3  # lines of notes that are not urgent
MARGINS = (
    "Objectives include the secret margins of this release: compare solvers by aggopt "
    "compare-solvers, not by two releases."
)
HEADER = ("attribute", "solver", "status", "objective", "bound", "gap", "violation")


def format_release(
    release: "Release", files: "ReleaseFiles", width: int | None = None
) -> list[str]:
    """Return the lines: verdict, risk, loss, certificates, notes, files.

    The table of certificates fits into `width` characters.  A line states the reason of
    a partition method that aggopt chose.
    """
    from aggopt.job import is_partition_reason

    return [
        *format_verdict(release.audit),
        *format_figures(release.measures),
        *format_certificates(release.proofs, width=width),
        *explain_margins(release),
        *filter(is_partition_reason, release.notes),
        *select_release_notes(release, files),
        "; ".join([f"Masked table   {files.table}", *_list_documents(files)]),
        f"For you alone  {files.manifest} (how it was made, with all figures), "
        f"{files.private} (links records to groups)",
    ]


def format_folder_release(
    release: "FolderRelease", width: int | None = None
) -> list[str]:
    """Return the lines of a release that is a folder."""
    from aggopt.engine.certificates import LOSSES
    from aggopt.engine.validate.output_folders import MANIFEST

    audit = release.audit
    manifest = release.private / MANIFEST
    urgent = [note for note in release.notes if note in audit.disclosures]
    others = [note for note in release.notes if note not in audit.disclosures]
    lost = {n: percent / 100 for n, percent in release.measures.items() if n in LOSSES}
    loss = _format_losses(lost[LOSSES[0]], *(lost.get(name) for name in LOSSES[1:]))
    highest = format_percent(release.measures["highest risk"])
    average = format_percent(release.measures["average risk"])
    return [
        *format_verdict(audit),
        f"Risk: {highest} for the record most at risk, {average} on average (1 / "
        "records of its combination).",
        f"Loss: {loss}.",
        *format_certificates(release.certificates, width=width),
        *_select_notes(urgent, others, audit, manifest),
        f"Masked table   {release.path}",
        f"For you alone  {release.private} (the manifest, with all figures, and keys "
        "that link records to groups)",
    ]


def _list_documents(files: "ReleaseFiles") -> list[str]:
    """Return the paths of the report and of the DDI codebook, if there are some."""
    documents = {"report": files.report, "codebook": files.ddi}
    return [f"{w} for the public {path}" for w, path in documents.items() if path]


def format_verdict(audit: "Audit") -> list[str]:
    """Return the verdict on the requirements, other promises, and warnings.

    That is four lines at most.
    """
    of_k, *checks = audit.verdict.splitlines()
    warning = [] if audit.warning is None else [f"WARNING: {audit.warning}"]
    return [
        of_k,
        *([" ".join(checks)] if checks else []),
        *warning,
        *list_amber_advice(audit),
    ]


def list_amber_advice(audit: "Audit") -> list[str]:
    """Return the advice of an amber seal; no line for a green or a red one."""
    seal = audit.seal
    return [f"AMBER: {seal.advice}"] if seal.state == AMBER else []


def format_figures(assessment: "Assessment | None") -> list[str]:
    """Return a line on the risk, and one on the loss."""
    from aggopt.measure.types import means_by_kind

    if assessment is None:
        return []
    risk = [
        f"records linked one to one {format_percent(assessment.linkage)} (at most "
        f"{format_percent(assessment.linkage_limit)})",
        f"to the nearest record {format_percent(assessment.dld)} (DLD)",
        *_format_disclosed_values(assessment),
    ]
    by_kind = means_by_kind(assessment.to_dict(), "il")
    loss = [
        _format_losses(assessment.il, *by_kind),
        "change of means, variances, correlations and quantiles "
        f"{format_percent(assessment.pil)} (PIL)",
        f"score of risk and loss {format_percent(assessment.si)} (SI, 0 is best)",
        *(f"{name} {value:.6g}" for name, value in assessment.own),
    ]
    return [f"Risk: {'; '.join(risk)}.", f"Loss: {'; '.join(loss)}."]


def _format_disclosed_values(assessment: "Assessment") -> Iterator[str]:
    """Yield SDID of numbers, and of categories, if they vary, each with its chance."""
    for what, (success, chance) in list_sdid_by_kind(assessment):
        by_chance = f"{format_percent(chance)} by chance"
        yield f"{what} {format_percent(success)} ({by_chance}, SDID)"


def list_sdid_by_kind(
    assessment: "Assessment",
) -> Iterator[tuple[str, tuple[float, float]]]:
    """Yield the values that SDID counts, in words, with its share and its chance."""
    from aggopt.measure.types import means_by_kind

    measures = assessment.to_dict()
    both = (means_by_kind(measures, name) for name in ("sdid", "sdid_chance"))
    kinds = (
        f"values within {assessment.safety:g} standard deviations",
        "categories published as the original",
    )
    for what, success, chance in zip(kinds, *both, strict=True):
        if success is not None and chance is not None:
            yield what, (success, chance)


def _format_losses(
    of_all: float, numbers: float | None, categories: float | None
) -> str:
    """Return the loss: also of numbers and of categories alone, if both vary."""
    both = ""
    if numbers is not None and categories is not None:
        both = (
            f": numbers {format_percent(numbers)}, categories "
            f"{format_percent(categories)}"
        )
    return f"{format_percent(of_all)} of the sum of squares (IL{both})"


def format_certificates(
    certificates: Mapping[str, "Certificate"],
    max_lines: int = PROOFS,
    width: int | None = None,
) -> list[str]:
    """Return a table of certificates, in standardised units.

    Of many certificates, it has the ones of the widest gaps, unproven first, and a
    bound on the others.
    """
    shown = dict(certificates)
    if len(certificates) > max_lines:
        widest = sorted(
            certificates, key=lambda name: _get_gap(certificates[name]), reverse=True
        )
        shown = {name: certificates[name] for name in widest[: max_lines - 1]}
    rows = [_format_certificate(name, proof) for name, proof in shown.items()]
    lines = render_text_table(HEADER, rows, width=width).splitlines() if rows else []
    rest = [proof for name, proof in certificates.items() if name not in shown]
    return lines + ([_describe_rest(rest)] if rest else [])


def explain_margins(release: "Release") -> list[str]:
    """Return a line on the secret margins that the objectives include, if any."""
    from aggopt.job import Shifting

    aggregation = release.job.aggregation
    return (
        [MARGINS]
        if isinstance(aggregation, Shifting) and aggregation.draws_margins
        else []
    )


def _get_gap(certificate: "Certificate") -> float:
    return float("inf") if certificate.gap is None else certificate.gap


def _format_certificate(name: str, c: "Certificate") -> tuple[str, ...]:
    short = truncate_names(" ".join(name.split()))
    bound = "none" if c.bound is None else f"{c.bound:.6g}"
    gap = "none" if c.gap is None else f"{c.gap:.1e}"
    return (
        *(short, c.solver, c.status.value),
        *(f"{c.objective:.6g}", bound, gap, f"{c.violation:.1e}"),
    )


def _describe_rest(certificates: list["Certificate"]) -> str:
    """Return a line on all certificates that have no row of their own."""
    gaps = [c.gap for c in certificates if c.gap is not None]
    unproven = len(certificates) - len(gaps)
    says = [f"{unproven} without a bound"] if unproven else []
    says += [f"gap {max(gaps):.1e} at most"] if gaps else []
    missed = max(c.violation for c in certificates)
    return (
        f"and {len(certificates)} more: {', '.join(says)}, "
        f"violation {missed:.1e} at most: see the manifest."
    )


def select_release_notes(release: "Release", files: "ReleaseFiles") -> list[str]:
    """Return the urgent notes, some of the others, and the place of the rest."""
    last = len(release.notes) - release.trivial
    urgent = *release.notes[: release.urgent], *release.notes_on(files.table)
    others = [*release.notes[release.urgent : last], *_explain_categories(release)]
    return _select_notes(urgent, others, release.audit, files.manifest)


def _select_notes(
    urgent: Sequence[str], others: Sequence[str], audit: "Audit", manifest: Path
) -> list[str]:
    """Return all urgent notes, some of the others, and the place of the rest."""
    shown = others if len(others) <= NOTES else others[: NOTES - 1]
    more = len(others) - len(shown)
    listed = [note for note in (*urgent, *shown) if note != audit.warning]
    rest = [f"{plural(more, 'more note')}: see notes in {manifest}."]
    return [*(f"Note: {note}" for note in listed), *(rest if more else [])]


def _explain_categories(release: "Release") -> list[str]:
    """Explain the figures of categories and statements, which have their own units."""
    from aggopt.aggregate import CATEGORY_AGGREGATORS

    attributes = release.job.attributes.items()
    stated = [name for name, section in attributes if section.is_truthful]
    section = release.job.aggregation.categories
    notes = []
    if section is not None and {*release.masked.domains} - {*stated}:
        certificate = CATEGORY_AGGREGATORS[section.method].certificate
        notes.append(f"Of categories: {certificate}.")
    if stated:
        names = ", ".join(map(repr, stated))
        notes.append(
            f"Of {names}: loss of true statements, 1 for each suppressed value, the "
            "least of these groups."
        )
    return notes
