"""The head of a report: seal, open risks, four tiles, three sentences."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from math import fsum

import numpy as np

from aggopt.aggregate import AGGREGATORS
from aggopt.core.plural import agree, plural
from aggopt.core.types import Labels
from aggopt.privacy.dominance import Dominance
from aggopt.privacy.requirement import Check
from aggopt.release.audit.bounds import BoundsCheck
from aggopt.release.audit.counts import combine_codes, encode_entries
from aggopt.release.audit.result import AMBER, GREEN
from aggopt.release.audit.risk_limits import LINKAGE, RiskLimit
from aggopt.release.report.facts import Facts
from aggopt.release.report.page import format_share, format_upper_bound, round_share
from aggopt.release.report.sections.attacks import UNLINKED, Attacks, find_attacks
from aggopt.release.report.sections.proofs import find_worst_gap
from aggopt.release.report.sections.registry import ReportSection
from aggopt.solvers import Certificate
from aggopt.solvers.certificate import PROVEN

STATISTICS = ("mean", "variance", "covariance")
SIGNS = {"green": "\N{CHECK MARK}", "amber": "!", "red": "\N{BALLOT X}"}
NO_FIGURE = "not measured"
NOTHING = "nothing that was masked varies, or too few records are complete"
TOO_FEW = "nothing is said of fewer than 10 records"
Card = tuple[str, str, str]


@dataclass(frozen=True)
class Headline:
    """Content of the top of a report.

    Attributes
    ----------
    state, sign
        "green", "amber" or "red", and the sign of it.
    heading
        The seal in one line.
    risks
        Risks that the requirements leave open, in sentences.
    says
        The count, its source, and whether the file may be published.
    checks
        Each further requirement, and its check.
    cards
        Name, figure and meaning of four numbers.
    sentences
        The masking, the choice of values, and the changes.
    """

    state: str
    sign: str
    heading: str
    risks: tuple[str, ...]
    says: tuple[str, ...]
    checks: tuple[str, ...]
    cards: tuple[Card, ...]
    sentences: tuple[str, ...]


def make_headline(facts: Facts) -> Headline:
    """Return the head of a report, with the best of the attacks."""
    audit = facts.audit
    seal = facts.audit.seal
    attacks = facts.once(find_attacks)
    helps = tuple(_describe_help(facts))
    state = AMBER if helps and seal.state == GREEN else seal.state
    return Headline(
        state=state,
        sign=SIGNS[state],
        heading=seal.heading,
        risks=(*seal.risks, *helps),
        says=(*describe_count(facts), seal.advice),
        checks=(
            *map(describe_check, audit.checks),
            *map(_describe_stated, facts.stated),
        ),
        cards=(
            _make_links_card(facts, attacks),
            _make_unchanged_card(facts),
            _make_loss_card(facts),
            _make_groups_card(facts),
        ),
        sentences=tuple(_describe_release(facts)),
    )


def _describe_help(facts: Facts) -> Iterator[str]:
    """Yield a sentence on attacks that the release helps, if it helps any."""
    attacks = facts.criteria.attacks if facts.criteria else ()
    names = [attack.name for attack in attacks if attack.helps]
    if names:
        yield (
            "The release helps an intruder more than chance does, and more than "
            f"against persons outside it: {', '.join(names)}."
        )


def describe_check(check: Check | BoundsCheck | RiskLimit) -> str:
    """Return a check as text; shares of weights, which are secret, in whole percent.

    Of a linkage the text only has whether the limit holds: the figure is a measure.
    """
    if isinstance(check, RiskLimit) and check.name == LINKAGE:
        return f"{check.promise}: it was measured with the originals, before writing."
    if isinstance(check, Check) and check.promise == Dominance.model:
        return str(replace(check, found=round(check.found, 2)))
    return str(check)


def _describe_stated(check: Check) -> str:
    """Return a check's text, and why only the manifest of the release can state it."""
    return (
        f"{describe_check(check)} So its manifest says: it is of the weights that "
        "originals had, which no release has, and was not counted again."
    )


def describe_count(facts: Facts) -> Iterator[str]:
    """Yield sentences on the smallest group, and on the file that was counted."""
    audit = facts.audit
    rarest = plural(audit.smallest, facts.what)
    attributes = {
        "combination": "the masked attributes",
        "blocks": "each block of the masked attributes",
        "keys": f"each of {plural(len(audit.blocks), 'set')} of attributes",
    }[audit.scope]
    strata = audit.strata and f" and {', '.join(audit.strata)}"
    yield (
        f"Every combination of {attributes}{strata or ''} is shared by at least "
        f"{rarest}."
    )
    if facts.sha256 is not None:
        yield (
            "It was counted on the bytes of the file, by code that knows nothing of "
            "how they were made."
        )
    else:
        yield "It was counted on the values that are released."
    yield f"What was promised is stated by {facts.promised_by}."
    if audit.identifiers:
        yield f"Columns that must not be there: {', '.join(audit.identifiers)}."


def _make_links_card(facts: Facts, attacks: Attacks) -> Card:
    """Return the tile of the attack that links most records, and of the best guesses.

    Values that are guessed better than by chance follow by name: masked ones, and then
    confidential ones.
    """
    name = "Correct matches"
    best = attacks.best
    guesses = [
        f"{bar.name} {format_share(bar.share)} ({format_share(bar.chance)} by chance)"
        for bar in attacks.values
    ]
    values = f" Values: {'; '.join(guesses)}." if guesses else ""
    if best is None:
        why = TOO_FEW if facts.few else UNLINKED
        return name, NO_FIGURE, f"{why}.{values}" if values else why
    limit = (
        ""
        if best.limit is None
        else f"; groups allow {format_share(best.limit)} at most"
    )
    chance = format_share(best.chance)
    says = f"by {best.name}, the best attack; {chance} by chance{limit}."
    return name, format_share(best.share), says + values


def _make_unchanged_card(facts: Facts) -> Card:
    name = "Published unchanged"
    if facts.unchanged is None:
        why = TOO_FEW if facts.few else "the originals were not compared"
        return name, "not counted", why
    meaning = "of records have every masked value as in the originals"
    return name, format_share(facts.unchanged / facts.audit.records), meaning


def _make_loss_card(facts: Facts) -> Card:
    name = "Information lost"
    meaning = "of the sum of squares"
    loss = facts.information_loss
    if loss is None:
        return name, NO_FIGURE, TOO_FEW if facts.few else NOTHING
    if loss.numbers is None or loss.categories is None:
        return name, format_share(loss.overall), f"{meaning}; lower is better"
    both = (
        f"{meaning} of numbers; {format_share(loss.categories)} of that of categories"
    )
    return name, format_share(loss.numbers), f"{both}; lower is better"


def _make_groups_card(facts: Facts) -> Card:
    """Return the tile of how much less other groups could lose, at most."""
    name = "Could better groups exist?"
    values = _describe_values(facts)
    if facts.few:
        return name, "unknown", TOO_FEW
    less = bound_saving(facts.groups.values())
    if less is None:
        return name, "unknown", f"no bound on other groups is proven; {values}"
    if less <= PROVEN:
        return name, "no", f"proven: no groups have less {facts.group_loss}; {values}"
    figure = f"at most {format_upper_bound(less)} less loss"
    return name, figure, f"proven bound on the {facts.group_loss} of groups; {values}"


def bound_saving(groups: Iterable[Certificate]) -> float | None:
    """Return the share of the squared error that other groups could save, at most.

    None if a partition has no proven bound.
    """
    certificates = list(groups)
    bounds = [
        certificate.bound
        for certificate in certificates
        if certificate.bound is not None
    ]
    if not certificates or len(bounds) < len(certificates):
        return None
    objective = fsum(certificate.objective for certificate in certificates)
    less = objective - fsum(bounds)
    return max(less, 0.0) / objective if objective > 0 else 0.0


def _describe_values(facts: Facts) -> str:
    """Return a text on the certificates of the values that these groups publish."""
    gap = find_worst_gap(facts.certificates)
    if gap is None:
        return "some published values have no proven bound"
    if gap <= PROVEN:
        return "for these groups the values are proven best"
    bound = format_upper_bound(min(gap, 1.0))
    return f"for these groups the values are within {bound} of the best"


def _describe_release(facts: Facts) -> Iterator[str]:
    audit = facts.audit
    sizes = facts.sizes
    within = f", each within one {' and '.join(audit.strata)}" if audit.strata else ""
    if audit.scope == "keys":
        cells = audit.missing.cells if audit.missing else 0
        yield (
            f"{plural(audit.records, 'record')} have {plural(cells, 'missing value')} "
            "among the masked attributes: values of rare combinations of keys were "
            "suppressed, and all others are published unchanged or recoded."
        )
        yield from _describe_change(facts)
        return
    if audit.scope == "blocks" and len(audit.blocks) > 1:
        groups = f"groups in each of {len(audit.blocks)} blocks of attributes"
    else:
        groups = f"{len(sizes)} groups of {sizes.min()} to {sizes.max()}"
    yield (
        f"{plural(audit.records, 'record')} {agree(audit.records, 'was', 'were')} put "
        f"into {groups}, similar ones together{within}, and each group publishes "
        "one value per attribute instead of its members' own."
    )
    yield " ".join(_describe_choice(facts))
    yield from _describe_change(facts)


def _describe_choice(facts: Facts) -> Iterator[str]:
    aggregation = facts.job.aggregation
    purpose = (
        AGGREGATORS[aggregation.method].when
        if aggregation.method in AGGREGATORS
        else ""
    )
    reason = f" ({purpose})" if purpose else ""
    stated = [n for n, s in facts.job.attributes.items() if s.is_truthful]
    if len(stated) < len(facts.names):
        yield f"The values were chosen by {aggregation.method}{reason}."
    if stated:
        names = ", ".join(stated)
        yield f"Of {names} they are statements that are true of each member."
        lost = (facts.measures or {}).get("generalised_loss")
        if lost is not None:
            share = format_share(round_share(lost))
            yield f"These give up {share} of what the values say; * gives up all."
    statistics = [
        f"the {statistic}" for statistic in STATISTICS if statistic in aggregation.keeps
    ]
    if statistics and facts.columns:
        yield f"Of numbers they keep {' and '.join(statistics)}."
    gap = find_worst_gap(facts.certificates)
    if gap is not None and gap <= PROVEN:
        yield "For these groups it is proven that no choice does better."
    else:
        yield "That no choice does better is not proven of all of them: see below."


def _describe_change(facts: Facts) -> Iterator[str]:
    """Yield the sentence on unique records before and after masking."""
    if facts.original is None:
        return
    originals = facts.original.frame
    strata = facts.released.frame
    columns = [originals[name] for name in facts.names]
    columns += [strata[name] for name in facts.job.roles.stratum]
    before = combine_codes(map(encode_entries, columns))
    now = facts.audit.unique
    is_or_are = "is" if now == 1 else "are"
    of_them = " of them" if facts.what == "record" else ""
    after = f"{plural(now, facts.what)}{of_them} {is_or_are}" if now else "none is"
    yield (
        f"Before, {format_share(_compute_unique_share(before))} of the records were "
        "unique with their "
        f"combination; now {after}."
    )


def _compute_unique_share(labels: Labels) -> float:
    """Return the share of records that are alone in their group of labels."""
    sizes = np.bincount(labels)
    return float((sizes == 1).sum() / len(labels))


PROMISE = ReportSection(
    name="promise",
    when="the seal, the risks that remain, the requirements, and four figures",
    rank=10,
    content=lambda facts: facts.once(make_headline),
    label="Promise",
    template="promise.html",
)
SENTENCES = ReportSection(
    name="sentences",
    when="the masking, the choice of values and the changes, in three sentences",
    rank=30,
    content=lambda facts: facts.once(make_headline).sentences,
    heading="In three sentences",
    template="sentences.html",
)
