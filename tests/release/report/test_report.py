"""What a report says, and what it says of odd tables."""

import re
from dataclasses import replace
from math import ceil

import numpy as np
import pandas as pd
import pytest
from holed import asked as with_holes
from holed import persons
from households import OF_RECORDS, members, of
from reading import Reader, table
from refusals import refused
from stratified import residents, within
from tables import MDAV, job, people, promising, salaried, wide, wide_job

import aggopt
from aggopt.errors import TableError
from aggopt.release.report.release_report import collect_facts, render_report
from aggopt.solvers import Certificate, Status
from aggopt.solvers.certificate import Claim

COSTS = {
    5: "k = 5 loses {lost} % of the information, and no linkage finds more than "
    "{limit} % of the records",
    10: "k = 10 would lose {lost} %, with at most {limit} % linked",
}


def html(release, **how) -> str:
    return render_report(collect_facts(release, "masked.csv", **how))


def text(release, **how) -> str:
    return Reader(html(release, **how)).text


@pytest.fixture(scope="module")
def release():
    return aggopt.mask(salaried(120), promising(k=5, aggregation={"method": "p3m"}))


@pytest.fixture(scope="module")
def page(release):
    return html(release)


@pytest.fixture(scope="module")
def says(page):
    return Reader(page).text


def test_a_reader_learns_whether_the_file_may_be_published(says):
    assert "k = 5 holds" in says
    assert "is shared by at least 5 records." in says
    assert "As far as these requirements go, the file may be published." not in says
    assert "Publish this file only if nobody can know these columns" in says
    assert "No l-diversity and no t-closeness was promised" in says
    assert "Not covered: several releases of the same people" in says


def test_a_reader_learns_what_is_lost(release, says):
    lost = f"{round(100 * release.measures.il)} %"
    assert f"Information lost {lost} of the sum of squares" in says
    assert "They keep" not in says
    assert "Of numbers they keep the mean and the variance." in says
    assert "Safe: means and variances of masked numbers" in says
    assert "With care: quantiles and extremes" in says


def test_a_reader_learns_what_another_k_would_cost(release, page, says):
    X = release.original.value.matrix()
    for k, said in COSTS.items():
        labels = aggopt.partition.mdav(X, k).labels
        loss = aggopt.measure.il(X, aggopt.aggregate.mean(X, labels).values)
        limit = round(100 * (labels.max() + 1) / len(X))
        assert said.format(lost=round(100 * loss), limit=limit) in says
    points = table(page, "Share of records linked one to one, against information lost")
    assert [row[1] for row in points[1:]] == ["3", "5", "10", "20", "5"]
    assert page.count('<a href="#k-') == 10  # of two maps
    assert 'id="k-own"' in page


def test_what_an_intruder_can_do_is_what_was_measured(release, page):
    found, attacks = release.measures, table(page, "Attacks")
    shares = {row[0]: row[2:] for row in attacks[1:]}
    limit = f"{round(100 * found.linkage_limit)} %"
    assert shares["Nearest record"] == [f"{round(100 * found.dld)} %", "1 %", limit]
    linked = f"{round(100 * found.linkage)} %"
    assert shares["One-to-one assignment"] == [linked, "1 %", limit]
    chance = f"{round(100 * found.sdid_chance)} %"
    assert shares["Value interval"] == [f"{round(100 * found.sdid)} %", chance, ""]
    guess = aggopt.measure.risk.attribution(
        release.table[["age", "income"]].to_numpy(), release.table["salary"].to_numpy()
    )
    assert shares["Guess of salary"][0] == f"{round(100 * guess.share)} %"
    sizes = table(page, f"Sizes of the {release.audit.groups} published combinations")
    assert sum(int(row[1]) for row in sizes[1:]) == release.audit.groups


def test_a_regression_is_that_of_least_squares(release, page):
    frame, masked = salaried(120), release.table
    rows = {row[0]: row[1:] for row in table(page, "Regression of salary")[1:]}
    for j, side in ((0, frame), (2, masked)):
        A = np.column_stack([np.ones(120), side["age"], side["income"]])
        b, *_ = np.linalg.lstsq(A, frame["salary"], rcond=None)
        for i, name in enumerate(("age", "income"), start=1):
            shown = float(rows[name][j].replace("\N{MINUS SIGN}", "-"))
            assert shown == pytest.approx(b[i], rel=6e-3)
    assert "of 2 coefficients keep their sign" in Reader(page).text


def test_correlations_are_with_each_confidential_number():
    frame = salaried(60)[["age", "salary"]].assign(debt=np.arange(60) % 7, ward="a")
    roles = {"quasi-identifier": ["age"], "confidential": ["salary", "ward", "debt"]}
    page = html(aggopt.mask(frame, aggopt.Job(roles=roles, privacy={"k": 3})))
    names = ["age", "salary", "debt"]
    rows = table(page, "Correlations of the originals")
    assert rows[0][1:] == names
    shown = [
        [cell.replace("\N{MINUS SIGN}", "-") for cell in row[1:]] for row in rows[1:]
    ]
    expected = np.corrcoef(frame[names].to_numpy(float).T)
    for i, j in ((1, 0), (2, 0), (2, 1)):
        assert float(shown[i][j]) == pytest.approx(expected[i, j], abs=0.006)


def test_proofs_are_told_from_what_is_not_proven(release, page, says):
    rows = table(page, "Certificates of published values")
    assert [row[1] for row in rows[1:]] == ["proven best", "proven best"]
    assert "for these groups the values are proven best" in says
    (groups,) = (block.certificate for block in release.blocks)
    less = ceil(100 * (1 - groups.bound / groups.objective))
    assert f"Could better groups exist? at most {less} % less loss" in says
    assert "found by mdav, not proven best. At most" in says
    loose = Certificate(Status.LIMIT, 4.0, 3.0, 0.0, "uno", 1.0)
    claimed = replace(loose, bound=None, claimed=Claim(3.9, "mine.py"))
    other = replace(release, certificates={"age": loose, "income": claimed})
    rows = table(html(other), "Certificates of published values")
    assert rows[1][1:5] == [f"{Status.LIMIT}, not proven best", "4", "3", "0.25"]
    assert rows[2][1].endswith("not proven best; a bound is claimed, not proven")
    assert rows[2][3:5] == ["none", "none"]
    assert "some published values have no proven bound" in text(other)
    quarter = replace(release, certificates={"age": loose})
    assert "the values are within 25 % of the best" in text(quarter)


def test_what_does_not_hold_is_said_first(release):
    broken = replace(release.audit, k=50)
    page = render_report(collect_facts(release, "masked.csv", counted=broken))
    assert "k = 50 does not hold" in Reader(page).text
    assert "Do not publish this file." in Reader(page).text
    assert "may be published" not in Reader(page).text
    assert 'class="verdict red"' in page
    left = replace(release.audit, identifiers=("name",))
    found = Reader(render_report(collect_facts(release, "m", counted=left))).text
    assert "What was promised does not hold" in found
    assert "Columns that must not be there: name." in found


def test_requirements_on_confidential_values_are_listed():
    asked = job(privacy={"k": 3, "l": 2, "repair": "merge"})
    found = text(aggopt.mask(people(60), asked))
    assert "distinct l >= 2 holds" in found
    assert "No l-diversity" not in found


def test_where_a_file_was_counted_its_hash_is_there(release):
    found = text(release, sha256="ab" * 32)
    assert "It was counted on the bytes of the file" in found
    assert "ab" * 32 in found
    assert "It was counted on the values that are released." in text(release)


def test_strata_are_said_and_compared_within(says):
    found = text(aggopt.mask(residents(), within()))
    assert "each within one region and sex" in found
    assert "Safe: comparisons between strata (region, sex)" in found
    shared = "Every combination of the masked attributes and region, sex is shared"
    assert shared in found
    assert "k = 5 would lose" in found
    assert "k = 10" not in found  # no stratum has so many
    assert "strata" not in says


def test_what_is_missing_is_said_where_it_is_told_how_to_use_the_file(says):
    found = text(aggopt.mask(persons(), with_holes(missing={"policy": "patterns"})))
    assert re.search(r"Missing: \d+ values of quasi-identifiers\. They were", found)
    assert "Attacks and losses are of the records without any missing." in found
    assert "Missing:" not in says
    filled = text(aggopt.mask(persons(), with_holes(missing={"policy": "fill"})))
    assert "Missing:" not in filled
    assert "Filled: values were filled in: " in filled
    assert "They were missing in the originals, and have what their group" in filled


def test_weights_say_what_is_by_them_and_what_is_not(says):
    frame = people(60).assign(weight=np.arange(1, 61) % 7 + 1.0)
    roles = {"quasi-identifier": ["age", "income"], "weight": "weight"}
    roles |= {"identifier": ["name", "illness", "note"]}
    asked = aggopt.Job(roles=roles, privacy={"k": 3}, partition=MDAV)
    found = text(aggopt.mask(frame, asked))
    assert (
        "By weight: what is kept, lost and proven is by the sampling weights" in found
    )
    assert "Safe: weighted means of masked numbers, as in the originals" in found
    assert "By weight:" not in says


def test_the_weight_of_one_record_is_said_in_whole_percent():
    frame = people(60).assign(weight=np.arange(1, 61) % 7 + 1.0)
    roles = {"quasi-identifier": ["age", "income"], "weight": "weight"}
    roles |= {"identifier": ["name", "illness", "note"]}
    weights = {"dominance": 0.6}
    how = {"privacy": {"k": 3}, "partition": MDAV, "weights": weights}
    release = aggopt.mask(frame, aggopt.Job(roles=roles, **how))
    (check,) = release.audit.promises
    assert check.found != round(check.found, 2)
    found = text(release)
    assert f"has {round(check.found, 2):g}." in found
    assert f"{check.found:.6g}" not in found


def test_numbers_that_a_file_spells_are_numbers():
    frame = people(60)
    income = frame["income"] * 2
    roles = {"quasi-identifier": ["age", "income"], "confidential": ["debt"]}
    roles |= {"identifier": ["name", "illness", "note"]}
    asked = aggopt.Job(roles=roles, privacy={"k": 3}, partition=MDAV)
    both = [
        text(aggopt.mask(frame.assign(debt=debt), asked, secret="0" * 32))
        for debt in (income, income.map(repr))
    ]
    assert "A regression, before and after" in both[0]
    assert both[0] == both[1]


def test_units_are_what_k_counts():
    release = aggopt.mask(members(), of(OF_RECORDS))
    found = text(release)
    assert f"is shared by at least {release.audit.smallest} units." in found
    assert "k counts units (household)" in found
    assert "Where k counts units, no other k is tried here." in found


def test_categories_have_bars_and_what_they_keep():
    release = aggopt.mask(persons(120, share=0.0), with_holes())
    page = html(release)
    kept = table(page, "Records that keep their category")
    assert [row[0] for row in kept[1:]] == ["sex", "town"]
    frame, masked = persons(120, share=0.0), release.table
    same = round(100 * (frame["sex"] == masked["sex"]).mean())
    assert kept[1][1] == f"{same} %"
    levels = table(page, "sex: share of records")
    assert sorted(row[0] for row in levels[1:]) == ["f", "m"]
    assert "rare categories, which their group may have replaced" in Reader(page).text


def test_missing_values_are_left_out_of_moments():
    release = aggopt.mask(persons(120), with_holes(2))
    page = html(release)
    moments = table(page, "Means and standard deviations, and how far values moved")
    mean = persons(120)["age"].mean()
    assert float(moments[1][1]) == pytest.approx(mean, rel=6e-3)
    assert "nan" not in Reader(page).text.split()


def test_blocks_say_that_the_combination_is_not_k_anonymous():
    found = text(
        aggopt.mask(wide(60), wide_job(partition={"method": "individual_ranking"}))
    )
    assert "NOT 3-anonymous on the combination" in found
    assert "groups in each of 5 blocks of attributes" in found
    assert "k = 3 holds, but " in found
    assert "Groups of age: proven best" in found
    assert "Where attributes are grouped in blocks, no other k is tried" in found


def test_a_release_without_its_originals_compares_nothing(release):
    import pickle

    alone = pickle.loads(pickle.dumps(release))
    found = text(alone)
    assert "The originals were not at hand" in found
    assert "Before," not in found
    assert "To compare other k, run aggopt choose --k 3,5,10." in found
    page = html(alone)
    assert table(page, "age: share of records")[0] == ["value", "released"]
    assert 'class="ori"' not in page.split("</style>")[1]
    assert "Office" in html(alone, private=True)


def test_columns_that_are_constant_are_no_charts():
    release = aggopt.mask(people(40).assign(age=40), job())
    page = html(release)
    tables = Reader(page).tables
    assert "age: share of records" not in tables
    assert "income: share of records" in tables
    assert "Correlations of the originals" not in tables
    assert "nan" not in Reader(page).text.split()
    unmeasured = text(replace(release, measures=None))
    nothing = "no attack that links records was run"
    assert f"Correct matches not measured {nothing}" in unmeasured
    assert "Information lost not measured nothing that was masked varies" in unmeasured
    assert "or where nothing varies, nothing is compared" in unmeasured


@pytest.mark.slow  # to mask so many takes longer than to report them
def test_five_hundred_columns_stay_readable():
    """The 20 most changed are seen, the others folded."""
    rng = np.random.default_rng(0)
    names = [f"c{j}" for j in range(500)]
    frame = pd.DataFrame(rng.normal(size=(30, 500)), columns=names)
    roles = {"quasi-identifier": names}
    wide = aggopt.Job(roles=roles, privacy={"k": 3}, partition=MDAV)
    page = html(aggopt.mask(frame, wide))
    tables = Reader(page).tables
    assert page.count("<svg") < 40
    assert "480 more are in the folded tables" in Reader(page).text
    assert sum(name.endswith(": share of records") for name in tables) <= 20
    assert page.count("<summary>All other attributes</summary>") == 2
    assert len(page.encode()) < 400_000
    assert "500 quasi-identifiers masked " in Reader(page).text


def test_those_that_changed_most_come_first():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        rng.normal(size=(60, 22)), columns=[f"c{j}" for j in range(22)]
    )
    frame["c21"] = np.arange(60) % 2  # the groups straddle it least
    roles = {"quasi-identifier": list(frame)}
    asked = aggopt.Job(roles=roles, privacy={"k": 3}, partition=MDAV)
    release = aggopt.mask(frame, asked)
    X, Y = frame.to_numpy(float), release.table.to_numpy(float)
    lost = np.round(((X - Y) ** 2).mean(axis=0) / X.var(axis=0), 2)
    most = [f"c{j}" for j in np.argsort(-lost, kind="stable")[:20]]
    caption = "Means and standard deviations, and how far values moved"
    page = html(release)
    first, _, folded = page.partition("<summary>All other attributes</summary>")
    assert [row[0] for row in table(first, caption)[1:]] == most
    assert len(table(folded, caption)) == 3


@pytest.mark.parametrize(
    "name", ["n" * 200, "עמודה ארוכה", "km/h"], ids=["long", "right to left", "slash"]
)
def test_names_of_any_kind_are_shown_whole(name):
    frame = people(40).rename(columns={"income": name})
    roles = {
        "identifier": ["name"],
        "quasi-identifier": ["age", name],
        "confidential": ["illness"],
        "other": ["note"],
    }
    asked = aggopt.Job(roles=roles, privacy={"k": 3}, partition=MDAV)
    page = html(aggopt.mask(frame, asked))
    assert f"<bdi>{name}</bdi>" in page
    assert f"{name}: share of records" in Reader(page).tables


def test_a_place_that_cannot_be_written_is_refused_in_words(tmp_path, release):
    folder = tmp_path / "none"
    with refused(TableError, str(folder)):
        release.report(folder / "report.html")
    with refused(TableError):
        release.report(tmp_path / "report.txt")
    (tmp_path / "report.html").write_text("mine")
    with refused(TableError):
        release.report(tmp_path / "report.html")
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]
    release.report(tmp_path / "report.html", overwrite=True, title="Patients of May")
    assert "<bdi>Patients of May</bdi>" in (tmp_path / "report.html").read_text("utf-8")


def test_dates_are_told_by_the_calendar_and_times_in_hours():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "born": pd.Timestamp("1950-01-01")
            + pd.to_timedelta(rng.integers(0, 15000, 80), "D"),
            "stay": pd.to_timedelta(rng.integers(10, 500, 80), "h"),
        }
    )
    roles = {"quasi-identifier": ["born", "stay"]}
    release = aggopt.mask(
        frame, aggopt.Job(roles=roles, privacy={"k": 4}, partition=MDAV)
    )
    page = html(release)
    bins = [row[0] for row in table(page, "born: share of records")[1:]]
    assert bins[0].startswith("below 19")
    moments = table(page, "Means and standard deviations, and how far values moved")
    assert moments[1][1:3] == ["", ""]
    assert moments[1][3].endswith(" days")
    mean = frame["stay"].dt.total_seconds().mean() / 3600
    assert float(moments[2][1]) == pytest.approx(mean, rel=6e-3)
    assert moments[2][3].endswith(" hours")
