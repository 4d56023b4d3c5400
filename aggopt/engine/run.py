"""From a folder of Parquet files to an audited folder, pass by pass."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from aggopt.core.compile_time import compile_time
from aggopt.core.validation import Floats
from aggopt.engine.executors.local import Executor
from aggopt.engine.folder_manifest import make_folder_release
from aggopt.engine.folder_release import FolderRelease
from aggopt.engine.reduce.category_certificates import CategoryProofs
from aggopt.engine.reduce.certificates import FolderCertificates
from aggopt.engine.reduce.group_sums import GroupSums, PublishedSums
from aggopt.engine.resource_check import require_fitting_memory, require_resources
from aggopt.engine.runs.journal import PRIVATE, PUBLIC, Journal, private_folder
from aggopt.engine.runs.output_folders import (
    StagedRun,
    rename_into_place,
    require_new,
    require_no_file,
    stage_run,
)
from aggopt.engine.state.run_state import BlockState, LeafState, RunState
from aggopt.engine.state.shuffle import run_second_step
from aggopt.engine.state.split_tree import PER_LEAF, SplitTree, count_tree_levels
from aggopt.engine.steps.block import part_shuffle
from aggopt.engine.steps.coordinates import block_coordinates
from aggopt.engine.steps.count_levels import (
    add_levels,
    add_weighted_levels,
    find_categories,
)
from aggopt.engine.steps.dates import add_clocks, find_dates
from aggopt.engine.steps.describe import leaf_shuffle, read_summary, total_covariance
from aggopt.engine.steps.feasible_blocks import merge_infeasible_blocks
from aggopt.engine.steps.global_confidential import collect_global_values
from aggopt.engine.steps.global_programs import (
    solve_category_programs,
    solve_number_programs,
)
from aggopt.engine.steps.merge_small_strata import add_merged_strata
from aggopt.engine.steps.missing_plan import plan_buckets, plan_published_moments
from aggopt.engine.steps.originals import add_originals
from aggopt.engine.steps.strata import merge_strata_counts
from aggopt.engine.steps.value_bounds import require_numbers, require_values
from aggopt.engine.steps.weights import add_merging_for_dominance, mean_weight
from aggopt.engine.steps.write import (
    choose_file_count,
    place_shuffle,
    require_all,
    require_alone,
    require_keys,
    require_unchanged,
)
from aggopt.engine.storage.input_parts import InputFolder
from aggopt.engine.storage.manifest_file import write_manifest
from aggopt.engine.storage.scratch_files import remove_steps, save_state
from aggopt.engine.supported_settings import (
    PARTITION,
    require_kept,
    require_records,
    require_supported,
    require_types,
)
from aggopt.job import Job, Recommended
from aggopt.release.audit.audit import Audit
from aggopt.release.audit.partial_audit import merge_audits

Progress = Callable[[str, float], None]


def release_folder(
    pattern: str | Path,
    job: Job,
    out: Path,
    carrier: Executor,
    on_progress: Progress,
    known: str | None = None,
) -> FolderRelease:
    """Mask the files of a folder, and let the folder `out` appear.

    `known` is the secret of a release that is to be made again.  Raises as
    `aggopt.engine.mask.mask_folder`.
    """
    require_supported(job)
    job, reasons = add_merging_for_dominance(set_block_partition(job))
    require_kept(job)
    on_progress("footers", 0.0)
    parts = InputFolder.of(pattern)
    job.roles.check(parts.schema.names)
    require_types(parts.schema, job)
    require_records(parts.records, job.privacy.k)
    private = private_folder(out)
    require_no_file(out)
    require_new(out, *() if job.engine.resume else (private,))
    require_resources(parts, job, out)
    began = compile_time.now()
    with stage_run(out, job, parts, known) as staged:
        carrier.require_seen([*parts.folders, *staged.folders])
        require_new(private)  # one that this run had named is taken back by now
        config = _config(parts, job, staged, reasons)
        run = _Run(carrier, on_progress, staged.journal)
        config = _with_levels(run, _with_strata(run, config), parts.schema)
        require_fitting_memory(parts, job, config.levels, begun=True)
        blocks, groups = _partitioned(run, config, parts.schema)
        blocks, ends = solve_number_programs(run.each, blocks, groups, parts.schema)
        chosen = solve_category_programs(run.each, blocks)
        blocks, figures = _published(run, blocks, groups.there)
        files, audit = _recounted(run, blocks, groups.n)
        audit.require()
        require_unchanged(files, run.anew("hash", config.parts, blocks))
        require_alone(config.public, [file["file"] for file in files])
        require_keys(config)
        seconds = compile_time.now() - began
        of_categories = CategoryProofs.of(blocks, chosen)
        proofs = FolderCertificates(
            blocks, groups, figures, ends, of_categories, seconds
        )
        made = make_folder_release(proofs, audit, blocks, files, (out, private))
        write_manifest(config.private, made.manifest)
        rename_into_place(config, out, private)
    return made


@dataclass(frozen=True)
class _Run:
    """Executor of the passes, with the progress callback."""

    carrier: Executor
    on_progress: Progress
    journal: Journal

    def each(self, step: str, count: int, config: RunState) -> list[Any]:
        """Return the results of a step for 0..count-1, new or from the journal."""
        found = self.journal.results(step)
        if found is None:
            found = self.anew(step, count, config)
            self.journal.note(step, found)
        return found

    def anew(self, step: str, count: int, config: RunState) -> list[Any]:
        """Return the results of a step, computed again whatever was done before."""
        self.on_progress(step, 0.0)
        known = config.work / f"config-{step}"
        save_state(known, config)
        return self.carrier.each(step, count, known, partial(self.on_progress, step))


def _config(
    parts: InputFolder, job: Job, staged: StagedRun, reasons: tuple[str, ...]
) -> RunState:
    n = parts.records
    work, stage = staged.folders
    public, private = stage / PUBLIC, stage / PRIVATE
    public.mkdir(exist_ok=True)
    private.mkdir(mode=0o700, exist_ok=True)
    leaves = 1 << count_tree_levels(n, job.engine.block)
    return RunState(
        job=job,
        pieces=parts.pieces,
        columns=tuple(c for c in parts.schema.names if c in job.roles.published),
        work=work,
        public=public,
        private=private,
        parts=choose_file_count(n),
        secret=staged.secret,
        rate=min(1.0, PER_LEAF * leaves / n),
        reasons=(*reasons, *staged.notes),
        categories=find_categories(parts.schema, job),
        dates=find_dates(parts.schema, job),
    )


def set_block_partition(job: Job) -> Job:
    """Return the job with the partition that works in blocks, if it names none."""
    if not isinstance(job.partition, Recommended):
        return job
    given = {"roles": job.roles, "privacy": job.privacy}
    named = Job.model_validate({**given, "partition": {"method": PARTITION}})
    return job.model_copy(update={"partition": named.partition})


def _with_strata(run: _Run, config: RunState) -> RunState:
    """Return the run state with the strata, if the job has any."""
    if not config.job.roles.stratum:
        return config
    run.each("strata", len(config.pieces), config)
    return replace(config, strata=merge_strata_counts(config))


def _with_levels(run: _Run, config: RunState, schema: pa.Schema) -> RunState:
    """Return the run state with levels of categories and units of dates."""
    if config.categories:
        run.each("levels", len(config.pieces), config)
    if config.dates:
        run.each("dates", len(config.pieces), config)
    made = add_levels(add_clocks(config), schema)
    require_numbers(made, schema)
    return made


def _partitioned(
    run: _Run, config: RunState, schema: pa.Schema
) -> tuple[BlockState, GroupSums]:
    """Return the block state, and the sums over the groups of the blocks."""
    n = sum(run.each("describe", len(config.pieces), config))
    described = config.all("described", len(config.pieces))
    mean = mean_weight(described, n, config.job)
    config = add_weighted_levels(replace(config, mean_weight=mean))
    moments, sample = read_summary(config)
    scale = moments.scale
    require_values(config, schema, scale, moments.n)
    Z = block_coordinates(sample, config, scale)
    tree = SplitTree.of(Z, count_tree_levels(n, config.job.engine.block))
    config = replace(
        config, whole=collect_global_values("described", len(config.pieces), config)
    )
    cut = plan_buckets(LeafState(**vars(config), scale=scale, tree=tree))
    cut = add_merged_strata(run.each, cut)
    scattered, spread = run.each("scatter", len(cut.pieces), cut), leaf_shuffle(cut)
    cut, sizes = run_second_step(run.each, spread, scattered, cut)
    blocks = merge_infeasible_blocks(run.each, sizes, spread, cut)
    made = BlockState(**vars(cut), blocks=blocks)
    counts = run.each("group", len(made.blocks), made)
    made = plan_published_moments(replace(made, counts=tuple(counts)), n)
    return made, GroupSums.of(made, n, total_covariance(moments, scale))


def _published(
    run: _Run, config: BlockState, there: Floats
) -> tuple[BlockState, PublishedSums]:
    """Return the places of the published records, and sums over the present values."""
    sizes = run.each("publish", len(config.blocks), config)
    remove_steps(config.work, "scattered", "scattered-again")
    config, _ = run_second_step(run.each, part_shuffle(config), sizes, config)
    return config, PublishedSums.of(config, there)


def _recounted(
    run: _Run, config: BlockState, n: int
) -> tuple[list[dict[str, Any]], Audit]:
    """Return the written files, of n records, and their audit."""
    written = run.each("write", config.parts, config)
    remove_steps(config.work, "published", "published-again")
    sizes = run.each("sort", config.parts, config)
    require_all(sum(map(sum, sizes)), n)
    config, _ = run_second_step(run.each, place_shuffle(config), sizes, config)
    config = replace(
        config, whole=collect_global_values("sorted", config.parts, config)
    )
    found = [each for each in run.each("recount", config.parts, config) if each]
    job = config.job
    audit = merge_audits(found, job.roles, job.privacy, job.dropped)
    audit = add_originals(audit, config)
    files = [
        {"file": config.part(number).name, "records": records, "sha256": digest}
        for number, (records, digest) in enumerate(written)
    ]
    return files, audit
