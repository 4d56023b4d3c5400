"""The sections of a report, in their order: each is declared in its own file here.

To add a section, add one file with a `ReportSection`, and its row in docs/report.md.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from aggopt.core.registry import Method, Registry
from aggopt.release.report.facts import Facts


@dataclass(frozen=True, kw_only=True)
class ReportSection(Method):
    """A section of a report; its name is the anchor, and `when` names its content.

    Attributes
    ----------
    content
        Takes the facts of a release and returns the content of the section: texts,
        tables, folded tables and figures, or the content that its template fills in.
        None leaves the section out.
    heading
        Heading on the page.
    label
        Label of the link at the top of the page; without one no link leads to it.
    template
        Name of the file of the section in `aggopt/release/report/templates/`.
    """

    content: Callable[[Facts], Any]
    heading: str = ""
    label: str = ""
    template: str = "section.html"


REPORT_SECTIONS = Registry(
    "aggopt.release.report.sections", ReportSection, "section of a report"
)
