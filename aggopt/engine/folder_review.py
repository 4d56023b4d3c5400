"""Original and release in folders: read whole, once it is known that they fit."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from aggopt.core.memory import require_memory
from aggopt.core.regular_files import is_folder_or_pattern, require_regular
from aggopt.core.types import I64, Labels
from aggopt.data.formats.parquet import check_parquet
from aggopt.data.readers.codebook import apply_declared_types
from aggopt.data.readers.read import read_file, read_release_as_text
from aggopt.data.table import Table
from aggopt.engine.runs.journal import make_private_path
from aggopt.engine.storage.input_parts import InputFolder, count_records_before
from aggopt.engine.validate import output_folders
from aggopt.errors import TableError
from aggopt.job import AttributeSection, Input, Job, Roles
from aggopt.pipeline.review.review_release import ReleaseSource, TwoFiles, read_pair
from aggopt.release.manifest import SHUFFLED, read_manifest_or_none

# Measured: processes that reviewed 2e3 to 6e5 records of 4 and of 10 numbers.
PROCESS = 250 << 20  # bytes of the process itself, beside the tables
COPIES = 10  # times an original and its release: read, joined, as numbers, compared
RISK_COPIES = 15  # times an original alone, of which risks are counted
KEY = ("input_file", "input_record", "released_record")
WITHOUT_READING = (
    "use a machine with more. The manifest.json of the release's private folder has "
    "its audit and loss; of the originals alone, aggopt risk TABLE JOB takes less."
)


def find_release(
    original: Path, released: Path, *, same_order: bool, private: Path | None
) -> ReleaseSource:
    """Return the source that reads a release and its original: files or folders."""
    if is_folder_or_pattern(original) or is_folder_or_pattern(released):
        return TwoFolders(original, released, same_order, private)
    return TwoFiles(original, released, same_order, private)


def read_whole(
    path: Path,
    roles: Roles,
    input_section: Input,
    attributes: Mapping[str, AttributeSection],
) -> pa.Table:
    """Return all records of a file, or of a folder of Parquet files, as one table.

    Raises
    ------
    TableError
        As `InputFolder.of`; or as `read_file`.
    """
    if not is_folder_or_pattern(path):
        return read_file(path, roles, input_section, attributes)
    parts = InputFolder.of(path)
    rows = pa.concat_tables(parts.blocks()).unify_dictionaries()
    return apply_declared_types(rows, roles, attributes)


def read_original(path: Path, job: Job) -> pa.Table | Path:
    """Return all records of a folder as one table; the path unchanged if a file."""
    if not is_folder_or_pattern(path):
        return path
    require_memory(*_estimate_reading(path, copies=RISK_COPIES), WITHOUT_READING)
    return read_whole(path, job.roles, job.input, job.attributes)


def _estimate_reading(*paths: Path, copies: int) -> tuple[int, str]:
    """Return the bytes needed to read these folders, and a text of the purpose."""
    size = 0
    for path in filter(is_folder_or_pattern, paths):
        for file in {piece.path for piece in InputFolder.of(path).pieces}:
            with pq.ParquetFile(file) as opened:
                size += check_parquet(file, opened)
    what = " and ".join(str(path) for path in paths)
    return PROCESS + copies * size, f"Reading {what} whole"


@dataclass(frozen=True)
class TwoFolders:
    """A release in a folder beside its original, in a folder or a file.

    The key is in the private folder of the release, unless `private` names another.
    """

    original: Path
    released: Path
    same_order: bool = False
    private: Path | None = None

    @property
    def _folder(self) -> Path:
        """The folder of the released files, also if a pattern names them."""
        return self.released if self.released.is_dir() else self.released.parent

    @property
    def _key_folder(self) -> Path:
        """The private folder of the release, which has keys and manifest."""
        return self.private or make_private_path(self._folder)

    @property
    def _manifest(self) -> Path:
        """Path of the manifest of the release."""
        return self._key_folder / output_folders.MANIFEST

    def tables(self, job: Job) -> tuple[Table, Table]:
        """Return the original and the released table, each in its own order.

        Raises
        ------
        TableError, InfeasibleInputError
            They are exchanged, do not fit memory, or cannot be read.
        """
        for path in (self.original, self.released):
            if not is_folder_or_pattern(path):
                require_regular(path)
        self._require_not_swapped()
        needs = _estimate_reading(self.original, self.released, copies=COPIES)
        require_memory(*needs, WITHOUT_READING)
        column = None
        if not self.same_order and self._manifest.exists():
            column = pa.chunked_array([self._released_numbers >= 0])
        return read_pair(self.original, self.released, job, column, read_whole)

    def places(self, n: int) -> Labels:
        """Return the position of each of n original records in the release, (n,).

        Raises
        ------
        TableError
            No key is there, or it is of other folders; or the order is another one.
        """
        if self.same_order:
            self._require_order()
            return np.arange(n)
        place = self._released_numbers[self._released_numbers >= 0]
        if not np.array_equal(np.sort(place), np.arange(n)):
            raise self._make_other_key_error()
        return place.astype(np.intp)

    def written(self, job: Job) -> pa.Table:
        """Return the release as a table read without its manifest."""
        if is_folder_or_pattern(self.released):
            return read_whole(self.released, job.roles, job.input, {})
        return read_release_as_text(self.released, job.released_input, job.roles)

    @cached_property
    def _originals(self) -> InputFolder:
        """The input folder of the original."""
        return InputFolder.of(self.original)

    @cached_property
    def _released_numbers(self) -> I64:
        """The position of each original record in the release, else -1."""
        self._require_same()
        firsts = count_records_before(self._originals.pieces)
        result = np.full(self._originals.records, -1)
        before = 0
        for path in sorted(self._key_folder.glob("key-*.parquet")):
            try:
                numbers, place = _read_key(path, firsts)
                result[numbers] = before + place
            except (KeyError, IndexError, pa.ArrowException, OSError):
                raise self._make_other_key_error() from None
            before += len(place)
        return result

    def _require_not_swapped(self) -> None:
        """Refuse a release given as the original of the original table."""
        swapped = make_private_path(self.original) / output_folders.MANIFEST
        if swapped.exists() and not self._manifest.exists():
            raise TableError(
                f"{self.original} is a release: {swapped} says how it was made.",
                fix="name the original first, and then what was released.",
            )

    def _require_order(self) -> None:
        """Refuse `same_order` if the manifest states a shuffled order."""
        if read_manifest_or_none(self._manifest, "order") == SHUFFLED:
            raise TableError(
                f"{self.released} has another record order than {self.original}: "
                f"{self._manifest} says so.",
                fix="leave --same-order out: the key says which record is which.",
            )

    def _require_same(self) -> None:
        """Refuse folders other than those that the manifest describes."""
        if not is_folder_or_pattern(self.released):
            raise TableError(
                f"{self.original} is a folder, and {self.released} one file, whose key "
                "is of one file, too.",
                fix="name the file that it was made from; or pass --same-order if the "
                "two have the same record order.",
            )
        if not self._manifest.is_file():
            raise TableError(
                f"{self._manifest} is not there, so nobody can tell which record of "
                f"{self.released} is which.",
                fix="put it there, name its folder (--private), or pass --same-order "
                "if the two tables have the same record order.",
            )
        output_folders.require_as_written(self._manifest)
        output_folders.require_described(self._folder, self._manifest)
        stated = read_manifest_or_none(self._manifest, "input")
        parts = self._originals
        counts = {
            "files": sorted(count_records_before(parts.pieces)),
            "records": parts.records,
        }
        if stated != counts:
            raise TableError(
                f"{self.original} does not hold the files that {self._manifest} "
                "describes.",
                fix="name the folder that the release was made from.",
            )

    def _make_other_key_error(self) -> TableError:
        """Return the error for keys that belong to other folders."""
        return TableError(
            f"The keys in {self._key_folder} are not of these two folders.",
            fix="put back those that were written with the release.",
        )


def _read_key(path: Path, firsts: Mapping[str, int]) -> tuple[I64, I64]:
    """Return the original records in a key file, and their released positions.

    `firsts` has the number of the first record of each file.
    """
    key = pq.read_table(path, columns=list(KEY))
    files = key.column(KEY[0]).combine_chunks().dictionary_encode()
    starts = np.array([firsts[name] for name in files.dictionary.to_pylist()])
    record, place = (key.column(name).to_numpy() for name in KEY[1:])
    return starts[files.indices.to_numpy()] + record, place
