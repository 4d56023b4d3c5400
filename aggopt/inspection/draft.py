"""A job for a table that was inspected: complete but for your decisions."""

import json
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from shlex import quote
from textwrap import indent, wrap
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

import pyarrow as pa
from pydantic.fields import FieldInfo

from aggopt.aggregate import AGGREGATORS, CATEGORY_AGGREGATORS
from aggopt.core.column_names import require_no_numbers
from aggopt.core.plural import agree, plural
from aggopt.core.registry import Method
from aggopt.core.regular_files import is_folder_or_pattern
from aggopt.data.context.structure import Structure
from aggopt.data.formats.csv import UTF_8
from aggopt.data.formats.registry import find_release_suffix, has_text_entries
from aggopt.data.readers.column_profile import count_repeated_headers, profile_columns
from aggopt.data.readers.csv_dialect import sample_with_dialect
from aggopt.data.readers.declared_roles import read_declared_roles
from aggopt.data.readers.read import Sample
from aggopt.engine.storage.input_parts import InputFolder
from aggopt.errors import TableError, name_sections
from aggopt.inspection.check_parts import list_engine_obstacles
from aggopt.inspection.collect_errors import Obstacle, drop_columns, find_obstacles
from aggopt.inspection.missing_policies import FILLED, REFUSED, Policy, propose_policy
from aggopt.inspection.proposal import (
    COLUMN,
    WIDTH,
    Proposal,
    add_comment,
    format_roles,
    format_types,
    propose_roles,
)
from aggopt.job import Input, Job
from aggopt.job.engine_section import Engine
from aggopt.partition.registry import PARTITIONERS, AttributeUse
from aggopt.privacy.model import REQUIREMENTS
from aggopt.repair.registry import REPAIRS

_TEXT = """\
# The job for {file}. Edit it, then run
#     aggopt check {file} {job}
#     aggopt mask {file} {job} --out masked{ending}
{state}

[roles]
# Each column is in one of these lists. The comments state what aggopt
# found in {records} records. It proposes to mask all that others may know of a person.
# Move columns that others do not know to confidential: l or t under [privacy] protects
# them.
{roles}
{types}
# [attributes.NAME]        # the type of a quasi-identifier that its entries do not show
# kind = "nominal"         # whole numbers that are codes; or "numeric": true is 1; or
#                          "date": text such as 2020-12-31 or 2020-12-31 23:59
# format = "%d.%m.%Y"      # text has dates such as 31.12.2020, and is published so, too
# order = ["low", "middle", "high"]
# tree = {{ care = ["nurse", "doctor"], craft = ["smith"] }}  # or an ARX file's path
# publish = "leaf"         # a name of the tree. These are true of a whole group: "node"
#                          or "ancestor" of a tree; "range" of numbers and orders;
#                          "interval" of numbers, between cuts; "suppress": the value
#                          that all have, or *. cost = "height" measures the loss of a
#                          tree by height, not by leaves
# weight = 1.0             # factor of its distances
# missing = "own value"    # a missing value is a category; without it, see [missing]
# lower = 0                # the smallest number that may be published; or upper
# integer = true           # publish whole numbers
# cuts = [18, 25, 65]      # before masking: numbers become cells, as "18 to 24"; not
#                          with publish = "interval"
# top = 85                 # before masking: larger numbers become 85; bottom: smaller
# round = 1000             # before masking: numbers become the nearest multiple
# groups = {{ craft = ["smith", "turner"] }}  # before masking: these names become one
# rare = "avoid"           # publish no category that fewer than k records have; or
#                          "publish", if most records have such a category

[missing]
{missing}
# Missing quasi-identifiers: "refuse" the table; "patterns": they stay missing, and all
# records of a group miss the same; "fill": they become the value of the group
# report_compatible = true # of patterns: also count a missing value as any value

# [strata]                 # if a column has the role stratum, such as region
# small = "refuse"         # strata of fewer than k records; or "merge" each with the
#                          nearest, also by an order or a tree under [attributes.NAME];
#                          or "drop" their records
# keep = "stratum"         # mean, variance, ... of each stratum; or "overall"
# jobs = 1                 # processes that mask strata at the same time

# [units]                  # if a column has the role unit, such as the household number
# attributes = ["income"]  # quasi-identifiers that are equal within a unit: masked once
#                          per unit. Groups of the others have records of k units. For
#                          both kinds, [privacy] needs scope = "blocks"
# published = "drop"       # or "pseudonym": a new number for each unit

# [weights]                # if a column has the role weight: a survey's sampling weight
# published = "group mean" # or "drop"; or "as is": then groups are within equal weights
# dominance = 0.6          # the largest share of a record in the weight of its group

[privacy]
{of_k}
# dominance = 0.7        # a note counts groups in which one record has more of the sum
# risk = 0.09            # largest risk of a record: 1 / records of its combination
# average_risk = 0.05    # largest average of these risks: combinations / records
# linkage = 0.1          # largest share of records that a one-to-one linkage finds
# Requirements on each confidential attribute, among records that publish the same:
{of_values}
# The method by which groups come to satisfy these requirements:
{of_repairs}
# [privacy.confidential.NAME]             # settings of one confidential attribute
# order = ["low", "middle", "high"]       # ordered distance on text
# tree = {{ lung = ["asthma", "flu"], heart = ["attack"] }}  # hierarchical distance
# levels = 20                             # l counts 20 levels of a number, not values
# missing = "own value"                   # a missing value is one more value
# alike = "different"                     # "A" and "a" are two values

[partition]
# Without a method, aggopt chooses one by the size of the table. Methods:
{of_partitions}
attributes = "together"  # which quasi-identifiers are grouped together, or
#         "one by one"            each by itself
#         [["a", "b"], ["c"]]     blocks of names
#         {{ correlation = 0.5 }}   blocks whose every pair is correlated so much
# weights = "variance"   # or "range": distances of categories and numbers as Gower's
# bound = "quick"        # or "none", or seconds for the proven bound on the loss
# Several blocks lose less and protect less: a record may be unique by all
# quasi-identifiers together. They need scope = "blocks" under [privacy].
# With {each_by_itself}, delete the line "attributes": it groups each by itself.
# Settings of methods, with their defaults:
{of_settings}
#                          ("sae": absolute error, "maxdist": widest range,
#                          "integer": if whole numbers are published;
#                          initial: the method that makes the first groups;
#                          Python also accepts labels, as initial_labels)
# keep_groups = "earlier.private.csv"  # in place of a method: the groups of an earlier
#                          release of the same records in the same order. For other
#                          orders and new persons add earlier = "FILE", the earlier
#                          table, and person = "NAME", the column that numbers persons.
#                          Several earlier releases: lists of their keys and tables
# changes = "refuse"     # a group in which fewer than k persons left, came or changed;
#                          or "hold back" records, or "merge" groups at least loss
# time_limit = 120       # seconds, then the best result so far; without it, optimal
#                          stops after 600
# solver = "highs"       # of "optimal"; of one attribute: "dynamic", "cvxpy:highs", ...
# options = {{}}           # of the solver, under the solver's own names

[aggregation]
{of_aggregations}
# [aggregation.categories] # of quasi-identifiers that are categories
{of_categories}

# [risk]                 # more measures: sums in the manifest, records in the key
# weight = "w"           # how many persons of the population each record represents
# unit = ["household"]   # its risk: an intruder finds any of its records
# target = ["illness"]   # how often a group discloses this confidential attribute
# suda = 3               # records that are unique by up to 3 quasi-identifiers

# [measures]
# largest_loss = 0.8     # mask refuses a larger loss (IL); without it, a note warns

[input]
separator = {separator}          # of a CSV file; the release is written with it too
decimal = {decimal}            # "." or ","
encoding = {encoding}       # or "cp1252", "latin-1"; of the release see [output]
multiline = false        # true: entries may span lines (stray quotes can hide records)

[output]
shuffle = true           # the order of records can identify persons
# seed = 1               # the same order in each run
round_integers = false   # true: whole numbers stay whole
digits = 6               # digits of the standard deviation that published values have;
#                          or "full"; or instead decimals = 2 for all attributes
# encoding = "utf-8"       # of the written CSV file; or "cp1252", "latin-1"
# title = "Survey 2026"    # of the report; office = "..." is its publisher

{of_engine}
# block = 100_000          # records that are partitioned together, about
# jobs = 1                 # of local: number of processes
# workers = 2              # of dask: number of processes on this machine; or instead
# scheduler = "tls://HOST:8786"  # a scheduler that runs already
# insecure = false         # true: an unencrypted scheduler, in a network of your own
# work = "/scratch/me"     # folder for temporary files, which hold originals; without
#                          it, next to the output
# resume = false           # true: continue an interrupted run to the same folder
"""

_ENGINE = """\
[engine]                 # masks a folder of .parquet files, of any size
name = "local"           # processes of this machine; or "dask\""""


def render_template(
    table: Path,
    job: Path,
    text_format: Input,
    *,
    records: int,
    state: Iterable[str],
    roles: Iterable[str],
    types: Iterable[str],
    missing: Iterable[str],
    folder: bool,
    k: int | None = None,
) -> str:
    """Return a job file for `table` that explains each key.

    `state` are lines on open decisions, `roles` the lines of [roles], `types` the lines
    of attributes that need a type, `missing` the policy on holes.  The
    job of a `folder` names an engine.  `k` is used in place of the default.
    """
    of_k, *of_values = (model.template.strip() for model in REQUIREMENTS.values())
    if k is not None:
        of_k = of_k.replace("k = 5 ", f"k = {k}".ljust(6), 1)
    return _TEXT.format(
        of_k=of_k,
        of_partitions="\n".join(_list_methods("# method", PARTITIONERS)),
        of_settings="\n".join(_list_partition_lines()),
        each_by_itself=name_univariate_methods(),
        of_values="\n".join(of_values),
        of_repairs="\n".join(_list_methods("# repair", REPAIRS)),
        of_aggregations="\n".join(
            [*_list_methods("method", AGGREGATORS), *_list_templates(AGGREGATORS)]
        ),
        of_categories="\n".join(
            [
                *_list_methods("# method", CATEGORY_AGGREGATORS),
                *_list_templates(CATEGORY_AGGREGATORS),
            ]
        ),
        file=quote(str(table)),
        ending="" if folder else find_release_suffix(table),
        of_engine=_ENGINE if folder else indent(_ENGINE, "# "),
        job=job.name,
        records=records,
        roles="\n".join(roles),
        types="\n".join(types),
        missing="\n".join(missing),
        state="\n".join(state),
        separator=json.dumps(text_format.separator),
        decimal=json.dumps(text_format.decimal),
        encoding=json.dumps(text_format.encoding),
    )


def _list_methods(key: str, methods: Mapping[str, Method]) -> Iterator[str]:
    """Yield lines that give a key its first method, and when to use each."""
    first, *others = methods.values()
    begin = "#".ljust(len(f"{key} = "))
    yield from _wrap_comment(f"{f'{key} = {json.dumps(first.name)}':<24} #", first.when)
    for method in others:
        yield from _wrap_comment(begin + json.dumps(method.name), method.when)


def _wrap_comment(begin: str, says: str) -> Iterator[str]:
    """Yield the lines of a key with its comment, wrapped."""
    longer = max(0, len(begin) - COLUMN + 1)
    first, *others = wrap(says, WIDTH - COLUMN, initial_indent=" " * longer)
    yield f"{begin:<{COLUMN - 1}} {first.strip()}"
    yield from (f"{'#':<{COLUMN}}{other}" for other in others)


def _list_partition_lines() -> Iterator[str]:
    """Yield the lines on what partition methods take."""
    for written, says, names in list_partition_settings():
        yield from _wrap_comment(
            f"# {written:<22} #", "; ".join(filter(None, (says, names)))
        )


def _list_templates(methods: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines on what aggregations take."""
    yield from (m.template.strip() for m in methods.values() if m.template)


EXPLAINED = ("method", "attributes", "time_limit", "solver", "options")
KINDS = {int: "a whole number", float: "a number", str: "a name", dict: "a table"}
Setting = tuple[str, str, str]  # how it is written, what else it may be, of which


def list_partition_settings() -> Iterator[Setting]:
    """Yield each setting of a partitioner that the template does not explain itself.

    Those of one name and default are one: `effort = "default"`, 'or "fast", "best"',
    "local_search, blocked".  A setting without a default is written as its name, with
    its kind: a number, a whole one, or a name.
    """
    takers: dict[tuple[str, str], list[str]] = {}
    for method in PARTITIONERS.values():
        for name, field in method.settings.model_fields.items():
            if name not in EXPLAINED:
                takers.setdefault(_format_setting(name, field), []).append(method.name)
    yield from ((*setting, ", ".join(names)) for setting, names in takers.items())


def name_univariate_methods() -> str:
    """Return the names of methods that take no `attributes`."""
    return ", ".join(
        name
        for name, method in PARTITIONERS.items()
        if method.takes is AttributeUse.EACH
    )


def _format_setting(name: str, field: FieldInfo) -> tuple[str, str]:
    """Return a setting with its default, and a comment on its other values."""
    if field.default is None or field.is_required():
        return name, KINDS.get(_resolve_type(field.annotation), "see its method")
    others = [json.dumps(c) for c in _list_choices(field) if c != field.default]
    says = f"or {', '.join(others)}" if others else ""
    return f"{name} = {json.dumps(field.get_default(call_default_factory=True))}", says


def _list_choices(field: FieldInfo) -> tuple[Any, ...]:
    is_literal = get_origin(field.annotation) is Literal
    return get_args(field.annotation) if is_literal else ()


def _resolve_type(annotation: Any) -> Any:
    """Return the plain type of an annotation that may be None, or Annotated."""
    if get_origin(annotation) in (UnionType, Union):
        annotation = next(a for a in get_args(annotation) if a is not type(None))
    return getattr(annotation, "__origin__", annotation)


MOST = 2000  # columns, which init reads in seconds
NOTHING_TO_MASK = Obstacle(
    "No column is proposed as quasi-identifier, and these are what is masked.",
    "move there what others may know of a person.",
)


@dataclass(frozen=True)
class Draft:
    """The text of a job for a table, and the decisions that are open."""

    text: str
    undecided: tuple[Obstacle, ...]
    proposed: tuple[Proposal, ...] = ()
    sample: str = ""  # which records were looked at; "" of all
    records: int = 0  # of the table

    def to_dict(self) -> dict[str, Any]:
        """Return the proposals and the open decisions, ready for JSON."""
        open_ = {obstacle.column for obstacle in self.undecided}
        return {
            "columns": [
                {
                    "name": proposal.look.name,
                    "role": None if proposal.look.name in open_ else proposal.role,
                    "type": proposal.look.type,
                    "reason": proposal.reason,
                }
                for proposal in self.proposed
            ],
            "sample": self.sample,
            "undecided": [asdict(obstacle) for obstacle in self.undecided],
        }


def propose_job(
    path: Path,
    job: Path,
    separator: str | None = None,
    decimal: str | None = None,
    encoding: str = UTF_8,
) -> Draft:
    """Return a job file for the table at `path`, with the roles that are not in doubt.

    Columns are listed with counts; no entry is shown.  Of a large table a fixed sample
    is read, and the job notes it.  Roles that mask would refuse are left for you to
    decide; if values are missing, a policy is proposed, too.

    Raises
    ------
    TableError, JobError
        As `aggopt.data.readers.csv_dialect.sample_with_dialect`; or the first line may
        be a record, or there are more columns than init reads.
    """
    folder = is_folder_or_pattern(path)
    if folder:
        sample, text_format = _sample_folder(path), Input()
    else:
        sample, text_format = sample_with_dialect(path, separator, decimal, encoding)
    table = sample.table
    _require_few_columns(path, table)
    _require_header(path, table)
    profiles = profile_columns(table, text_format if has_text_entries(path) else None)
    declared = read_declared_roles(table)
    proposed = propose_roles(profiles, Structure.of(table), declared, table)
    questions = _list_questions(proposed)

    def render_text(undecided: Sequence[Obstacle], policy: Policy) -> str:
        return render_template(
            path,
            job,
            text_format,
            records=len(table),
            state=[
                *_wrap_notes(sample.note, *(declared.notes if declared else ())),
                *_list_open_points(undecided),
            ],
            roles=format_roles(proposed, undecided),
            types=format_types(proposed, undecided),
            missing=add_comment(f'policy = "{policy.name}"', policy.reason),
            folder=folder,
            k=declared.k if declared else None,
        )

    masked = [
        proposal.look for proposal in proposed if proposal.role == "quasi-identifier"
    ]
    if not masked:
        open_points = (NOTHING_TO_MASK, *questions)
        text_of_all = render_text(open_points, REFUSED)
        return Draft(text_of_all, open_points, proposed, sample.note, sample.records)
    trial_policy = FILLED if any(look.missing for look in masked) else REFUSED
    parsed = tomllib.loads(render_text(questions, trial_policy))
    parsed["roles"]["drop"] += [str(obstacle.column) for obstacle in questions]
    drafted_job = Job(**parsed)
    table_job = drafted_job.model_copy(update={"engine": Engine()})
    obstacles = (*questions, *find_obstacles(path, table, table_job))
    if folder:
        obstacles = (*obstacles, *list_engine_obstacles(drafted_job))
    open_ = {obstacle.column for obstacle in obstacles}
    holed = [look for look in masked if look.missing and look.name not in open_]
    policy = propose_policy(path, table, drop_columns(table_job, open_), holed)
    text = render_text(obstacles, policy)
    return Draft(text, obstacles, proposed, sample.note, sample.records)


def _sample_folder(path: Path) -> Sample:
    """Return a sample of the records in all files of a folder."""
    parts = InputFolder.of(path)
    sample = Sample.of_blocks(parts.blocks(), parts.records)
    return replace(sample, table=sample.table.unify_dictionaries())


def _list_questions(proposed: Sequence[Proposal]) -> tuple[Obstacle, ...]:
    """Return the questions on columns whose roles a person must decide."""
    return tuple(
        Obstacle(
            f"{proposal.look.name!r}: {proposal.reason}.",
            name_sections(proposal.question, proposal.look.name),
            proposal.look.name,
        )
        for proposal in proposed
        if proposal.question
    )


def _require_few_columns(path: Path, table: pa.Table) -> None:
    """Refuse a table of which a proposal would take minutes."""
    if table.num_columns > MOST:
        raise TableError(
            f"{path.name} has {table.num_columns} columns, and init looks at {MOST} at "
            "most.",
            fix="run it on a file with some of the columns, and name the others in the "
            "job it writes.",
        )


def _require_header(path: Path, table: pa.Table) -> None:
    """Refuse a first line that looks like a record."""
    names = table.column_names
    require_no_numbers(names, path.name)
    count = count_repeated_headers(table)
    if 2 * count >= len(names):
        raise TableError(
            f"{count} of the {len(names)} column names of {path.name} "
            f"{agree(count, 'occurs', 'occur')} below as entries, too: its first line "
            "may be a record.",
            fix="put a line with names above it.",
        )


def _wrap_notes(*notes: str) -> list[str]:
    """Return the lines of notes on the table, such as on the sample that was read."""
    return [f"# {part}" for note in notes for part in wrap(note, WIDTH - 2)]


def _list_open_points(undecided: Sequence[Obstacle]) -> Iterator[str]:
    """Yield lines on the decisions that are open before the job can mask."""
    columns = sum(obstacle.column is not None for obstacle in undecided)
    if not undecided:
        yield "# Nothing must be decided before: the roles below are proposals."
    if columns:
        count = plural(columns, "column")
        yield f"# To be decided before: {count}, marked DECIDE below."
    for obstacle in undecided:
        if obstacle.column is None:
            sentence = (
                f"To be decided before: {obstacle.problem} To fix: {obstacle.fix}"
            )
            yield from (f"# {line}" for line in wrap(sentence, WIDTH - 2))
