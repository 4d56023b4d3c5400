"""Guidelines on the command line: lines of `aggopt check`, and `aggopt evidence`."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from aggopt.command import console
from aggopt.command.arguments import (
    AsJson,
    Control,
    JobFile,
    MaskedOrParts,
    Overwrite,
    PrivateFolder,
    SameOrder,
    TableOrFolder,
    Trust,
)
from aggopt.command.assessments import measure_with_control
from aggopt.command.causes import NO
from aggopt.command.interrupt import interrupts
from aggopt.errors import AggoptError, JobError

if TYPE_CHECKING:
    from aggopt.inspection.standards.guideline import Guideline
    from aggopt.inspection.standards.judgement import Judgement

NAMES = "ema-0070, hipaa-expert, ico-2025, wp216, ess, or a TOML file of your own"
Standards = Annotated[
    list[str],
    typer.Option(
        "--standard",
        metavar="NAME",
        help=f"Also judge by a guideline: {NAMES}. Repeat it for more.",
        default_factory=list,
        show_default=False,
    ),
]
EvidenceFile = Annotated[Path, typer.Option(help="The file for the evidence, as JSON.")]
EvidencePage = Annotated[
    Path | None,
    typer.Option(metavar="HTML", help="Also write the evidence as a page, NAME.html."),
]


def read_guidelines(names: Sequence[str]) -> tuple["Guideline", ...]:
    """Return the guidelines of these names; raises as `read_guideline`."""
    if not names:  # importing takes a while
        return ()
    from aggopt.inspection.standards.guideline import read_guideline

    return tuple(map(read_guideline, dict.fromkeys(names)))


def judge_job_file(
    job: Path, guidelines: Sequence["Guideline"], trust: Iterable[str | Path]
) -> tuple["Judgement", ...]:
    """Return the judgement of the job in a file, by each of these guidelines.

    Return none if the job is refused: `aggopt check` lists the obstacles.
    """
    if not guidelines:
        return ()
    from aggopt.inspection.standards.judgement import judge_job
    from aggopt.job.release_job import read_job_of_release
    from aggopt.pipeline.prepare.inputs import load_job

    try:
        loaded = load_job(read_job_of_release(job), trust)
    except AggoptError:
        return ()
    return tuple(judge_job(guideline, loaded) for guideline in guidelines)


def print_judgements(judgements: Iterable["Judgement"]) -> None:
    """Print a paragraph for each criterion of each guideline."""
    from aggopt.inspection.standards.judgement import CAUTION, MISSED

    for judgement in judgements:
        console.print_line(f"{judgement.guideline.title}: {judgement.verdict}", "bold")
        for line in judgement.lines:
            style = "bold red" if line.state == MISSED else None
            console.print_line(f"  {line.state}: {line.criterion.requires}", style)
            console.print_line(
                f"    {'Release' if judgement.of_release else 'Job'}: {line.does}"
            )
            console.print_line(f"    To decide: {line.criterion.decide}")
            console.print_line(f"    Source: {line.source}")
        console.print_line(CAUTION)


def run_evidence(
    table: TableOrFolder,
    masked: MaskedOrParts,
    job: JobFile,
    trust: Trust,
    standard: Standards,
    out: EvidenceFile,
    page: EvidencePage = None,
    control: Control = "",
    same_order: SameOrder = False,
    private: PrivateFolder = None,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Write which criteria of guidelines MASKED meets: as JSON, and as an offline page.

    Figures are counted on MASKED and measured against TABLE, like those of assess.
    Neither file has a value of a record.  A line that only a person can judge states
    what is to be decided.  The exit code is 1 if a criterion is missed, or if a
    requirement of JOB does not hold.  No line says that a release is lawful.
    """
    from aggopt.engine.folder_review import find_release
    from aggopt.inspection.standards.evidence import collect_evidence, write_evidence
    from aggopt.job.release_job import read_job_of_release
    from aggopt.pipeline.prepare.inputs import load_job
    from aggopt.pipeline.review.review_release import assess_source
    from aggopt.release.files.output_paths import ReleaseFiles, require_html
    from aggopt.release.files.staging import check_places

    if not standard:
        raise JobError(
            "No standard is named, and evidence is of the criteria of one.",
            fix=f"name one, --standard NAME: {NAMES}.",
        )
    guidelines = read_guidelines(standard)
    if page is not None:
        require_html(page)
    places = [out, *([page] if page else [])]
    files = ReleaseFiles.of_table(masked, private)
    read = [table, masked, job, files.manifest, files.private]
    read += map(Path, [*standard, *filter(None, [control])])
    check_places(*places, overwrite=overwrite, inputs=read)
    loaded_job = load_job(read_job_of_release(job), trust)
    with console.track_progress(quiet=as_json):
        both = find_release(table, masked, same_order=same_order, private=private)
        review = assess_source(both, loaded_job)
        if control:
            attacks = measure_with_control(table, both, loaded_job, control)
            review = replace(review, criteria=attacks)
        evidence = collect_evidence(masked.name, loaded_job, review, guidelines)
        with interrupts.announce_result(f"{out.name} is written"):
            write_evidence(evidence, out, page, overwrite=overwrite)
    if as_json:
        console.print_json(evidence.to_dict())
    else:
        print_judgements(evidence.judgements)
        console.print_line(f"Evidence      {', '.join(map(str, places))}")
    if not evidence.is_satisfied:
        raise typer.Exit(NO)
