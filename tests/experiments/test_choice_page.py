"""The page of a choice: each point links to its job, and no value of a record is in."""

import re
import stat
from html import unescape

import numpy as np
import pandas as pd
import pytest
from refusals import refused

from aggopt import Job, choose
from aggopt.errors import TableError
from aggopt.experiments._choice import Choices, render_page

NASTY = "<script>"
NAMES = ["age", NASTY]
FRAME = pd.DataFrame(np.random.default_rng(0).gamma(2.0, 1e4, (24, 2)), columns=NAMES)
JOB = Job(roles={"quasi-identifier": NAMES}, privacy={"k": 3})
AXES = {"k": [3, 6, 99], "method": ["mdav", "cbfs"], "keep": ["mean", "variance"]}


@pytest.fixture(scope="module")
def found():
    return choose(FRAME, JOB, **AXES, at_most=0.2)


@pytest.fixture(scope="module")
def text(found):
    return render_page(found)


def test_it_says_the_recommendation_and_that_it_is_not_for_the_public(found, text):
    chosen = found.recommended()
    assert f"<h2>At most 20 % linked, least PIL: point {chosen.number}</h2>" in text
    assert "not to be published" in text
    assert '<body class="private">' in text
    assert "8 of 12 points" not in text
    assert "Choice: 12 points, 4 failed." in text


def test_every_link_leads_to_something_on_the_page(text):
    text = text.split("<script>")[0]
    ids = re.findall(r'\bid="([^"]+)"', text)
    assert len(ids) == len(set(ids))
    links = re.findall(r'href="([^"]+)"', text)
    assert all(link.startswith("#") for link in links)
    assert {link[1:] for link in links} <= set(ids)
    broad_and_narrow = re.findall(r"<svg.*?</svg>", text, re.DOTALL)
    assert len(broad_and_narrow) == 2
    for drawn in broad_and_narrow:
        links = re.findall(r'<a href="#job-\d+" aria-label="point', drawn)
        assert len(links) == 8
    assert len(re.findall(r'<a href="#job-\d+">job', text)) == 12
    for drawn in broad_and_narrow:
        assert drawn.count('class="front"') == 1
        assert drawn.count('class="ring"') == drawn.count('class="limit"') == 1
        assert "k = 6" in drawn


def test_the_job_of_each_point_is_there_to_be_saved_and_run(found, text, tmp_path):
    blocks = [unescape(b) for b in re.findall(r"<code>(.*?)</code>", text, re.DOTALL)]
    commands, jobs = blocks[::2], blocks[1::2]
    for number, (point, command, job) in enumerate(
        zip(found.points, commands, jobs, strict=True), start=1
    ):
        file = tmp_path / f"point-{number}.toml"
        file.write_text(job)
        assert Job.read(file) == point.job
        assert command == f'aggopt.mask(table, "{file.name}").write("masked.csv")'


def test_of_a_file_the_command_is_one_of_the_shell(tmp_path):
    path = tmp_path / "my people.csv"
    FRAME.to_csv(path, index=False)
    text = render_page(choose(path, JOB, k=[3]))
    assert "Releases of my people.csv to choose from" in text
    command = f"aggopt mask '{path}' point-1.toml --out masked.csv"
    assert command in unescape(text)


def test_names_are_escaped_and_values_are_not_there(text):
    assert text.count(NASTY) == 1  # that of the page
    assert "&lt;script&gt;" in text
    numbers = set(re.findall(r"\d+\.\d{3,}", text))
    for value in FRAME.to_numpy().ravel().tolist():
        assert f"{value:.3f}" not in numbers
        assert repr(value) not in text


def test_points_that_failed_are_listed_with_their_words(text):
    listed = text.split('id="failed"')[1].split("</ul>")[0]
    assert listed.count("k = 99, but there are only 24 records") == 4
    rows = text.split("<tbody>")[-1]
    assert rows.count(">failed</td>") == 4


def test_the_filter_has_every_value_and_names_the_columns(text):
    assert '<form id="filter" hidden>' in text
    fields = re.findall(r'<fieldset data-column="(\d)"><legend>(\w+)</legend>', text)
    assert fields == [("1", "method"), ("2", "keep"), ("3", "k")]
    head = text.split('id="point-1"')[0].rsplit("<thead>")[-1]
    columns = re.findall(r"<th[^>]*>(.*?)</th>", head)
    assert columns[:4] == ["point", "method", "keep", "k"]
    (linked,) = re.findall(r'name="most"[^>]*data-column="(\d)"', text)
    assert columns[int(linked)] == "linked, %"
    values = re.findall(r'type="checkbox" value="([^"]+)" checked', text)
    assert values == ["mdav", "cbfs", "mean", "variance", "3", "6", "99"]


def test_more_series_than_looks_are_told_apart_by_the_first_settings():
    methods = ["mdav", "cbfs", "mhm", "projection"]
    made = choose(FRAME, JOB, method=methods, keep=["mean", "variance"], k=[3, 6])
    drawn = render_page(made).split("<svg")[1].split("</svg>")[0]
    assert re.findall(r'class="series s\d"[^>]*>(\w+)<', drawn) == methods
    assert 'class="path' not in drawn


def test_a_choice_without_a_point_on_the_map_says_so(found):
    none = Choices(found.points[2:3], 1, None, 0.1, "pil")
    text = render_page(none)
    assert "nothing can be recommended" in text.lower()
    assert "<svg" not in text
    assert '<div class="verdict bad">' in text
    beyond = render_page(Choices(found.points, 12, None, 0.01, "pil"))
    assert "No point qualifies, and " in beyond
    assert 'class="ring"' not in beyond
    whole = render_page(Choices(found.points, 12, None, 1.0, "pil"))
    assert 'class="limit"' not in whole


def test_linkage_in_blocks_is_said(found):
    assert "linked in up to" not in render_page(found)
    object.__setattr__(found.points[0], "linkage_blocks", 4)
    assert "linked in up to 4 blocks" in render_page(found)
    object.__setattr__(found.points[0], "linkage_blocks", 1)


def test_the_file_is_for_its_owner_and_overwrites_nothing(found, tmp_path):
    path = found.to_html(tmp_path / "choice.html")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.read_text("utf-8") == render_page(found)
    with refused(TableError, "would be overwritten"):
        found.to_html(path)
