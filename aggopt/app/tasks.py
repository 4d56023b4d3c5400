"""The tasks of the computing process: each calls what the command line calls.

A result is plain values: names of columns, counts and sentences, no entry of a record.
"""

import hashlib
import json
import shlex
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

from aggopt.app.job_text import (
    list_files,
    parse,
    require_no_code,
    shorten,
    write_private,
)
from aggopt.app.places import FileState, StartFolder
from aggopt.app.session import PREVIEW
from aggopt.command.cli import explain_error as explain_error
from aggopt.errors import JobError, TableError


class TaskReporter(Protocol):
    """The part of the computing process that a task uses."""

    def report_progress(self, step: str, share: float) -> None: ...  # noqa: D102
    def begin_naming(self) -> None: ...  # noqa: D102


@dataclass
class LastRelease:
    """The release that was computed last, which is written without another run."""

    job: str = ""
    state: FileState | None = None
    release: Any = None


_last = LastRelease()
RUN = 20  # records in a row of a preview: members of a household stay together


def warm_up() -> None:
    """Import what all tasks use, so that a click does not wait for it."""
    import numba  # noqa: F401

    import aggopt.command.check
    import aggopt.command.draft
    import aggopt.core.compiled
    import aggopt.pipeline.mask
    import aggopt.pipeline.partition.partition_table
    import aggopt.pipeline.review.original_risk
    import aggopt.release.report.release_report  # noqa: F401


@dataclass(frozen=True)
class Inputs:
    """The table and the job of a task."""

    table: Path
    state: FileState
    job: Path

    def require_unchanged(self) -> None:
        """Refuse a table that is another file than the one that was opened."""
        try:
            is_same = FileState.of(self.table) == self.state
        except OSError:
            is_same = False
        if not is_same:
            raise TableError(
                f"{self.table.name} was changed since it was opened.",
                fix="open it again on the first screen.",
            )


def _read_inputs(
    folder: str, private: str, table: str, state: list[int], job: str
) -> Inputs:
    """Return the inputs of a task, with the job in a private file.

    Paths in the job are seen from the start folder, and lead nowhere else.
    """
    start = StartFolder(Path(folder))
    require_no_code(job)
    document: Any = parse(job)
    for keys, name in list_files(job):
        at = document
        for key in keys[:-1]:
            at = at[key]
        at[keys[-1]] = str(start.find_file(name))
    path = write_private(Path(private) / "job.toml", document.as_string())
    inputs = Inputs(start.find_file(table), FileState(*state), path)
    inputs.require_unchanged()
    return inputs


def open_table(
    worker: TaskReporter,
    *,
    folder: str,
    table: str,
    separator: str | None,
    decimal: str | None,
    encoding: str,
) -> dict[str, Any]:
    """Return the proposal for a table: its job, and each column with its reason."""
    from aggopt.command.draft import propose_job
    from aggopt.command.proposal import describe_proposal

    path = StartFolder(Path(folder)).find_file(table)
    state = FileState.of(path)
    worker.report_progress("read", 0.0)
    draft = propose_job(path, Path("job.toml"), separator, decimal, encoding)
    _last.release = None
    open_questions = {obstacle.column: obstacle for obstacle in draft.undecided}
    columns = []
    for proposal in draft.proposed:
        look = proposal.look
        question = open_questions.get(look.name)
        columns.append(
            {
                "name": look.name,
                "label": look.label,
                "holds": str(look),
                "role": "" if question else proposal.role or "",
                "reason": proposal.reason,
                "description": describe_proposal(proposal),
                "problem": question.problem if question else "",
                "fix": question.fix if question else "",
            }
        )
    general = [
        {"problem": obstacle.problem, "fix": obstacle.fix}
        for obstacle in draft.undecided
        if obstacle.column is None
    ]
    return {
        "table": table,
        "state": list(asdict(state).values()),
        "records": _count_records(draft.sample, draft.proposed),
        "sample": draft.sample,
        "columns": columns,
        "general": general,
        "job": shorten(draft.text),
    }


def _count_records(sample: str, proposed: Any) -> int:
    """Return the number of records of the table."""
    if sample:
        return int(sample.split()[1])
    return proposed[0].look.records if proposed else 0


def check_job(worker: TaskReporter, **inputs: Any) -> dict[str, Any]:
    """Return what prevents a release, and the risk of the table before masking."""
    from aggopt.command.check import check_table
    from aggopt.job import Job
    from aggopt.pipeline.review.original_risk import measure_original_risk

    read = _read_inputs(**inputs)
    worker.report_progress("check", 0.0)
    checked = check_table(read.table, read.job)
    result: dict[str, Any] = {
        "records": checked.records,
        "obstacles": [asdict(obstacle) for obstacle in checked.obstacles],
        "notes": list(checked.notes),
        "risk": None,
    }
    if not checked.obstacles:
        worker.report_progress("risk", 0.0)
        risk = measure_original_risk(read.table, Job.read(read.job))
        measured = risk.to_dict()
        whole = measured["whole"]
        result["risk"] = {
            **measured,
            "rarity": risk.whole.rarity(risk.k),
            "sets": measured["sets"][:SETS],
            "unique": whole["unique"],
            "total": whole["total"],
        }
    read.require_unchanged()
    return result


SETS = 20  # combinations that the screen lists, the most revealing first


def mask_table(worker: TaskReporter, **inputs: Any) -> dict[str, Any]:
    """Return the figures of a release, which is kept to be written."""
    from aggopt.job import Job
    from aggopt.pipeline.mask import mask

    read = _read_inputs(**inputs)
    _last.release = None
    loaded_job = Job.read(read.job)
    release = mask(read.table, loaded_job, progress=worker.report_progress, trust=())
    read.require_unchanged()
    _last.job, _last.state, _last.release = inputs["job"], read.state, release
    return _describe_release(release, Path(inputs["private"]))


def preview_release(worker: TaskReporter, **inputs: Any) -> dict[str, Any]:
    """Return the figures of a release of some records; nothing of it is proven."""
    import numpy as np

    from aggopt.data.readers.read import read_file
    from aggopt.job import Job
    from aggopt.pipeline.mask import mask

    read = _read_inputs(**inputs)
    job = Job.read(read.job)
    worker.report_progress("read", 0.0)
    table = read_file(read.table, job.roles, job.input, job.attributes)
    runs = np.linspace(0, max(len(table) - RUN, 0), PREVIEW // RUN).astype(int)
    rows = np.unique(np.add.outer(runs, np.arange(RUN)))
    sample = table.take(rows[rows < len(table)])
    release = mask(sample, job, progress=worker.report_progress, trust=())
    described = _describe_release(release, Path(inputs["private"]))
    return {**described, "cards": described["cards"][:-1], "of": len(table)}


def _describe_release(release: Any, private: Path) -> dict[str, Any]:
    """Return the head of the report of a release; write its private report."""
    from aggopt.release.report.release_report import collect_facts, render_report
    from aggopt.release.report.sections.headline import make_headline

    facts = collect_facts(release, "Release", private=True)
    write_private(private / "report.html", render_report(facts))
    head = make_headline(facts)
    measures = release.measures
    loss = facts.information_loss
    method = release.job.partition.method
    return {
        **asdict(head),
        "notes": list(release.notes),
        "k": release.audit.k,
        "method": method,
        "records": release.audit.records,
        "il": None if loss is None else loss.overall,
        "highest_risk": 1 / release.audit.smallest,
        "average_risk": release.audit.whole.average_risk,
        "linked": None if measures is None else measures.to_dict().get("linkage"),
    }


def choose_release(
    worker: TaskReporter,
    *,
    k: list[int],
    methods: list[str],
    at_most: float,
    **inputs: Any,
) -> dict[str, Any]:
    """Return the points of a choice over k and methods; write its page."""
    from aggopt.experiments.choose import choose
    from aggopt.job import Job

    read = _read_inputs(**inputs)
    choices = choose(
        read.table,
        Job.read(read.job),
        k=k or None,
        method=methods or None,
        at_most=at_most,
        progress=worker.report_progress,
    )
    read.require_unchanged()
    private = Path(inputs["private"])
    page = write_private(private / "choices.html", "")
    choices.page_writer()(page)
    best = choices.recommended()
    points = []
    for point, row in zip(choices.points, choices.rows, strict=True):
        settings = {name: point.asked[name] for name in point.asked}
        message = None if point.error is None else str(point.message)
        points.append(
            {
                "number": point.number,
                "settings": {name: str(value) for name, value in settings.items()},
                "name": point.called,
                "holds": point.holds,
                "message": message,
                "il": row["il"],
                "linkage": row["linkage"],
                "front": row["front"],
                "k": point.job.privacy.k,
                "method": point.job.partition.method,
            }
        )
    return {
        "points": points,
        "recommended": None if best is None else best.number,
        "recommendation": choices.recommendation(),
        "verdict": choices.verdict,
    }


def write_release(
    worker: TaskReporter, *, out: str, keys: str, report: str, saved: str, **inputs: Any
) -> dict[str, Any]:
    """Write a release, its report, its manifest with the key, and the job.

    The release that was computed last is written if the job and the table are the same.
    """
    from aggopt.job import Job
    from aggopt.pipeline.mask import mask
    from aggopt.release.files.output_paths import ReleaseFiles
    from aggopt.release.files.staging import Staging, check_places
    from aggopt.release.files.type_support import require_unchanged_types

    read = _read_inputs(**inputs)
    start = StartFolder(Path(inputs["folder"]))
    table = start.find_new(out)
    folder = start.find_folder(keys)
    page = start.find_new(report) if report else None
    job_file = start.find_new(saved)
    job = Job.read(read.job)
    places = ReleaseFiles.of_table(table, folder, page)
    roles = job.released_roles
    places.check(
        overwrite=False,
        inputs=(read.table, job_file),
        names=(*roles.published, *roles.unit),
    )
    check_places(job_file, overwrite=False, inputs=(read.table,))
    require_unchanged_types(table, read.table, job.roles.as_they_are, job.input)
    is_kept = (_last.job, _last.state) == (inputs["job"], read.state)
    release = _last.release if is_kept else None
    if release is None:
        release = mask(read.table, job, progress=worker.report_progress, trust=())
        _last.job, _last.state, _last.release = inputs["job"], read.state, release
    worker.report_progress("write", 0.0)
    read.require_unchanged()
    with (
        Staging() as staging,
        release.staged(table, private=folder, report=page) as commit,
    ):
        staging.write(
            job_file, lambda to: to.write_text(inputs["job"], encoding="utf-8")
        )
        worker.begin_naming()
        files = commit()
        staging.commit(job_file, public=job_file, overwrite=False)
    names = {what: start.name(Path(path)) for what, path in files.to_dict().items()}
    again = f"again{table.suffix}"
    words = ["aggopt", "repeat", names["manifest"], inputs["table"], "--out", again]
    return {
        **_describe_release(release, Path(inputs["private"])),
        "files": {**names, "job": start.name(job_file)},
        "sha256": hashlib.sha256(table.read_bytes()).hexdigest(),
        "repeat": shlex.join(words),
    }


def read_job(worker: TaskReporter, *, folder: str, name: str) -> dict[str, Any]:
    """Return the text of a job in a file, or of the manifest of a release."""
    from aggopt.job import Job

    path = StartFolder(Path(folder)).find_file(name)
    if path.suffix.lower() == ".toml":
        try:
            text = path.read_text("utf-8")
        except (OSError, UnicodeError):
            raise JobError(
                f"{name} cannot be read as text in UTF-8.", fix="save it as UTF-8."
            ) from None
        parse(text)
        return {"job": text, "code": _explain_code(text)}
    try:
        stated = json.loads(path.read_bytes()).get("job")
        text = Job(**stated).as_text()
    except (OSError, ValueError, TypeError, AttributeError, RecursionError):
        raise JobError(
            f"{name} is no job and no manifest of a release.",
            fix="name a job, NAME.toml, or a manifest, NAME.manifest.json.",
        ) from None
    return {"job": text, "code": _explain_code(text)}


def _explain_code(text: str) -> str:
    """Return why the page refuses a job that it shows all the same; "" otherwise."""
    try:
        require_no_code(text)
    except JobError as error:
        return f"{error.problem} {error.fix}"
    return ""


TASKS: dict[str, Callable[..., dict[str, Any]]] = {
    "open": open_table,
    "check": check_job,
    "mask": mask_table,
    "preview": preview_release,
    "choose": choose_release,
    "write": write_release,
    "read job": read_job,
}
