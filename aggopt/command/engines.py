"""Masking a folder by an engine: its options, and its printed lines."""

import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from aggopt.command import console, show
from aggopt.command.interrupt import NO_RELEASE, RELEASED, interrupts
from aggopt.errors import JobError

if TYPE_CHECKING:
    from aggopt.engine.folder_release import FolderRelease
    from aggopt.job import Job

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
Resume = Annotated[
    bool | None,
    typer.Option(
        "--resume/--discard",
        help="Continue an engine's run that ended early, or remove its files.",
    ),
]


def require_fresh(overwrite: bool, private: Path | None, report: Path | None) -> None:
    """Refuse options that are for the files of a table in memory.

    Raises
    ------
    JobError
        A folder is never overwritten, and its key lies beside it.
    """
    options = {"--overwrite": overwrite, "--private": private, "--report": report}
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
    """Say of a command that a signal ends where its work is, and how it goes on."""
    resume = shlex.join(["aggopt", *_remove_resume(sys.argv[1:]), "--resume"])
    interrupts.outcome = f"no release was written; go on with {resume}"
    try:
        yield
    except (KeyboardInterrupt, SystemExit):
        from aggopt.engine.runs.abandoned_runs import find_kept_runs

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
    return [word for word in words if word not in ("--resume", "--discard")]


def _map_paths(release: "FolderRelease") -> dict[str, object]:
    at = {"folder": str(release.path), "private": str(release.private)}
    return {"files": at}
