"""The report of a release that is in memory."""

from pathlib import Path
from typing import Any, Protocol

import numpy as np

from aggopt.core.not_pickled import NotPickled
from aggopt.core.types import Bool
from aggopt.data.table import Table
from aggopt.job import Job
from aggopt.release.audit.audit import Audit
from aggopt.release.files.output_paths import require_html
from aggopt.release.files.staging import Staging, check_places
from aggopt.release.report.facts import Facts
from aggopt.release.report.page import fill_template
from aggopt.release.report.sections.registry import REPORT_SECTIONS
from aggopt.release.report.statement import (
    Statement,
    make_facts,
    make_private_facts,
)
from aggopt.solvers import Certificate


class Released(Protocol):
    """The part of `Release` that a report uses; its module imports this one."""

    @property
    def masked(self) -> Table: ...  # noqa: D102
    @property
    def original(self) -> NotPickled[Table]: ...  # noqa: D102
    @property
    def job(self) -> Job: ...  # noqa: D102
    @property
    def audit(self) -> Audit: ...  # noqa: D102
    @property
    def certificates(self) -> dict[str, Certificate]: ...  # noqa: D102
    @property
    def kept(self) -> Bool | None: ...  # noqa: D102
    def manifest(self) -> dict[str, Any]: ...  # noqa: D102


def collect_facts(
    release: Released,
    title: str,
    *,
    counted: Audit | None = None,
    sha256: str | None = None,
    private: bool = False,
) -> Facts:
    """Return the facts of a report on a release.

    `counted` is the audit of the file of that `sha256`, in place of that of the values
    in memory.
    """
    stated = Statement("The manifest", release.manifest())
    seed = release.job.output.seed
    is_kept = release.kept
    rows = None if is_kept is None else np.flatnonzero(is_kept)
    private_part = make_private_facts(
        stated, rows, "drawn" if seed is None else str(seed)
    )
    return make_facts(
        stated,
        title=title,
        released=release.masked,
        original=release.original.value,
        job=release.job,
        audit=release.audit if counted is None else counted,
        measures=stated.measures,
        certificates=release.certificates,
        groups=stated.groups,
        sha256=sha256,
        private=private_part if private else None,
    )


def write_report(
    release: Released,
    path: str | Path,
    *,
    private: bool = False,
    title: str | None = None,
    overwrite: bool = False,
) -> Path:
    """Write the report of a release; see `Release.report`."""
    require_place(Path(path), overwrite=overwrite)
    facts = collect_facts(
        release, title or release.job.output.title or "Release", private=private
    )
    return write_page(facts, Path(path), overwrite=overwrite)


def require_place(to: Path, *, overwrite: bool) -> None:
    """Refuse a path to which a report cannot be written.

    Raises
    ------
    TableError
        It is no name of a page, is taken, or its folder does not exist.
    """
    require_html(to)
    check_places(to, overwrite=overwrite)


def write_aside(
    staging: Staging,
    page: Path,
    release: Released,
    title: str,
    counted: Audit,
    sha256: str,
) -> None:
    """Write the public report of a release that is being written to a file."""
    title = release.job.output.title or title
    text = render_report(collect_facts(release, title, counted=counted, sha256=sha256))
    staging.write(page, lambda aside: aside.write_text(text, encoding="utf-8"))


def write_ddi(
    staging: Staging,
    to: Path,
    release: Released,
    name: str,
    counted: Audit,
    sha256: str,
) -> Path:
    """Stage the DDI codebook of a release whose table has this name and hash."""
    from aggopt.release.report.ddi import render_ddi

    title = release.job.output.title or Path(name).stem
    facts = collect_facts(release, title, counted=counted, sha256=sha256)
    rounding = release.manifest()["rounding"]
    steps = {attribute: drift["step"] for attribute, drift in rounding.items()}
    content = render_ddi(facts, name, steps)
    return staging.write(to, lambda aside: aside.write_bytes(content))


def write_page(facts: Facts, to: Path, *, overwrite: bool) -> Path:
    """Write a report: mode 0600 if it has a private part."""
    text = render_report(facts)
    with Staging() as staging:
        staging.write(to, lambda aside: aside.write_text(text, encoding="utf-8"))
        public = to if facts.private is None else ()
        staging.commit(to, public=public, overwrite=overwrite)
    return to


def render_report(facts: Facts) -> str:
    """Return the page: for the public, unless the facts have a private part."""
    facts = facts.shown
    contents = [
        (section, section.content(facts)) for section in REPORT_SECTIONS.values()
    ]
    return fill_template(
        "report.html",
        title=facts.title,
        facts=facts,
        sections=[pair for pair in contents if pair[1] is not None],
    )
