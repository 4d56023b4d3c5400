"""Singling out, linkability and inference of a release, compared with a control.

The control has persons outside the release: a file of them, or records of the table
that a second masking leaves out.  The release itself never changes.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from aggopt.core.columns import find_groups
from aggopt.core.frame import to_frame
from aggopt.core.plural import plural
from aggopt.core.regular_files import is_folder_or_pattern
from aggopt.core.types import Bool, Labels
from aggopt.data.readers.read import read_file
from aggopt.data.table import Table
from aggopt.errors import AggoptError, JobError, TableError
from aggopt.job import Job
from aggopt.measure.criteria import Criteria, assess
from aggopt.pipeline.mask import mask
from aggopt.pipeline.prepare.inputs import Progress, load_job
from aggopt.pipeline.review.release_checks import (
    SHARE_OR_FILE,
    require_control,
    require_other_records,
    require_share,
)
from aggopt.pipeline.review.review_release import ReleaseSource, read_aligned
from aggopt.pipeline.review.utility import format_entries, read_analysis_column
from aggopt.release.figures.distributions import read_plain_numbers
from aggopt.release.files.staging import compute_sha256
from aggopt.release.release import Release


def mask_with_control(
    data: Any,
    job: Job | str | Path,
    control: Any,
    *,
    progress: Progress | None = None,
    secret: str | None = None,
    trust: Iterable[str | Path] = (),
) -> Release:
    """Return a release with its criteria, measured with a control.

    The `control` is a share of the table, or a table or file of other persons.

    Raises
    ------
    JobError, TableError
        The control or the table cannot be used.
    """
    job = load_job(job, trust)
    outside = _prepare_control(control, data, job)
    release = mask(data, job, progress=progress, secret=secret, trust=trust)
    if isinstance(outside, Table):
        criteria = measure_on_table(release, outside)
    else:
        criteria = measure_on_second_masking(data, release.job, outside, progress)
    return replace(release, criteria=criteria)


def _prepare_control(control: Any, data: Any, job: Job) -> float | Table:
    """Return the share of a control of a table, or the table of other persons."""
    if isinstance(control, str | Path):
        table = Path(data) if isinstance(data, str | Path) else None
        control = read_control(str(control), table)
    if isinstance(control, Path):
        return read_outside(control, job)
    if isinstance(control, bool | int | float):
        require_share(control)
        return float(control)
    outside = Table.of(control, job.roles, job.attributes, missing=job.missing)
    return outside.as_read


def read_control(text: str, table: Path | None) -> float | Path:
    """Return the share of a control of a table, or the path of its file.

    Raises
    ------
    JobError
        The share is not above 0 and at most 0.5, or the file is the table.
    """
    try:
        share = float(text)
    except ValueError:
        control = Path(text)
        files = () if table is None else (control, table)
        is_table = all(file.is_file() for file in files)
        if files and is_table and len({*map(compute_sha256, files)}) == 1:
            raise JobError(
                f"{control.name} is the table: the persons of a control are outside "
                "the release.",
                fix=SHARE_OR_FILE,
            ) from None
        return control
    require_share(share)
    return share


def measure_on_file(source: ReleaseSource, job: Job, control: Path) -> Criteria:
    """Return the criteria of a written release, with the control of a file.

    Raises
    ------
    TableError, JobError
        A file cannot be used, or the control has fewer than ten records.
    """
    outside = read_outside(control, job)
    original, released, _ = read_aligned(source, job)
    return compare_with_control(original.as_read, released, outside, job)


def read_outside(control: Path, job: Job) -> Table:
    """Return the table of persons outside the release, read as the job's table is."""
    data = read_file(control, job.roles, job.input, job.attributes)
    outside = Table.of(data, job.roles, job.attributes, missing=job.missing)
    return outside.as_read


def measure_on_second_masking(
    data: Any, job: Job, share: float, progress: Progress | None = None
) -> Criteria:
    """Return the criteria of a second masking, which leaves a share of records out.

    The records that are left out are the control.  Units are left out whole.

    Raises
    ------
    TableError, JobError
        The control has fewer than ten records, or the rest cannot be masked.
    """
    path = Path(data) if isinstance(data, str | Path) else None
    if path and is_folder_or_pattern(path):
        raise JobError(
            f"A share as control masks a table again, and {path.name} is a folder.",
            fix="pass the file of other persons.",
        )
    content = read_file(path, job.roles, job.input, job.attributes) if path else data
    frame = to_frame(content)
    units = [name for name in job.roles.unit if name in frame.columns]
    is_outside = draw_control(
        find_groups(frame.select(*units).to_native()) if units else None,
        len(frame),
        share,
    )
    rest, outside = (
        frame[np.flatnonzero(rows).tolist()].to_native()
        for rows in (~is_outside, is_outside)
    )
    try:
        release = mask(rest, job, progress=progress)
    except AggoptError as error:
        raise JobError(
            f"{plural(int(is_outside.sum()), 'record')} are the control, and the rest "
            f"of the table cannot be masked. {error.problem}",
            fix="pass a smaller share, or the file of other persons.",
        ) from None
    control = Table.of(outside, job.roles, job.attributes, missing=job.missing)
    return replace(measure_on_table(release, control.as_read), is_second_masking=True)


def measure_on_table(release: Release, control: Table) -> Criteria:
    """Return the criteria of a release in memory, with the control of a table."""
    original = release.original.value
    if original is None:
        raise JobError(
            "This release holds no originals: it is a copy, or out of a pickle.",
            fix="measure the release that aggopt.mask returned.",
        )
    return compare_with_control(original, release.masked, control, release.job)


def draw_control(units: Labels | None, n: int, share: float) -> Bool:
    """Return whether each of n records is in the control, by a fixed draw, (n,).

    Raises
    ------
    JobError
        These are fewer than ten records.
    """
    labels = np.arange(n) if units is None else units
    order = np.random.default_rng(0).permutation(int(labels.max()) + 1)
    sizes = np.bincount(labels)[order]
    is_drawn = np.zeros(len(order), bool)
    is_drawn[order[np.cumsum(sizes) <= round(share * n)]] = True
    is_outside: Bool = is_drawn[labels]
    require_control(int(is_outside.sum()))
    return is_outside


def compare_with_control(
    original: Table, released: Table, control: Table, job: Job
) -> Criteria:
    """Return the criteria of a release; its original has its records in this order.

    The intruder knows the quasi-identifiers and the strata, and infers confidential
    attributes.  Merged strata are not used: persons outside have no merged stratum.

    Raises
    ------
    JobError
        The control has fewer than ten records.
    """
    import pandas as pd

    require_control(len(control.frame))
    strata = () if job.strata.small == "merge" else job.roles.stratum
    secrets = [name for name in job.roles.confidential if name not in strata]
    sides: list[dict[str, Any]] = [{}, {}, {}]
    tables = (original, released, control)
    for name in job.roles.quasi_identifier:
        is_number = name in original.numeric
        if is_number and _get_kind(control, name) != _get_kind(original, name):
            raise TableError(
                f"{name!r} of the control has other entries than numbers or dates "
                "like those of the table.",
                fix="pass a control whose columns have the types of the table.",
            )
        for side, table in zip(sides, tables, strict=True):
            side[name] = (
                read_plain_numbers(table, name)
                if is_number
                else format_entries(table.frame[name].to_list())
            )
    unmasked = (released, released, control)  # these columns are published unchanged
    for name in (*strata, *secrets):
        columns = _read_alike(unmasked, name, job)
        for side, column in zip(sides, columns, strict=True):
            side[name] = column
    require_other_records(original, control)
    return assess(*map(pd.DataFrame, sides), secret=secrets)


def _get_kind(table: Table, name: str) -> tuple[bool, bool]:
    """Return whether a column has numbers, and whether they count dates or times."""
    return name in table.numeric, name in table.clocks


def _read_alike(tables: Sequence[Table], name: str, job: Job) -> list[Any]:
    """Return a column of each table: numbers if all have only numbers, else text."""
    columns = [read_analysis_column(table, name, job) for table in tables]
    if any(column.dtype == object for column in columns):
        return [format_entries(table.frame[name].to_list()) for table in tables]
    return columns
