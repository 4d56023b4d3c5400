"""The tasks of the computing process: each calls what the command line calls.

A result is plain values: names of columns, counts and sentences, no entry of a record.
"""

import json
import shlex
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from aggopt.app import forms
from aggopt.app.job_text import place_files, remove_empty_settings
from aggopt.app.refused_jobs import find_unsupported_setting
from aggopt.app.session import PREVIEW
from aggopt.app.start_folder import StartFolder, identify_file, write_private
from aggopt.errors import JobError, TableError

RUN = 20  # records in a row of a preview: members of a household stay together
DRAWN = 12  # columns that a screen draws; the report has all
SETS = 20  # combinations that the screen lists, the most revealing first


class TaskReporter(Protocol):
    """The part of the computing process that a task uses."""

    has_ended_search: bool

    def report_progress(self, step: str, share: float) -> None: ...  # noqa: D102
    def begin_naming(self) -> None: ...  # noqa: D102


@dataclass(frozen=True)
class LastRelease:
    """The release that was computed last, which is written without another run."""

    job: str
    state: list[int]
    release: Any
    is_cut: bool  # its search was ended by a request


_last: LastRelease | None = None


def import_modules_of_tasks() -> None:
    """Import what all tasks use, so that a click does not wait for it."""
    import numba  # noqa: F401

    import aggopt.core.compiled
    import aggopt.inspection.check
    import aggopt.inspection.draft
    import aggopt.pipeline.mask
    import aggopt.pipeline.partition.partition_table
    import aggopt.pipeline.review.original_risk
    import aggopt.release.report.release_report  # noqa: F401


@dataclass(frozen=True)
class Inputs:
    """The table and the job of a task, and the folders of the page."""

    start: StartFolder
    private: Path
    table: Path
    state: list[int]
    text: str
    job: Path

    @classmethod
    def read(
        cls, folder: str, private: str, table: str, state: list[int], job: str
    ) -> "Inputs":
        """Return the inputs of a task, with the job in a private file.

        Paths in the job are seen from the start folder, and lead nowhere else.
        """
        start = StartFolder(Path(folder))
        refusal = find_unsupported_setting(job)
        if refusal is not None:
            raise refusal
        text = place_files(job, lambda name: str(start.find_file(name)))
        path = write_private(Path(private) / "job.toml", text)
        file = start.find_file(table)
        inputs = cls(start, Path(private), file, state, job, path)
        inputs.require_unchanged()
        return inputs

    def require_unchanged(self) -> None:
        """Refuse a table that is another file than the one that was opened."""
        try:
            is_same = identify_file(self.table) == self.state
        except OSError:
            is_same = False
        if not is_same:
            raise TableError(
                f"{self.table.name} was changed since it was opened.",
                fix="open it again on the first screen.",
            )

    def mask(self, worker: TaskReporter, *, is_kept: bool) -> LastRelease:
        """Return the release of the table: with `is_kept` the last one, if it is it."""
        global _last
        from aggopt.job import Job
        from aggopt.pipeline.mask import mask

        kept = _last
        _last = None
        job = Job.read(self.job)
        words = forms.apply_output(self.text, {})  # without those of the report
        if is_kept and kept and (kept.job, kept.state) == (words, self.state):
            output = kept.release.job.output.model_copy(
                update={"title": job.output.title, "office": job.output.office}
            )
            same = kept.release.job.model_copy(update={"output": output})
            _last = replace(kept, release=replace(kept.release, job=same))
            return _last
        release = mask(self.table, job, progress=worker.report_progress, trust=())
        self.require_unchanged()
        _last = LastRelease(words, self.state, release, worker.has_ended_search)
        return _last


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
    from aggopt.data.formats.registry import find_release_suffix
    from aggopt.inspection.draft import propose_job

    path = StartFolder(Path(folder)).find_file(table)
    state = identify_file(path)
    worker.report_progress("read", 0.0)
    draft = propose_job(path, Path("job.toml"), separator, decimal, encoding)
    questions = {obstacle.column: obstacle for obstacle in draft.undecided}
    general = questions.get(None)
    columns = [
        {
            "name": name,
            "label": proposal.look.label,
            "holds": str(proposal.look),
            "reason": proposal.reason,
            "fix": questions[name].fix if name in questions else "",
        }
        for name, proposal in ((p.look.name, p) for p in draft.proposed)
    ]
    return {
        "table": table,
        "released_as": find_release_suffix(path),
        "state": state,
        "records": draft.records,
        "sample": draft.sample,
        "columns": columns,
        "general": None if general is None else asdict(general),
        "job": remove_empty_settings(draft.text),
    }


def check_job(worker: TaskReporter, **inputs: Any) -> dict[str, Any]:
    """Return what prevents a release, and the risk of the table before masking."""
    from aggopt.inspection.check import check_table
    from aggopt.job import Job
    from aggopt.pipeline.review.original_risk import measure_original_risk

    read = Inputs.read(**inputs)
    worker.report_progress("check", 0.0)
    checked = check_table(read.table, read.job)
    result = {**checked.to_dict(), "risk": None}
    if not checked.obstacles:
        worker.report_progress("risk", 0.0)
        risk = measure_original_risk(read.table, Job.read(read.job))
        measured = risk.to_dict()
        result["risk"] = {
            **measured,
            "rarity": risk.whole.rarity(risk.k),
            "sets": measured["sets"][:SETS],
        }
    read.require_unchanged()
    return result


def mask_table(worker: TaskReporter, **inputs: Any) -> dict[str, Any]:
    """Return the figures of a release, which is kept to be written."""
    read = Inputs.read(**inputs)
    return _describe_release(read.mask(worker, is_kept=False), read)


def preview_release(worker: TaskReporter, **inputs: Any) -> dict[str, Any]:
    """Return the figures of a release of some records; nothing of it is proven."""
    import numpy as np

    from aggopt.data.readers.read import read_file
    from aggopt.job import Job
    from aggopt.pipeline.mask import mask

    read = Inputs.read(**inputs)
    job = Job.read(read.job)
    unproven = job.partition.model_copy(update={"bound": "none"})  # a bound takes long
    job = job.model_copy(update={"partition": unproven})
    worker.report_progress("read", 0.0)
    table = read_file(read.table, job.roles, job.input, job.attributes)
    runs = np.linspace(0, max(len(table) - RUN, 0), PREVIEW // RUN).astype(int)
    rows = np.unique(np.add.outer(runs, np.arange(RUN)))
    sample = table.take(rows[rows < len(table)])
    release = mask(sample, job, progress=worker.report_progress, trust=())
    of_sample = LastRelease(read.text, read.state, release, worker.has_ended_search)
    described = _describe_release(of_sample, read)
    return {**described, "cards": described["cards"][:-1], "of": len(table)}


def _describe_release(last: LastRelease, read: Inputs) -> dict[str, Any]:
    """Return the head of the report of a release, and the distribution of each column.

    The private report is written for the page to show.
    """
    from aggopt.release.report.release_report import collect_facts, render_report
    from aggopt.release.report.sections.headline import make_headline
    from aggopt.release.report.sections.usefulness import draw_distribution

    release = last.release
    title = release.job.output.title or "Release"
    facts = collect_facts(release, title, private=True)
    write_private(read.private / "report.html", render_report(facts))
    loss = facts.information_loss
    names = release.job.roles.quasi_identifier
    drawn = {
        name: _to_plain(draw_distribution(name, facts.original, facts.released))
        for name in names[:DRAWN]
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
        "undrawn": len(names) - len(drawn),
    }


def _to_plain(figure: Any) -> dict[str, Any] | None:
    """Return a chart with its caption and its table as plain values."""
    return None if figure is None else asdict(figure)


def choose_release(
    worker: TaskReporter,
    *,
    k: list[int],
    methods: list[str],
    at_most: float,
    **inputs: Any,
) -> dict[str, Any]:
    """Return the points of a choice over k and methods, and their map; write a page."""
    from aggopt.experiments.choose import choose
    from aggopt.job import Job

    read = Inputs.read(**inputs)
    choices = choose(
        read.table,
        Job.read(read.job),
        k=k or None,
        method=methods or None,
        at_most=at_most,
        progress=worker.report_progress,
    )
    read.require_unchanged()
    choices.page_writer()(write_private(read.private / "choices.html", ""))
    best = choices.recommended()
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
        "map": _to_plain(choices.draw_map()),
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
    from aggopt.release.files.staging import Staging, check_places, compute_sha256
    from aggopt.release.files.type_support import require_unchanged_types

    read = Inputs.read(**inputs)
    start = read.start
    table, job_file = start.find_new(out), start.find_new(saved)
    page = start.find_new(report) if report else None
    check_places(job_file, overwrite=False, inputs=(read.table,))
    last = read.mask(worker, is_kept=True)
    job = last.release.job
    require_unchanged_types(table, read.table, job.roles.as_they_are, job.input)
    folder = start.find_folder(keys)
    worker.report_progress("write", 0.0)
    read.require_unchanged()
    with (
        Staging() as staging,
        last.release.staged(table, private=folder, report=page) as commit,
    ):
        staging.write(job_file, lambda to: to.write_text(read.text, encoding="utf-8"))
        worker.begin_naming()
        files = commit()
        staging.commit(job_file, public=job_file, overwrite=False)
    names = {what: start.name(Path(path)) for what, path in files.to_dict().items()}
    again = f"again{table.suffix}"
    words = ["aggopt", "repeat", names["manifest"], inputs["table"], "--out", again]
    return {
        **_describe_release(last, read),
        "files": {**names, "job": start.name(job_file)},
        "sha256": compute_sha256(table),
        "repeat": shlex.join(words),
    }


def read_job(worker: TaskReporter, *, folder: str, name: str) -> dict[str, Any]:
    """Return the text of a job in a file, or of the manifest of a release."""
    from aggopt.job import Job

    path = StartFolder(Path(folder)).find_file(name)
    try:
        if path.suffix.lower() == ".toml":
            text = path.read_text("utf-8")
        else:
            text = Job(**json.loads(path.read_bytes())["job"]).as_text()
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        raise JobError(
            f"{name} is no job in UTF-8, and no manifest of a release.",
            fix="name a job, NAME.toml, or a manifest, NAME.manifest.json.",
        ) from None
    refusal = find_unsupported_setting(text)
    refused = [] if refusal is None else [refusal.problem, refusal.fix]
    return {"job": text, "refused": refused}


TASKS: dict[str, Callable[..., dict[str, Any]]] = {
    "open": open_table,
    "check": check_job,
    "mask": mask_table,
    "preview": preview_release,
    "choose": choose_release,
    "write": write_release,
    "read job": read_job,
}
