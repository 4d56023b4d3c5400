"""The head of a report: the seal, tiles, columns of the file, filled values."""

import json
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from reading import Reader, table
from tables import MDAV

import aggopt
from aggopt.measure.criteria import AttackResult, Criteria
from aggopt.release.audit.originals import Unchanged
from aggopt.release.report.page import format_share
from aggopt.release.report.release_report import collect_facts, render_report
from aggopt.release.report.sections.headline import bound_saving, make_headline
from aggopt.solvers import Certificate, Status

N = 60


def survey() -> pd.DataFrame:
    """Persons in households, all of whom their household and age single out."""
    rng = np.random.default_rng(3)
    return pd.DataFrame(
        {
            "income": rng.gamma(4.0, 1e3, N).round(1),
            "wealth": rng.gamma(2.0, 1e4, N).round(1),
            "house": np.arange(N) // 12,
            "person": np.arange(N) % 12,
            "region": np.arange(N) % 3,
            "debt": rng.normal(0.0, 1e3, N).round(2),
            "name": [f"n{j}" for j in range(N)],
        }
    )


def masked(**roles: list[str]) -> aggopt.Release:
    """Return a release in which k = 4; columns without a role here are dropped."""
    named = {"quasi-identifier": ["income", "wealth"], **roles}
    known = {name for names in named.values() for name in names}
    rest = [name for name in survey() if name not in known]
    asked = aggopt.Job(
        roles={**named, "identifier": rest}, privacy={"k": 4}, partition=MDAV
    )
    return aggopt.mask(survey(), asked)


def page_of(release: aggopt.Release, **changed) -> str:
    return render_report(replace(collect_facts(release, "masked.csv"), **changed))


@pytest.mark.parametrize(
    ("roles", "state", "heading", "risk"),
    [
        ({}, "green", "k = 4 holds", None),
        (
            {"confidential": ["debt"]},
            "green",
            "k = 4 holds",
            "If somebody knew 'debt', 60 of 60 records would be unique.",
        ),
        (
            {"other": ["region", "person", "house"], "confidential": ["debt"]},
            "amber",
            "k = 4 holds, but 60 of 60 records are unique with 'person' and 'house'",
            None,
        ),
    ],
)
def test_the_seal_is_the_same_in_all_that_shows_it(roles, state, heading, risk):
    release = masked(**roles)
    seal = release.audit.seal
    assert (seal.state, seal.heading) == (state, heading)
    assert seal.risks == (() if risk is None else (risk,))
    page = page_of(release)
    assert f'class="verdict {state}"' in page
    head = f"{heading} {risk or 'Every combination'}"
    assert head in Reader(page).text
    assert release.manifest()["audit"]["seal"]["state"] == state
    assert heading.replace("'", "&#x27;") in release._repr_html_()


def test_strata_that_k_is_counted_in_leave_the_seal_green():
    assert masked(stratum=["region"]).audit.seal.state == "green"


def test_blocks_whose_combination_tells_records_apart_are_amber():
    alone = aggopt.Job(
        roles={
            "quasi-identifier": ["income", "wealth"],
            "identifier": ["house", "person", "region", "debt", "name"],
        },
        privacy={"k": 4, "scope": "blocks"},
        partition={"method": "individual_ranking"},
    )
    audit = aggopt.mask(survey(), alone).audit
    assert audit.unique > 0
    assert audit.seal.heading == (
        f"k = 4 holds, but {audit.unique} of 60 records are unique with all 2 masked "
        "columns"
    )
    assert audit.warning in audit.seal.risks


def percents(cell: str) -> int:
    return int(re.sub(r"\D", "", cell))


LINKS = ("Nearest record", "One-to-one assignment")


@pytest.mark.parametrize(
    "table_of", [lambda: masked(confidential=["debt"]), lambda: with_categories()]
)
def test_the_tile_names_the_best_link_and_the_best_guesses(table_of):
    page = page_of(table_of())
    rows = {row[0]: row[2:] for row in table(page, "Attacks")[1:]}
    name = max(LINKS, key=lambda link: percents(rows[link][0]))
    success, chance, limit = rows[name]
    shown = (
        f"Correct matches {success} by {name}, the best attack; {chance} by chance; "
        f"groups allow {limit} at most. Values: "
    )
    gains = {
        other: percents(row[0]) - percents(row[1])
        for other, row in rows.items()
        if other not in LINKS
    }
    masked_values = max(gains.keys() - {"Guess of debt"}, key=gains.get)
    best = [masked_values, *(["Guess of debt"] if "Guess of debt" in gains else [])]
    shown += "; ".join(
        f"{name} {rows[name][0]} ({rows[name][1]} by chance)"
        for name in best
        if gains[name] > 0
    )
    assert shown + "." in Reader(page).text.replace("\N{NO-BREAK SPACE}", " ")


def test_a_guess_that_is_no_better_than_chance_is_in_no_tile():
    frame = survey()[["income", "wealth"]].sort_values("income", ignore_index=True)
    roles = {"quasi-identifier": ["income", "wealth"], "confidential": ["illness"]}
    asked = aggopt.Job(roles=roles, privacy={"k": 4}, partition=MDAV)
    illness = ["flu", "none", "none"] * 20
    facts = collect_facts(
        aggopt.mask(frame.assign(illness=illness), asked), "masked.csv"
    )
    assert "Guess of illness" not in make_headline(facts).cards[0][2]


@pytest.mark.parametrize(
    ("illness", "says"),
    [
        (["flu", "none", "none"] * 20, "does not help an intruder to guess illness"),
        (["flu"] * 30 + ["none"] * 30, "guesses illness better"),
    ],
)
def test_a_guess_is_called_better_only_if_it_beats_chance(illness, says):
    frame = survey()[["income", "wealth"]].sort_values("income", ignore_index=True)
    roles = {"quasi-identifier": ["income", "wealth"], "confidential": ["illness"]}
    asked = aggopt.Job(roles=roles, privacy={"k": 4}, partition=MDAV)
    page = page_of(aggopt.mask(frame.assign(illness=illness), asked))
    (row,) = [row for row in table(page, "Attacks") if row[0] == "Guess of illness"]
    assert (percents(row[2]) > percents(row[3])) == ("better" in says)
    assert says in Reader(page).text


def with_categories() -> aggopt.Release:
    """Return a release of two numbers, and a category that nearly all records keep."""
    frame = survey()[["income", "wealth"]].assign(
        sex=np.where(survey()["income"] > 4000, "f", "m"), all="x"
    )
    roles = {"quasi-identifier": list(frame)}
    return aggopt.mask(frame, aggopt.Job(roles=roles, privacy={"k": 4}))


def test_numbers_and_categories_have_losses_and_attacks_of_their_own(tmp_path):
    release = with_categories()
    release.write(tmp_path / "masked.csv", report=tmp_path / "report.html")
    stated = json.loads((tmp_path / "masked.manifest.json").read_text())["measures"]
    one = stated["attributes"]
    assert not one["all"]["varies"]
    lost = np.mean([one[name]["il"] for name in ("income", "wealth")])
    page = (tmp_path / "report.html").read_text()
    said = Reader(page).text.replace("\N{NO-BREAK SPACE}", " ")
    assert format_share(lost) != format_share(stated["il"])
    assert (
        f"Information lost {format_share(lost)} of the sum of squares of numbers; "
        f"{format_share(one['sex']['il'])} of that of categories" in said
    )
    assert f"on average by {format_share(lost)} (the information lost)" in said
    rows = {row[0]: row[2:4] for row in table(page, "Attacks")[1:]}
    assert rows["Published category"] == [
        format_share(one["sex"]["sdid"]),
        format_share(one["sex"]["sdid_chance"]),
    ]
    near = np.mean([one[name]["sdid"] for name in ("income", "wealth")])
    assert rows["Value interval"][0] == format_share(near)


@pytest.mark.parametrize(("margin", "drawn"), [(None, True), (0, False)])
def test_margins_are_named_next_to_the_objectives_that_include_them(margin, drawn):
    how = {"method": "p3m", **({} if margin is None else {"margin": margin})}
    roles = {"quasi-identifier": ["income", "wealth"]}
    asked = aggopt.Job(roles=roles, privacy={"k": 4}, aggregation=how)
    page = page_of(aggopt.mask(survey()[["income", "wealth"]], asked))
    proven = page[page.index('id="proof"') : page.index('id="choice"')]
    assert ("draws its own secret margins" in proven) == drawn


def test_no_heading_of_the_columns_is_said_twice():
    assert page_of(masked()).count(">Columns of the file<") == 1


@pytest.mark.parametrize(
    ("records", "shown"),
    [
        (None, "not counted the originals were not compared"),
        (0, "0 % of"),
        (1, "2 % of"),
        (60, "100 % of"),
    ],
)
def test_a_tile_says_how_many_records_are_published_unchanged(records, shown):
    release = masked()
    same = None if records is None else Unchanged(records=records, cells={})
    release = replace(release, audit=replace(release.audit, unchanged=same))
    assert f"Published unchanged {shown}" in Reader(page_of(release)).text


def test_a_tile_says_how_much_less_other_groups_could_lose():
    proven = Certificate(Status.OPTIMAL, 4.0, 4.0, 0.0, "x", 1.0)
    loose = Certificate(Status.LIMIT, 4.0, 2.58, 0.0, "x", 1.0)
    unknown = Certificate(Status.LOCAL, 4.0, None, 0.0, "x", 1.0)
    assert bound_saving([proven, loose]) == pytest.approx(1.42 / 8)
    assert bound_saving([proven, unknown]) is None
    facts = collect_facts(masked(), "masked.csv")
    for found, figure in (
        ({"a": loose}, "at most 36 % less loss"),
        ({"a": proven}, "no"),
        ({"a": loose, "b": unknown}, "unknown"),
    ):
        of_groups = replace(facts, groups=found)
        card = make_headline(of_groups).cards[-1]
        assert card[:2] == ("Could better groups exist?", figure)
        assert "for these groups the values are proven best" in card[2]


def test_every_column_of_the_file_is_listed_with_its_role():
    roles = {"other": ["house"], "confidential": ["debt"], "stratum": ["region"]}
    release = masked(**roles)
    rows = table(page_of(release), "Role of each column")[1:]
    assert [row[0] for row in rows] == list(release.table.columns)
    said = {row[0]: row[1:] for row in rows}
    assert said["income"] == [
        "quasi-identifier",
        "masked: one value for each group; keeps mean",
    ]
    assert said["house"] == [
        "other",
        "published unchanged; others may know it of a person",
    ]
    assert said["debt"][0] == "confidential"
    assert said["region"][1] == "published unchanged; no group straddles its values"
    assert "name" not in said


def test_values_that_were_filled_in_are_told_and_their_means_are_not_called_safe():
    frame = survey()[["income", "wealth", "debt"]]
    frame.loc[np.arange(0, N, 5), "income"] = np.nan
    frame.loc[:2, "wealth"] = np.nan
    asked = aggopt.Job(
        roles={"quasi-identifier": ["income", "wealth", "debt"]},
        privacy={"k": 4},
        missing={"policy": "fill"},
        attributes={"debt": {"upper": 9000.0}},
        partition=MDAV,
    )
    page = page_of(aggopt.mask(frame, asked))
    text = Reader(page).text
    assert "values were filled in: income 12, wealth fewer than 10." in text
    means = "means of masked numbers, as in the originals of these records but for"
    assert f"{means} rounding." in text
    assert "Not of income, wealth: see below." in text
    assert "Attacks and losses are of the records without any missing." in text
    rows = {row[0]: row[2] for row in table(page, "Role of each column")[1:]}
    assert rows["income"].endswith("12 missing values filled in")
    assert rows["debt"].startswith("masked: one value for each group; at most 9000")
    assert 'policy = "fill"' in text
    assert "[attributes.debt]" in text


def test_where_all_numbers_have_filled_values_no_mean_is_called_safe():
    facts = replace(collect_facts(masked(), "x"), filled={"income": 20, "wealth": 20})
    assert "Safe:" not in Reader(render_report(facts)).text


def test_a_report_of_written_files_knows_what_the_manifest_knows(tmp_path):
    frame = survey()[["income", "wealth"]]
    frame.loc[:11, "income"] = np.nan
    frame.loc[20:, ["income", "wealth"]] = 7.0
    asked = aggopt.Job(
        roles={"quasi-identifier": ["income", "wealth"]},
        privacy={"k": 4},
        missing={"policy": "fill"},
        partition=MDAV,
    )
    from aggopt.pipeline.review.report_data import read_report_data

    release = aggopt.mask(frame, asked)
    release.write(tmp_path / "masked.csv")
    facts = read_report_data(tmp_path / "masked.csv")
    assert facts.unchanged == release.audit.unchanged.records > 0
    assert facts.filled == {"income": 12}


@pytest.mark.parametrize(
    ("rate", "state"), [(0.1, "green"), (0.2, "amber"), (0.5, "red")]
)
def test_an_attack_that_the_release_helps_is_amber_up_to_one_in_k(rate, state):
    attack = AttackResult("linkability", "", 1000, 1000, rate, 0.01, 0.1, 0.99)
    page = page_of(masked(), criteria=Criteria((attack,), 0.99, 50))
    section = page.split('<section id="criteria"')[1].split("</section>")[0]
    assert re.findall('<p class="verdict (.+?)"', section) == [state] * (rate > 0.1)
    seal = re.findall('<section id="promise" class="verdict (.+?)"', page)
    assert seal == ["amber" if rate > 0.1 else "green"]
    assert ("The release helps an intruder" in page) == (rate > 0.1)
    assert f"{100 * rate:.0f} %" in section
