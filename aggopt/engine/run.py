"""From a folder of Parquet files to an audited folder, pass by pass."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from aggopt.core.compile_time import compile_time
from aggopt.core.validation import Floats
from aggopt.engine.able import (
    PARTITION,
    require_able,
    require_kept,
    require_records,
    require_types,
)
from aggopt.engine.borders import across
from aggopt.engine.category_proofs import CategoryProofs
from aggopt.engine.config import Config, InBlocks, InLeaves
from aggopt.engine.coordinates import placed
from aggopt.engine.counted import audit_of
from aggopt.engine.engines import Carrier
from aggopt.engine.folder_release import FolderRelease
from aggopt.engine.folders import (
    Staged,
    give_names,
    require_new,
    require_no_file,
    staging,
)
from aggopt.engine.hole_plan import (
    with_buckets,
    with_kept,
)
from aggopt.engine.journal import PRIVATE, PUBLIC, Journal, private_of
from aggopt.engine.keeping import blocks_that_keep
from aggopt.engine.limits import require_numbers, require_values
from aggopt.engine.needs import require_room
from aggopt.engine.originals import with_originals
from aggopt.engine.passes_in import of_leaves, summary, total_of
from aggopt.engine.passes_of_blocks import to_parts
from aggopt.engine.passes_of_dates import dates_in, with_clocks
from aggopt.engine.passes_of_levels import (
    categories_in,
    with_levels,
    with_weighed_levels,
)
from aggopt.engine.passes_out import (
    count_of_files,
    require_all,
    require_alone,
    require_keys,
    require_unchanged,
    to_places,
)
from aggopt.engine.pieces import InputParts
from aggopt.engine.programs import chosen_of, shifted
from aggopt.engine.proofs import Proofs
from aggopt.engine.reduced import GroupSums, PublishedSums
from aggopt.engine.split_tree import SplitTree, levels_of
from aggopt.engine.stated_files import write_stated
from aggopt.engine.statement import release_of
from aggopt.engine.strata import strata_of
from aggopt.engine.strata_merged import with_merged
from aggopt.engine.two_levels import second_step
from aggopt.engine.weights import mean_weight, with_merging
from aggopt.engine.whole import whole_of
from aggopt.engine.workspace import forget, hand_out
from aggopt.job import Job, Recommended
from aggopt.output.audit import Audit

PER_LEAF = 400  # records of the sample for each leaf: sizes then differ by a sixth

Progress = Callable[[str, float], None]


def released(
    pattern: str | Path,
    job: Job,
    out: Path,
    carrier: Carrier,
    on_progress: Progress,
    known: str | None = None,
) -> FolderRelease:
    """Mask the files of a folder, and let the folder `out` appear.

    `known` is the secret of a release that is to be made again.  Raises as
    `aggopt.engine.mask.mask_folder`.
    """
    require_able(job)
    job, reasons = with_merging(with_partition(job))
    require_kept(job)
    on_progress("footers", 0.0)
    parts = InputParts.of(pattern)
    job.roles.check(parts.schema.names)
    require_types(parts.schema, job)
    require_records(parts.records, job.privacy.k)
    private = private_of(out)
    require_no_file(out)
    require_new(out, *() if job.engine.resume else (private,))
    require_room(parts, job, out)
    began = compile_time.now()
    with staging(out, job, parts, known) as staged:
        carrier.require_seen([*parts.folders, *staged.folders])
        require_new(private)  # one that this run had named is taken back by now
        config = _config(parts, job, staged, reasons)
        run = _Run(carrier, on_progress, staged.journal)
        config = _with_levels(run, _with_strata(run, config), parts.schema)
        blocks, groups = _partitioned(run, config, parts.schema)
        blocks, ends = shifted(run.each, blocks, groups, parts.schema)
        chosen = chosen_of(run.each, blocks)
        blocks, figures = _published(run, blocks, groups.there)
        files, audit = _recounted(run, blocks, groups.n)
        audit.require()
        require_unchanged(files, run.anew("hash", config.parts, blocks))
        require_alone(config.public, [file["file"] for file in files])
        require_keys(config)
        seconds = compile_time.now() - began
        of_categories = CategoryProofs.of(blocks, chosen)
        proofs = Proofs(blocks, groups, figures, ends, of_categories, seconds)
        made = release_of(proofs, audit, blocks, files, (out, private))
        write_stated(config.private, made.manifest)
        give_names(config, out, private)
    return made


@dataclass(frozen=True)
class _Run:
    """Who carries out the passes, and who is told of them."""

    carrier: Carrier
    on_progress: Progress
    journal: Journal

    def each(self, step: str, count: int, config: Config) -> list[Any]:
        """Return what a step returns of 0..count-1, or has returned before."""
        found = self.journal.results(step)
        if found is None:
            found = self.anew(step, count, config)
            self.journal.note(step, found)
        return found

    def anew(self, step: str, count: int, config: Config) -> list[Any]:
        """Return the same, whatever was done before."""
        self.on_progress(step, 0.0)
        known = config.work / f"config-{step}"
        hand_out(known, config)
        return self.carrier.each(step, count, known, partial(self.on_progress, step))


def _config(
    parts: InputParts, job: Job, staged: Staged, reasons: tuple[str, ...]
) -> Config:
    n = parts.records
    work, stage = staged.folders
    public, private = stage / PUBLIC, stage / PRIVATE
    public.mkdir(exist_ok=True)
    private.mkdir(mode=0o700, exist_ok=True)
    leaves = 1 << levels_of(n, job.engine.block)
    return Config(
        job=job,
        pieces=parts.pieces,
        columns=tuple(c for c in parts.schema.names if c in job.roles.published),
        work=work,
        public=public,
        private=private,
        parts=count_of_files(n),
        secret=staged.secret,
        rate=min(1.0, PER_LEAF * leaves / n),
        reasons=(*reasons, *staged.notes),
        categories=categories_in(parts.schema, job),
        dates=dates_in(parts.schema, job),
    )


def with_partition(job: Job) -> Job:
    """Return the job with the partition that works in blocks, where it names none."""
    if not isinstance(job.partition, Recommended):
        return job
    given = {"roles": job.roles, "privacy": job.privacy}
    named = Job.model_validate({**given, "partition": {"method": PARTITION}})
    return job.model_copy(update={"partition": named.partition})


def _with_strata(run: _Run, config: Config) -> Config:
    """Return what tasks are told, with the strata that records lie within, if any."""
    if not config.job.roles.stratum:
        return config
    run.each("strata", len(config.pieces), config)
    return replace(config, strata=strata_of(config))


def _with_levels(run: _Run, config: Config, schema: pa.Schema) -> Config:
    """Return what tasks are told, with levels of categories and what dates count."""
    if config.categories:
        run.each("levels", len(config.pieces), config)
    if config.dates:
        run.each("dates", len(config.pieces), config)
    made = with_levels(with_clocks(config), schema)
    require_numbers(made, schema)
    return made


def _partitioned(
    run: _Run, config: Config, schema: pa.Schema
) -> tuple[InBlocks, GroupSums]:
    """Return how the records were cut into blocks, and the sums over their groups."""
    n = sum(run.each("describe", len(config.pieces), config))
    described = config.all("described", len(config.pieces))
    mean = mean_weight(described, n, config.job)
    config = with_weighed_levels(replace(config, mean_weight=mean))
    moments, sample = summary(config)
    scale = moments.scale
    require_values(config, schema, scale, moments.n)
    Z = placed(sample, config, scale)
    tree = SplitTree.of(Z, levels_of(n, config.job.engine.block))
    config = replace(config, whole=whole_of("described", len(config.pieces), config))
    cut = with_buckets(InLeaves(**vars(config), scale=scale, tree=tree))
    cut = with_merged(run.each, cut)
    scattered, spread = run.each("scatter", len(cut.pieces), cut), of_leaves(cut)
    cut, sizes = second_step(run.each, spread, scattered, cut)
    blocks = blocks_that_keep(run.each, sizes, spread, cut)
    made = InBlocks(**vars(cut), blocks=blocks)
    if config.job.engine.borders:
        made = across(run.each, made, Z, n)
    counts = run.each("group", len(made.blocks), made)
    made = with_kept(replace(made, counts=tuple(counts)), n)
    return made, GroupSums.of(made, n, total_of(moments, scale))


def _published(
    run: _Run, config: InBlocks, there: Floats
) -> tuple[InBlocks, PublishedSums]:
    """Return where records are published, and sums over the values that are there."""
    sizes = run.each("publish", len(config.blocks), config)
    forget(config.work, "scattered", "scattered-again", "parted", "parted-again")
    config, _ = second_step(run.each, to_parts(config), sizes, config)
    return config, PublishedSums.of(config, there)


def _recounted(
    run: _Run, config: InBlocks, n: int
) -> tuple[list[dict[str, Any]], Audit]:
    """Return the files that were written, of n records, and what is found in them."""
    written = run.each("write", config.parts, config)
    forget(config.work, "published", "published-again")
    sizes = run.each("sort", config.parts, config)
    require_all(sum(map(sum, sizes)), n)
    config, _ = second_step(run.each, to_places(config), sizes, config)
    config = replace(config, whole=whole_of("sorted", config.parts, config))
    found = [each for each in run.each("recount", config.parts, config) if each]
    audit = with_originals(audit_of(found, config.job), config)
    files = [
        {"file": config.part(number).name, "records": records, "sha256": digest}
        for number, (records, digest) in enumerate(written)
    ]
    return files, audit
