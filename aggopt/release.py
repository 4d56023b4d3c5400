"""A release: the masked table with what is known and proven of it."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from aggopt.arrays import Labels
from aggopt.audit import Audit, audit
from aggopt.errors import TableError
from aggopt.files import as_written, check_ending, is_csv
from aggopt.job import Job
from aggopt.manifest import Source, manifest
from aggopt.measure import Assessment
from aggopt.solvers import Certificate
from aggopt.staging import Staging, sha256
from aggopt.table import Table


@dataclass(frozen=True)
class Release:
    """A masked table that passed its audit.

    Its `repr` shows no value of a record, nor does any file but the masked table.

    Attributes
    ----------
    masked
        The masked table and the roles of its attributes; `table` gives it as the
        kind of table that came in, in the original record order.
    labels : (n,)
        Group of each record.  Private: do not publish.
    certificates
        One per quasi-identifier, by name.
    audit, measures
        What was found in, and measured on, the values of the release.
    notes
        What a reader of the release should know.
    job, source
        What was asked, and of what.
    """

    masked: Table = field(repr=False)
    labels: Labels = field(repr=False)
    certificates: dict[str, Certificate]
    audit: Audit
    measures: Assessment
    notes: tuple[str, ...]
    job: Job
    source: Source

    @property
    def table(self) -> Any:
        """The masked table, as the kind that came in; record order kept."""
        return self.masked.native

    def manifest(self) -> dict[str, Any]:
        """Return what may be published about how the release was made."""
        return manifest(self)

    def write(self, path: str | Path, *, overwrite: bool = False) -> "Files":
        """Write the release and return the paths of its three files.

        `path` (.csv or .parquet) gets the masked table, without identifiers and
        index, in random order unless the job says otherwise.  Beside it come
        `NAME.manifest.json`, which may be published, and `NAME.private.csv` (mode
        0600), which links each record of the input to its group and to its place in
        the masked table, and must stay with the owner of the data.

        The table is written aside and recounted from the bytes of that file; only
        then do all three files appear under their names.

        Raises
        ------
        TableError
            The path has another ending, its folder does not exist, or a file is
            there already and `overwrite` is not set.
        PrivacyError
            The recount found less than was promised; nothing is left behind.
        """
        files = Files.beside(Path(path))
        files.check(overwrite=overwrite)
        place = self._places()
        rows = np.argsort(place)
        with Staging() as staging:
            staging.write(files.private, lambda to: _write_key(to, self.labels, place))
            aside = staging.write(files.table, lambda to: self._write_table(to, rows))
            written = as_written(aside, self.job.input)
            found = audit(written, self.job.roles, self.k)
            found.require()
            stated = self.manifest()
            stated["output"] = {
                "file": files.table.name,
                "sha256": sha256(aside),
                "recounted": found.to_dict(),
            }
            staging.write(files.manifest, lambda to: _write_json(to, stated))
            staging.commit(
                files.private, files.manifest, files.table, private=files.private
            )
        return files

    @property
    def k(self) -> int:
        """Smallest group size promised."""
        return self.job.privacy.k

    def _places(self) -> Labels:
        """Place of each record in the file, (n,)."""
        n = len(self.labels)
        if not self.job.output.shuffle:
            return np.arange(n)
        return np.random.default_rng(self.job.output.seed).permutation(n)

    def _write_table(self, to: Path, rows: Labels) -> None:
        shuffled = self.masked.arrow().take(pa.array(rows))
        if not is_csv(to):
            pyarrow.parquet.write_table(shuffled, to)
            return
        how = self.job.input
        shuffled.to_pandas(types_mapper=pd.ArrowDtype).to_csv(
            to, index=False, sep=how.separator, decimal=how.decimal
        )


@dataclass(frozen=True)
class Files:
    """Where a written release is."""

    table: Path
    manifest: Path
    private: Path

    @classmethod
    def beside(cls, table: Path) -> "Files":
        """Return the three paths of the release whose table is at `table`."""
        return cls(
            table,
            table.with_name(f"{table.stem}.manifest.json"),
            table.with_name(f"{table.stem}.private.csv"),
        )

    def check(self, *, overwrite: bool) -> None:
        """Refuse early what could not be written, or would be lost."""
        check_ending(self.table)
        if not self.table.parent.is_dir():
            raise TableError(
                f"There is no folder {self.table.parent}.", fix="make it first."
            )
        there = [
            p.name for p in (self.table, self.manifest, self.private) if p.exists()
        ]
        if there and not overwrite:
            raise TableError(
                f"{', '.join(there)} would be overwritten.",
                fix="choose another name, or allow it: --overwrite, overwrite=True.",
            )


def _write_key(to: Path, labels: Labels, place: Labels) -> None:
    key = pa.table({"group": labels, "released_record": place})
    pyarrow.csv.write_csv(key, to)


def _write_json(to: Path, stated: dict[str, Any]) -> None:
    to.write_text(json.dumps(stated, indent=2) + "\n", encoding="utf-8")
