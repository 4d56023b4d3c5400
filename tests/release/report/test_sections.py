"""Sections of a report: each is on the page once, in its order, with its link."""

import re
from pathlib import Path

import pytest
from tables import job, people

import aggopt
from aggopt.release.report.release_report import collect_facts, render_report
from aggopt.release.report.sections.registry import REPORT_SECTIONS


@pytest.fixture(scope="module")
def pages() -> dict[bool, str]:
    """Return the report of one release for the public and for the office."""
    release = aggopt.mask(people(), job())
    return {
        private: render_report(collect_facts(release, "t", private=private))
        for private in (False, True)
    }


@pytest.mark.parametrize("name", REPORT_SECTIONS)
def test_a_section_is_on_the_page_with_its_link(pages, name) -> None:
    section = REPORT_SECTIONS[name]
    for private, page in pages.items():
        on_page = int(private or name != "office")
        assert page.count(f'<section id="{name}"') == on_page
        linked = page.count(f'<a href="#{name}">{section.label}</a>')
        assert linked == (on_page if section.label else 0)
        assert page.count(f"<h2>{section.heading}</h2>") == (
            on_page if section.heading else 0
        )


def test_sections_are_in_the_order_of_the_registry(pages) -> None:
    assert re.findall('<section id="(.+?)"', pages[True]) == list(REPORT_SECTIONS)


def test_the_page_of_documentation_has_a_row_for_each_section() -> None:
    docs = Path(__file__).parents[3] / "docs" / "report.md"
    table = docs.read_text("utf-8").split("## Sections of the page")[1].split("\n\n")[1]
    labels = [s.label for s in REPORT_SECTIONS.values() if s.label]
    assert re.findall(r"^\| (\w[\w ]*) \|", table, re.MULTILINE)[1:] == labels
