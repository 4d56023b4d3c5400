"""Attacks on a release: their success, that of chance, and the limit of k."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from aggopt.core.plural import plural
from aggopt.measure.risk import attribution
from aggopt.measure.types import means_by_kind
from aggopt.release.audit.counts import combine_codes, encode_entries
from aggopt.release.report.charts import bars
from aggopt.release.report.charts.bars import AttackBar
from aggopt.release.report.facts import Facts
from aggopt.release.report.page import DataTable, Figure, format_share, round_share
from aggopt.release.report.sections.registry import ReportSection

SIZES = 8  # of groups that have a column of their own, at most
GUESSED = 5  # confidential attributes that are tried
UNLINKED = "no attack that links records was run"


@dataclass(frozen=True)
class Attacks:
    """Content of the section on intruders.

    Attributes
    ----------
    attacks
        How often attacks succeed; None if nothing was measured.
    best
        The attack that links most records to their own; None if none was measured.
    values
        The attack on masked values, and the guess of a confidential value, of the
        largest gain over chance; none that a blind guess equals.
    sizes
        How many published combinations have how many records.
    limits
        Limits of the requirements, in sentences.
    """

    attacks: Figure | None
    best: AttackBar | None
    values: tuple[AttackBar, ...]
    sizes: Figure
    limits: tuple[str, ...]


def find_attacks(facts: Facts) -> Attacks:
    """Return the attacks of an intruder on the release."""
    links = list(_list_linking(facts))
    guesses = list(_list_guessing(facts))
    masked = list(_list_disclosing(facts))
    rows = [*links, *masked, *guesses]
    both = [max(bars, key=lambda bar: bar.gain) for bars in (masked, guesses) if bars]
    return Attacks(
        attacks=_draw_attacks(rows) if rows else None,
        best=max(links, key=lambda bar: bar.share, default=None),
        values=tuple(bar for bar in both if bar.gain > 0),
        sizes=_draw_sizes(facts),
        limits=tuple(_describe_limits(facts, guesses)),
    )


def _list_linking(facts: Facts) -> Iterator[AttackBar]:
    """Yield the attacks that link records to their own."""
    measures = facts.measures
    if measures is None:
        return
    limit = measures["linkage_limit"]
    blind = round_share(measures["linkage_chance"])
    every = "knows all masked attributes of"
    nearest = round_share(measures["dld"])
    yield AttackBar("Nearest record", f"{every} one person", nearest, blind, limit)
    linked = round_share(measures["linkage"])
    all_of = "knows those of all, matches at best"
    yield AttackBar("One-to-one assignment", all_of, linked, blind, limit)


def _list_disclosing(facts: Facts) -> Iterator[AttackBar]:
    """Yield the attacks that take a released value for the original one."""
    measures = facts.measures
    if measures is None:
        return
    attacks = (
        ("Value interval", f"guesses a value within {measures['safety']:g} sd"),
        ("Published category", "takes it for the original one"),
    )
    near, chances = (means_by_kind(measures, name) for name in ("sdid", "sdid_chance"))
    for attack, success, chance in zip(attacks, near, chances, strict=True):
        if success is not None and chance is not None:
            yield AttackBar(*attack, round_share(success), round_share(chance))


def _list_guessing(facts: Facts) -> Iterator[AttackBar]:
    """Yield what groups give away of confidential values, which all can see."""
    frame = facts.released.frame
    before = [encode_entries(frame[name]) for name in facts.job.within]
    public = combine_codes(before) if before else None
    for name in facts.job.roles.confidential[:GUESSED]:
        values: Any = facts.outcomes.get(name)
        if values is None:
            values = np.array([str(v) for v in frame[name].to_list()], dtype=object)
        guesses = attribution(facts.labels, values, known=public)
        if guesses.share is not None and guesses.chance is not None:
            shown = round_share(guesses.share), round_share(guesses.chance)
            yield AttackBar(f"Guess of {name}", "guesses it from the group", *shown)


def _draw_attacks(rows: list[AttackBar]) -> Figure:
    cells = [
        [
            row.name,
            row.says,
            format_share(row.share),
            format_share(row.chance),
            "" if row.limit is None else format_share(row.limit),
        ]
        for row in rows
    ]
    head = ["attack", "the intruder", "succeeds", "by chance", "limit"]
    table = DataTable("Attacks", head, cells, (2, 3, 4))
    return Figure(bars.draw_attacks(rows), "How often attacks succeed", table)


def _draw_sizes(facts: Facts) -> Figure:
    """Return how many combinations have which size: all of it is in the release."""
    size, groups = np.unique(facts.sizes, return_counts=True)
    is_of_whole = facts.what != "unit" and facts.audit.scope == "combination"
    k = facts.audit.k if is_of_whole else 1
    bins = [
        (str(s), int(g), bool(s >= k))
        for s, g in zip(size.tolist(), groups.tolist(), strict=True)
    ]
    bin_limit = min(SIZES, bars.count_fitting(len(facts.sizes)))
    if len(bins) > bin_limit:
        rest = sum(count for _, count, _ in bins[bin_limit - 1 :])
        more = (f"{bins[bin_limit - 1][0]}+", rest, bins[bin_limit - 1][2])
        bins = [*bins[: bin_limit - 1], more]
    caption = f"Sizes of the {len(facts.sizes)} published combinations"
    below = "records that share a combination"
    chart = bars.draw_columns(caption, bins, below)
    cells = [[name, count] for name, count, _ in bins]
    head = ["records that share it", "combinations"]
    return Figure(chart, caption, DataTable(caption, head, cells, (1,)))


def _describe_limits(facts: Facts, guesses: list[AttackBar]) -> Iterator[str]:
    """Yield sentences on guesses of confidential values and on absent requirements."""
    audit = facts.audit
    if facts.unlinked:
        yield f"{UNLINKED.capitalize()}: {facts.unlinked}."
    within = " and ".join(facts.job.within)
    all_of = f"records of equal {within}" if within else "the whole table"
    for row in guesses:
        name = row.name.removeprefix("Guess of ")
        rate = format_share(row.share)
        by_chance = f"{format_share(row.chance)} from {all_of}"
        if row.gain > 0:
            yield (
                f"An intruder who finds the right group guesses {name} better: "
                f"{rate} of the guesses from the group are right, {by_chance}."
            )
        else:
            yield (
                f"The right group does not help an intruder to guess {name}: {rate} "
                f"of the guesses from the group are right, {by_chance}."
            )
    if facts.job.roles.confidential and not audit.promises:
        yield "No l-diversity and no t-closeness was promised of confidential values."
    if facts.what == "unit":
        units = ", ".join(facts.job.roles.unit)
        each = "" if audit.linked else ", for each record by itself"
        at_least = f"{plural(audit.smallest, 'unit')} at least"
        yield f"k counts units ({units}): {at_least}{each}."
    yield (
        "Not covered: several releases of the same people, knowledge of attributes "
        "that are not declared as quasi-identifiers, and mistakes in the roles."
    )


INTRUDER = ReportSection(
    name="intruder",
    when="how often attacks succeed, and the limits of k",
    rank=40,
    content=lambda facts: facts.once(find_attacks),
    heading="What an intruder can do",
    label="Intruder",
    template="intruder.html",
)
