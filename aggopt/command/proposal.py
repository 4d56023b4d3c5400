"""Roles that are proposed for the columns of a table, with the reasons.

What may tell who a record is of is masked: that is the careful role.  Which column must
not be given away, and is published as it is, no table says.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from textwrap import wrap

from aggopt.command.readiness import Obstacle
from aggopt.core.plural import many
from aggopt.input.look import (
    DATES,
    NAMES,
    NOTHING,
    OTHER_DATES,
    RANKED,
    SPELLED_DATES,
    Look,
)

WIDTH, COLUMN = 88, 27  # of a line; where explanations begin
ROLES = {
    "identifier": "names a record by itself; dropped from the release",
    "quasi-identifier": "known to others, together telling; masked",
    "confidential": "what must not be given away; published as it is",
    "other": "neither; published as it is: what others know undoes k",
    "stratum": "what groups lie within; published as it is, and part of what k is of",
    "unit": "what records are of, as households: k counts them; dropped",
    "weight": "how many each record stands for; published as its group's mean",
    "wish": "how far a record asks to be moved; dropped from the release",
}


@dataclass(frozen=True)
class Proposal:
    """A role for a column, and why; or nothing, and what is to be decided."""

    look: Look
    role: str
    reason: str


def proposals(looks: Iterable[Look]) -> tuple[Proposal, ...]:
    """Return a role for each column."""
    return tuple(Proposal(look, *_role(look)) for look in looks)


def _role(look: Look) -> tuple[str, str]:
    if look.constant:
        says = "" if look.type == NOTHING else "one value "
        return "other", f"{says}tells nothing of a record"
    if look.names_records:
        return "identifier", "each entry is of one record"
    if look.may_number_records:
        return "identifier", (
            "nearly each is of one record, as a number of it; if they measure "
            "something, as incomes do, list it as quasi-identifier"
        )
    kind = "date" if look.type in (DATES, SPELLED_DATES) else "numeric"
    if look.type in NAMES and look.type != SPELLED_DATES:
        kind = "ordinal" if look.type == RANKED else "nominal"
    if look.type == OTHER_DATES:
        kind += '; for dates spell them as 2020-12-31, and write kind = "date"'
    if look.may_be_codes:
        kind += '; if they are codes, write kind = "nominal" below'
    if look.thousands:
        kind += "; each comma stands before three digits: thousands?"
    return "quasi-identifier", kind


def role_lines(
    proposed: Sequence[Proposal], undecided: Sequence[Obstacle]
) -> Iterator[str]:
    """Yield the lists of [roles]; a column with an obstacle is in none of them."""
    open_ = {each.column for each in undecided}
    for role, says in ROLES.items():
        own = [p for p in proposed if p.role == role and p.look.name not in open_]
        begin = f"{role} = [" + ("" if own else "]")
        yield from commented(begin, says)
        for each in own:
            name = f"    {toml_text(each.look.name)},"
            yield from commented(name, f"{each.look}: {each.reason}")
        if own:
            yield "]"
    seen = {each.look.name: f"{each.look}: {each.reason}" for each in proposed}
    yield from _decisions([each for each in undecided if each.column in seen], seen)


def type_lines(
    proposed: Sequence[Proposal], undecided: Sequence[Obstacle]
) -> Iterator[str]:
    """Yield the sections of quasi-identifiers whose text spells dates."""
    open_ = {each.column for each in undecided}
    for each in proposed:
        masked = each.role == "quasi-identifier" and each.look.name not in open_
        if masked and each.look.type == SPELLED_DATES:
            yield f"\n[attributes.{toml_text(each.look.name)}]"
            yield 'kind = "date"             # text that spells dates or times'


def _decisions(undecided: Sequence[Obstacle], seen: Mapping[str, str]) -> Iterator[str]:
    """Yield what is to be decided: columns that share a remedy together."""
    by_fix: dict[str, list[str]] = {}
    for each in undecided:
        name = str(each.column)
        by_fix.setdefault(each.fix, []).append(f"{toml_text(name)}: {seen[name]}")
    for fix, columns in by_fix.items():
        yield f"# DECIDE on {many(len(columns), 'column')}, to put into a list:"
        for column in columns:
            whole = wrap(
                column, WIDTH - 6, break_long_words=False, break_on_hyphens=False
            )
            yield from (f"#     {line}" for line in whole)
        yield from (f"# {line}" for line in wrap(f"To mask: {fix}", WIDTH - 2))


def toml_text(name: str) -> str:
    """Return a text as a TOML file has it."""
    return json.dumps(name, ensure_ascii=False).replace("\x7f", "\\u007f")


def commented(begin: str, says: str) -> Iterator[str]:
    """Yield a line with a comment behind it, which goes on below where it is long."""
    longer = max(0, len(begin) - COLUMN + 3)
    lines = wrap(says, WIDTH - COLUMN, initial_indent=" " * longer)
    yield f"{begin:<{COLUMN - 3}} # {lines[0].strip()}"
    yield from (f"{'#':>{COLUMN - 1}} {other}" for other in lines[1:])
