"""The tasks of the computing process: each calls what the command line calls.

A result is plain values: names of columns, counts and sentences, no entry of a record.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import aggopt.core.compiled
import aggopt.pipeline.partition.partition_table  # noqa: F401
from aggopt.app import job_text
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
from aggopt.release.files.staging import Staging, compute_sha256, made_folder
from aggopt.release.files.type_support import require_unchanged_types
from aggopt.release.report.release_report import collect_facts, render_report
from aggopt.release.report.sections.headline import make_headline
from aggopt.release.report.sections.usefulness import draw_distribution

RUN = 20  # records in a row of a preview: members of a household stay together
DRAWN = 12  # columns that a screen draws; the report has all
SETS = 20  # combinations that the screen lists, the most revealing first


@dataclass(frozen=True)
class LastRelease:
    """A release, and the job and the state of the table that it is of."""

    key: tuple[str, Sequence[int]]
    release: Any
    is_cut: bool  # its search was ended by a request


@dataclass(frozen=True)
class Inputs:
    """The file and the job of a task, and the worker that runs it."""

    worker: Worker
    file: str  # the name of the table, or of a job
    state: Sequence[int] = ()
    text: str = ""

    @property
    def path(self) -> Path:
        """The path of the file."""
        return self.worker.start.find_file(self.file)

    def require_unchanged(self) -> None:
        """Refuse a table that is another file than the one that was opened."""
        if not self.worker.start.has_state(self.file, self.state):
            raise TableError(
                f"{Path(self.file).name} was changed since it was opened.",
                fix="open it again on the first screen.",
            )

    def place_job(self) -> Path:
        """Return a private file with the job, whose trees are in the start folder."""
        refusal = job_text.find_unsupported_setting(self.text)
        if refusal is not None:
            raise refusal
        start = self.worker.start
        text = job_text.place_trees(self.text, lambda name: str(start.find_file(name)))
        return write_private(self.worker.private / "job.toml", text)

    def mask(self, *, is_kept: bool) -> LastRelease:
        """Return the release of the table: with `is_kept` the last one, if it is it."""
        worker, job = self.worker, Job.read(self.place_job())
        key = (job_text.remove_titles(self.text), self.state)
        last: LastRelease | None = worker.last_release
        worker.last_release = None
        if is_kept and last is not None and last.key == key:
            titles = {"title": job.output.title, "office": job.output.office}
            output = last.release.job.output.model_copy(update=titles)
            same = last.release.job.model_copy(update={"output": output})
            release, is_cut = replace(last.release, job=same), last.is_cut
        else:
            progress = worker.report_progress
            release = mask(self.path, job, progress=progress, trust=())
            self.require_unchanged()
            is_cut = worker.has_ended_search
        last = LastRelease(key, release, is_cut)
        worker.last_release = last
        return last


def run_task(
    worker: Worker, task: str, inputs: dict[str, Any], settings: dict[str, Any]
) -> dict[str, Any]:
    """Return the result of a task; a table is still the one that was opened."""
    of = Inputs(worker, **inputs)
    if of.state:
        of.require_unchanged()
    return TASKS[task](of, **settings)


def open_table(
    inputs: Inputs, *, separator: str, decimal: str, encoding: str
) -> dict[str, Any]:
    """Return the proposal for a table: its job, and each column with its reason."""
    path, state = inputs.path, identify_file(inputs.path)
    inputs.worker.report_progress("read", 0.0)
    draft = propose_job(
        path, Path("job.toml"), separator or None, decimal or None, encoding or "utf-8"
    )
    questions = {each.column or "": asdict(each) for each in draft.undecided}
    columns = [
        {"name": look.name, "label": look.label, "holds": str(look), "reason": reason}
        for look, reason in ((p.look, p.reason) for p in draft.proposed)
    ]
    stem = path.stem
    names = {
        "saved": f"{stem}.job.toml",
        "out": f"{stem}.masked{find_release_suffix(path)}",
        "keys": f"{stem}.private",
        "report": f"{stem}.report.html",
    }
    return {
        "table": inputs.file,
        "names": names,
        "state": state,
        "records": draft.records,
        "sample": draft.sample,
        "columns": columns,
        "questions": questions,
        "job": job_text.remove_empty_settings(draft.text),
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
    job_text.parse_job(text)
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
    last = LastRelease(("", ()), release, worker.has_ended_search)
    described = _describe_release(last, worker)
    return {**described, "cards": described["cards"][:-1], "of": len(table)}


def _describe_release(last: LastRelease, worker: Worker) -> dict[str, Any]:
    """Return the head of the report of a release, and its charts; write the report."""
    release = last.release
    title = release.job.output.title or "Release"
    facts = collect_facts(release, title, private=True)
    write_private(worker.private / "report.html", render_report(facts))
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
                "il": point.il,
                "linkage": point.linkage,
                "k": point.job.privacy.k,
                "method": point.job.partition.method,
            }
            for point in choices.points
        ],
        "map": None if figure is None else asdict(figure),
        "recommended": None if best is None else best.number,
        "recommendation": choices.recommendation(),
        "verdict": choices.verdict,
    }


def write_release(
    inputs: Inputs, *, out: str, keys: str, report: str, saved: str
) -> dict[str, Any]:
    """Write a release, its report, its manifest with the key, and the job."""
    start, worker = inputs.worker.start, inputs.worker
    table, job_file = start.find_new(out), start.find_new(saved)
    page = start.find_new(report) if report else None
    last = inputs.mask(is_kept=True)
    job = last.release.job
    require_unchanged_types(table, inputs.path, job.roles.as_they_are, job.input)
    folder = start.find_place(keys) if Path(keys).parts else start.path
    worker.report_progress("write", 0.0)
    inputs.require_unchanged()
    with (
        made_folder(folder),
        Staging() as staging,
        last.release.staged(table, private=folder, report=page) as commit,
    ):
        staging.write(job_file, lambda to: to.write_text(inputs.text, encoding="utf-8"))
        worker.begin_naming()
        files = commit()
        staging.commit(job_file, public=job_file, overwrite=False)
    names = {what: start.name(Path(path)) for what, path in files.to_dict().items()}
    return {
        **_describe_release(last, worker),
        "files": {**names, "job": start.name(job_file)},
        "sha256": compute_sha256(table),
        "again": f"again{table.suffix}",
    }


TASKS: dict[str, Callable[..., dict[str, Any]]] = {
    "open": open_table,
    "read job": read_job,
    "check": check_job,
    "mask": lambda inputs: _describe_release(inputs.mask(is_kept=False), inputs.worker),
    "preview": preview_release,
    "choose": choose_release,
    "write": write_release,
}
