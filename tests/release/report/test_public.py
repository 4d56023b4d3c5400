"""The eight rules of a report for the public, each of them."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from reading import Reader, digits, table

import aggopt
from aggopt.core.not_pickled import NotPickled
from aggopt.data.table import Table
from aggopt.measure import assess
from aggopt.measure.safe_figures import round_edges
from aggopt.release.report.release_report import collect_facts, render_report

N = 200
LOW, HIGH = -41237.5, 98765.25  # of income: nobody else has such a number
SEED = 424242
NASTY = "<script>alert(1)</script>"


def persons(seed: int = 0) -> pd.DataFrame:
    """Persons whose smallest and largest income can be told from all other figures."""
    rng = np.random.default_rng(seed)
    income = rng.gamma(9.0, 3e3, N).round(2)
    income[:2] = LOW, HIGH
    return pd.DataFrame(
        {
            "age": rng.integers(18, 90, N),
            "income": income,
            "town": rng.choice(["x", "y", "z"], N),
            "born": pd.Timestamp("1931-07-19")
            + pd.to_timedelta(rng.integers(0, 20000, N), "D"),
            "salary": (income * rng.uniform(0.7, 1.3, N)).round(2),
        }
    )


def asked(names: list[str], **sections):
    roles = {"quasi-identifier": names, "confidential": ["salary"]}
    plain = {"partition": {"method": "mdav"}, "output": {"seed": SEED}}
    return aggopt.Job(roles=roles, privacy={"k": 5}, **{**plain, **sections})


NUMBERS, MIXED = ["age", "income"], ["age", "income", "town", "born"]


@pytest.fixture(scope="module")
def mixed():
    return aggopt.mask(persons(), asked(MIXED))


@pytest.fixture(scope="module")
def numeric():
    return aggopt.mask(persons()[[*NUMBERS, "salary"]], asked(NUMBERS))


def html(release, **how) -> str:
    return render_report(collect_facts(release, "masked.csv", **how))


@pytest.fixture(scope="module")
def public(mixed):
    return html(mixed)


@pytest.fixture(scope="module")
def private(mixed):
    return html(mixed, private=True)


def of_other(release, original: pd.DataFrame):
    """Return a release beside other originals, as if its values were of those."""
    names = release.job.roles.quasi_identifier
    other = Table.of(
        original[list(names)],
        release.masked.roles.model_copy(update={"confidential": ()}),
        like=release.original.value,
    )
    after = release.masked.frame.select(*names).to_native()
    return replace(
        release,
        original=NotPickled(other),
        measures=assess(original[list(names)], after),
    )


def rows_of(page: str, name: str) -> list[list[str]]:
    return table(page, f"{name}: share of records")


@pytest.mark.parametrize("name", NUMBERS)
def test_bins_are_of_released_values_alone(numeric, name):
    """1: cuts are round numbers that the release decides, and the outer bins open."""
    own = persons()[[*NUMBERS, "salary"]]
    edges = set(round_edges(numeric.table[name].to_numpy()).tolist())
    for original in (own, own.assign(**{name: 3 * own[name] + 1})):
        bins = [row[0] for row in rows_of(html(of_other(numeric, original)), name)[1:]]
        assert bins[0].startswith("below ")
        assert bins[-1].endswith(" and above")
        cuts = [float(each.split()[-1]) for each in bins[:-1]]
        assert set(cuts) <= edges


def counted(rows: list[list[str]], values: pd.Series) -> list[int]:
    """Return how many originals lie in each bin of a table of numbers."""
    inner = [float(row[0].split()[-1]) for row in rows[1:-1]]
    return np.histogram(values, [-np.inf, *inner, np.inf])[0].tolist()


@pytest.mark.parametrize("name", NUMBERS)
def test_no_bin_counts_few_originals(numeric, name):
    """2, and shares are whole percentages of the counts."""
    rows = rows_of(html(numeric), name)
    counts = counted(rows, persons()[name])
    assert min(count for count in counts if count) >= 10
    assert [row[1] for row in rows[1:]] == [f"{round(c / 2)} %" for c in counts]


@pytest.mark.parametrize("value", [LOW, HIGH])
def test_no_extreme_of_the_originals_is_shown(public, private, value):
    """3: in no spelling, in the charts neither; the office sees single records."""
    spelled = {f"{abs(value):.{n}g}" for n in range(4, 8)} | {f"{abs(value):.1f}"}
    shown = re.sub(r"[\s,]", "", public)
    assert not [text for text in spelled if text in shown]
    assert "1931-07" not in public
    assert 'class="each"' not in public
    assert 'class="each"' in private


def test_figures_of_originals_are_rounded(public):
    """4: three digits, whole percentages, two decimals."""
    tables = Reader(public).tables
    moments = tables["Means and standard deviations, and how far values moved"]
    assert [row[0] for row in moments[1:]] == ["age", "income", "born"]
    cells = [cell for row in moments[1:] for cell in row[1:]]
    cells += [c for row in tables["Regression of salary"][1:] for c in row[1:5]]
    cells += [
        c for row in tables["Certificates of published values"][1:] for c in row[2:4]
    ]
    for cell in filter(None, cells):
        assert digits(re.search(r"[\d.]+(e.\d+)?", cell)[0]) <= 3, cell
    shares = re.findall(r"([\d.]+) %", Reader(public).text)
    assert [share for share in shares if "." in share and share != "0.05"] == []
    (changes,) = [name for name in tables if name.startswith("Released less")]
    for caption in ("Correlations of the originals", changes):
        for cell in (cell for row in tables[caption][1:] for cell in row[1:]):
            assert re.fullmatch(r"([−+]?[01]\.\d\d)?|0", cell)


def test_nothing_says_how_it_was_drawn_or_of_what(mixed, public, private):
    """5: no seed, no hash of the input, no secret, no group of a record."""
    for hidden in (str(SEED), mixed.secret, mixed.source.fingerprint):
        assert hidden not in public
    assert str(SEED) in private
    assert mixed.secret not in private


def test_who_reads_a_file_name_does_not_read_where_it_lay(tmp_path):
    """5, of paths."""
    folder = tmp_path / "ward-seven"
    folder.mkdir()
    persons()[[*NUMBERS, "salary"]].to_csv(folder / "people-of-may.csv", index=False)
    release = aggopt.mask(folder / "people-of-may.csv", asked(NUMBERS))
    files = release.write(folder / "masked.csv", report=folder / "report.html")
    page = files.report.read_text("utf-8")
    for hidden in ("ward-seven", "people-of-may", release.source.sha256):
        assert hidden not in page
    assert "<bdi>masked.csv</bdi>" in page


def bare(page: str) -> str:
    """Return a page without its numbers."""
    page = re.sub('class="(pos|neg)"', "", page)
    page = re.sub(
        '<svg class="chart (broad|narrow)".*?</svg>', "", page
    )  # marks on its axes
    page = re.sub(r"&[lg]t; (1|99) %", "0 %", page)  # what rounds to none, or all
    return re.sub(r"[−+]?[\d.,]+(e[−+]\d+)?", "#", page)


@pytest.fixture(scope="module")
def even():
    """Persons of whom no bin has just about ten, and their release."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"age": rng.uniform(20, 80, N), "income": rng.uniform(2e4, 6e4, N)}
    )
    frame["salary"] = frame["income"] * rng.uniform(0.7, 1.3, N)
    return frame, aggopt.mask(frame, asked(NUMBERS))


@pytest.mark.parametrize("row", ["idxmin", "idxmax", "first"])
def test_a_neighbour_changes_rounded_figures_only(even, row):
    """6: of one record, and of the extremes, put into the middle."""
    own, release = even
    other = own.copy()
    at = 0 if row == "first" else getattr(own["income"], row)()
    other.loc[at, "income"] = own["income"].median()
    pages = [html(of_other(release, each)) for each in (own, other)]
    assert bare(pages[0]) == bare(pages[1])
    words = [re.sub("[<>] ", "", Reader(page).text).split() for page in pages]
    changed = [pair for pair in zip(*words, strict=True) if len(set(pair)) > 1]
    numbers = [re.findall(r"\d[\d.]*", word) for pair in changed for word in pair]
    assert all(digits(number) <= 3 for found in numbers for number in found)


def test_every_name_is_escaped():
    """7: of columns, of categories, of the page itself."""
    frame = persons().rename(columns={"income": NASTY, "salary": "</style><b>"})
    frame["town"] = frame["town"].map({"x": "<img src=x>", "y": "a & b", "z": "z"})
    roles = {
        "quasi-identifier": ["age", NASTY, "town"],
        "confidential": ["</style><b>"],
        "identifier": ["born"],
    }
    job = aggopt.Job(roles=roles, privacy={"k": 5}, partition={"method": "mdav"})
    release = aggopt.mask(frame, job)
    for private in (False, True):
        page = render_report(collect_facts(release, NASTY, private=private))
        assert "<script" not in page
        assert "<img" not in page
        assert "<b>a" not in page
        assert page.count("</style>") == 1
        assert NASTY in Reader(page).text
        assert "<img src=x>" in Reader(page).text


TREE = {"coast": {"quay": ["x", "y"]}, "hill": ["z", "Elba"]}
COSTS = {"*": 1.0, "coast": 0.5, "quay": 0.2, "hill": 0.5}


@pytest.mark.parametrize(
    "section",
    [
        {"groups": {"island": ["x", "Elba"]}},
        {"tree": TREE, "publish": "ancestor", "cost": COSTS},
    ],
)
def test_categories_that_no_record_publishes_are_not_in_the_job(section):
    """5, of categories: the job names merged labels, and the nodes of a tree."""
    frame = persons().drop(columns=["born", "income"])
    frame.loc[:1, "town"] = "Elba"
    release = aggopt.mask(frame, asked(["age", "town"], attributes={"town": section}))
    published = {*release.table["town"]}
    for label in {"Elba", "quay", "hill", "coast"} - published:
        assert label not in html(release)


def test_the_private_report_says_so_on_each_page_and_in_its_mode(tmp_path, mixed):
    """8: the stamp is fixed, which print repeats; the other one is for the public."""
    own = mixed.report(tmp_path / "own.html", private=True)
    public = mixed.report(tmp_path / "public.html")
    assert own.stat().st_mode & 0o777 == 0o600
    assert public.stat().st_mode & 0o044
    stamp = '<p class="stamp">Private: for the office alone</p>'
    assert stamp in own.read_text("utf-8")
    assert '<body class="private">' in own.read_text("utf-8")
    page = public.read_text("utf-8")
    assert stamp not in page
    assert "for the office alone" not in page.casefold()
    assert "Not in this page, on purpose" in page
    worst = table(own.read_text("utf-8"), "Records that moved least")
    assert len(worst) == 21
    assert worst[1][0].startswith("row ")


@pytest.mark.parametrize("known", [9, 10])
def test_nothing_is_said_of_few_originals(known):
    """2, of moments and categories: where most values are missing, and few are not."""
    frame = persons()[["age", "income", "town"]].head(60)
    frame.loc[known:, ["income", "town"]] = None
    names = ["age", "income", "town"]
    kinds = {"town": {"kind": "nominal", "rare": "publish"}}
    job = asked(names, attributes=kinds, missing={"policy": "patterns"})
    job = job.model_copy(
        update={"roles": job.roles.model_copy(update={"confidential": ()})}
    )
    page = html(aggopt.mask(frame, job))
    caption = "Means and standard deviations, and how far values moved"
    (row,) = [row for row in table(page, caption) if row[0] == "income"]
    before = [row[1], row[3], *row[5:]]
    (kept,) = table(page, "Records that keep their category")[1:]
    assert all(row[2:5:2])  # what is released of them is shown
    assert [bool(cell) for cell in [*before, kept[1]]] == [known >= 10] * 7


@pytest.mark.parametrize("n", [9, 10])
def test_of_a_table_with_few_records_no_figure_of_originals_is_shown(n):
    """2 and 4: of what was lost, linked, proven and was before; the office sees it."""
    frame = persons()[["age", "income"]].tail(n)
    roles, means = {"quasi-identifier": NUMBERS}, {"method": "mdav"}
    job = aggopt.Job(roles=roles, privacy={"k": 3}, partition=means)
    release = aggopt.mask(frame, job)
    page, text = html(release), Reader(html(release)).text
    few = n < 10
    caption = "Certificates of published values"
    assert [bool(cell) for cell in table(page, caption)[1][2:4]] == [not few] * 2
    assert ("nothing is said of fewer than 10" in text) == few
    assert ("nothing is said of their originals" in text) == few
    for shown in ("Before, ", "of the sum of squares", "squared error could be saved"):
        assert (shown in text) != few
    assert ("Attacks" in Reader(page).tables) != few
    own = html(release, private=True)
    assert table(own, caption)[1][2]
    assert "of the sum of squares" in Reader(own).text
