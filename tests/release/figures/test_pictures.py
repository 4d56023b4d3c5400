"""How pictures are drawn: names as they are, sizes, dates, many attributes."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tables import job

import aggopt
from aggopt.measure.safe_figures import Density, Shares
from aggopt.release.figures.distributions import Distribution
from aggopt.release.figures.figure import (
    MARKS,
    NAME,
    SERIES,
    Picture,
    Series,
    add_series_legend,
    draw_tradeoff,
    make_panels,
    shorten_label,
)
from aggopt.release.figures.release_pictures import MOST as MOST_BLOCKS
from aggopt.release.figures.release_pictures import (
    MOST_CORRELATED,
    Sizes,
    draw_before_after,
    draw_correlation_changes,
    draw_group_sizes,
)
from aggopt.release.release import Plots

NAMES = ["$x^$", "$\\frac{$", "_hidden", "a\nb", "<script>", "x" * 200]


def test_names_are_text_whatever_is_in_them() -> None:
    m = len(NAMES)
    what = Shares(tuple(NAMES), (17,) * m, (17,) * m)
    picture = draw_before_after(Distribution(NAMES[0], what, tuple(NAMES)))
    (panel,) = picture.axes
    assert panel.get_title() == NAMES[0]
    ticks = [text.get_text() for text in panel.get_yticklabels()]
    assert ticks == list(map(shorten_label, NAMES))
    assert max(map(len, ticks)) <= NAME
    picture.draw_without_rendering()  # which reads formulas


def test_names_of_series_are_text_too() -> None:
    figure, (panel,) = make_panels(1)
    draw_tradeoff(
        panel, [Series(name, [(1, 1)]) for name in NAMES], [(1, 1)], NAMES[:1]
    )
    add_series_legend(panel, NAMES)
    told = [text.get_text() for text in panel.get_legend().get_texts()]
    assert told == list(map(shorten_label, NAMES))
    figure.draw_without_rendering()


@pytest.mark.smoke
def test_panels_stand_in_rows() -> None:
    figure, grid = make_panels(4, across=3, wide=2.0, high=1.0)
    assert isinstance(figure, Picture)
    assert (len(grid), len(figure.axes)) == (4, 4)
    assert figure.get_size_inches().tolist() == [6.0, 2.0]


def test_colours_and_shapes_tell_series_apart() -> None:
    _, (panel,) = make_panels(1)
    series = [Series(str(j), [(j, j)]) for j in range(len(SERIES) + 2)]
    draw_tradeoff(panel, series, [])
    told = [
        (p.get_facecolor().tobytes(), p.get_paths()[0].vertices.tobytes())
        for p in panel.collections
    ]
    assert len(set(told)) == len(series)
    assert len(MARKS) != len(SERIES)


def test_shades_have_one_scale() -> None:
    _, (panel,) = make_panels(1)
    series = [Series("a", [(0, 0)], [1.0]), Series("b", [(1, 1)], [5.0])]
    mark = draw_tradeoff(panel, series, [(0, 0)], ["best"])
    assert (mark.norm.vmin, mark.norm.vmax) == (1.0, 5.0)
    assert {each.norm.vmax for each in panel.collections} == {5.0}
    assert panel.texts[0].get_text() == "best"
    assert mark.cmap.name == "viridis"


def test_many_blocks_and_attributes_are_said_to_be_more() -> None:
    many = [Sizes((f"a{j}",), np.array([j + 2, 40])) for j in range(20)][::-1]
    figure = draw_group_sizes(many, 2)
    titles = [panel.get_title() for panel in figure.axes]
    assert titles == [f"a{j}" for j in range(MOST_BLOCKS)]
    assert figure.get_suptitle() == "The 12 of 20 blocks with the rarest"
    (panel,) = draw_group_sizes([Sizes(tuple("abcde"), np.array([2]))], 2).axes
    assert panel.get_title() == "a, b, c and 2 more"
    before = np.eye(30)
    after = before.copy()
    after[[29, 3], [3, 29]] = 0.5
    figure = draw_correlation_changes([f"a{j}" for j in range(30)], before, after)
    names = [text.get_text() for text in figure.axes[0].get_xticklabels()]
    assert names == [f"a{j}" for j in range(MOST_CORRELATED - 1)] + ["a29"]
    assert figure.get_suptitle() == "The 20 of 30 attributes that changed most"
    assert not figure.axes[0].texts


@pytest.mark.smoke
def test_dates_and_lengths_are_drawn_as_what_they_are() -> None:
    days = pd.date_range("2001-02-03", periods=40, freq="100D")
    frame = pd.DataFrame({"born": days, "stay": pd.to_timedelta(range(40), unit="h")})
    roles = {"quasi-identifier": ["born", "stay"]}
    release = aggopt.mask(frame, job(5, roles=roles))
    (panel,) = release.plot.before_after("born").axes
    assert panel.get_xticklabels()[1].get_text().startswith("20")
    (panel,) = release.plot.before_after("stay").axes
    assert panel.get_xlabel() == "stay, hours (the outer bins are open)"
    assert panel.get_ylabel() == "% of records per hour"
    (panel,) = release.plot.before_after("stay", private=True).axes
    assert panel.get_xlabel() == "original, hours"
    places = panel.collections[0].get_offsets()
    assert places[:, 0].tolist() == pytest.approx(list(range(40)))
    picture = release.plot.before_after("born", private=True)
    picture.draw_without_rendering()
    (panel,) = picture.axes
    assert panel.collections[0].get_offsets()[0, 0] == pytest.approx(
        11356
    )  # days since 1970
    assert all(t.get_text()[:2] == "20" for t in panel.get_xticklabels())


def test_long_ticks_are_turned() -> None:
    what = Density((0, 1, 2), (50, 50), (50, 50))
    moments = ("1970-01-01T00:00:00", "1970-01-02T00:00:00", "1970-01-03T00:00:00")
    for ticks, angle in ((moments, 30), (("0", "1", "2"), 0)):
        (panel,) = draw_before_after(Distribution("x", what, ticks)).axes
        assert {text.get_rotation() for text in panel.get_xticklabels()} == {angle}


def test_one_bin_is_not_said_to_begin() -> None:
    found = Distribution("x", Density((0, 5), (100,), (100,)), ("0", "5"))
    ticks = [t.get_text() for t in draw_before_after(found).axes[0].get_xticklabels()]
    assert ticks == ["0", "5"]


PAGE = Path(aggopt.__file__).parents[1] / "docs" / "pictures.md"


def test_the_page_lists_each_picture() -> None:
    listed = re.findall(r"^\*\*`\.(\w+)", PAGE.read_text("utf-8"), re.MULTILINE)
    assert sorted(listed) == [name for name in dir(Plots) if not name.startswith("_")]
