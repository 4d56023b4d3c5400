"""The commands that write a release: `mask` and `repeat`."""

import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from aggopt.command import console, show
from aggopt.command.arguments import (
    AsJson,
    Control,
    JobFile,
    Overwrite,
    PrivateFolder,
    TableFile,
    TableOrParts,
    Trust,
)
from aggopt.command.interrupt import NO_RELEASE, RELEASED, interrupts
from aggopt.command.report import Report
from aggopt.errors import JobError

if TYPE_CHECKING:
    from aggopt.engine.folder_release import FolderRelease
    from aggopt.job import Job

PARTS = (
    "add --engine local, which masks folders and patterns of .parquet files; `aggopt "
    "convert` makes them of CSV files."
)


EngineName = Annotated[
    str | None,
    typer.Option("--engine", help="The engine of a folder: local or dask."),
]
Jobs = Annotated[int | None, typer.Option(help="Processes of the engine local.")]
Workers = Annotated[
    int | None,
    typer.Option(help="Processes that the engine dask starts on this machine."),
]
Scheduler = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS", help="A Dask scheduler that runs already: tls://HOST:8786."
    ),
]
Ddi = Annotated[
    bool,
    typer.Option(
        "--ddi", help="Write NAME.ddi.xml, the codebook of the release (DDI 2.5)."
    ),
]
Resume = Annotated[
    bool | None,
    typer.Option(
        "--resume/--discard",
        help="Continue an engine's run that ended early, or remove its files.",
    ),
]


def run_mask(
    table: TableOrParts,
    job: JobFile,
    out: Annotated[
        Path,
        typer.Option(
            help="The file for the release; its ending is the format. With --engine: a "
            "new folder."
        ),
    ],
    trust: Trust,
    private: PrivateFolder = None,
    report: Report = None,
    control: Control = "",
    ddi: Ddi = False,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
    engine: EngineName = None,
    jobs: Jobs = None,
    workers: Workers = None,
    scheduler: Scheduler = None,
    resume: Resume = None,
) -> None:
    """Mask TABLE by JOB and write the audited release to OUT.

    Publish OUT alone.  aggopt writes two more files next to it, or into --private DIR,
    which are for you alone: NAME.manifest.json records how the release was made, and
    NAME.private.csv links each record to its group.  --report HTML writes a page about
    the release, and --ddi its codebook for archives, NAME.ddi.xml; you may publish
    both.  --control adds singling out, linkability and inference to the manifest and to
    that page.  With --engine, TABLE is a folder of Parquet files, or a pattern like
    "in/*.parquet"; OUT is a new folder, which you may publish, and the folder
    OUT.private is for you alone.
    """
    from aggopt.engine.mask import replace_engine_keys
    from aggopt.engine.validate.input_files import require_one_file
    from aggopt.pipeline.mask import mask as mask_table
    from aggopt.release.files.output_paths import ReleaseFiles
    from aggopt.release.files.type_support import require_unchanged_types

    engine_options = {
        "name": engine,
        "jobs": jobs,
        "workers": workers,
        "scheduler": scheduler,
    }
    loaded_job = replace_engine_keys(job, **engine_options, resume=resume)
    if loaded_job.engine.name != "memory":
        require_fresh(overwrite, private, report, control, ddi=ddi)
        mask_folder(table, loaded_job, out, trust, as_json=as_json)
        return
    require_one_file(table, PARTS)
    places = ReleaseFiles.of_table(out, private, report, ddi=ddi)
    roles = loaded_job.released_roles
    names = (*roles.published, *roles.unit)
    inputs = [table, job, *map(Path, filter(None, [control]))]
    places.check(overwrite=overwrite, inputs=inputs, names=names)
    require_unchanged_types(out, table, loaded_job.roles.as_they_are, loaded_job.input)
    with console.track_progress(quiet=as_json) as on_progress:
        if control:
            from aggopt.pipeline.review.criteria import mask_with_control

            release = mask_with_control(
                table, loaded_job, control, progress=on_progress, trust=trust
            )
        else:
            release = mask_table(table, loaded_job, progress=on_progress, trust=trust)
        files = console.publish_files(
            release.staged(
                out, overwrite=overwrite, private=private, report=report, ddi=ddi
            )
        )
    show.print_finished(release, files, as_json=as_json)


def run_repeat(
    manifest: Annotated[
        Path, typer.Argument(metavar="MANIFEST", help="The release's manifest.")
    ],
    table: TableFile,
    out: Annotated[
        Path,
        typer.Option(
            help="The file for the release, with the ending of the first one."
        ),
    ],
    trust: Trust,
    private: PrivateFolder = None,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Make the release of MANIFEST from TABLE again, with equal bytes, or refuse."""
    from aggopt.pipeline.review.repeat import has_ddi, remake_release
    from aggopt.release.files.output_paths import ReleaseFiles

    places = ReleaseFiles.of_table(out, private, ddi=has_ddi(manifest))
    places.check(overwrite=overwrite, inputs=(table, manifest))
    with console.track_progress(quiet=as_json) as report:
        release, written = remake_release(
            manifest, table, out, progress=report, trust=trust
        )
        files = console.publish_files(
            release.staged(out, overwrite=overwrite, private=private, again=written)
        )
    show.print_finished(release, files, as_json=as_json)


def require_fresh(
    overwrite: bool,
    private: Path | None,
    report: Path | None,
    control: str = "",
    *,
    ddi: bool = False,
) -> None:
    """Refuse options that are for the files of a table in memory.

    Raises
    ------
    JobError
        A folder is never overwritten, and its key is in the folder next to it.
    """
    if control:
        raise JobError(
            "--control is for a table in memory, and an engine writes a folder.",
            fix="leave it out, and measure the release with the file of other persons: "
            "aggopt risk FOLDER RELEASE JOB --control FILE.",
        )
    options = {
        "--overwrite": overwrite,
        "--private": private,
        "--report": report,
        "--ddi": ddi,
    }
    for option, value in options.items():
        if value:
            raise JobError(
                f"{option} is for a table in memory, and an engine writes a folder.",
                fix="leave it out: name a new folder; OUT.private appears beside it.",
            )


def mask_folder(
    folder: Path, job: "Job", to: Path, trust: list[Path], *, as_json: bool
) -> None:
    """Mask a folder, and print the release and its certificates."""
    from aggopt.engine.mask import mask

    with (
        _explain_resuming(to),
        console.track_progress(quiet=as_json) as report,
        interrupts.announce_result(RELEASED),
    ):
        release = mask(folder, job, out=to, progress=report, trust=trust)
    if as_json:
        console.print_json(_map_paths(release) | release.manifest)
    else:
        show.print_folder_release(release)


@contextmanager
def _explain_resuming(to: Path) -> Iterator[None]:
    """Describe where the work of an interrupted command is, and how to resume it."""
    resume = shlex.join(["aggopt", *_remove_resume(sys.argv[1:]), "--resume"])
    interrupts.outcome = f"no release was written; go on with {resume}"
    try:
        yield
    except (KeyboardInterrupt, SystemExit):
        from aggopt.engine.runs.journal import find_kept_runs

        folders = " and ".join(map(str, find_kept_runs(to)))
        interrupts.outcome = NO_RELEASE
        if folders:
            interrupts.advice = (
                f"{NO_RELEASE}; what was done is kept in {folders}, which hold "
                f"originals. Go on with it: {resume}. "
                "Or begin anew: --discard removes it."
            )
        raise


def _remove_resume(words: list[str]) -> list[str]:
    """Return the words of a command without its options to resume."""
    return [word for word in words if word not in ("--resume", "--discard")]


def _map_paths(release: "FolderRelease") -> dict[str, object]:
    at = {"folder": str(release.path), "private": str(release.private)}
    return {"files": at}
