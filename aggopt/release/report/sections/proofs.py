"""Certificates of a release in words."""

from collections.abc import Mapping
from dataclasses import dataclass

from aggopt.job import Shifting
from aggopt.release.report.facts import Facts
from aggopt.release.report.page import (
    MINUS,
    DataTable,
    format_figure,
    format_upper_bound,
)
from aggopt.release.report.sections.registry import ReportSection
from aggopt.solvers import Certificate, Status
from aggopt.solvers.certificate import PROVEN

SHOWN = 20
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True)
class Proof:
    """Content of the section on certificates.

    Attributes
    ----------
    groups
        Certificates of the groups, and the costs of requirements, in sentences.
    margins
        Whether objectives include secret margins, which each release draws.
    values, more
        Certificates of published values: a table, and a folded one.
    """

    groups: tuple[str, ...]
    margins: bool
    values: DataTable
    more: DataTable | None


def summarise_proofs(facts: Facts) -> Proof:
    """Return the certificates of a release."""
    several = len(facts.groups) > 1
    groups = [
        f"{f'Groups of {name}' if several else 'The groups'}: "
        f"{_describe_groups(certificate, facts.group_loss, few=facts.few)}"
        for name, certificate in facts.groups.items()
    ]
    rows = [
        _make_row(name, certificate, few=facts.few)
        for name, certificate in facts.certificates.items()
    ]
    more = _make_table(rows[SHOWN:]) if rows[SHOWN:] else None
    aggregation = facts.job.aggregation
    margins = isinstance(aggregation, Shifting) and aggregation.draws_margins
    groups += facts.promise_costs
    return Proof(tuple(groups), margins, _make_table(rows[:SHOWN]), more)


def is_proven(certificate: Certificate) -> bool:
    """Whether no point is better, but for the tolerance of optimality."""
    return certificate.gap is not None and certificate.gap <= PROVEN


def find_worst_gap(certificates: Mapping[str, Certificate]) -> float | None:
    """Return the largest gap; None where something has no bound, or is not solved."""
    gaps = [certificate.gap for certificate in certificates.values()]
    if not gaps or None in gaps:
        return None
    return max(gap for gap in gaps if gap is not None)


def format_gap(number: float) -> str:
    """Return a small number as a power of ten, except 0.

    >>> format_gap(0.0), format_gap(0.05), len(format_gap(3.2e-14))
    ('0', '0.05', 9)
    """
    if number == 0 or abs(number) >= 1e-3:
        return format_figure(number, 2)
    mantissa, _, power = f"{number:.0e}".partition("e")
    return f"{mantissa} · 10{str(int(power)).translate(RAISED)}".replace("-", MINUS)


def _describe_groups(certificate: Certificate, loss: str, *, few: bool) -> str:
    text = f"proven best: no partition has less {loss}."
    if is_proven(certificate):
        return text
    text = f"found by {certificate.solver}, not proven best"
    if certificate.bound is None or certificate.gap is None:
        return f"{text}; no bound is known."
    if certificate.objective > 0 and not few:
        less = (
            max(certificate.objective - certificate.bound, 0.0) / certificate.objective
        )
        bound = format_upper_bound(less)
        return f"{text}. At most {bound} of their {loss} could be saved."
    return f"{text}."


def _make_row(name: str, certificate: Certificate, *, few: bool) -> list[str]:
    """Return a row; sums over fewer than ten originals are not in it."""
    claimed = "; a bound is claimed, not proven" if certificate.claimed else ""
    ended = (
        "optimal" if certificate.status is Status.OPTIMAL else certificate.status.value
    )
    return [
        name,
        "proven best"
        if is_proven(certificate)
        else f"{ended}, not proven best{claimed}",
        "" if few else format_figure(certificate.objective),
        "" if few else format_figure(certificate.bound),
        "none" if certificate.gap is None else format_gap(certificate.gap),
        format_gap(certificate.violation),
    ]


def _make_table(rows: list[list[str]]) -> DataTable:
    head = ["attribute", "ended", "objective", "bound", "gap", "constraints missed by"]
    return DataTable("Certificates of published values", head, rows, (2, 3, 4, 5))


PROOF = ReportSection(
    name="proof",
    when="certificates of published values and of groups",
    rank=60,
    content=summarise_proofs,
    heading="What is proven",
    label="Proof",
    template="proof.html",
)
