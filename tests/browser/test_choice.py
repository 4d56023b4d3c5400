"""The page of a choice in a real browser: filters, links, keyboard, axe."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from browsing import WAYS

from aggopt import Job, choose

pytestmark = pytest.mark.slow  # a browser takes seconds to begin
NAMES = ["age", "<script>document.title = 'broken'</script>"]


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """The page of twelve points, of which four failed."""
    values = np.random.default_rng(0).gamma(2.0, 1e4, (24, 2))
    job = Job(roles={"quasi-identifier": NAMES}, privacy={"k": 3})
    axes = {"k": [3, 6, 99], "method": ["mdav", "cbfs"], "keep": ["mean", "variance"]}
    made = choose(pd.DataFrame(values, columns=NAMES), job, **axes, at_most=0.2)
    return made.to_html(tmp_path_factory.mktemp("choice") / "choice.html")


@pytest.mark.parametrize("way", WAYS)
def test_the_page_opens_alone_and_axe_finds_no_violation(looked_at, path, way):
    from axe_playwright_python.sync_playwright import Axe

    with looked_at(path, way) as (page, said, asked):
        assert (said, asked) == ([], [])
        wide = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
        assert wide[0] <= wide[1]
        assert page.title() == "Releases of the table to choose from"
        page.evaluate("document.querySelectorAll('details').forEach(d => d.open = 1)")
        found = Axe().run(page).response["violations"]
        assert [(v["id"], [n["html"] for n in v["nodes"]]) for v in found] == []


def test_points_of_the_map_say_k_and_no_column_is_hidden(looked_at, path):
    with looked_at(path, "light") as (page, _, _):
        labels = page.locator("#map svg.broad a").all_text_contents()
        assert all("k = 3" in label or "k = 6" in label for label in labels)
        head = page.locator("#points thead th", has_text="linked")
        box = page.locator("#points .scroll")
        assert head.is_visible()
        sizes = box.evaluate("e => [e.scrollWidth, e.clientWidth]")
        assert sizes[0] <= sizes[1]


LEADING = 4  # pixels above and below the letters of a line
RECTANGLES = "all => all.map(e => e.getBoundingClientRect().toJSON())"


@pytest.mark.parametrize(("way", "kind"), [("light", "broad"), ("phone", "narrow")])
def test_texts_of_the_map_overlap_no_other_and_are_inside(looked_at, path, way, kind):
    with looked_at(path, way) as (page, _, _):
        chart = page.locator(f"#map svg.{kind}")
        texts = chart.locator("text")
        boxes = texts.evaluate_all(RECTANGLES)
        assert chart.locator("a text").count() >= 3
        whole = chart.bounding_box()
        for box in boxes:
            assert box["right"] <= whole["x"] + whole["width"]
        for one, other in combinations(boxes, 2):
            across = min(one["right"], other["right"]) - max(one["left"], other["left"])
            up = min(one["bottom"], other["bottom"]) - max(one["top"], other["top"])
            assert across <= LEADING or up <= LEADING, texts.all_text_contents()


def test_a_point_leads_to_its_job_by_keyboard(looked_at, path):
    with looked_at(path, "light") as (page, _, _):
        points = page.locator("#map svg.broad a")
        assert points.count() == 8
        points.nth(0).focus()
        page.keyboard.press("Tab")
        label = points.nth(1).get_attribute("aria-label")
        focused = "document.activeElement.getAttribute('aria-label')"
        assert page.evaluate(focused) == label
        assert not page.locator("#job-2").is_visible()
        page.keyboard.press("Enter")
        assert page.locator("#job-2").is_visible()
        assert page.locator("#job-2 h3").inner_text() == label.split(":")[0]


def test_points_are_filtered_in_table_and_map(looked_at, path):
    with looked_at(path, "light") as (page, _, _):
        rows, points = (
            page.locator(f"{where}:visible")
            for where in ("#points tbody tr", "#map svg a")
        )
        said = page.locator("#filter output")
        assert (rows.count(), points.count()) == (12, 8)
        page.locator('#filter input[value="mdav"]').uncheck()
        assert (rows.count(), points.count()) == (6, 4)
        assert said.inner_text() == "6 of 12 points shown"
        page.locator('#filter input[name="most"]').fill("17")
        assert (rows.count(), points.count()) == (2, 2)
        page.keyboard.press("Enter")
        assert said.inner_text() == "2 of 12 points shown"


def test_without_script_all_is_there_but_the_filter(browser, path):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(path.as_uri())
    assert not page.locator("#filter").is_visible()
    assert page.locator("#points tbody tr").count() == 12
    page.locator('#points a[href="#job-1"]').click()
    assert page.locator("#job-1").is_visible()
    context.close()
