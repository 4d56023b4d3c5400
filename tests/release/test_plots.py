"""`release.plot`: what each picture shows, by its axes and data; never a record."""

import pickle
import sys
from dataclasses import replace

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import pytest
import refusals
from matplotlib import colors
from matplotlib.collections import PathCollection
from tables import job, people, wide, wide_job

import aggopt
from aggopt.data.table import Table
from aggopt.errors import TableError, UnknownNameError
from aggopt.measure.safe_figures import compute_correlations, estimate_density
from aggopt.release.audit.audit import Audit
from aggopt.release.audit.counts import Count
from aggopt.release.figures.figure import ORIGINAL, RELEASED, Picture
from aggopt.release.release import Plots, _to_finite


@pytest.fixture(scope="module")
def frame():
    return people(60).assign(tall=np.linspace(150.5, 199.5, 60))


@pytest.fixture(scope="module")
def release(frame):
    roles = {
        "identifier": ["name"],
        "quasi-identifier": ["age", "income", "illness"],
        "confidential": ["tall"],
        "other": ["note"],
    }
    return aggopt.mask(frame, job(roles=roles))


def texts(found):
    """All that a picture says."""
    return {text.get_text() for text in found.findobj(lambda a: hasattr(a, "get_text"))}


def test_what_there_is_is_said(release) -> None:
    methods = {name for name in dir(release.plot) if name.isascii() and name[0] != "_"}
    assert methods == {"groups", "before_after", "correlations", "risk"}
    said = "Plots: groups(), before_after(name), correlations(), risk()"
    assert repr(release.plot) == said


def test_pictures_leave_pyplot_alone(release) -> None:
    before = "matplotlib.pyplot" in sys.modules
    picture = release.plot.groups()
    assert isinstance(picture, Picture)
    assert picture._repr_png_()[:4] == b"\x89PNG"
    assert ("matplotlib.pyplot" in sys.modules) == before


def test_sizes_of_combinations_stand_beside_k(release) -> None:
    (panel,) = release.plot.groups().axes
    sizes = release.table.groupby(["age", "income", "illness"]).size().value_counts()
    bars = {bar.get_center()[0]: bar.get_height() for bar in panel.patches}
    assert bars == sizes.to_dict()
    assert panel.lines[0].get_xdata()[0] == 2.5
    assert panel.get_xlabel() == "records that share a combination"
    assert panel.get_ylabel() == "combinations"
    assert panel.get_title() == "age, income, illness"
    assert {"combinations", "k = 3"} <= texts(panel)


def test_blocks_have_a_panel_each() -> None:
    release = aggopt.mask(wide(), wide_job(partition={"method": "individual_ranking"}))
    panels = release.plot.groups().axes
    assert len(panels) == len(release.blocks) > 1
    rarest = [min(bar.get_center()[0] for bar in panel.patches) for panel in panels]
    assert rarest == sorted(rarest)
    attributes = {", ".join(count.attributes) for count in release.audit.blocks}
    assert {panel.get_title() for panel in panels} == attributes
    counted = {
        panel.get_title(): sum(bar.get_height() for bar in panel.patches)
        for panel in panels
    }
    for count in release.audit.blocks:
        assert counted[", ".join(count.attributes)] == count.combinations


def test_units_are_counted_where_k_counts_them() -> None:
    frame = people(40).assign(home=np.arange(40) // 2, age=[30, 40] * 20)
    roles = {"quasi-identifier": ["age"], "unit": ["home"]}
    one = frame[["age", "home"]].assign(age=np.repeat([30, 40], 20))
    release = aggopt.mask(one, job(roles=roles))
    (panel,) = release.plot.groups().axes
    assert panel.get_xlabel() == "units that share a combination"
    assert {b.get_center()[0]: b.get_height() for b in panel.patches} == {10: 2}


def test_before_and_after_are_shares_in_bins(frame, release) -> None:
    (panel,) = release.plot.before_after("income").axes
    what = estimate_density(frame["income"], release.table["income"])
    by_colour = {
        colors.to_hex(
            each.get_facecolor() if each.get_fill() else each.get_edgecolor()
        ).upper(): each.get_data()
        for each in panel.patches
    }
    for colour, shares in ((ORIGINAL, what.original), (RELEASED, what.released)):
        heights, edges, _ = by_colour[colour]
        assert heights == pytest.approx(np.array(shares) / what.widths)
        assert tuple(edges) == what.edges
    assert panel.get_title() == "income"
    assert panel.get_xlabel() == "income (the outer bins are open)"
    assert panel.get_ylabel() == "% of records per unit"
    ticks = [text.get_text() for text in panel.get_xticklabels()]
    assert ticks[0] == f"≤ {what.edges[0]:.12g}"
    assert ticks[-1] == f"≥ {what.edges[-1]:.12g}"
    assert {"original", "released"} <= texts(panel)


def test_before_and_after_of_a_category_are_shares_of_its_levels(frame, release):
    (panel,) = release.plot.before_after("illness").axes
    levels = [text.get_text() for text in panel.get_yticklabels()]
    original = [bar.get_width() for bar in panel.patches[: len(levels)]]
    counts = frame["illness"].value_counts(normalize=True)
    named = dict(zip(levels, original, strict=True))
    for level in set(levels) - {"other"}:
        assert named[level] == round(100 * counts[level])
    assert panel.get_xlabel() == "% of records"


def test_no_public_picture_shows_a_record(frame, release) -> None:
    for picture in (
        release.plot.groups(),
        release.plot.before_after("income"),
        release.plot.before_after("age"),
        release.plot.correlations(),
        release.plot.risk(),
    ):
        for panel in picture.axes:
            assert not any(isinstance(c, PathCollection) for c in panel.collections)
        shown = " ".join(texts(picture))
        for value in (frame["income"].min(), frame["income"].max()):
            assert f"{value:.6g}" not in shown
        assert "Private" not in shown


def test_private_pictures_show_each_record(frame, release) -> None:
    (panel,) = release.plot.before_after("income", private=True).axes
    places = np.asarray(panel.collections[0].get_offsets())
    both = np.column_stack([frame["income"], release.table["income"]])
    assert places == pytest.approx(both)
    assert panel.get_title() == "income: each point is a record. Private"
    assert (panel.get_xlabel(), panel.get_ylabel()) == ("original", "released")
    panel, _ = release.plot.before_after("illness", private=True).axes
    counts = pd.crosstab(frame["illness"], release.table["illness"])
    assert panel.images[0].get_array().sum() == 60
    names = [text.get_text() for text in panel.get_yticklabels()]
    drawn = pd.DataFrame(panel.images[0].get_array(), names, names)
    assert drawn.loc[counts.index, counts.columns].equals(counts.astype(float))


def test_correlations_and_their_change(frame, release) -> None:
    left, right, *_ = release.plot.correlations().axes
    names = ["age", "income", "tall"]
    before, after = (
        compute_correlations(table[names].to_numpy(float))
        for table in (frame, release.table)
    )
    assert np.array_equal(left.images[0].get_array(), before)
    assert np.array_equal(right.images[0].get_array(), after - before)
    assert [text.get_text() for text in left.get_xticklabels()] == names
    assert f"{before[0, 1]:.2f}" in texts(left)
    assert left.get_title() == "Originals"
    assert right.get_title() == "Released less originals"


def test_attacks_stand_beside_chance_and_limit(release) -> None:
    (panel,) = release.plot.risk().axes
    measures = release.measures
    widths = [bar.get_width() for bar in panel.patches]
    found = (
        *(measures.linkage, measures.dld, measures.highest_risk, measures.sdid),
        *(1 / 60, 1 / 60, measures.sdid_chance),
    )
    assert widths == [round(100 * share) for share in found]
    limit = round(100 * measures.linkage_limit)
    assert {p[0, 0] for p in panel.collections[0].get_segments()} == {limit}
    names = [text.get_text() for text in panel.get_yticklabels()]
    assert names[-1] == "value within 0.05 standard deviations (SDID)"
    assert {"attack succeeds", "by chance", "limit that k sets"} <= texts(panel)


def plots(columns, *, known=True):
    """Return what draws a table as its own release, of which nothing was measured."""
    asked = job(2, roles={"quasi-identifier": [*columns]})
    table = Table.of(pd.DataFrame(columns), asked.roles)
    whole, *blocks = (
        Count.of(names, np.arange(9), 2) for names in ([*columns], *columns)
    )
    audit = Audit(9, 2, "combination", whole, tuple(blocks), ())
    return Plots(table, table if known else None, audit, None, asked, None)


NINE = {"x": range(9), "y": range(9, 0, -1)}
UNDRAWN = {  # what draws, and the error that refuses it, with what it names
    "a copy": (lambda: plots(NINE, known=False).correlations(), TableError),
    "a name of none": (
        lambda: plots(NINE).before_after("tall"),
        UnknownNameError,
        "tall",
    ),
    "few records": (lambda: plots(NINE).before_after("y"), TableError, "y"),
    "one number": (lambda: plots({"x": range(9)}).correlations(), TableError),
    "nothing measured": (lambda: plots(NINE).risk(), TableError),
}


@pytest.mark.parametrize("case", UNDRAWN)
def test_a_picture_is_refused_in_words(case) -> None:
    draw, *refusal = UNDRAWN[case]
    with refusals.refused(*refusal):
        draw()


def test_two_numbers_are_correlated() -> None:
    left, *_ = plots(NINE).correlations().axes
    assert left.images[0].get_array().shape == (2, 2)


@pytest.mark.parametrize("scope", ["combination", "blocks"])
def test_there_is_a_panel_for_what_k_was_promised_of(scope) -> None:
    drawn = plots(NINE)
    drawn = replace(drawn, _audit=replace(drawn._audit, scope=scope))
    titles = [panel.get_title() for panel in drawn.groups().axes]
    assert titles == {"combination": ["x, y"], "blocks": ["x", "y"]}[scope]


def test_what_is_infinite_is_a_missing_float() -> None:
    found = _to_finite(nw.from_native(pd.Series([1.0, np.inf]), series_only=True))
    assert found.dtype == np.float64
    assert np.isnan(found).tolist() == [False, True]


def refused(release, draw, match, error=TableError):
    with pytest.raises(error, match=match) as caught:
        draw(release.plot)
    return caught.value.fix


def test_what_cannot_be_drawn_is_said(release) -> None:
    names = [lambda plot: plot.before_after("tall")]
    names += [lambda plot: plot.before_after("tall", private=True)]
    for draw in names:
        refused(release, draw, "quasi-identifier of the release", UnknownNameError)
    copy = pickle.loads(pickle.dumps(release))
    for draw in (
        lambda plot: plot.before_after("age"),
        lambda plot: plot.before_after("age", private=True),
        lambda plot: plot.correlations(),
    ):
        assert "aggopt.mask returned" in refused(copy, draw, "holds no originals")
    assert copy.plot.groups().axes
    assert copy.plot.risk().axes


def test_few_records_and_constants_are_not_drawn() -> None:
    few = aggopt.mask(people(9), job())
    fix = refused(few, lambda p: p.before_after("age"), "fewer than ten records have")
    assert fix == "private=True draws each record, for you alone."
    assert few.plot.before_after("age", private=True).axes
    roles = {"quasi-identifier": ["x"]}
    one = aggopt.mask(pd.DataFrame({"x": range(12)}), job(roles=roles))
    refused(one, lambda plot: plot.correlations(), "1 of the quasi-identifiers")
    unmeasured = replace(one, measures=None)
    refused(unmeasured, lambda plot: plot.risk(), "Nothing was measured on this")


def test_infinite_confidential_values_are_left_out(frame) -> None:
    odd = frame.assign(tall=[np.inf, -np.inf, *frame["tall"][2:]])
    roles = {
        "identifier": ["name", "illness", "note"],
        "quasi-identifier": ["age", "income"],
        "confidential": ["tall"],
    }
    left, *_ = aggopt.mask(odd, job(roles=roles)).plot.correlations().axes
    expected = compute_correlations(odd[["age", "tall"]].to_numpy(float)[2:])[0, 1]
    assert left.images[0].get_array()[0, 2] == expected
