"""Names and counts of charts stand apart, however long the numbers are."""

import re
from itertools import pairwise

import pytest

from aggopt.release.report.charts.bars import (
    CHARACTER,
    AttackBar,
    count_fitting,
    draw_attacks,
    draw_density,
)

LENGTHS = [1, 3, 7, 12]


def names(chart):
    """Return where names below the axis begin and end."""
    found = re.findall(r'<text x="([\d.]+)"[^>]*class="tick"[^>]*>([^<]*)<', chart)
    half = [(float(at), len(name) * CHARACTER / 2) for at, name in found]
    return [(at - wide, at + wide) for at, wide in half]


@pytest.mark.parametrize("edges", [range(12), [0, 1, 2, 3, 4, 50, 100]], ids=str)
@pytest.mark.parametrize("length", LENGTHS)
def test_names_below_an_axis_do_not_touch(length, edges):
    ticks, shares = ["9" * length] * len(edges), [0.1] * (len(edges) - 1)
    widths = [1.0] * len(shares)
    placed = names(draw_density("income", list(edges), widths, ticks, None, shares))
    assert placed
    assert all(end < begin for (_, end), (begin, _) in pairwise(placed))


def test_short_names_are_all_there():
    ticks = list("abcdef")
    assert (
        len(names(draw_density("age", range(6), [1] * 5, ticks, None, [0.2] * 5))) == 4
    )


@pytest.mark.parametrize(
    ("most", "columns"), [(9, 22), (9999, 8), (99_999, 6), (1_234_567, 5)]
)
def test_columns_leave_room_for_their_counts(most, columns):
    assert count_fitting(most) == columns


def test_attacks_are_drawn_for_broad_pages_and_for_narrow_ones():
    rows = [AttackBar("Nearest record", "knows", 1.0, 0.02, 0.5)]
    charts = re.findall(
        '<svg class="chart (\\w+)" viewBox="0 0 (\\d+) .*?</svg>', draw_attacks(rows)
    )
    assert charts == [("broad", "760"), ("narrow", "330")]
    for chart, (_, width) in zip(
        draw_attacks(rows).split("</svg>"), charts, strict=False
    ):
        at, percent = re.findall(
            r'<text x="([\d.]+)"[^>]*class="value"[^>]*>([^<]+)', chart
        )[0]
        assert percent == "100 %"
        assert float(at) + CHARACTER * len(percent) <= int(width)
