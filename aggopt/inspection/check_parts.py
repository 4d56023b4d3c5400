"""Check whether an engine would begin to mask a folder, from its footers."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from aggopt.core.columns import OWN, REFUSE
from aggopt.core.plural import is_or_are, plural
from aggopt.core.regular_files import is_folder_or_pattern
from aggopt.data.context.confidential import COMPARED
from aggopt.data.parsing.entries import make_entry_reader
from aggopt.data.readers.column_profile import NOTHING, ColumnProfile, describe_type
from aggopt.engine.mask import replace_engine_keys
from aggopt.engine.resource_check import (
    RunNeeds,
    require_fitting_memory,
)
from aggopt.engine.run import set_block_partition
from aggopt.engine.state.category_levels import Levels
from aggopt.engine.state.split_tree import estimate_largest_leaf
from aggopt.engine.steps.attribute_values import (
    iterate_folder_levels,
    list_folder_checks,
)
from aggopt.engine.steps.weights import add_merging_for_dominance
from aggopt.engine.storage.input_parts import (
    InputFolder,
    count_missing_in_footers,
)
from aggopt.engine.validate.input_files import (
    require_records,
    require_supported_schema,
)
from aggopt.engine.validate.supported_settings import (
    find_unsupported,
    require_keepable_requirements,
)
from aggopt.errors import AggoptError, TableError, toml_key
from aggopt.inspection.check import CheckResult, add_roles, list_column_notes
from aggopt.inspection.collect_errors import Obstacle, try_check
from aggopt.job import Job
from aggopt.job.release_job import has_engine, read_job_of_release, read_stated_roles
from aggopt.pipeline.prepare.inputs import load_job
from aggopt.pipeline.prepare.memory_check import GROUPED, NUMBER

T = TypeVar("T")

NO_ENGINE = Obstacle(
    "A folder is masked by an engine, and none is named.",
    'add --engine local, or set name = "local" under [engine].',
)


def is_for_engine(table: Path, file: Path, engine: str | None) -> bool:
    """Whether a table is in parts, or --engine or the job names an engine."""
    try:
        has_engine = replace_engine_keys(file, name=engine).engine.name != "memory"
    except AggoptError:
        has_engine = False
    return has_engine or is_folder_or_pattern(table)


def check_folder(
    pattern: Path, file: Path, engine: str | None, trust: Iterable[str | Path] = ()
) -> CheckResult:
    """Check the files of a folder with the job in a file.

    `engine` is the one that --engine names; errors of the job are returned.
    """
    wrong: list[Obstacle] = []
    job = _read_or_note(lambda: _load_folder_job(file, engine, trust), wrong)
    parts = _read_or_note(lambda: InputFolder.of(pattern), wrong)
    if job is not None:
        is_engine_named = engine is not None or has_engine(file)
        wrong += [] if is_engine_named and job.engine.name != "memory" else [NO_ENGINE]
        wrong += list_engine_obstacles(job)
    if parts is None:
        return CheckResult(None, (), tuple(wrong), (), code=wrong[0].code)
    missing = count_missing_in_footers(parts)
    if job is not None:
        try:
            parts = parts.recode(job.attributes)
        except AggoptError as error:
            wrong.append(Obstacle.from_error(error))
            return CheckResult(parts.records, (), tuple(wrong), (), code=wrong[0].code)
    levels: dict[str, Levels] = {}
    if job is not None:
        wrong += _list_schema_obstacles(job, parts)
        wrong += _list_missing_obstacles(job, missing)
        levels, level_obstacles = _count_levels(job, parts)
        wrong += level_obstacles
    profiles = [
        _profile(field, parts.records, missing[field.name], levels)
        for field in parts.schema
    ]
    columns = add_roles(
        profiles, job.roles if job else read_stated_roles(file), parts.schema.names
    )
    notes = [*_list_footer_notes(parts, missing, tuple(levels))]
    needs = None
    if job is not None:
        in_blocks = set_block_partition(job)
        block = estimate_largest_leaf(parts.records, job.engine.block)
        coordinate = GROUPED * NUMBER * block
        notes = [*list_column_notes(columns, job, wrong, coordinate), *notes]
        if job.engine.name != "memory":
            needs = RunNeeds.of(parts, in_blocks, levels)
            wrong += try_check(require_fitting_memory, parts, in_blocks, levels)
    every = tuple(dict.fromkeys(wrong))
    code = wrong[0].code if wrong else 0
    return CheckResult(parts.records, columns, every, tuple(notes), needs, code)


def _load_folder_job(
    file: Path, engine: str | None, trust: Iterable[str | Path]
) -> Job:
    """Return the job in a file, with the engine that --engine names."""
    if engine:
        return load_job(replace_engine_keys(file, name=engine), trust)
    return load_job(read_job_of_release(file), trust)


def _read_or_note(read: Callable[[], T], wrong: list[Obstacle]) -> T | None:
    """Return what `read` returns; add its error to the obstacles and return None."""
    try:
        return read()
    except AggoptError as error:
        wrong.append(Obstacle.from_error(error))
        return None


def _count_levels(
    job: Job, parts: InputFolder
) -> tuple[dict[str, Levels], list[Obstacle]]:
    """Return the levels of categories in all files, and what is wrong with them."""
    levels: dict[str, Levels] = {}
    wrong: list[Obstacle] = []
    for name, levels_or_error in iterate_folder_levels(parts, job):
        if isinstance(levels_or_error, Levels):
            levels[name] = levels_or_error
        else:
            wrong.append(Obstacle.from_error(levels_or_error, name))
    checks = list_folder_checks(parts.schema, job, levels)
    if not wrong:  # else the job would be judged by some of its categories
        for column, check in checks:
            wrong += try_check(check, column=column)
    return levels, wrong


def _profile(
    field: pa.Field, records: int, missing: int | None, levels: Mapping[str, Levels]
) -> ColumnProfile:
    """Return the profile of a column: its type, and its number of missing values.

    Of a category it is known how often each value occurs, too.
    """
    counted = levels.get(field.name)
    counts = None if counted is None else counted.counts[counted.counts > 0]
    kind = NOTHING if missing == records else describe_type(field.type)
    return ColumnProfile(field.name, kind, records, missing or 0, counts)


def _list_footer_notes(
    parts: InputFolder, missing: Mapping[str, int | None], categories: Sequence[str]
) -> Iterator[str]:
    """Yield notes on the values that were read, and on missing counts."""
    uncounted = [repr(name) for name, count in missing.items() if count is None]
    if uncounted:
        yield (
            f"{', '.join(uncounted)}: some file does not say how many values are "
            "missing."
        )
    files = plural(len({piece.path for piece in parts.pieces}), "file")
    read = f"the values of {', '.join(map(repr, categories))} were counted, and else "
    yield (
        f"In {files}, {read if categories else 'of which '}no record was read: values "
        "that cannot be masked, such as infinite ones, are refused in the first pass "
        "of mask."
    )


def list_engine_obstacles(job: Job) -> Iterator[Obstacle]:
    """Yield an obstacle for each setting that no engine supports."""
    yield from map(Obstacle.from_error, find_unsupported(job))
    try:
        require_keepable_requirements(
            add_merging_for_dominance(set_block_partition(job))[0]
        )
    except AggoptError as error:
        yield Obstacle.from_error(error)


def _list_schema_obstacles(job: Job, parts: InputFolder) -> Iterator[Obstacle]:
    """Yield obstacles of the columns and of the number of records."""
    checks: tuple[Callable[[], None], ...] = (
        partial(job.roles.check, parts.schema.names),
        partial(require_supported_schema, parts.schema, job),
        partial(require_comparable, parts, job),
        partial(require_records, parts.records, job.privacy.k),
    )
    for check in checks:
        yield from try_check(check)


def _list_missing_obstacles(
    job: Job, missing: Mapping[str, int | None]
) -> Iterator[Obstacle]:
    """Yield columns that must be complete and have missing values.

    These are quasi-identifiers without a policy, confidential columns with a
    requirement, strata and sampling weights.
    """
    for name, fix in _list_complete_columns(job):
        count = missing.get(name)
        if count:
            yield Obstacle(
                f"{name!r}: {plural(count, 'value')} {is_or_are(count)} missing, by "
                "what the files say.",
                fix,
                name,
            )


def _list_complete_columns(job: Job) -> Iterator[tuple[str, str]]:
    """Yield the columns that must have no missing value, each with a remedy."""
    for name in job.roles.quasi_identifier:
        section = job.attributes.get(name)
        if job.missing.policy == REFUSE and not (section and section.missing):
            yield (
                name,
                'say what is to happen: policy = "patterns" or "fill" under [missing]; '
                "or fill them, or remove those records.",
            )
    for name in job.roles.confidential if job.privacy.models else ():
        if job.privacy.treatment(name).missing != OWN:
            yield (
                name,
                "remove those records or fill the values; or let what is missing be "
                f'one more value: missing = "{OWN}" under '
                f"[privacy.confidential.{toml_key(name)}].",
            )
    for name in (*job.roles.stratum, *job.roles.weight):
        yield name, "fill them, or remove those records."


def require_comparable(parts: InputFolder, job: Job) -> None:
    """Refuse words and dates if numbers are compared, as far as footers show types.

    A footer has the least and the greatest entry of each piece of a column.  If one of
    them is a word, not all of the column are numbers; two numbers prove nothing.

    Raises
    ------
    TableError
        The names of the columns are in it.
    """
    names = [name for name in _list_compared_columns(job) if name in parts.schema.names]
    types = {name: _get_value_type(parts.schema.field(name).type) for name in names}
    wrong = [name for name, type_ in types.items() if pa.types.is_temporal(type_)]
    text = [name for name, type_ in types.items() if _is_text(type_)]
    wrong += [name for name in text if _has_words(name, parts, job.input.decimal)]
    if wrong:
        raise TableError(
            "Confidential columns whose values are compared as numbers, and are none: "
            f"{', '.join(map(repr, wrong))}; no order is given.",
            fix=COMPARED.replace("NAME", toml_key(wrong[0])),
        )


def _list_compared_columns(job: Job) -> Iterator[str]:
    """Yield the confidential columns that must be numbers."""
    privacy = job.privacy
    for name in job.roles.confidential:
        treatment = privacy.treatment(name)
        by_order = treatment.distance == "ordered" and treatment.order is None
        if ("t" in privacy.asked and by_order) or (
            "l" in privacy.asked and treatment.levels is not None
        ):
            yield name


def _get_value_type(kind: pa.DataType) -> pa.DataType:
    """Return the type of a column's values, without a dictionary."""
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _has_words(name: str, parts: InputFolder, decimal: str) -> bool:
    """Whether a column of a folder has entries that are not numbers."""
    entry = make_entry_reader(decimal)
    paths = dict.fromkeys(piece.path for piece in parts.pieces)
    ends = (end for path in paths for end in _iter_ends(path, name))
    return any(isinstance(entry(end), str) for end in ends)


def _iter_ends(path: Path, name: str) -> Iterator[Any]:
    """Yield the least and the greatest entry of a column, by each row group."""
    about = pq.read_metadata(path)
    for number in range(about.num_row_groups):
        group = about.row_group(number)
        columns = map(group.column, range(group.num_columns))
        statistics = next(
            column for column in columns if column.path_in_schema == name
        ).statistics
        if statistics is not None and statistics.has_min_max:
            yield from (statistics.min, statistics.max)
