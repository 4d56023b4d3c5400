"""The tasks of the computing process: each calls what the command line calls.

A result is plain values: names of columns, counts and sentences, no entry of a record.
"""

import json
import shlex
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numba  # noqa: F401
import numpy as np

import aggopt.core.compiled
import aggopt.pipeline.partition.partition_table  # noqa: F401
from aggopt.app.job_text import (
    find_unsupported_setting,
    parse_job,
    place_trees,
    remove_empty_settings,
    remove_titles,
)
from aggopt.app.session import PREVIEW
from aggopt.app.start_folder import identify_file, write_private
from aggopt.app.worker import Worker
from aggopt.data.formats.registry import find_release_suffix
from aggopt.data.readers.read import read_file
from aggopt.errors import JobError, TableError
from aggopt.experiments.choose import choose
from aggopt.inspection.check import check_table
from aggopt.inspection.draft import propose_job
from aggopt.job import Job
from aggopt.pipeline.mask import mask
from aggopt.pipeline.review.original_risk import measure_original_risk
from aggopt.release.files.staging import Staging, compute_sha256
from aggopt.release.files.type_support import require_unchanged_types
from aggopt.release.report.release_report import collect_facts, render_report
from aggopt.release.report.sections.headline import make_headline
from aggopt.release.report.sections.usefulness import draw_distribution

RUN = 20  # records in a row of a preview: members of a household stay together
DRAWN = 12  # columns that a screen draws; the report has all
SETS = 20  # combinations that the screen lists, the most revealing first


@dataclass(frozen=True)
class LastRelease:
    """A release, and the job and the file that it is of."""

    job: str  # without the words of its report
    state: Sequence[int]
    release: Any
    is_cut: bool  # its search was ended by a request


@dataclass(frozen=True)
class Inputs:
    """The file and the job of a task, and the worker that runs it."""

    worker: Worker
    file: str  # the name of the table, or of a job
    state: Sequence[int]
    text: str

    @property
    def path(self) -> Path:
        """The path of the file."""
        return self.worker.start.find_file(self.file)

    def require_unchanged(self) -> None:
        """Refuse a table that is another file than the one that was opened."""
        if not self.worker.start.has_state(self.file, list(self.state)):
            raise TableError(
                f"{Path(self.file).name} was changed since it was opened.",
                fix="open it again on the first screen.",
            )

    def place_job(self) -> Path:
        """Return the path of a private file with the job, if the page runs it.

        Its trees are files below the start folder.
        """
        refusal = find_unsupported_setting(self.text)
        if refusal is not None:
            raise refusal
        start = self.worker.start
        text = place_trees(self.text, lambda name: str(start.find_file(name)))
        return write_private(self.worker.private / "job.toml", text)

    def mask(self, *, is_kept: bool) -> LastRelease:
        """Return the release of the table: with `is_kept` the last one, if it is it."""
        job = Job.read(self.place_job())
        before, self.worker.last_release = self.worker.last_release, None
        key = (remove_titles(self.text), self.state)
        last: LastRelease
        if is_kept and before is not None and (before.job, before.state) == key:
            titles = {"title": job.output.title, "office": job.output.office}
            output = before.release.job.output.model_copy(update=titles)
            same = before.release.job.model_copy(update={"output": output})
            last = replace(before, release=replace(before.release, job=same))
        else:
            progress = self.worker.report_progress
            release = mask(self.path, job, progress=progress, trust=())
            self.require_unchanged()
            last = LastRelease(*key, release, self.worker.has_ended_search)
        self.worker.last_release = last
        return last


def run_task(
    worker: Worker,
    task: str,
    file: str,
    state: Sequence[int] = (),
    job: str = "",
    **settings: Any,
) -> dict[str, Any]:
    """Return the result of a task; a table is still the one that was opened."""
    inputs = Inputs(worker, file, state, job)
    if state:
        inputs.require_unchanged()
    return TASKS[task](inputs, **settings)


def open_table(
    inputs: Inputs, *, separator: str, decimal: str, encoding: str
) -> dict[str, Any]:
    """Return the proposal for a table: its job, and each column with its reason."""
    path = inputs.path
    state = identify_file(path)
    inputs.worker.report_progress("read", 0.0)
    draft = propose_job(
        path, Path("job.toml"), separator or None, decimal or None, encoding or "utf-8"
    )
    questions = {obstacle.column: obstacle for obstacle in draft.undecided}
    general = questions.get(None)
    columns = [
        {
            "name": proposal.look.name,
            "label": proposal.look.label,
            "holds": str(proposal.look),
            "reason": proposal.reason,
            "fix": getattr(questions.get(proposal.look.name), "fix", ""),
        }
        for proposal in draft.proposed
    ]
    return {
        "table": inputs.file,
        "released_as": find_release_suffix(path),
        "state": state,
        "records": draft.records,
        "sample": draft.sample,
        "columns": columns,
        "general": None if general is None else asdict(general),
        "job": remove_empty_settings(draft.text),
    }


def read_job(inputs: Inputs) -> dict[str, Any]:
    """Return the text of a job in a file, or of the manifest of a release."""
    path = inputs.path
    try:
        if path.suffix.lower() == ".toml":
            text = path.read_text("utf-8")
        else:
            text = Job(**json.loads(path.read_bytes())["job"]).as_text()
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        raise JobError(
            f"{inputs.file} is no job in UTF-8, and no manifest of a release.",
            fix="name a job, NAME.toml, or a manifest, NAME.manifest.json.",
        ) from None
    parse_job(text)
    return {"job": text}


def check_job(inputs: Inputs) -> dict[str, Any]:
    """Return what prevents a release, and the risk of the table before masking."""
    job, report_progress = inputs.place_job(), inputs.worker.report_progress
    report_progress("check", 0.0)
    checked = check_table(inputs.path, job)
    result = {**checked.to_dict(), "risk": None}
    if not checked.obstacles:
        report_progress("risk", 0.0)
        risk = measure_original_risk(inputs.path, Job.read(job))
        facts = {**risk.to_dict(), "rarity": risk.whole.rarity(risk.k)}
        result["risk"] = {**facts, "sets": facts["sets"][:SETS]}
    inputs.require_unchanged()
    return result


def mask_table(inputs: Inputs) -> dict[str, Any]:
    """Return the figures of a release, which is kept to be written."""
    return _describe_release(inputs.mask(is_kept=False), inputs.worker)


def preview_release(inputs: Inputs) -> dict[str, Any]:
    """Return the figures of a release of some records; nothing of it is proven."""
    worker = inputs.worker
    job = Job.read(inputs.place_job())
    unproven = job.partition.model_copy(update={"bound": "none"})  # a bound takes long
    job = job.model_copy(update={"partition": unproven})
    worker.report_progress("read", 0.0)
    table = read_file(inputs.path, job.roles, job.input, job.attributes)
    inputs.require_unchanged()
    runs = np.linspace(0, max(len(table) - RUN, 0), PREVIEW // RUN).astype(int)
    rows = np.unique(np.add.outer(runs, np.arange(RUN)))
    sample = table.take(rows[rows < len(table)])
    release = mask(sample, job, progress=worker.report_progress, trust=())
    last = LastRelease("", inputs.state, release, worker.has_ended_search)
    described = _describe_release(last, worker)
    return {**described, "cards": described["cards"][:-1], "of": len(table)}


def _describe_release(last: LastRelease, worker: Worker) -> dict[str, Any]:
    """Return the head of the report of a release, and the distribution of each column.

    The private report is written for the page to show.
    """
    release = last.release
    title = release.job.output.title or "Release"
    facts = collect_facts(release, title, private=True)
    write_private(worker.private / "report.html", render_report(facts))
    loss = facts.information_loss
    names = release.job.roles.quasi_identifier
    figures = {
        name: draw_distribution(name, facts.original, facts.released)
        for name in names[:DRAWN]
    }
    drawn = {
        n: None if figure is None else asdict(figure) for n, figure in figures.items()
    }
    open_ends = [c.status.is_open or not c.status.usable for c in facts.groups.values()]
    return {
        **asdict(make_headline(facts)),
        "notes": list(release.notes),
        "k": release.audit.k,
        "method": release.job.partition.method,
        "records": release.audit.records,
        "il": None if loss is None else loss.overall,
        "average_risk": release.audit.whole.average_risk,
        "is_cut": last.is_cut and any(open_ends),
        "drawn": drawn,
        "undrawn": len(names) - len(figures),
    }


def choose_release(
    inputs: Inputs, *, k: list[int], methods: list[str], at_most: float
) -> dict[str, Any]:
    """Return the points of a choice over k and methods, and their map; write a page."""
    choices = choose(
        inputs.path,
        Job.read(inputs.place_job()),
        k=k or None,
        method=methods or None,
        at_most=at_most,
        progress=inputs.worker.report_progress,
    )
    inputs.require_unchanged()
    choices.page_writer()(write_private(inputs.worker.private / "choices.html", ""))
    best, figure = choices.recommended(), choices.draw_map()
    return {
        "points": [
            {
                "number": point.number,
                "settings": {name: str(value) for name, value in point.asked.items()},
                "name": point.called,
                "holds": point.holds,
                "message": None if point.error is None else str(point.message),
                "il": row["il"],
                "linkage": row["linkage"],
                "k": point.job.privacy.k,
                "method": point.job.partition.method,
            }
            for point, row in zip(choices.points, choices.rows, strict=True)
        ],
        "map": None if figure is None else asdict(figure),
        "recommended": None if best is None else best.number,
        "recommendation": choices.recommendation(),
        "verdict": choices.verdict,
    }


def write_release(
    inputs: Inputs, *, out: str, keys: str, report: str, saved: str
) -> dict[str, Any]:
    """Write a release, its report, its manifest with the key, and the job.

    The release that was computed last is written if the job and the table are the same.
    """
    start, worker = inputs.worker.start, inputs.worker
    table, job_file = start.find_new(out), start.find_new(saved)
    page = start.find_new(report) if report else None
    last = inputs.mask(is_kept=True)
    job = last.release.job
    require_unchanged_types(table, inputs.path, job.roles.as_they_are, job.input)
    folder = start.find_folder(keys)
    worker.report_progress("write", 0.0)
    inputs.require_unchanged()
    with (
        Staging() as staging,
        last.release.staged(table, private=folder, report=page) as commit,
    ):
        staging.write(job_file, lambda to: to.write_text(inputs.text, encoding="utf-8"))
        worker.begin_naming()
        files = commit()
        staging.commit(job_file, public=job_file, overwrite=False)
    names = {what: start.name(Path(path)) for what, path in files.to_dict().items()}
    again = f"again{table.suffix}"
    words = ["aggopt", "repeat", names["manifest"], inputs.file, "--out", again]
    return {
        **_describe_release(last, worker),
        "files": {**names, "job": start.name(job_file)},
        "sha256": compute_sha256(table),
        "repeat": shlex.join(words),
    }


TASKS: dict[str, Callable[..., dict[str, Any]]] = {
    "open": open_table,
    "read job": read_job,
    "check": check_job,
    "mask": mask_table,
    "preview": preview_release,
    "choose": choose_release,
    "write": write_release,
}
