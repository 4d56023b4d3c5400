"""The commands that write a release: of a table, of a folder, or once more."""

from pathlib import Path
from typing import Annotated

import typer

from aggopt.command import console, show
from aggopt.command.arguments import (
    AsJson,
    JobFile,
    Overwrite,
    PrivateFolder,
    TableFile,
    TableOrParts,
    Trust,
)
from aggopt.command.engines import (
    EngineName,
    Jobs,
    Resume,
    Scheduler,
    Workers,
    mask_folder,
    require_fresh,
)
from aggopt.command.report import Report

PARTS = (
    "add --engine local, which masks folders and patterns of .parquet files; `aggopt "
    "convert` makes them of CSV files."
)


def mask(
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
    overwrite: Overwrite = False,
    as_json: AsJson = False,
    engine: EngineName = None,
    jobs: Jobs = None,
    workers: Workers = None,
    scheduler: Scheduler = None,
    resume: Resume = None,
) -> None:
    """Mask TABLE as JOB says and write the audited release to OUT.

    Publish OUT alone.  aggopt writes two more files next to it, or into --private DIR,
    which are for you alone: NAME.manifest.json says how the release was made, and
    NAME.private.csv links each record to its group.  --report HTML writes a page about
    the release, which you may publish.  With --engine, TABLE is a folder of Parquet
    files, or a pattern such as "in/*.parquet"; OUT is a new folder, which you may
    publish, and the folder OUT.private is for you alone.
    """
    from aggopt.engine.mask import replace_engine_keys
    from aggopt.engine.storage.input_parts import require_one_file
    from aggopt.pipeline.mask import mask as mask_table
    from aggopt.release.files.output_paths import ReleaseFiles
    from aggopt.release.files.type_support import require_types

    engine_options = {
        "name": engine,
        "jobs": jobs,
        "workers": workers,
        "scheduler": scheduler,
    }
    loaded_job = replace_engine_keys(job, **engine_options, resume=resume)
    if loaded_job.engine.name != "memory":
        require_fresh(overwrite, private, report)
        mask_folder(table, loaded_job, out, trust, as_json=as_json)
        return
    require_one_file(table, PARTS)
    places, roles = ReleaseFiles.beside(out, private, report), loaded_job.released_roles
    names = (*roles.published, *roles.unit)
    places.check(overwrite=overwrite, inputs=(table, job), names=names)
    require_types(out, table, loaded_job.roles.as_they_are, loaded_job.input)
    with console.track_progress(quiet=as_json) as on_progress:
        release = mask_table(table, loaded_job, progress=on_progress, trust=trust)
        files = console.publish_files(
            release.staged(out, overwrite=overwrite, private=private, report=report)
        )
    show.print_finished(release, files, as_json=as_json)


def repeat(
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
    """Make the release of MANIFEST from TABLE again, with the same bytes, or refuse."""
    from aggopt.pipeline.review.repeat import remake_release
    from aggopt.release.files.output_paths import ReleaseFiles

    places = ReleaseFiles.beside(out, private)
    places.check(overwrite=overwrite, inputs=(table, manifest))
    with console.track_progress(quiet=as_json) as report:
        release, written = remake_release(
            manifest, table, out, progress=report, trust=trust
        )
        files = console.publish_files(
            release.staged(out, overwrite=overwrite, private=private, again=written)
        )
    show.print_finished(release, files, as_json=as_json)
