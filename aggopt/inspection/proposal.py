"""Roles that are proposed for the columns of a table, with the reasons.

A column that may identify people is masked: that is the careful role.  No table shows
which columns are confidential, and published unchanged.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from textwrap import wrap

import pyarrow as pa
import pyarrow.compute as pc

from aggopt.core.plural import agree, is_or_are, plural
from aggopt.data.context.structure import Structure
from aggopt.data.readers.column_profile import (
    CATEGORIES,
    DATES,
    FEW_SHARE,
    NAMES,
    NOTHING,
    OTHER,
    OTHER_DATES,
    RANKED,
    SPELLED_DATES,
    TEXT,
    WHOLE,
    ColumnProfile,
)
from aggopt.data.readers.declared_roles import DeclaredRoles
from aggopt.errors import toml_key
from aggopt.inspection.collect_errors import Obstacle
from aggopt.inspection.column_words import Words

WIDTH = 88  # of a line
COLUMN = 27  # where explanations begin
LEVELS = 3  # entries that differ: two are an answer, yes or no
UNITS = 20  # entries that may be units though nothing but a name says so
SINGLE = ("weight", "unit")  # roles that one column has
DATED = (DATES, SPELLED_DATES, OTHER_DATES)
DROP_OR_MASK = (
    "list it as identifier, if it numbers persons or things: it is dropped; or as "
    "quasi-identifier, if it measures something: it is masked."
)
WEIGHT_OR_MASK = (
    "list it as weight, if it says how many of the population a record stands for; as "
    "quasi-identifier, if it measures something; or as drop, if another column is the "
    "weight."
)
WHICH_WEIGHT = (
    "list one of these columns as weight, and the others as drop: weights identify "
    "persons."
)
UNIT_OR_MASK = (
    "list it as unit, if it numbers what records belong to, as households: k then "
    "counts these; as identifier, which drops it; or as quasi-identifier, if it "
    "measures something."
)
WORDS_OF_UNITS = (
    "list it as identifier, which drops it; or as unit, if each entry is the name of "
    "what records belong to, as a firm: k then counts these."
)
POSTAL = (
    'list it as quasi-identifier, with kind = "nominal" and rare = "avoid" or a tree '
    "of regions under [attributes.NAME]; or as identifier, which drops it."
)
CONFIDENTIAL_OR_MASK = (
    "list it as quasi-identifier, if others may know it: it is masked; or as "
    "confidential, if others do not know it: it is published unmasked, and only l or t "
    "under [privacy] keeps a group from giving it away."
)
WHICH_UNIT = "list one of these columns as unit, which k counts; the others as drop."
SPELL_DATES = (
    "list it as quasi-identifier, and {how} under [attributes.NAME]; or as identifier, "
    "which drops it."
)
DROP_OR_NAMES = (
    "list it as identifier, if somebody wrote it of a person: it is dropped; or as "
    "quasi-identifier, if many records share each entry, with "
    'rare = "avoid" under [attributes.NAME].'
)
ROLES = {
    "identifier": "the name or number of one person; dropped from the release",
    "quasi-identifier": "what others may know of a person; masked",
    "confidential": "what others do not know; published unmasked",
    "other": "neither; published unmasked: if others know it, k does not hold",
    "stratum": "as a region; groups are within each value; published unmasked",
    "unit": "the number of a household or the like; k counts these; dropped",
    "weight": "how many persons a record represents; published as its group's mean",
    "wish": "how far a record asks to be moved; dropped",
    "drop": "of no use in a release; dropped",
}


@dataclass(frozen=True)
class Proposal:
    """The proposed role of a column, and the reason.

    Attributes
    ----------
    role
        None if a person must decide.
    kind
        Type of a quasi-identifier for [attributes]; None if the column's type suffices.
    categories
        Whether it is masked as categories.
    rare
        How many of its categories are of few records, or units: they are kept out.
    from_zero
        Whether it is masked as numbers that are never negative: nothing below 0 is then
        published.
    format
        How text spells its dates, if not as ISO 8601 does.
    question
        Open decision, and how to take it; "" if none.
    """

    look: ColumnProfile
    role: str | None
    reason: str
    kind: str | None = None
    categories: bool = False
    rare: int = 0
    from_zero: bool = False
    format: str | None = None
    question: str = ""


def propose_roles(
    looks: Iterable[ColumnProfile],
    structure: Structure | None = None,
    declared: DeclaredRoles | None = None,
    table: pa.Table | None = None,
) -> tuple[Proposal, ...]:
    """Return a role for each column, or a question.

    `structure` has the relations between the columns, and `declared` the roles that the
    file of the table declares.  With the `table`, categories are rare if few units have
    them, if a column is proposed as the unit: k counts units then.
    """
    profiles = tuple(looks)
    structure = structure or Structure()
    proposed = [
        _propose_role(look, Words.from_name(look.name, look.label), structure)
        for look in profiles
    ]
    if declared is not None:
        proposed = [_apply_declared_role(proposal, declared) for proposal in proposed]
    if declared is None or declared.find_column("weight") is None:
        proposed = _doubt_weights(proposed)
    single = _require_single(
        _require_single(proposed, "weight", WHICH_WEIGHT), "unit", WHICH_UNIT
    )
    units = [proposal.look.name for proposal in single if proposal.role == "unit"]
    if table is not None and units:
        single = [_avoid_rare_in_units(p, table, units[0]) for p in single]
    return tuple(map(_add_doubts, single))


def _avoid_rare_in_units(proposal: Proposal, table: pa.Table, unit: str) -> Proposal:
    """Return a proposal whose rare categories are those of few units."""
    name = proposal.look.name
    if not proposal.categories:
        return proposal
    pairs = (
        table.select([name, unit]).group_by(name).aggregate([(unit, "count_distinct")])
    )
    counts = pairs.filter(pc.is_valid(pairs[name]))[f"{unit}_count_distinct"]
    rare = pc.sum(pc.less(counts, FEW_SHARE)).as_py() or 0
    different = proposal.look.different or 0
    told = _describe_rare(proposal.rare, different, "records")
    reason = proposal.reason.removesuffix(told)
    reason += _describe_rare(rare, different, "units")
    return replace(proposal, reason=reason, rare=rare)


def _apply_declared_role(proposal: Proposal, declared: DeclaredRoles) -> Proposal:
    """Return a proposal with the role that the file declares for the column.

    A column without one is published unchanged, unless it may number or name records.
    """
    look = proposal.look
    role_of_column = declared.columns.get(look.name)
    if look.type in (NOTHING, OTHER):
        return proposal
    if role_of_column is None:
        other = declared.find_column(proposal.role) if proposal.role in SINGLE else None
        if other is not None:
            return Proposal(look, "drop", f"the {proposal.role} is {other!r}")
        if proposal.role != "quasi-identifier":
            return proposal
        return Proposal(look, "other", declared.others)
    if role_of_column.role != "quasi-identifier":
        return Proposal(look, role_of_column.role, role_of_column.reason)
    if proposal.role != "quasi-identifier":
        proposal = _propose_masking(look, Words.from_name(look.name, look.label))
    return replace(proposal, reason=f"{role_of_column.reason}; {proposal.reason}")


def _add_doubts(proposal: Proposal) -> Proposal:
    """Return a proposal that warns of names that look alike and stray numbers."""
    look = proposal.look
    stray = look.numbers.stray if look.numbers else 0
    reason = proposal.reason
    if look.alike:
        reason += (
            f"; {look.alike} of {look.different} names differ from another one only in "
            "case or blanks: if they mean the same, spell them alike"
        )
    if stray:
        reason += (
            f"; {plural(stray, 'number')} "
            f"{agree(stray, 'looks like a code', 'look like codes')} for missing "
            "values, as -9 or 999: if so, leave these entries empty"
        )
    return replace(proposal, reason=reason)


def _doubt_weights(proposed: Sequence[Proposal]) -> list[Proposal]:
    """Return proposals with a question on each weight, if there are several."""
    weights = [
        proposal.role == "weight" or _is_called_sampling_weight(proposal)
        for proposal in proposed
    ]
    if sum(weights) < 2:
        return list(proposed)
    return [
        replace(proposal, role=None, question=WHICH_WEIGHT) if is_weight else proposal
        for proposal, is_weight in zip(proposed, weights, strict=True)
    ]


def _is_called_sampling_weight(proposal: Proposal) -> bool:
    """Return whether a column in question is called as sampling weights are."""
    words = Words.from_name(proposal.look.name, proposal.look.label)
    is_in_question = proposal.question == WEIGHT_OR_MASK
    return is_in_question and words.is_sampling_weight and not words.is_quantity


def _require_single(
    proposed: Sequence[Proposal], role: str, question: str
) -> list[Proposal]:
    """Return proposals with a question in place of a role that several would have."""
    several = sum(proposal.role == role for proposal in proposed) > 1
    return [
        replace(proposal, role=None, question=question)
        if several and proposal.role == role
        else proposal
        for proposal in proposed
    ]


def _propose_role(look: ColumnProfile, words: Words, structure: Structure) -> Proposal:
    """Propose a role for a column, by its entries, its name and other columns."""
    if look.type in (NOTHING, OTHER):
        empty = look.type == NOTHING
        return Proposal(look, "drop", "it is empty" if empty else "no table has it")
    if look.constant and words.is_sampling_weight:
        return _build_question(
            look, "its name is that of weights, and it has one value", WEIGHT_OR_MASK
        )
    if look.constant:
        return Proposal(look, "other", "one value tells nothing of a record")
    for rule in RULES:
        proposal = rule(look, words, structure)
        if proposal is not None:
            return proposal
    return _propose_masking(look, words)


def _propose_identifier(
    look: ColumnProfile, words: Words, structure: Structure
) -> Proposal | None:
    """Propose a role for a column whose entries each belong to one record."""
    present = look.records - look.missing
    different = look.different or 0
    apart = different == present > 1
    if look.names_records and not (words.is_time and look.type == WHOLE):
        return Proposal(look, "identifier", "each entry is of one record")
    if look.numbers is not None and not look.whole:
        return None  # decimals number nothing
    if words.is_personal and different == 2 < present:
        says = "its name is that of personal data, and it has two values"
        return _build_question(look, says, DROP_OR_MASK)
    if words.is_personal:
        return Proposal(look, "identifier", "its name is that of personal data")
    called = words.is_identifier or (words.is_numbering and not words.is_quantity)
    if apart and called and look.type not in DATED:
        return Proposal(
            look,
            "identifier",
            "it numbers something by its name, and each entry is of one record",
        )
    if look.numbered:
        return _build_question(
            look, "it counts the records, or the years", DROP_OR_MASK
        )
    return None


def _propose_name(
    look: ColumnProfile, words: Words, structure: Structure
) -> Proposal | None:
    """Propose a role for names of persons, places and things, and for codes."""
    different = look.different or 0
    if (
        words.is_postal_code
        and different >= LEVELS
        and (look.whole or look.type in NAMES)
    ):
        return _build_question(look, "its name is that of postal codes", POSTAL)
    if look.type not in (TEXT, CATEGORIES) or look.codes or different < LEVELS:
        return None
    few = different < UNITS and not look.rare(FEW_SHARE)
    if words.is_person_name and not few:
        return Proposal(look, "identifier", "its name is that of names of persons")
    if words.is_name:
        return _build_question(look, "its name is that of names", DROP_OR_NAMES)
    return None


def _propose_weight(
    look: ColumnProfile, words: Words, structure: Structure
) -> Proposal | None:
    """Propose a role for numbers that may be sampling weights."""
    numbers = look.numbers
    if numbers is None or (look.different or 0) < LEVELS:
        return None
    usable = numbers.least > 0 and not look.missing
    to_one = abs(numbers.mean - 1) < 1e-3
    if words.is_sampling_weight and usable and not words.is_quantity:
        return Proposal(
            look, "weight", "its name is that of weights, and all are above 0"
        )
    if words.is_weight and to_one and usable:
        return Proposal(
            look, "weight", "its name is that of weights, and their mean is 1"
        )
    if words.is_sampling_weight or words.is_weight:
        return _build_question(look, "its name may be that of weights", WEIGHT_OR_MASK)
    if look.whole or not usable or words.is_quantity or words.is_time:
        return None
    repeated = 4 * (look.different or 0) <= look.records and numbers.least >= 1
    if to_one or (repeated and numbers.fine):
        says = "their mean is 1" if to_one else "at least 1, long decimals that repeat"
        return _build_question(look, f"{says}, as of sampling weights", WEIGHT_OR_MASK)
    return None


def _propose_unit(
    look: ColumnProfile, words: Words, structure: Structure
) -> Proposal | None:
    """Propose a role for a column that may number units."""
    present = look.records - look.missing
    different = look.different or 0
    names = look.whole or look.type in (TEXT, CATEGORIES)
    if not names or different < LEVELS or 2 * different < look.rare(2):
        return None
    constant = structure.constant.get(look.name, ())
    panel = structure.panel.get(look.name, ())
    called = words.is_identifier or words.is_unit or words.is_numbering
    if words.is_time or (words.is_quantity and not words.is_identifier):
        return None
    shared = present - different
    if words.is_identifier and shared:
        says = "it numbers something by its name, and records share entries"
        if different >= UNITS or constant or panel:
            return _propose_unit_role(look, says)
        return _build_question(look, says, UNIT_OR_MASK)
    if called and constant:
        says = f"it numbers something by its name, and {_describe_agreement(constant)}"
        return _propose_unit_role(look, says)
    if panel and called:
        says = "it numbers something by its name, and each entry has each time once"
        return _propose_unit_role(look, says)
    if words.is_unit and different >= UNITS:
        return _build_question(look, "its name may be that of units", UNIT_OR_MASK)
    if constant and look.whole:
        return _build_question(look, _describe_agreement(constant), UNIT_OR_MASK)
    if panel:
        return _build_question(
            look, "with another column it names each record", UNIT_OR_MASK
        )
    return None


def _describe_agreement(names: Sequence[str]) -> str:
    """Return the reason for a unit: its records agree in other columns."""
    return f"records that share an entry agree in {plural(len(names), 'other column')}"


def _propose_unit_role(look: ColumnProfile, reason: str) -> Proposal:
    """Return the role of units; or a question, of words or if records have none."""
    if not look.codes:
        return _build_question(
            look, f"{reason}; it has words, not numbers", WORDS_OF_UNITS
        )
    if look.missing:
        return _build_question(look, f"{reason}; some records lack it", UNIT_OR_MASK)
    return Proposal(look, "unit", reason)


def _propose_dates(
    look: ColumnProfile, words: Words, structure: Structure
) -> Proposal | None:
    """Propose a role for dates that are not spelled as ISO 8601 does.

    Where day and month could be swapped in all of them, a person is to decide.
    """
    if look.type != OTHER_DATES:
        return None
    if len(look.formats) == 1:
        (format_,) = look.formats
        reason = f"{format_} fits all"
        return Proposal(look, "quasi-identifier", reason, "date", format=format_)
    says = "in a spelling that is not known"
    if look.formats:
        says = "no day is above 12: day and month could be swapped"
    return _build_question(
        look, says, SPELL_DATES.format(how=describe_date_formats(look.formats))
    )


def describe_date_formats(formats: Sequence[str]) -> str:
    """Return what to write for dates that have one of these formats, or none."""
    if not formats:
        return 'spell them as 2020-12-31, and write kind = "date"'
    return "write " + ", or ".join(f'format = "{format_}"' for format_ in formats)


def _propose_text(
    look: ColumnProfile, words: Words, structure: Structure
) -> Proposal | None:
    """Return a question on text that may be a note on one person."""
    if not look.free:
        return None
    rare = look.rare(FEW_SHARE)
    says = f"{rare} of {look.different} entries are of fewer than {FEW_SHARE} records"
    return _build_question(look, says, DROP_OR_NAMES)


def _propose_confidential(
    look: ColumnProfile, words: Words, structure: Structure
) -> Proposal | None:
    """Return a question on what persons and firms keep to themselves."""
    if look.ill:
        says = "its entries are names of illnesses"
        return _build_question(look, says, CONFIDENTIAL_OR_MASK)
    if not words.is_confidential or look.type in DATED:
        return None
    return _build_question(
        look, "its name is that of confidential data", CONFIDENTIAL_OR_MASK
    )


def _propose_doubtful(
    look: ColumnProfile, words: Words, structure: Structure
) -> Proposal | None:
    """Return a question about whole numbers that may be an identifier."""
    if not look.looks_as_numbering or words.is_quantity:
        return None
    return _build_question(look, "nearly each entry is of one record", DROP_OR_MASK)


RULES = (
    _propose_identifier,
    _propose_name,
    _propose_weight,
    _propose_unit,
    _propose_dates,
    _propose_confidential,
    _propose_text,
    _propose_doubtful,
)


def _propose_masking(look: ColumnProfile, words: Words) -> Proposal:
    """Return a quasi-identifier, as numbers, dates or categories."""
    reason = "masked as numbers"
    kind = None
    if look.type in (DATES, SPELLED_DATES):
        reason = "masked as dates"
        kind = "date" if look.type == SPELLED_DATES else None
    elif look.type in NAMES:
        ranked = look.type == RANKED
        reason = "masked as ordered names" if ranked else "masked as names"
    elif look.may_be_codes and (look.different == 2 or not words.is_quantity):
        reason = "masked as codes"
        if look.different != 2:
            reason += (
                ', since they are few; if they count something, write kind = "numeric"'
            )
        kind = "nominal"
    if look.thousands:
        reason += "; each comma stands before three digits: thousands?"
    dated = look.type in (DATES, SPELLED_DATES)
    category = kind == "nominal" or (look.type in NAMES and not dated)
    rare = 0
    if category and look.counts is not None:
        rare = int((look.counts < FEW_SHARE).sum())
    reason += _describe_rare(rare, look.different or 0, "records")
    is_number = not category and not dated
    from_zero = is_number and look.numbers and look.numbers.least >= 0
    return Proposal(
        look,
        "quasi-identifier",
        reason,
        kind,
        categories=category,
        rare=rare,
        from_zero=bool(from_zero),
    )


def _describe_rare(rare: int, different: int, counted: str) -> str:
    """Return the part of a reason on categories of few records or units, if any."""
    if not rare:
        return ""
    return (
        f"; {rare} of {plural(different, 'value')} {is_or_are(rare)} of fewer than "
        f"{FEW_SHARE} {counted}, and not published"
    )


def _build_question(look: ColumnProfile, reason: str, question: str) -> Proposal:
    return Proposal(look, None, reason, question=question)


def format_roles(
    proposed: Sequence[Proposal], undecided: Sequence[Obstacle]
) -> Iterator[str]:
    """Yield the lists of [roles]; a column with an obstacle is in none of them."""
    open_ = {obstacle.column for obstacle in undecided}
    for role, says in ROLES.items():
        members = [p for p in proposed if p.role == role and p.look.name not in open_]
        begin = f"{role} = [" + ("" if members else "]")
        yield from add_comment(begin, says)
        for proposal in members:
            name = f"    {quote_toml_text(proposal.look.name)},"
            yield from add_comment(name, describe_proposal(proposal))
        if members:
            yield "]"
    descriptions = {
        proposal.look.name: describe_proposal(proposal) for proposal in proposed
    }
    yield from _format_decisions(
        [obstacle for obstacle in undecided if obstacle.column in descriptions],
        descriptions,
    )


def describe_proposal(proposal: Proposal) -> str:
    """Return the profile of a column, its label, and the reason of its role."""
    label = proposal.look.label
    called = f"{label!r}, " if label else ""
    return f"{called}{proposal.look}: {proposal.reason}"


def format_types(
    proposed: Sequence[Proposal], undecided: Sequence[Obstacle]
) -> Iterator[str]:
    """Yield the sections of quasi-identifiers whose types do not suffice."""
    open_ = {obstacle.column for obstacle in undecided}
    says = {"date": "text that spells dates or times", "nominal": "codes"}
    for proposal in proposed:
        masked = proposal.role == "quasi-identifier" and proposal.look.name not in open_
        if not masked or not (proposal.kind or proposal.rare or proposal.from_zero):
            continue
        yield f"\n[attributes.{quote_toml_text(proposal.look.name)}]"
        if proposal.format:
            yield from add_comment(f'format = "{proposal.format}"', says["date"])
        elif proposal.kind:
            yield from add_comment(f'kind = "{proposal.kind}"', says[proposal.kind])
        if proposal.rare:
            says_rare = "categories of fewer than k records are not published"
            yield from add_comment('rare = "avoid"', says_rare)
        if proposal.from_zero:
            yield from add_comment(
                "lower = 0", "publish nothing below 0: no original is"
            )


def _format_decisions(
    undecided: Sequence[Obstacle], descriptions: Mapping[str, str]
) -> Iterator[str]:
    """Yield open decisions: columns that share a remedy together."""
    by_fix: dict[str, list[str]] = {}
    for obstacle in undecided:
        name = str(obstacle.column)
        fix = obstacle.fix.replace(f".{toml_key(name)}]", ".NAME]")
        by_fix.setdefault(fix, []).append(name)
    for fix, names in by_fix.items():
        yield f"# DECIDE on {plural(len(names), 'column')}:"
        for name in names:
            wrapped = wrap(
                f"{quote_toml_text(name)}: {descriptions[name]}",
                WIDTH - 6,
                break_long_words=False,
                break_on_hyphens=False,
            )
            yield from (f"#     {line}" for line in wrapped)
        last = f".{toml_key(names[-1])}]"
        if len(names) > 1:
            last += ", and so for each"
        what_to_do = fix.replace(".NAME]", last)
        yield from (f"# {line}" for line in wrap(f"To do: {what_to_do}", WIDTH - 2))


def quote_toml_text(name: str) -> str:
    """Return a text as a TOML file has it."""
    return json.dumps(name, ensure_ascii=False).replace("\x7f", "\\u007f")


def add_comment(begin: str, says: str) -> Iterator[str]:
    """Yield a line with a comment after it, which continues below if it is long."""
    longer = max(0, len(begin) - COLUMN + 3)
    lines = wrap(says, WIDTH - COLUMN, initial_indent=" " * longer)
    yield f"{begin:<{COLUMN - 3}} # {lines[0].strip()}"
    yield from (f"{'#':>{COLUMN - 1}} {other}" for other in lines[1:])
