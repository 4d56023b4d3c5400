"""Record of the making of a release, for its owner.

It holds no value of a record.  It is still not for the public: exact measures and
hashes let an attacker check the guess of a whole table, or of most of a tiny one. With
the secret of the release an attacker can undo the shuffle and the margins.
"""

import json
import platform
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from aggopt.core.plugins.loading import Origin
from aggopt.core.version import __version__
from aggopt.data.context.strata import RecordStrata
from aggopt.errors import RepeatError
from aggopt.job import Job
from aggopt.measure import Assessment
from aggopt.partition.shared.result import Block
from aggopt.release.audit.audit import Audit
from aggopt.solvers import SOLVERS, Certificate


@dataclass(frozen=True)
class Drift:
    """Drift of an attribute caused by rounding.

    Attributes
    ----------
    step
        Published values are whole multiples of it, dates and times of that number of
        seconds; None if they are published as computed.
    mean
        Drift of the mean, in standard deviations, without sign.
    variance
        Drift of the variance, as a share of the variance before, without sign.
    """

    step: float | None
    mean: float
    variance: float


_ALWAYS = ("aggopt", "numpy", "scipy", "pandas", "pyarrow", "narwhals", "numba")
PROMISE_COST = "more here than the groups before the repair."  # ends such a note
SHUFFLED = "shuffled"  # a manifest's entry for a random order


@dataclass(frozen=True)
class Source:
    """The table that was masked: its file, if it came from one, and its size.

    `fingerprint` is the SHA-256 of all its columns, in hexadecimal.
    """

    file: str | None
    sha256: str | None
    records: int
    attributes: int
    fingerprint: str = field(repr=False)


def make_manifest(
    job: Job,
    source: Source,
    blocks: Sequence[Block],
    audit: Audit,
    measures: Assessment | None,
    certificates: Mapping[str, Certificate],
    notes: Sequence[str],
    drift: Mapping[str, Drift],
    strata: RecordStrata | None,
) -> dict[str, Any]:
    """Return versions, job, input, partition, audit, measures and certificates."""
    solved = [*certificates.values(), *partition_certificates(blocks, job).values()]
    order = SHUFFLED if job.output.shuffle else "as in the input"
    versions = _list_versions({c.solver for c in solved}, job.code)
    return {
        **describe_run(job, versions),
        "input": asdict(source),
        "order": order,
        "strata": None if strata is None else strata.to_dict(),
        "partition": _describe_partitions(blocks, job),
        "audit": audit.to_dict(),
        "measures": None if measures is None else measures.to_dict(),
        "measured": list(job.roles.quasi_identifier),
        **describe_results(certificates, notes, drift),
    }


def describe_run(job: Job, versions: Mapping[str, str]) -> dict[str, Any]:
    """Return the time, the versions of packages, the job and its code."""
    return {
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": dict(versions),
        "job": job.model_dump(mode="json", by_alias=True),
        "code": [origin.to_dict() for origin in job.code],
    }


def describe_results(
    certificates: Mapping[str, Certificate],
    notes: Sequence[str],
    drift: Mapping[str, Drift],
) -> dict[str, Any]:
    """Return the changes by rounding, the certificates and the notes."""
    return {
        "rounding": {name: asdict(moved) for name, moved in drift.items()},
        "certificates": {name: c.to_dict() for name, c in certificates.items()},
        "notes": list(notes),
    }


def read_manifest_or_none(path: Path, *keys: str) -> Any:
    """Return the value under these keys of a manifest; None if unreadable or absent."""
    if not path.is_file():  # a pipe would be waited for
        return None
    try:
        stated = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    return find_entry(stated, *keys)


def find_entry(stated: Any, *keys: str) -> Any:
    """Return the value under these keys of a manifest; None if absent."""
    value = stated
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _describe_partitions(blocks: Sequence[Block], job: Job) -> list[dict[str, Any]]:
    return [
        {
            "attributes": list(names),
            "groups": block.groups,
            "certificate": block.certificate.to_dict(),
        }
        for names, block in zip(partition_names(blocks, job), blocks, strict=True)
    ]


def _list_versions(ran: set[str], code: Sequence[Origin]) -> dict[str, str]:
    used = [SOLVERS[name] for name in ran if name in SOLVERS]
    packages = {
        *_ALWAYS,
        *(s.language for s in used if s.language),
        *(p for s in used for p in s.needs),
        *(o.package.rpartition(" ")[0] for o in code if o.package),
    }
    return list_versions(["python", *sorted(packages)])


def list_versions(packages: Iterable[str]) -> dict[str, str]:
    """Return the version of each package that is here, "python" among them."""
    return {package: _read_version(package) for package in packages}


def _read_version(package: str) -> str:
    if package == "python":
        return platform.python_version()
    if package == "aggopt":
        return __version__
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed as a package"


@dataclass(frozen=True)
class WriteRecipe:
    """Record of an earlier writing, which is repeated byte for byte.

    Attributes
    ----------
    seed
        Seed of the order of the records.
    sha256
        SHA-256 of the table.
    file
        Name of the file of the table.
    ddi
        SHA-256 of the DDI codebook; None if none was written.
    reason
        Explanation for differing bytes.
    """

    seed: int | None
    sha256: str
    file: str = ""
    ddi: str | None = None
    reason: str = ""

    def explained(self, reason: str) -> "WriteRecipe":
        """Return the record with an explanation for differing bytes."""
        return replace(self, reason=reason)

    def require(self, digest: str) -> None:
        """Refuse a table of other bytes."""
        self._require_equal(digest, self.sha256, "masked table")

    def require_ddi(self, digest: str) -> None:
        """Refuse a DDI codebook of other bytes."""
        self._require_equal(digest, self.ddi, "DDI codebook")

    def _require_equal(self, digest: str, expected: str | None, what: str) -> None:
        """Refuse a file whose hash is not the expected one."""
        if digest != expected:
            raise RepeatError(
                f"The {what} came out different from the one that the manifest "
                f"describes. {self.reason}",
                fix="repeat it with the manifest as it was written, where those "
                "versions are, and without time limits; nothing was written.",
            )


def block_names(
    columns: Sequence[Sequence[int]], job: Job
) -> tuple[tuple[str, ...], ...]:
    """Return the attributes in each block of column positions."""
    names = job.roles.quasi_identifier
    return tuple(tuple(names[j] for j in block) for block in columns)


def partition_names(blocks: Sequence[Block], job: Job) -> tuple[tuple[str, ...], ...]:
    """Return the attributes of each block."""
    return block_names(tuple(block.columns for block in blocks), job)


def partition_certificates(blocks: Sequence[Block], job: Job) -> dict[str, Certificate]:
    """Return the certificate of each partition, by its attributes."""
    named_blocks = zip(partition_names(blocks, job), blocks, strict=True)
    return {", ".join(names): b.certificate for names, b in named_blocks}
