"""Tasks of the release: its files, and a recount of the written values."""

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from aggopt.core.types import I64
from aggopt.data.readers.read import read_release_as_text
from aggopt.engine.state.run_state import BlockState, RunState
from aggopt.engine.state.shuffle import Shuffle
from aggopt.engine.steps import weights
from aggopt.engine.steps.block import make_part_shuffle
from aggopt.engine.steps.global_confidential import (
    count_confidential_values,
    read_confidential_of_part,
)
from aggopt.engine.storage import scratch_files
from aggopt.engine.storage.input_parts import count_records_before
from aggopt.release.audit.dominance import make_dominance_requirements
from aggopt.release.audit.partial_audit import Combinations, PartialAudit, audit_part
from aggopt.release.files.staging import compute_sha256, read_umask
from aggopt.release.files.write_table import write_table

PER_FILE = 250_000  # records of a file of the release, about


def choose_file_count(n: int) -> int:
    """Return the number of files for a release of n records."""
    return max(1, round(n / PER_FILE))


def write_part(number: int, config: BlockState) -> tuple[int, str]:
    """Write a released file and its private key; return record count and SHA-256."""
    sources = scratch_files.read_sources(
        make_part_shuffle(config).sources([number], config), config.at
    )
    rows, place = scratch_files.split_last_column(sources)
    rows, group = scratch_files.split_last_column(rows)
    rows, numbers = scratch_files.split_last_column(rows)
    order = np.lexsort((numbers, place.view(np.uint64)))
    rows, weights_of_rows = weights.remove_weights(rows, config)
    if weights_of_rows is not None:
        scratch_files.save_arrays(
            config.at("weights", number), each=weights_of_rows[order]
        )
    public = rows.take(pa.array(order))
    to = config.part(number)
    stage = config.public.parent
    scratch_files.write_atomically(
        to, lambda aside: write_table(aside, public, config.job, {}), stage
    )
    to.chmod(0o666 & ~read_umask())
    key = _make_key(numbers[order], group[order], config)
    scratch_files.write_atomically(
        config.key(number), lambda aside: pq.write_table(key, aside), stage
    )
    return len(rows), compute_sha256(to)


def _make_key(numbers: I64, group: I64, config: RunState) -> pa.Table:
    """Return the private key of a file: the source of each record, in order."""
    firsts = count_records_before(config.pieces)
    names = list(firsts)
    starts = np.array(list(firsts.values()))
    part = np.searchsorted(starts, numbers, side="right") - 1
    files = pa.DictionaryArray.from_arrays(part.astype(np.int32), names)
    return pa.table(
        {
            "input_file": files,
            "input_record": numbers - starts[part],
            "group": group,
            "released_record": np.arange(len(numbers)),
        }
    )


def sort_equal_records(number: int, config: RunState) -> list[int]:
    """Shuffle a released file's records so that equal ones share a place."""
    job = config.job
    rows = read_release_as_text(config.part(number), job.input, job.roles)
    mixed = hash_rows(rows.select(list(job.roles.combination)))
    bucket = (mixed >> np.uint64(32)) * np.uint64(config.parts) >> np.uint64(32)
    count_confidential_values(rows, "sorted", number, config)
    if job.roles.weight:  # those of the table that was masked, in the file's order
        for weights_of_column in scratch_files.load_arrays(
            config.at("weights", number)
        )["each"].T:
            rows = scratch_files.append_column(rows, weights_of_column)
    to = config.at("sorted", number)
    return make_place_shuffle(config).write(to, rows, bucket.astype(np.int64))


def hash_rows(rows: pa.Table) -> npt.NDArray[np.uint64]:
    """Return a hash of each row (n,), identical for equal rows in any file.

    A column then has one type, whether other values of it are missing or not.
    """
    alike = scratch_files.decode_dictionaries(rows)
    for place, field in enumerate(alike.schema):
        column = alike.column(place)
        if pa.types.is_boolean(field.type):
            column = column.cast(pa.int8())
        if pa.types.is_temporal(field.type):
            column = column.cast(f"int{field.type.bit_width}")
        if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
            column = pc.add(column.cast(pa.float64(), safe=False), 0.0)  # of -0.0: 0.0
        alike = alike.set_column(place, field.name, column)
    hashes = pd.util.hash_pandas_object(alike.to_pandas(), index=False)
    return np.asarray(hashes.to_numpy(np.uint64))


def make_place_shuffle(config: RunState) -> Shuffle:
    """Return the shuffle of released records to the places that count them."""
    return Shuffle("sorted", config.parts, config.parts)


def count_place(number: int, config: RunState) -> PartialAudit | None:
    """Return the partial audit of the released records of one place."""
    rows = scratch_files.read_sources(
        make_place_shuffle(config).sources([number], config), config.at
    )
    if not len(rows):
        return None
    job = config.job
    (rows, table_weights) = weights.remove_weights(rows, config)
    frame = nw.from_native(rows, eager_only=True)
    return audit_part(
        frame,
        Combinations.of(frame, job.roles, [job.roles.quasi_identifier]),
        job.roles,
        job.privacy.k,
        read_confidential_of_part(frame, config),
        decimal=job.input.decimal,
        bounds=job.attributes,
        dominance=make_dominance_requirements(job, table_weights),
    )


def hash_file(number: int, config: RunState) -> str:
    """Return the SHA-256 of a released file's current bytes."""
    return compute_sha256(config.part(number))
