"""The report of a release, as the text of one HTML file."""

from aggopt.release.report.facts import Facts
from aggopt.release.report.page import fill_template
from aggopt.release.report.sections.registry import REPORT_SECTIONS


def render_report(facts: Facts) -> str:
    """Return the page: for the public, unless the facts have a private part."""
    facts = facts.shown
    contents = [(each, each.content(facts)) for each in REPORT_SECTIONS.values()]
    return fill_template(
        "report.html",
        title=facts.title,
        facts=facts,
        sections=[pair for pair in contents if pair[1] is not None],
    )
