"""From a folder of Parquet files to an audited folder, pass by pass."""

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import partial
from math import log2
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from aggopt.core.leftovers import folder_prefix, remove_left
from aggopt.core.randomness import require_secret, secret
from aggopt.core.signals import held
from aggopt.engine.able import PARTITION, require_able, require_numbers
from aggopt.engine.config import Config, InBlocks, InLeaves
from aggopt.engine.counted import audit_of
from aggopt.engine.engines import Carrier
from aggopt.engine.folder_release import FolderRelease
from aggopt.engine.passes_in import scale_of, summary, total_of
from aggopt.engine.passes_out import require_all
from aggopt.engine.pieces import InputParts
from aggopt.engine.reduced import GroupSums, Proofs, PublishedSums
from aggopt.engine.split_tree import SplitTree, blocks_of
from aggopt.engine.workspace import STOP, appear, hand_out
from aggopt.errors import InfeasibleInputError, TableError
from aggopt.job import Job, Recommended
from aggopt.output.audit import Audit
from aggopt.output.manifest import SHUFFLED, versions_of
from aggopt.output.private_files import write_json

PER_FILE = 250_000  # records of a file of the release, about
PER_LEAF = 400  # records of the sample for each leaf: sizes then differ by a sixth
PACKAGES = ("aggopt", "numpy", "scipy", "pandas", "pyarrow", "narwhals", "numba")

Progress = Callable[[str, float], None]


def released(
    pattern: str | Path,
    job: Job,
    out: Path,
    carrier: Carrier,
    told: Progress,
    known: str | None = None,
) -> FolderRelease:
    """Mask the files of a folder, and let the folder `out` appear.

    `known` is the secret of a release that is to be made again.  Raises as
    `aggopt.engine.mask.mask_folder`.
    """
    require_able(job)
    parts = InputParts.of(pattern)
    job.roles.check(parts.schema.names)
    require_numbers(parts.schema, job)
    _require_records(parts.records, job.privacy.k)
    private = out.with_name(f"{out.name}.private")
    _require_new(out, private)
    began = perf_counter()
    with _staging(out, job) as (work, stage):
        own = secret() if known is None else require_secret(known)
        config = _config(parts, job, (work, stage), own)
        run = _Run(carrier, told)
        blocks, groups = _partitioned(run, config, parts.records)
        blocks, figures = _published(run, blocks, groups)
        files, audit = _recounted(run, blocks)
        audit.require()
        seconds = perf_counter() - began
        proofs = Proofs(job, groups, figures, seconds)
        made = _release(proofs, audit, blocks, files, (out, private))
        stated = partial(write_json, stated=made.manifest)
        appear(config.private / "manifest.json", stated)
        _appear(config, out, private)
    return made


@dataclass(frozen=True)
class _Run:
    """Who carries out the passes, and who is told of them."""

    carrier: Carrier
    told: Progress

    def each(self, step: str, count: int, config: Config) -> list[Any]:
        """Return what a step returns of 0..count-1."""
        known = config.work / f"config-{step}"
        hand_out(known, config)
        self.told(step, 0.0)
        return self.carrier.each(step, count, known, partial(self.told, step))


def _config(
    parts: InputParts, job: Job, folders: tuple[Path, Path], own: str
) -> Config:
    n, (work, stage) = parts.records, folders
    public, private = stage / "public", stage / "private"
    public.mkdir()
    private.mkdir(mode=0o700)
    leaves = 1 << _levels(n, job.engine.block)
    return Config(
        job=_with_partition(job),
        pieces=parts.pieces,
        columns=tuple(c for c in parts.schema.names if c in job.roles.published),
        work=work,
        public=public,
        private=private,
        parts=max(1, round(n / PER_FILE)),
        secret=own,
        rate=min(1.0, PER_LEAF * leaves / n),
    )


def _with_partition(job: Job) -> Job:
    """Return the job with the partition that works in blocks, where it names none."""
    if not isinstance(job.partition, Recommended):
        return job
    given = {"roles": job.roles, "privacy": job.privacy}
    named = Job.model_validate({**given, "partition": {"method": PARTITION}})
    return job.model_copy(update={"partition": named.partition})


def _levels(n: int, block: int) -> int:
    return max(0, round(log2(n / block)))


def _partitioned(run: _Run, config: Config, n: int) -> tuple[InBlocks, GroupSums]:
    """Return how the records were cut into blocks, and the sums over their groups."""
    run.each("describe", len(config.pieces), config)
    moments, sample = summary(config)
    scale = scale_of(moments)
    tree = SplitTree.of(scale.standardise(sample), _levels(n, config.job.engine.block))
    cut = InLeaves(**vars(config), scale=scale, tree=tree)
    sizes = np.sum(run.each("scatter", len(cut.pieces), cut), axis=0)
    blocks = tuple(blocks_of(sizes, 2 * config.job.privacy.k))
    made = InBlocks(**vars(cut), blocks=blocks)
    run.each("group", len(blocks), made)
    return made, GroupSums.of(made, n, total_of(moments, scale))


def _published(
    run: _Run, config: InBlocks, groups: GroupSums
) -> tuple[InBlocks, PublishedSums]:
    """Return how centroids are moved, and sums over what is published of them."""
    keep = getattr(config.job.aggregation, "keep", "mean")
    config = replace(config, shift=groups.shift(keep, config.scale))
    run.each("publish", len(config.blocks), config)
    return config, PublishedSums.of(config, groups.n)


def _recounted(run: _Run, config: InBlocks) -> tuple[list[dict[str, Any]], Audit]:
    """Return the files that were written, and what is found in them."""
    written = run.each("write", config.parts, config)
    require_all(sum(run.each("sort", config.parts, config)), config)
    found = run.each("recount", config.parts, config)
    audit = audit_of([each for each in found if each], config.columns, config.job)
    files = [
        {"file": config.part(number).name, "records": records, "sha256": digest}
        for number, (records, digest) in enumerate(written)
    ]
    return files, audit


def _release(
    proofs: Proofs,
    audit: Audit,
    config: InBlocks,
    files: list[dict[str, Any]],
    folders: tuple[Path, Path],
) -> FolderRelease:
    job, groups, figures = proofs.job, proofs.groups, proofs.figures
    varying = max(1, int((~config.scale.constant).sum()))
    measures = {
        "information loss": 100 * float(figures.sse.sum()) / (groups.n * varying),
        "highest risk": 1 / audit.combination,
        "average risk": audit.groups / audit.records,
    }
    certificates = {"groups": proofs.partition, **proofs.attributes()}
    notes = (
        "Linkage and interval disclosure are not measured: they compare all records.",
        f"GroupSums were made in {len(config.blocks)} blocks of about "
        f"{groups.n // len(config.blocks)} records.",
    )
    manifest = {
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": versions_of(["python", *PACKAGES]),
        "job": config.job.model_dump(mode="json", by_alias=True),
        "input": {
            "files": sorted({piece.path.name for piece in config.pieces}),
            "records": groups.n,
        },
        "order": SHUFFLED,
        "blocks": len(config.blocks),
        "audit": audit.to_dict(),
        "measures": measures,
        "rounding": {
            name: asdict(moved)
            for name, moved in figures.drifts(job, config.scale).items()
        },
        "certificates": {name: c.to_dict() for name, c in certificates.items()},
        "notes": list(notes),
        "output": {"files": files, "secret": config.secret},
    }
    out, private = folders
    return FolderRelease(
        path=out,
        private=private,
        manifest=manifest,
        audit=audit,
        certificates=certificates,
        measures=measures,
        notes=notes,
    )


def _require_records(n: int, k: int) -> None:
    if k > n:
        raise InfeasibleInputError(
            f"k = {k}, but there are only {n} records.",
            fix="choose a smaller k, or bring more records.",
        )


def _require_new(out: Path, private: Path) -> None:
    """Refuse folders that are there, or cannot be made.

    Raises
    ------
    TableError
        A folder of a release is never overwritten.
    """
    for folder in (out, private):
        if folder.exists() or folder.is_symlink():
            raise TableError(
                f"{folder} is there already.",
                fix="name a new folder; or remove that one, if no release needs it.",
            )
    if not out.parent.is_dir():
        raise TableError(f"There is no folder {out.parent}.", fix="make it first.")


@contextmanager
def _staging(out: Path, job: Job) -> Iterator[tuple[Path, Path]]:
    """Yield folders for files in between, and for the release; removed at the end.

    What a killed process leaves, the next one removes.
    """
    made: list[Path] = []
    try:
        for parent in (Path(job.engine.work or out.parent), out.parent):
            made.append(_folder(parent))
        yield made[0], made[1]
    except BaseException:
        if made:
            (made[0] / STOP).touch()
        raise
    finally:
        with held():
            for folder in made:
                shutil.rmtree(folder, ignore_errors=True)


def _folder(parent: Path) -> Path:
    remove_left(parent)
    try:
        return Path(tempfile.mkdtemp(prefix=folder_prefix(), dir=parent))
    except OSError as error:
        raise TableError(
            f"No folder can be made in {parent}: {error.strerror}.",
            fix="name one that may be written to: [engine] work, or another --out.",
        ) from None


def _appear(config: Config, out: Path, private: Path) -> None:
    """Give both folders their names: both, or none; the public one last."""
    with held():
        config.private.rename(private)
        try:
            config.public.chmod(0o755)
            config.public.rename(out)
        except OSError:
            private.rename(config.private)
            raise
