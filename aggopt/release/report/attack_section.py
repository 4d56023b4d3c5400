"""What an intruder can do with a release: attacks, chance, and what k allows."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from aggopt.core.plural import plural
from aggopt.measure.risk import attribution
from aggopt.release.audit.counts import combine_codes, encode_entries
from aggopt.release.report.charts import bars
from aggopt.release.report.charts.bars import AttackBar
from aggopt.release.report.facts import Facts
from aggopt.release.report.number_format import as_share, share
from aggopt.release.report.parts import DataTable, Figure

SIZES = 8  # of groups that have a column of their own, at most
GUESSED = 5  # confidential attributes that are tried


@dataclass(frozen=True)
class Intruder:
    """What the section on intruders shows.

    Attributes
    ----------
    attacks
        How often attacks succeed; None where nothing was measured.
    best
        The attack that succeeds most often; None where nothing was measured.
    sizes
        How many published combinations have how many records.
    limits
        What the requirements do not cover, in sentences.
    """

    attacks: Figure | None
    best: AttackBar | None
    sizes: Figure
    limits: tuple[str, ...]


def intruder(facts: Facts) -> Intruder:
    """Return what an intruder can do who has the release."""
    rows = [*_linking(facts), *_guessing(facts)]
    return Intruder(
        attacks=_figure(rows) if rows else None,
        best=max(rows, key=lambda row: row.share, default=None),
        sizes=_sizes(facts),
        limits=tuple(_limits(facts, rows)),
    )


def _linking(facts: Facts) -> Iterator[AttackBar]:
    found = facts.measures
    if found is None:
        return
    limit, blind = found["linkage_limit"], as_share(found["linkage_chance"])
    every = "knows all masked attributes of"
    nearest = as_share(found["dld"])
    yield AttackBar("Nearest record", f"{every} one person", nearest, blind, limit)
    linked, all_of = as_share(found["linkage"]), "knows those of all, matches at best"
    yield AttackBar("One-to-one assignment", all_of, linked, blind, limit)
    near, chance = as_share(found["sdid"]), as_share(found["sdid_chance"])
    within = f"guesses a value within {found['safety']:g} sd"
    yield AttackBar("Value interval", within, near, chance)


def _guessing(facts: Facts) -> Iterator[AttackBar]:
    """Yield what groups give away of confidential values, which all can see."""
    frame = facts.released.frame
    before = [encode_entries(frame[name]) for name in facts.job.within]
    known = combine_codes(before) if before else None
    for name in facts.job.roles.confidential[:GUESSED]:
        values: Any = facts.outcomes.get(name)
        if values is None:
            values = np.array([str(v) for v in frame[name].to_list()], dtype=object)
        found = attribution(facts.labels, values, known=known)
        if found.share is not None and found.chance is not None:
            shown = as_share(found.share), as_share(found.chance)
            yield AttackBar(f"Guess of {name}", "guesses it from the group", *shown)


def _figure(rows: list[AttackBar]) -> Figure:
    cells = [
        [
            row.name,
            row.says,
            share(row.share),
            "" if row.chance is None else share(row.chance),
            "" if row.limit is None else share(row.limit),
        ]
        for row in rows
    ]
    head = ["attack", "the intruder", "succeeds", "by chance", "limit"]
    table = DataTable("Attacks", head, cells, (2, 3, 4))
    return Figure(bars.attacks(rows), "How often attacks succeed", table)


def _sizes(facts: Facts) -> Figure:
    """Return how many combinations have which size: all of it is in the release."""
    size, groups = np.unique(facts.sizes, return_counts=True)
    k = 1 if facts.what == "unit" or facts.audit.scope == "blocks" else facts.audit.k
    found = [
        (str(s), int(g), bool(s >= k))
        for s, g in zip(size.tolist(), groups.tolist(), strict=True)
    ]
    seen = min(SIZES, bars.fitting(len(facts.sizes)))
    if len(found) > seen:
        rest = sum(count for _, count, _ in found[seen - 1 :])
        more = (f"{found[seen - 1][0]}+", rest, found[seen - 1][2])
        found = [*found[: seen - 1], more]
    caption = f"Sizes of the {len(facts.sizes)} published combinations"
    below = "records that share a combination"
    chart = bars.columns(caption, found, below)
    cells = [[name, count] for name, count, _ in found]
    head = ["records that share it", "combinations"]
    return Figure(chart, caption, DataTable(caption, head, cells, (1,)))


def _limits(facts: Facts, rows: list[AttackBar]) -> Iterator[str]:
    audit = facts.audit
    guesses = [row for row in rows if row.name.startswith("Guess of ")]
    within = " and ".join(facts.job.within)
    all_of = f"records of equal {within}" if within else "the whole table"
    for row in guesses:
        yield (
            f"Whoever finds the right group learns what its members have in common: "
            f"{row.name.removeprefix('Guess of ')} is guessed right in "
            f"{share(row.share)} of cases from the group, and in "
            f"{share(row.chance or 0.0)} from {all_of}."
        )
    if facts.job.roles.confidential and not audit.promises:
        yield "No l-diversity and no t-closeness was promised of confidential values."
    if facts.what == "unit":
        units = ", ".join(facts.job.roles.unit)
        yield f"k counts units ({units}): {plural(audit.smallest, 'unit')} at least."
    yield (
        "Not covered: several releases of the same people, knowledge of attributes "
        "that are not declared as quasi-identifiers, and mistakes in the roles."
    )
