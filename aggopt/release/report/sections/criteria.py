"""The three criteria of the opinion 05/2014: attacks, chance and a control."""

from collections.abc import Iterator
from dataclasses import dataclass

from aggopt.core.plural import plural
from aggopt.measure.criteria import AttackResult, Criteria
from aggopt.release.audit.result import AMBER, GREEN, RED
from aggopt.release.report.facts import Facts
from aggopt.release.report.page import DataTable, format_share, round_share
from aggopt.release.report.sections.headline import TOO_FEW
from aggopt.release.report.sections.registry import ReportSection

INTRUDER = {
    "singling out": "takes values of the release, and looks for the only person",
    "linkability": "links what two sources have on a person",
    "inference": "takes the secret value of the nearest record",
}
VERDICTS = {
    GREEN: "no help shown",
    AMBER: "helps, by no more than 1/k",
    RED: "helps the attacker",
}
NO_CONTROL = (
    "Not measured: this takes a control, persons outside the release. aggopt mask "
    "--control 0.1 leaves some out of a second masking, and aggopt report --control "
    "FILE reads them from a file."
)


@dataclass(frozen=True)
class CriteriaContent:
    """Content of the section on the three criteria.

    Attributes
    ----------
    table
        Each attack: what it reaches, by chance, on the control, and the excess; None
        if nothing was measured.
    states
        Colour and verdict of each attack that the release helps.
    sentences
        The meaning of the figures.
    """

    table: DataTable | None
    states: tuple[tuple[str, str], ...]
    sentences: tuple[str, ...]


def find_state(attack: AttackResult, smallest: int) -> str:
    """Return the colour of an attack on groups of this size and larger.

    Green shows no help, amber no more than the groups allow, 1/k, and red more.
    """
    if not attack.helps:
        return GREEN
    return AMBER if attack.excess_interval[0] <= 1 / smallest < 1 else RED


def make_criteria(facts: Facts) -> CriteriaContent:
    """Return the content of the section."""
    criteria = facts.criteria
    if criteria is None:
        return CriteriaContent(None, (), (TOO_FEW if facts.few else NO_CONTROL,))
    states = [find_state(attack, facts.audit.smallest) for attack in criteria.attacks]
    rows = [
        [
            attack.name,
            INTRUDER[attack.criterion],
            *map(_format_rate, (attack.rate, attack.chance, attack.control)),
            _format_excess(attack),
            VERDICTS[state],
        ]
        for attack, state in zip(criteria.attacks, states, strict=True)
    ]
    head = [
        *("attack", "the intruder", "reaches", "by chance", "control"),
        *("excess, interval", "the release"),
    ]
    return CriteriaContent(
        DataTable("Attacks, chance and control", head, rows, (2, 3, 4, 5)),
        tuple(
            (state, f"{attack.name}: {VERDICTS[state]}")
            for attack, state in zip(criteria.attacks, states, strict=True)
            if state != GREEN
        ),
        tuple(_describe_criteria(criteria)),
    )


def _format_rate(share: float) -> str:
    """Return a rate as a rounded percentage."""
    return format_share(round_share(share))


def _format_excess(attack: AttackResult) -> str:
    """Return the excess and its interval in whole percentages."""
    low, high = (max(end, -1.0) for end in attack.excess_interval)
    ends = f"{_format_rate(low)} to {_format_rate(high)}"
    return f"{_format_rate(max(attack.excess, -1.0))} ({ends})"


def _describe_criteria(criteria: Criteria) -> Iterator[str]:
    """Yield sentences that explain the figures of the section and their limits."""
    yield (
        f"The control is {plural(criteria.control, 'person')} outside the release: "
        "what an attack reaches there, it reaches without the records of a person."
    )
    if criteria.is_second_masking:
        yield (
            "These are figures of a second masking by the same job, which left the "
            "control out. The release has all records."
        )
    yield (
        "The excess is (rate - control) / (1 - control), with its interval. All "
        f"intervals together hold with {100 * criteria.level:g} % confidence."
    )
    if all(attack.criterion != "inference" for attack in criteria.attacks):
        yield "No column is confidential, so that there is nothing to infer."
    if all(attack.criterion != "linkability" for attack in criteria.attacks):
        yield "One known attribute has no second one to link."
    yield (
        "A control does not show what a release says of a whole population. No figure "
        "here shows that the release is anonymous."
    )


CRITERIA = ReportSection(
    name="criteria",
    when="singling out, linkability and inference: attacks, chance and a control",
    rank=45,
    content=lambda facts: facts.once(make_criteria),
    heading="Singling out, linkability, inference",
    label="Criteria",
    template="criteria.html",
)
