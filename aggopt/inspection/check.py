"""Check a table and its job: whether `mask` would begin."""

from collections.abc import Container, Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import narwhals.stable.v2 as nw
import pyarrow as pa

from aggopt.core.column_names import count_numeric_names, list_confusable_names
from aggopt.core.memory import format_size
from aggopt.core.plural import plural
from aggopt.data.context.units import RepeatedIdentifiers
from aggopt.data.formats.csv import describe_formulas
from aggopt.data.formats.registry import has_text_entries
from aggopt.data.parsing.parse_text import count_missing_words
from aggopt.data.readers.column_profile import (
    NAMES,
    OTHER_DATES,
    SPELLED_DATES,
    ColumnProfile,
    profile_columns,
)
from aggopt.data.readers.csv_dialect import read_with_dialect
from aggopt.data.readers.read import read_as_text
from aggopt.encoding import AttributeType
from aggopt.encoding.encode_table import describe_codes
from aggopt.engine.resource_check import RunNeeds
from aggopt.errors import AggoptError, MemoryLimitError, toml_key
from aggopt.inspection.collect_errors import (
    Obstacle,
    collect_obstacles,
    find_refusal,
    has_private_names,
    map_roles,
)
from aggopt.inspection.column_words import Words
from aggopt.inspection.missing_policies import explain_policies
from aggopt.inspection.proposal import describe_date_formats
from aggopt.job import AttributeSection, Job, Roles
from aggopt.job.engine_section import Engine
from aggopt.job.release_job import read_job_of_release, read_stated_roles
from aggopt.pipeline.prepare.inputs import load_job
from aggopt.pipeline.prepare.memory_check import (
    ENCODED,
    NUMBER,
    require_memory_to_read,
)
from aggopt.release.audit.counts import combine_codes, encode_entries
from aggopt.release.audit.risk_limits import describe_unsure_limits
from aggopt.release.audit.unprotected_columns import (
    find_compositions,
    find_linking_columns,
)

PUBLISHED = ("confidential", "other")  # as they are
COSTLY = 500  # names of a column: fewer take no time that a person would notice


@dataclass(frozen=True, eq=False)
class CheckResult:
    """The check of a table and its job.

    Attributes
    ----------
    columns
        Profile of each column with its role; None if it has no role.
    needs
        Resources that a run of an engine needs; None of a table in memory.
    code
        The exit code of `mask`; 0 if it would begin.
    """

    records: int | None
    columns: tuple[tuple[ColumnProfile, str | None], ...]
    obstacles: tuple[Obstacle, ...]
    notes: tuple[str, ...]
    needs: RunNeeds | None = None
    code: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        return {
            "ready": not self.obstacles,
            "records": self.records,
            "columns": [
                {
                    "name": look.name,
                    "role": role,
                    "type": look.type,
                    "different": look.different,
                    "missing": look.missing,
                }
                for look, role in self.columns
            ],
            "obstacles": [asdict(obstacle) for obstacle in self.obstacles],
            "notes": list(self.notes),
            **({} if self.needs is None else {"needs": self.needs.to_dict()}),
        }


def check_table(
    path: Path, file: Path, trust: Iterable[str | Path] = ()
) -> CheckResult:
    """Check the table at `path` with the job in a file.

    `trust` are the files of code that the job may name.
    """
    wrong: list[Obstacle] = []
    stated: Job | None = None
    job: Job | None = None
    table = None
    try:
        stated = read_job_of_release(file)
        job = load_job(stated, trust).model_copy(update={"engine": Engine()})
        Job.read(file)  # what would do nothing without an engine
    except AggoptError as error:
        wrong.append(Obstacle.from_error(error))
    try:
        text_format = stated.input if stated else None
        table, text_format = (
            (read_as_text(path, text_format), text_format)
            if text_format
            else read_with_dialect(path)
        )
    except MemoryLimitError:  # nothing of the job or the table is wrong
        raise
    except AggoptError as error:
        wrong.append(Obstacle.from_error(error))
    if table is None or text_format is None:
        return CheckResult(None, (), tuple(wrong), (), code=wrong[0].code)
    if job is not None:
        require_memory_to_read(len(table), job)
    profiles = tuple(
        profile_columns(table, text_format if has_text_entries(path) else None)
    )
    roles = stated.roles if stated else read_stated_roles(file)
    columns = add_roles(profiles, roles, table.column_names)
    if job is None:
        return CheckResult(len(table), columns, tuple(wrong), (), code=wrong[0].code)
    first = find_refusal(path, table, job)
    obstacles = () if first is None else collect_obstacles(path, table, job, first)
    codes = [obstacle.code for obstacle in wrong] + (
        [] if first is None else [first.exit_code]
    )
    notes = [*list_column_notes(columns, job, obstacles, ENCODED * NUMBER * len(table))]
    published = table.select(
        [look.name for look, _ in columns if look.name not in job.dropped]
    )
    notes += describe_formulas(published, job.released_input)
    notes += describe_unsure_limits(job.privacy)
    notes += explain_policies(path, table, job, obstacles, profiles)
    if first is None:
        notes += describe_linking_columns(table, job)
    if not has_text_entries(path):
        notes += _list_names_lost_in_csv(table, columns)
    code = codes[0] if codes else 0
    return CheckResult(
        len(table), columns, (*wrong, *obstacles), tuple(notes), code=code
    )


def describe_linking_columns(table: pa.Table, job: Job) -> list[str]:
    """Return a note on columns that would link the records of units, if any."""
    if not job.roles.unit or job.pseudonym:
        return []
    frame = nw.from_native(table, eager_only=True)
    roles = job.roles
    units = combine_codes(encode_entries(frame[name]) for name in roles.unit)
    originals = combine_codes(encode_entries(frame[name]) for name in roles.combination)
    public = {
        name: encode_entries(frame[name]) for name in roles.other + roles.confidential
    }
    compositions = find_compositions(originals, units)
    linking = find_linking_columns(compositions, units, public, job.privacy.k)
    return [] if linking is None else [linking.describe_remedies()]


def list_column_notes(
    columns: Iterable[tuple[ColumnProfile, str | None]],
    job: Job,
    obstacles: Iterable[Obstacle],
    coordinate: int,
) -> Iterator[str]:
    """Yield notes for a data steward, column by column, and on their names.

    `obstacles` are the obstacles, and `coordinate` is how many bytes each coordinate of
    the records takes.
    """
    refused = {obstacle.column for obstacle in obstacles}
    kinds = {name: section.type.kind for name, section in job.attributes.items()}
    shown = tuple(columns)
    for look, role in shown:
        yield from _list_notes(
            look, role, job.privacy.k, kinds.get(look.name), coordinate
        )
        yield from _list_date_notes(look, role, job.attributes.get(look.name), refused)
        yield from _list_missing_notes(look, role, job.missing.policy)
        yield from _list_repeated_entries(look, role, job)
    yield from list_confusable_names([look.name for look, _ in shown])


def add_roles(
    profiles: Iterable[ColumnProfile], stated: Roles | None, names: list[str]
) -> tuple[tuple[ColumnProfile, str | None], ...]:
    """Return the columns that may be shown with their roles, if a job states them.

    The job may be refused for another of its sections, or for code that it names.
    """
    if stated is None:
        return tuple(
            (look, None) for look in profiles if not count_numeric_names(names)
        )
    roles = map_roles(stated)
    spelled = map_role_spellings()
    columns = tuple((look, spelled.get(roles.get(look.name, ""))) for look in profiles)
    hidden = has_private_names(stated, names)
    return tuple(pair for pair in columns if pair[1] or not hidden)


def map_role_spellings() -> dict[str, str]:
    """Return how a job file spells each field of the roles."""
    return {name: field.alias or name for name, field in Roles.model_fields.items()}


def _list_names_lost_in_csv(
    table: pa.Table, columns: Iterable[tuple[ColumnProfile, str | None]]
) -> Iterator[str]:
    """Yield which names a release would be refused for, if it were a CSV file."""
    for look, role in columns:
        lost = (
            count_missing_words(table[look.name]) if role == "quasi-identifier" else 0
        )
        if lost:
            yield (
                f"{look.name!r}: {plural(lost, 'entry', 'entries')} "
                f"{'is' if lost == 1 else 'are'} text that a CSV file has for what is "
                "missing: write the release to a .parquet file."
            )


def _list_notes(
    look: ColumnProfile, role: str | None, k: int, kind: str | None, coordinate: int
) -> Iterator[str]:
    """Yield notes on a column for the data steward; none is an obstacle."""
    name = repr(look.name)
    different = look.different
    rare = look.rare(k)
    if role == "quasi-identifier" and look.constant:
        yield f"{name} has one value only: it will be kept as it is."
    if role == "quasi-identifier" and look.may_be_codes and kind is None:
        yield f"{name}: {describe_codes(different or 0)}"
    if role == "quasi-identifier" and kind is None and _is_perhaps_identifier(look):
        yield (
            f"{name}: {different} whole numbers in {look.records - look.missing} "
            "records; if they number records, list it as identifier, which drops it; "
            f'else write kind = "numeric" under [attributes.{toml_key(look.name)}].'
        )
    is_category = kind == "nominal" or (kind is None and look.type in NAMES)
    if role == "quasi-identifier" and is_category and (different or 0) > COSTLY:
        size = format_size(coordinate * (different or 0))
        yield (
            f"{name}: each of {different} values is a coordinate of every record, "
            f"which takes about {size} of memory; a tree, an order or fewer values "
            "take less."
        )
    if role == "quasi-identifier" and rare and kind != "date":
        yield (
            f"{name}: {rare} of {plural(different or 0, 'value')} "
            f"{'is' if rare == 1 else 'are'} shared by fewer than k = {k} records."
        )
    if role in ("quasi-identifier", "wish") and look.thousands:
        yield (
            f"{name}: each decimal comma stands before three digits; if it separates "
            "thousands, leave it out."
        )
    if role in PUBLISHED and look.names_records:
        yield (
            f"{name}: each entry is of one record, and published as it is ({role}): if "
            "others may know it, list it as identifier, which drops it."
        )


def _is_perhaps_identifier(look: ColumnProfile) -> bool:
    """Whether whole numbers may number records, and their name is not of an amount."""
    words = Words.from_name(look.name, look.label)
    measured = words.is_quantity or words.is_confidential
    return look.looks_as_numbering and not measured


def _list_date_notes(
    look: ColumnProfile,
    role: str | None,
    section: AttributeSection | None,
    refused: Container[str | None],
) -> Iterator[str]:
    """Yield how text that spells dates is to be masked as dates, if it is not."""
    attribute_type = section.type if section else AttributeType()
    if role not in (None, "quasi-identifier") or attribute_type.format:
        return
    kind = attribute_type.kind
    name = repr(look.name)
    masked = role is not None and look.name not in refused
    now = " is masked as names" if masked else ""
    where = f"[attributes.{toml_key(look.name)}]"
    if look.type == SPELLED_DATES and kind is None:
        yield (
            f"{name}: text that spells dates{now}; write kind = "
            f'"date" under {where}, and it is masked as dates.'
        )
    if look.type == OTHER_DATES and kind in (None, "date"):
        yield (
            f"{name}: text that spells dates otherwise than ISO 8601 does{now}; "
            f"{describe_date_formats(look.formats)} under {where}, and it is "
            "masked as dates."
        )


def _list_repeated_entries(
    look: ColumnProfile, role: str | None, job: Job
) -> Iterator[str]:
    """Yield a note if entries of an identifier occur in several records."""
    if role == "identifier" and not job.roles.unit and look.counts is not None:
        several = RepeatedIdentifiers.of(look.name, look.counts, codes=look.codes)
        yield from [] if several is None else [str(several)]


def _list_missing_notes(
    look: ColumnProfile, role: str | None, policy: str
) -> Iterator[str]:
    """Yield a note if a column without a role lacks values."""
    if role is None and look.missing and policy == "refuse":
        yield (
            f"{look.name!r}: {plural(look.missing, 'value')} "
            f"{'is' if look.missing == 1 else 'are'} missing; as quasi-identifier it "
            'needs policy = "patterns" or "fill" under [missing].'
        )
