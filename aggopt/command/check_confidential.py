"""Whether confidential columns of a folder can be compared as a job asks, by footers.

A footer has the least and the greatest entry of each piece of a column.  Where one of
them is a word, not all of the column are numbers; that neither is proves nothing.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from aggopt.data.context.confidential import COMPARED
from aggopt.data.parsing.entries import make_entry_reader
from aggopt.engine.storage.input_parts import InputFolder
from aggopt.errors import TableError, toml_key
from aggopt.job import Job


def require_comparable(parts: InputFolder, job: Job) -> None:
    """Refuse words and dates if numbers are compared, as far as footers show types.

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
    """Yield the confidential columns of which numbers are asked."""
    privacy = job.privacy
    for name in job.roles.confidential:
        treatment = privacy.treatment(name)
        by_order = treatment.distance == "ordered" and treatment.order is None
        if ("t" in privacy.asked and by_order) or (
            "l" in privacy.asked and treatment.levels is not None
        ):
            yield name


def _get_value_type(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _has_words(name: str, parts: InputFolder, decimal: str) -> bool:
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
