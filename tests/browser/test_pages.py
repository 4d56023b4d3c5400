"""Pages in a real browser: light, dark, on a phone, printed, by keyboard, for axe."""

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from browsing import WAYS
from tables import MDAV

import aggopt

pytestmark = pytest.mark.slow  # a browser takes seconds to begin
NASTY = "<script>document.title = 'broken'</script>"


def patients() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    n = 150
    return pd.DataFrame(
        {
            "age": rng.integers(18, 90, n),
            NASTY: rng.normal(size=n),
            "עמודה ארוכה": rng.gamma(2.0, size=n),
            "n" * 200: rng.choice(["a", "<b>", "c"], n),
            "progression": rng.normal(size=n),
        }
    )


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """A report for the public and one for the office, of names of any kind."""
    folder = tmp_path_factory.mktemp("pages")
    table = patients()
    roles = {"quasi-identifier": list(table)[:4], "confidential": ["progression"]}
    job = aggopt.Job(roles=roles, privacy={"k": 5}, partition=MDAV)
    release = aggopt.mask(table, job)
    few = {"quasi-identifier": list(table)[:3]}  # numbers: other k are on their map
    job = aggopt.Job(roles=few, privacy={"k": 5}, partition=MDAV)
    numbers = aggopt.mask(table[few["quasi-identifier"]], job)
    return {
        "public": release.report(folder / "public.html"),
        "private": release.report(folder / "private.html", private=True),
        "numbers": numbers.report(folder / "numbers.html"),
        "names": named(table).report(folder / "names.html"),
        "notebook": notebook(folder / "notebook.html"),
    }


def named(table: pd.DataFrame) -> aggopt.Release:
    """Return a release of columns whose names are one word each."""
    short = dict(zip(list(table)[:3], ("income", "comment_code", "age"), strict=True))
    job = aggopt.Job(
        roles={"quasi-identifier": list(short.values())},
        privacy={"k": 5},
        partition=MDAV,
        aggregation={"method": "p3m"},
    )
    return aggopt.mask(table.rename(columns=short)[list(short.values())], job)


def notebook(to: Path) -> Path:
    """A page with a release of 91 attributes, as a notebook shows it."""
    names = [f"a long name of attribute {n}" for n in range(91)]
    table = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 91)), columns=names)
    job = aggopt.Job(roles={"quasi-identifier": names}, privacy={"k": 5})
    shown = aggopt.mask(table, job)._repr_html_()
    to.write_text(f"<!doctype html><title>notebook</title>{shown}", "utf-8")
    return to


@pytest.fixture
def opened(looked_at, pages, request) -> Iterator:
    """A page, opened in a way, and what the browser said and asked for meanwhile."""
    name, way = request.param
    with looked_at(pages[name], way) as found:
        yield found


every = pytest.mark.parametrize(
    "opened",
    [(name, way) for name in ("public", "private") for way in WAYS],
    indirect=True,
    ids=lambda both: " ".join(both),
)
once = pytest.mark.parametrize("opened", [("public", "light")], indirect=True, ids=[""])


@every
def test_a_page_opens_alone_and_fits(opened):
    page, said, asked = opened
    assert (said, asked) == ([], [])
    wide = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert wide[0] <= wide[1]
    assert page.title() != "broken"
    heading = page.locator("h1")
    assert heading.inner_text() == "Release"


@every
def test_axe_finds_no_violation(opened):
    from axe_playwright_python.sync_playwright import Axe

    page, _, _ = opened
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    found = Axe().run(page).response["violations"]
    assert [(v["id"], [n["html"] for n in v["nodes"]]) for v in found] == []


@pytest.mark.parametrize(
    "opened",
    [(name, "phone") for name in ("public", "private", "numbers")],
    indirect=True,
    ids=lambda both: both[0],
)
def test_nothing_is_hidden_to_the_right_on_a_phone(opened):
    page, _, _ = opened
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    wider = "[...document.querySelectorAll('main :not(svg, svg *)')]"
    wider += ".filter(e => e.clientWidth && e.scrollWidth > e.clientWidth + 1)"
    wider += ".map(e => e.outerHTML.slice(0, 80))"
    assert page.evaluate(wider) == []
    assert page.locator("svg.broad:visible").count() == 0
    assert page.locator("svg.narrow:visible").count() > 0


printed = pytest.mark.parametrize(
    "opened",
    [(name, "printed") for name in ("public", "private", "numbers", "names")],
    indirect=True,
    ids=lambda both: both[0],
)
PAPER = {"width": 794, "height": 1123}  # pixels of A4
BETWEEN = "document.body.style.width = '718px'"  # of its margins


@printed
def test_paper_has_the_colours_of_the_seal_and_the_keys(opened):
    page, _, _ = opened
    kept = "getComputedStyle(e).printColorAdjust === 'exact'"
    for part in (".verdict", ".seal", ".key", "svg.broad"):
        found = page.evaluate(
            f"[...document.querySelectorAll('{part}')].map(e => {kept})"
        )
        assert found, part
        assert all(found), part


@printed
def test_paper_cuts_no_table_and_breaks_no_short_name(opened):
    page, _, _ = opened
    page.set_viewport_size(PAPER)
    page.evaluate(BETWEEN)
    wider = "[...document.querySelectorAll('main :not(svg, svg *)')]"
    wider += ".filter(e => e.clientWidth && e.scrollWidth > e.clientWidth + 1)"
    wider += ".map(e => e.outerHTML.slice(0, 80))"
    assert page.evaluate(wider) == []
    broken = "[...document.querySelectorAll('tbody th bdi')]"
    broken += ".filter(e => e.textContent.length < 13 && e.getClientRects().length > 1)"
    broken += ".map(e => e.textContent)"
    assert page.evaluate(broken) == []


@printed
def test_paper_has_the_glossary_and_no_folded_copies_of_charts(opened):
    page, _, _ = opened
    assert page.locator("dt").first.is_visible()
    assert page.locator("figure summary:visible").count() == 0


@pytest.mark.parametrize("opened", [("notebook", "phone")], indirect=True, ids=[""])
def test_a_release_in_a_notebook_scrolls_in_its_own_box(opened):
    page, _, _ = opened
    box, inner, whole = page.evaluate(
        "(box => [box.clientWidth, box.scrollWidth,"
        " document.documentElement.scrollWidth])(document.body.firstElementChild)"
    )
    assert box < inner
    assert whole <= 390


@pytest.mark.parametrize("opened", [("private", "phone")], indirect=True, ids=[""])
def test_the_stamp_covers_no_part_of_a_line_and_not_the_end(opened):
    page, _, _ = opened
    page.evaluate("document.documentElement.style.scrollBehavior = 'auto'")
    page.evaluate("scrollTo(0, document.body.scrollHeight)")
    stamp = page.locator(".stamp").bounding_box()
    assert (stamp["x"], stamp["width"]) == (0, 390)
    main = page.locator("main").bounding_box()
    assert main["y"] + main["height"] <= stamp["y"]


@pytest.mark.parametrize("opened", [("private", "printed")], indirect=True, ids=[""])
def test_the_stamp_has_room_of_its_own_on_each_printed_page(opened):
    page, _, _ = opened
    style = page.locator(".stamp").evaluate(
        "e => [getComputedStyle(e).display, getComputedStyle(e).position]"
    )
    assert style == ["table-footer-group", "static"]  # which paper repeats
    stamp = page.locator(".stamp").bounding_box()
    for section in page.locator("main > section").all():
        box = section.bounding_box()
        assert box["y"] + box["height"] <= stamp["y"]


@once
def test_headings_are_in_order_and_charts_have_words(opened):
    page, _, _ = opened
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    levels = page.evaluate(
        "[...document.querySelectorAll('h1, h2, h3, h4')].map(h => +h.tagName[1])"
    )
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    silent = "[...document.querySelectorAll('svg')].filter(s => "
    silent += "!(s.getAttribute('aria-label') || s.querySelector('title')"
    silent += " || s.getAttribute('aria-hidden'))).length"
    assert page.evaluate(silent) == 0
    assert page.locator("th:not([scope])").count() == 0


@once
def test_a_column_called_script_stands_as_text(opened):
    page, _, _ = opened
    assert page.locator("script").count() == 0
    assert NASTY in page.locator("body").inner_text()


@pytest.mark.parametrize("opened", [("numbers", "light")], indirect=True, ids=[""])
def test_points_of_the_map_answer_to_the_keyboard(opened):
    page, _, _ = opened
    points = page.locator("svg.broad a")
    assert points.count() == 5
    points.nth(0).focus()
    for number in range(1, 5):
        page.keyboard.press("Tab")
        focused = "document.activeElement.getAttribute('aria-label')"
        assert page.evaluate(focused) == points.nth(number).get_attribute("aria-label")
    page.keyboard.press("Enter")
    assert page.evaluate("location.hash") == "#k-own"


@once
def test_the_first_stop_of_the_keyboard_skips_to_the_content(opened):
    page, _, _ = opened
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.innerText") == "Skip to the content"
    page.keyboard.press("Enter")
    assert page.evaluate("location.hash") == "#main"
