"""From a folder of Parquet files to an audited folder, pass by pass."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from aggopt.core.deadline import compile_time
from aggopt.core.types import Floats
from aggopt.data.parsing.recoding import describe_recodings
from aggopt.engine.certificates import CategoryProofs, FolderCertificates
from aggopt.engine.executors.local import Executor
from aggopt.engine.folder_release import (
    FolderRelease,
    make_folder_release,
    write_manifest,
)
from aggopt.engine.resource_check import require_fitting_memory, require_resources
from aggopt.engine.runs.journal import PRIVATE, PUBLIC, Journal, make_private_path
from aggopt.engine.runs.output_folders import StagedRun, rename_into_place, stage_run
from aggopt.engine.state.group_sums import GroupSums, PublishedSums
from aggopt.engine.state.run_state import BlockState, LeafState, RunState
from aggopt.engine.state.shuffle import run_second_step
from aggopt.engine.state.split_tree import PER_LEAF, SplitTree, count_tree_levels
from aggopt.engine.steps import (
    attribute_values,
    block,
    describe,
    feasible_blocks,
    number_programs,
    write,
)
from aggopt.engine.steps.global_confidential import collect_global_values
from aggopt.engine.steps.merge_small_strata import add_merged_strata
from aggopt.engine.steps.strata import merge_strata_counts
from aggopt.engine.steps.weights import add_merging_for_dominance, compute_mean_weight
from aggopt.engine.storage.input_parts import InputFolder
from aggopt.engine.storage.scratch_files import remove_steps, save_state
from aggopt.engine.validate import output_folders, values
from aggopt.engine.validate.input_files import require_records, require_supported_schema
from aggopt.engine.validate.supported_settings import (
    PARTITION,
    require_keepable_requirements,
    require_supported_job,
)
from aggopt.job import Job, Recommended
from aggopt.pipeline.validate.true_statements import require_statements
from aggopt.release.audit.audit import Audit
from aggopt.release.audit.partial_audit import merge_audits

Progress = Callable[[str, float], None]


def mask_parts(
    pattern: str | Path,
    job: Job,
    out: Path,
    carrier: Executor,
    on_progress: Progress,
    secret: str | None = None,
) -> FolderRelease:
    """Mask the Parquet files of a folder into the new folder `out`; return the release.

    `secret` is the secret of a release that is to be made again.  Raises as
    `aggopt.engine.mask.mask_folder`.
    """
    require_supported_job(job)
    job, reasons = add_merging_for_dominance(set_block_partition(job))
    require_keepable_requirements(job)
    on_progress("footers", 0.0)
    parts = InputFolder.of(pattern)
    job.roles.check(parts.schema.names)
    parts = parts.recode(job.attributes)
    require_supported_schema(parts.schema, job)
    stated = attribute_values.list_stated_numbers(parts.schema, job)
    dates = attribute_values.find_dates(parts.schema, job)
    require_statements(job, stated, dates)
    require_records(parts.records, job.privacy.k)
    private = make_private_path(out)
    output_folders.require_no_file(out)
    output_folders.require_new(out, *() if job.engine.resume else (private,))
    require_resources(parts, job, out)
    began = compile_time.now()
    with stage_run(out, job, parts, secret) as staged:
        carrier.require_seen([*parts.folders, *staged.folders])
        output_folders.require_new(
            private
        )  # one that this run had named is taken back by now
        config = _make_run_state(parts, job, staged, reasons)
        run = _Run(carrier, on_progress, staged.journal)
        config = _add_levels(run, _add_strata(run, config), parts.schema)
        require_fitting_memory(parts, job, config.levels, begun=True)
        blocks, groups = _partition_parts(run, config, parts.schema)
        blocks, ends = number_programs.solve_number_programs(
            run.each, blocks, groups, parts.schema
        )
        chosen = number_programs.solve_category_programs(run.each, blocks)
        blocks, figures = _publish_blocks(run, blocks, groups.there)
        files, audit = _recount_files(run, blocks, groups.n)
        audit.require()
        output_folders.require_unchanged(files, run.anew("hash", config.parts, blocks))
        output_folders.require_alone(config.public, [file["file"] for file in files])
        output_folders.require_keys(
            [config.key(number) for number in range(config.parts)]
        )
        seconds = compile_time.now() - began
        of_categories = CategoryProofs.of(blocks, chosen)
        proofs = FolderCertificates(
            blocks, groups, figures, ends, of_categories, seconds
        )
        folder_release = make_folder_release(
            proofs, audit, blocks, files, (out, private)
        )
        write_manifest(config.private, folder_release.manifest)
        rename_into_place(config, out, private)
    return folder_release


@dataclass(frozen=True)
class _Run:
    """Executor of the passes, with the progress callback."""

    carrier: Executor
    on_progress: Progress
    journal: Journal

    def each(self, step: str, count: int, config: RunState) -> list[Any]:
        """Return the results of a step's tasks, from the journal if recorded there."""
        result = self.journal.results(step)
        if result is None:
            result = self.anew(step, count, config)
            self.journal.note(step, result)
        return result

    def anew(self, step: str, count: int, config: RunState) -> list[Any]:
        """Return the results of a step's tasks, computed in any case."""
        self.on_progress(step, 0.0)
        state_file = config.work / f"config-{step}"
        save_state(state_file, config)
        return self.carrier.each(
            step, count, state_file, partial(self.on_progress, step)
        )


def _make_run_state(
    parts: InputFolder, job: Job, staged: StagedRun, reasons: tuple[str, ...]
) -> RunState:
    """Return the initial state of a run, with its folders created."""
    n = parts.records
    work, stage = staged.folders
    public = stage / PUBLIC
    private = stage / PRIVATE
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
        parts=write.choose_file_count(n),
        secret=staged.secret,
        rate=min(1.0, PER_LEAF * leaves / n),
        reasons=(
            *reasons,
            *describe_recodings(job.attributes, in_parts=True),
            *staged.notes,
        ),
        categories=attribute_values.find_categories(parts.schema, job),
        dates=attribute_values.find_dates(parts.schema, job),
        spans=attribute_values.find_number_spans(parts.schema, job),
    )


def set_block_partition(job: Job) -> Job:
    """Return the job with the default partition for blocks, if none is named."""
    if not isinstance(job.partition, Recommended):
        return job
    sections = {"roles": job.roles, "privacy": {"k": job.privacy.k}}
    with_method = Job.model_validate({**sections, "partition": {"method": PARTITION}})
    return job.model_copy(update={"partition": with_method.partition})


def _add_strata(run: _Run, config: RunState) -> RunState:
    """Return the run state with the strata of the table, if the job has any."""
    if not config.job.roles.stratum:
        return config
    run.each("strata", len(config.pieces), config)
    return replace(config, strata=merge_strata_counts(config))


def _add_levels(run: _Run, config: RunState, schema: pa.Schema) -> RunState:
    """Return the run state with the levels of categories and units of dates."""
    if config.categories:
        run.each("levels", len(config.pieces), config)
    if config.dates:
        run.each("dates", len(config.pieces), config)
    return attribute_values.add_levels(attribute_values.add_clocks(config), schema)


def _partition_parts(
    run: _Run, config: RunState, schema: pa.Schema
) -> tuple[BlockState, GroupSums]:
    """Partition all blocks; return the block state and sums over groups."""
    n = sum(run.each("describe", len(config.pieces), config))
    described = config.all("described", len(config.pieces))
    mean = compute_mean_weight(described, n, config.job)
    config = attribute_values.add_weighted_levels(replace(config, mean_weight=mean))
    moments, sample = describe.read_summary(config)
    spans = attribute_values.add_span_ends(config.spans, config.numbers, moments)
    config = replace(config, spans=spans)
    scale = moments.scale
    table = attribute_values.make_empty_table(schema, config)
    values.require_feasible_bounds(table, config.job, scale, moments.n)
    Z = describe.compute_block_coordinates(sample, config, scale)
    tree = SplitTree.of(Z, count_tree_levels(n, config.job.engine.block))
    config = replace(
        config, whole=collect_global_values("described", len(config.pieces), config)
    )
    cut = feasible_blocks.choose_buckets(
        LeafState(**vars(config), scale=scale, tree=tree)
    )
    cut = add_merged_strata(run.each, cut)
    scattered = run.each("scatter", len(cut.pieces), cut)
    spread = describe.make_leaf_shuffle(cut)
    cut, sizes = run_second_step(run.each, spread, scattered, cut)
    blocks = feasible_blocks.merge_infeasible_blocks(run.each, sizes, spread, cut)
    block_state = BlockState(**vars(cut), blocks=blocks)
    counts = run.each("group", len(block_state.blocks), block_state)
    block_state = feasible_blocks.add_published_moments(
        replace(block_state, counts=tuple(counts)), n
    )
    return block_state, GroupSums.of(
        block_state, n, describe.compute_covariance(moments, scale)
    )


def _publish_blocks(
    run: _Run, config: BlockState, counts: Floats
) -> tuple[BlockState, PublishedSums]:
    """Publish all blocks; return the block state and sums over published values."""
    sizes = run.each("publish", len(config.blocks), config)
    remove_steps(config.work, "scattered", "scattered-again")
    config, _ = run_second_step(
        run.each, block.make_part_shuffle(config), sizes, config
    )
    return config, PublishedSums.of(config, counts)


def _recount_files(
    run: _Run, config: BlockState, n: int
) -> tuple[list[dict[str, Any]], Audit]:
    """Write the release's files of n records; return their entries and the audit."""
    written = run.each("write", config.parts, config)
    remove_steps(config.work, "published", "published-again")
    sizes = run.each("sort", config.parts, config)
    output_folders.require_all(sum(map(sum, sizes)), n)
    config, _ = run_second_step(
        run.each, write.make_place_shuffle(config), sizes, config
    )
    config = replace(
        config, whole=collect_global_values("sorted", config.parts, config)
    )
    partial_audits = [
        part_audit
        for part_audit in run.each("recount", config.parts, config)
        if part_audit
    ]
    job = config.job
    audit = merge_audits(partial_audits, job.roles, job.privacy, job.dropped)
    audit = block.add_originals(audit, config)
    files = [
        {"file": config.part(number).name, "records": records, "sha256": digest}
        for number, (records, digest) in enumerate(written)
    ]
    return files, audit
