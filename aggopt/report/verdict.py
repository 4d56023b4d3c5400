"""What a report says first: verdict, four numbers, three sentences."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from aggopt.aggregate import AGGREGATORS
from aggopt.core.plural import many
from aggopt.core.types import Labels
from aggopt.output.counts import codes_of, together
from aggopt.output.within import Within
from aggopt.privacy._dominance import Dominance
from aggopt.privacy._requirement import Check
from aggopt.report.facts import Facts
from aggopt.report.proof import worst_gap
from aggopt.report.words import as_share, share
from aggopt.solvers._certificate import PROVEN

STATISTICS = ("mean", "variance", "covariance")


@dataclass(frozen=True)
class Headline:
    """What stands at the top of a report.

    Attributes
    ----------
    holds
        Whether all requirements do.
    heading, says
        In one line, and in a few.
    checks
        Each further requirement, and what was found of it.
    cards
        Name, figure and meaning of four numbers.
    sentences
        What was done, how the values were chosen, what it changed.
    """

    holds: bool
    heading: str
    says: tuple[str, ...]
    checks: tuple[str, ...]
    cards: tuple[tuple[str, str, str], ...]
    sentences: tuple[str, ...]


def verdict(facts: Facts) -> Headline:
    """Return what a report says first."""
    audit = facts.audit
    kept = "holds" if audit.holds else "does not hold"
    return Headline(
        holds=audit.holds,
        heading=f"k = {audit.k} {kept}" if audit.holds else _broken(facts),
        says=tuple(_says(facts)),
        checks=(*map(_told, audit.checks), *map(_stated, facts.stated)),
        cards=tuple(_cards(facts)),
        sentences=tuple(_sentences(facts)),
    )


def _told(check: Check | Within) -> str:
    """Say what was found: of weights, which are not published, in whole percent."""
    if isinstance(check, Check) and check.promise == Dominance.model:
        return str(replace(check, found=as_share(check.found)))
    return str(check)


def _stated(check: Check) -> str:
    """Say what the manifest has of it, and why it was not counted again."""
    return (
        f"{_told(check)} So its manifest says: it is of the weights that originals "
        "had, which no release has, and was not counted again."
    )


def _broken(facts: Facts) -> str:
    if facts.audit.smallest < facts.audit.k:
        return f"k = {facts.audit.k} does not hold"
    return "What was promised does not hold"


def _says(facts: Facts) -> Iterator[str]:
    audit = facts.audit
    rarest = many(audit.smallest, facts.what)
    scope = "each block of the masked attributes"
    of = "the masked attributes" if audit.scope == "combination" else scope
    strata = audit.strata and f" and {', '.join(audit.strata)}"
    yield f"Every combination of {of}{strata or ''} stands in at least {rarest}."
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
    if audit.holds:
        yield (
            "As far as these requirements go, the file may be published; what they do "
            "not cover is said below."
        )
    else:
        yield "Do not publish this file."


def _cards(facts: Facts) -> Iterator[tuple[str, str, str]]:
    audit, found = facts.audit, facts.measures
    of = "" if audit.scope == "combination" else " of a block"
    shared = f"{facts.what}s share the rarest combination{of}; {audit.k} promised"
    yield "Privacy", str(audit.smallest), shared
    if found is None:
        none = "not said of fewer than 10" if facts.few else "nothing was measured"
        if facts.loss is None:
            yield "Best attack links", "none", none
            yield "Information lost", "none", none
        else:
            yield "Best attack links", "not measured", "where parts are masked"
            yield _lost(facts.loss)
    else:
        best = as_share(max(found["linkage"], found["dld"]))
        limit = share(found["linkage_limit"])
        capped = f"of records to their own; groups cap it at {limit}"
        yield "Best attack links", share(best), capped
        yield _lost(found["il"])
    gap = worst_gap(facts.certificates)
    if gap is None:
        yield "Proven within", "none", "some published values have no proven bound"
    else:
        shown = "10⁻⁶" if gap <= PROVEN else share(min(gap, 1.0))
        shown = "< 1 %" if PROVEN < gap < 0.005 else shown
        yield "Proven within", shown, "of the best values possible for these groups"


def _lost(loss: float) -> tuple[str, str, str]:
    lost = as_share(loss)
    shown = "< 1 %" if lost == 0 < loss else share(lost)
    return "Information lost", shown, "of the sum of squares; lower is better"


def _sentences(facts: Facts) -> Iterator[str]:
    audit, sizes = facts.audit, facts.sizes
    within = f", each within one {' and '.join(audit.strata)}" if audit.strata else ""
    if audit.scope == "blocks" and len(audit.blocks) > 1:
        groups = f"groups in each of {len(audit.blocks)} blocks of attributes"
    else:
        groups = f"{len(sizes)} groups of {sizes.min()} to {sizes.max()}"
    yield (
        f"{many(audit.records, 'record')} were put into {groups}, similar ones "
        f"together{within}, and each group publishes one value per attribute instead "
        "of its members' own."
    )
    yield " ".join(_chosen(facts))
    yield from _changed(facts)


def _chosen(facts: Facts) -> Iterator[str]:
    how = facts.job.aggregation
    known = AGGREGATORS[how.method].when if how.method in AGGREGATORS else ""
    yield f"The values were chosen by {how.method}{f' ({known})' if known else ''}."
    kept = [f"the {statistic}" for statistic in STATISTICS if statistic in how.keeps]
    if kept and facts.columns:
        yield f"Of numbers they keep {' and '.join(kept)}."
    gap = worst_gap(facts.certificates)
    if gap is not None and gap <= PROVEN:
        yield "For these groups it is proven that no choice does better."
    else:
        yield "That no choice does better is not proven of all of them: see below."


def _changed(facts: Facts) -> Iterator[str]:
    if facts.original is None:
        return
    own, strata = facts.original.frame, facts.released.frame
    columns = [own[name] for name in facts.names]
    columns += [strata[name] for name in facts.job.roles.stratum]
    before = together(map(codes_of, columns))
    alone = share(as_share(_alone(before)))
    now = facts.audit.unique
    is_or_are = "is" if now == 1 else "are"
    after = f"{many(now, 'record')} of them {is_or_are}" if now else "none is"
    yield (
        f"Before, {alone} of the records were alone with their combination; now "
        f"{after}."
    )


def _alone(labels: Labels) -> float:
    sizes = np.bincount(labels)
    return float((sizes == 1).sum() / len(labels))
