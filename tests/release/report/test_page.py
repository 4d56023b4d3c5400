"""What all pages share: escaped, offline, readable in light and dark, charts linked."""

import base64
import re
from hashlib import sha256
from itertools import pairwise

import pytest
from jinja2 import UndefinedError
from markupsafe import Markup

from aggopt.release.report.charts import svg
from aggopt.release.report.charts.scatter import Point, draw_scatter
from aggopt.release.report.page import (
    TEMPLATES,
    DataTable,
    Figure,
    fill_template,
    format_figure,
    format_share,
    format_whole,
)

STYLE = (TEMPLATES / "style.css").read_text("utf-8")
NASTY = "<script>alert(1)</script>"


def points(*series: str) -> list[Point]:
    return [
        Point(name, f"k = {i}", 0.01 * i, 0.3 / i, f"{name}, k = {i}", f"#p{i}")
        for i, name in enumerate(series, start=1)
    ]


@pytest.mark.smoke
def test_a_title_is_escaped_and_a_page_without_script_runs_none():
    made = fill_template("base.html", title=NASTY)
    assert "<script" not in made
    assert made.count("&lt;script&gt;alert(1)&lt;/script&gt;") == 2
    assert "script-src" not in made


def test_a_script_and_the_style_are_named_by_their_hashes():
    made = fill_template("base.html", title="a", script="document.title = 'b < c';")
    (script,) = re.findall(r"<script>(.*?)</script>", made)
    (style,) = re.findall(r"<style>(.*?)</style>", made, re.DOTALL)
    for what, text in (("script", script), ("style", style)):
        digest = base64.b64encode(sha256(text.encode()).digest()).decode()
        assert f"{what}-src 'sha256-{digest}'" in made
    assert "default-src 'none'" in made


def test_no_page_names_an_address_or_an_inline_style():
    """The Content-Security-Policy would forbid both, and a browser would say so."""
    for path in TEMPLATES.iterdir():
        text = path.read_text("utf-8")
        assert not re.search(r"https?:|//\w|url\(|@import|@font-face", text), path.name
        assert not re.search(r"<[^>]*\s(style|on\w+)=", text), path.name


def test_what_a_template_is_not_told_raises():
    with pytest.raises(UndefinedError):
        fill_template("base.html")


def colours(text: str) -> dict[str, str]:
    return dict(re.findall(r"--([\w-]+): (#\w+)", text))


def luminance(colour: str) -> float:
    digits = colour[1:] if len(colour) == 7 else "".join(2 * c for c in colour[1:])
    parts = [int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4)]
    linear = [
        v / 12.92 if v <= 0.03928 else ((v + 0.055) / 1.055) ** 2.4 for v in parts
    ]
    return sum(w * v for w, v in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one: str, other: str) -> float:
    low, high = sorted([luminance(one), luminance(other)])
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_texts_stand_out_from_what_is_behind_them(scheme):
    light, dark = STYLE.split("@media (prefers-color-scheme: dark)")
    found = colours(light if scheme == "light" else dark.split("@media")[0])
    texts = ("ink", "soft", "rel-strong", *(f"s{i}" for i in range(6)))
    pairs = [(text, behind) for text in texts for behind in ("bg", "card")]
    pairs += [("good", "good-bg"), ("bad", "bad-bg"), ("ink", "good-bg")]
    pairs += [("ink", "bad-bg"), ("ink", "lit"), ("bad", "card"), ("good", "card")]
    low = {pair: contrast(*(found[n] for n in pair)) for pair in pairs}
    assert {pair: c for pair, c in low.items() if c < 4.5} == {}
    marks = [(mark, "card") for mark in ("rel", "ori", "risk", "base")]
    assert [pair for pair in marks if contrast(*(found[n] for n in pair)) < 3] == []


def test_each_point_of_a_map_is_a_link_that_says_what_it_is():
    made = draw_scatter(points("a", NASTY), title="Map", x="lost", y="linked", chosen=1)
    links = re.findall(r'<a href="([^"]*)" aria-label="([^"]*)">', made)
    each = [("#p1", "a, k = 1"), ("#p2", f"{Markup.escape(NASTY)}, k = 2")]
    assert links == [*each, *each]  # of the broad map, and of the narrow one
    assert 'role="group"' in made
    assert "<script" not in made
    assert made.count('class="ring"') == 2
    assert "this release" in made


def test_points_of_a_map_lie_where_their_shares_are():
    """Farther right where more is lost, higher up where more is linked."""
    made = draw_scatter(points("a", "a", "a"), title="Map", x="lost", y="linked")
    lines = re.findall(r'<path d="M([^"]*)" class="path s0"', made)
    assert len(lines) == 2
    for line in lines:
        at = [tuple(map(float, pair.split(","))) for pair in line.split("L")]
        for (x, y), (right, down) in pairwise(at):
            assert x < right
            assert y < down
    assert "this release" not in made
    axis = re.findall(
        r'class="tick" text-anchor="(?:middle|end)"[^>]*>([\d.]+ %)<', made
    )
    assert axis[0] == "0 %"
    assert len(set(axis)) > 4


def test_series_of_a_map_have_marks_and_colours_of_their_own():
    made = draw_scatter(points(*"abcdefg"), title="Map", x="lost", y="linked")
    assert {f"dot s{i}" in made for i in range(6)} == {True}
    flat = draw_scatter([Point("a", "", 0, 0, "a", "#a")], title="M", x="x", y="y")
    assert "nan" not in flat


@pytest.mark.smoke
def test_a_chart_has_its_table_behind_it():
    table = DataTable("Points", ["name", "lost"], [[NASTY, "3 %"]], (1,), ["p1"])
    chart = draw_scatter(points("a"), title="Map", x="lost", y="linked")
    from aggopt.release.report.page import _make_environment

    parts = _make_environment().get_template("parts.html").module
    made = parts.figure(Figure(chart, "A map", table))
    assert '<tr id="p1">' in made
    assert '<th scope="row"><bdi>&lt;script&gt;' in made
    assert '<td class="n">3 %</td>' in made
    assert made.index("<svg") < made.index("<details>") < made.index("<table>")


def test_names_are_shortened_and_shown_in_full():
    long = "x" * 200
    made = svg.name(0, 0, long, 12)
    assert f"<title>{long}</title>{'x' * 11}\N{HORIZONTAL ELLIPSIS}<" in made
    assert svg.name(0, 0, "age", 12) == svg.text(0, 0, "age", "label")


def test_texts_of_a_chart_are_escaped():
    made = svg.canvas(10, 10, 'a "b"', [svg.text(0, 0, NASTY, full=NASTY)])
    assert "<script" not in made
    assert 'aria-label="a &#34;b&#34;"' in made
    assert 'role="img"' in made


@pytest.mark.parametrize(
    ("width", "most", "step"),
    [(1, 10, 0.1), (1, 9, 0.2), (100, 16, 10.0), (0.003, 7, 0.0005), (7e8, 7, 1e8)],
)
def test_steps_are_round_and_few(width, most, step):
    assert svg.round_step(width, most) == step


def test_ticks_lie_between_the_ends():
    assert svg.choose_ticks(-0.3, 0.3, 7) == [-0.3, -0.2, -0.1, 0.0, 0.1, 0.2, 0.3]
    assert svg.choose_ticks(11, 29, 3) == [20.0]


def test_numbers_are_no_finer_than_asked():
    assert format_figure(-0.0012345) == "\N{MINUS SIGN}0.00123"
    assert format_figure(1.23456e-7) == "1.23e\N{MINUS SIGN}07"
    assert format_figure(0.0) == "0"
    assert format_figure(98765.0, 2) == "99000"
    assert format_whole(-0.4) == "0"
    assert format_share(-0.126) == "\N{MINUS SIGN}13 %"
