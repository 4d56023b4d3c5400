"""A job for a table that was inspected: complete but for your decisions."""

import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from textwrap import wrap
from typing import Any

import pyarrow as pa

from aggopt.command.check_parts import list_engine_obstacles
from aggopt.command.collect_errors import Obstacle, drop_columns, find_obstacles
from aggopt.command.missing_policies import FILLED, REFUSED, Policy, propose_policy
from aggopt.command.proposal import (
    WIDTH,
    Proposal,
    add_comment,
    format_roles,
    format_types,
    propose_roles,
)
from aggopt.command.template import render_template
from aggopt.core.column_names import require_no_numbers
from aggopt.core.plural import plural
from aggopt.core.regular_files import is_folder_or_pattern
from aggopt.data.context.structure import Structure
from aggopt.data.formats.csv_check import UTF_8
from aggopt.data.formats.registry import has_text_entries
from aggopt.data.readers.column_profile import count_repeated_headers, profile_columns
from aggopt.data.readers.csv_dialect import sample_with_dialect
from aggopt.data.readers.sample import Sample
from aggopt.engine.storage.input_parts import InputFolder
from aggopt.errors import TableError, name_sections
from aggopt.job import Input, Job
from aggopt.job.engine_section import Engine

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
    is read, and the job notes it.  What mask refuses of the roles
    that are proposed is left to be decided; where values are missing, a policy is
    proposed, too.

    Raises
    ------
    TableError, JobError
        As `aggopt.data.readers.csv_dialect.sample_with_dialect`; or the first line may
        a record, or there are more columns than are looked at.
    """
    folder = is_folder_or_pattern(path)
    if folder:
        parts = InputFolder.of(path)
        sample = Sample.of_blocks(parts.blocks(), parts.records)
        text_format = Input()
    else:
        sample, text_format = sample_with_dialect(path, separator, decimal, encoding)
    table = sample.table.unify_dictionaries() if folder else sample.table
    _require_few_columns(path, table)
    _require_header(path, table)
    profiles = profile_columns(table, text_format if has_text_entries(path) else None)
    proposed = propose_roles(profiles, Structure.of(table))
    questions = _list_questions(proposed)

    def render_text(undecided: Sequence[Obstacle], policy: Policy) -> str:
        return render_template(
            path,
            job,
            text_format,
            records=len(table),
            state=[*_wrap_sample_note(sample), *_list_open_points(undecided)],
            roles=format_roles(proposed, undecided),
            types=format_types(proposed, undecided),
            missing=add_comment(f'policy = "{policy.name}"', policy.reason),
            folder=folder,
        )

    masked = [
        proposal.look for proposal in proposed if proposal.role == "quasi-identifier"
    ]
    if not masked:
        open_points = (NOTHING_TO_MASK, *questions)
        text_of_all = render_text(open_points, REFUSED)
        return Draft(text_of_all, open_points, proposed, sample.note)
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
    return Draft(render_text(obstacles, policy), obstacles, proposed, sample.note)


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
            f"{count} of the {len(names)} column names of {path.name} are entries of "
            "their own columns, too: its first line may be a record.",
            fix="put a line with names above it.",
        )


def _wrap_sample_note(sample: Sample) -> list[str]:
    """Return the lines on the sample of records that was read, if not all were."""
    return [f"# {part}" for part in wrap(sample.note, WIDTH - 2)]


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
