"""What `aggopt mask` prints: fifteen lines at most, and nothing true is hidden."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tables import job, people, promising, salaried, wide, wide_job

import aggopt
from aggopt.command.show_release import (
    format_certificates,
    format_figures,
    format_release,
)
from aggopt.job import AttributeSection, Job, Mean
from aggopt.measure.types import means_by_kind
from aggopt.release.files.output_paths import ReleaseFiles
from aggopt.solvers import Certificate, Status

FILES = ReleaseFiles.of_table(Path("masked.csv"))
MOST = 15


def proof(objective, bound, status=Status.LIMIT, violation=0.0):
    return Certificate(status, objective, bound, violation, "x", 1.0)


def test_certificates_show_their_gap() -> None:
    unproven = proof(4.0, None, Status.LOCAL, 0.5)
    shown = format_certificates({"age": proof(4.0, 3.0), "income": unproven})
    header, age, income = shown
    assert header.split()[-2:] == ["gap", "violation"]
    assert age.split()[-4:] == ["4", "3", "2.5e-01", "0.0e+00"]
    assert income.split()[-4:] == ["4", "none", "none", "5.0e-01"]
    assert format_certificates({}) == []


def test_of_many_certificates_the_widest_gaps_are_shown() -> None:
    found = {f"a{j}": proof(4.0, 4.0 - j / 10, violation=j / 100) for j in range(6)}
    found["none"] = proof(4.0, None)
    shown = format_certificates(found)
    assert [line.split()[0] for line in shown[1:4]] == ["none", "a5", "a4"]
    assert shown[4] == (
        "and 4 more: gap 7.5e-02 at most, violation 3.0e-02 at most: see the manifest."
    )
    alone = {f"b{j}": proof(4.0, None) for j in range(5)}
    assert format_certificates(alone)[4].startswith(
        "and 2 more: 2 without a bound, violation"
    )
    both = {**alone, **found}
    rest = format_certificates(both)[4]
    assert rest.startswith("and 9 more: 3 without a bound, gap 1.2e-01 at most")
    four = dict(list(found.items())[:4])
    assert [line.split()[0] for line in format_certificates(four)[1:]] == list(four)


def test_long_names_and_lines_in_names_stay_in_their_line() -> None:
    names = {"groups of age, income, hours, sex, smoker, region": proof(1.0, 1.0)}
    assert format_certificates(names)[1].startswith(
        "groups of age, income, hours, sex, …  "
    )
    header, row = format_certificates({"a\nb" + "x" * 200: proof(1.0, 1.0)})
    assert row.startswith("a bxxx")
    assert row.split("  ")[0].endswith("…")
    assert len(row.split("  ")[0]) == 40
    assert header.startswith("attribute")


@pytest.fixture(scope="module")
def release():
    return aggopt.mask(people(), job())


def test_a_release_is_said_in_lines(release) -> None:
    lines = format_release(release, FILES)
    assert len(lines) <= MOST
    assert lines[0] == release.audit.verdict
    assert lines[1] == f"AMBER: {release.audit.seal.advice}"
    del lines[1]
    m = release.measures
    assert f"records linked one to one {100 * m.linkage:.2f} %" in lines[1]
    assert f"(at most {100 * m.linkage_limit:.2f} %)" in lines[1]
    assert f"to the nearest record {100 * m.dld:.2f} % (DLD)" in lines[1]
    near = f"{100 * m.sdid:.2f} % ({100 * m.sdid_chance:.2f} % by chance, SDID)"
    assert f"within 0.05 standard deviations {near}" in lines[1]
    assert f"Loss: {100 * m.il:.2f} % of the sum of squares (IL);" in lines[2]
    assert f"{100 * m.pil:.2f} % (PIL)" in lines[2]
    assert f"{100 * m.si:.2f} % (SI, 0 is best)" in lines[2]
    shown = [line.split("  ")[0] for line in lines[3:7]]
    assert shown == ["attribute", "groups of age, income", "age", "income"]
    assert lines[-2] == "Masked table   masked.csv"
    reported = replace(FILES, report=Path("r.html"))
    shown = "Masked table   masked.csv; report for the public r.html"
    assert format_release(release, reported)[-2] == shown
    assert "masked.manifest.json (how it was made" in lines[-1]
    assert "masked.private.csv (links records to groups)" in lines[-1]


def test_losses_of_numbers_and_of_categories_are_said_separately() -> None:
    roles = {"quasi-identifier": ["age", "income", "illness"]}
    asked = Job(roles=roles, privacy={"k": 4})
    frame = people()[["age", "income", "illness"]]
    release = aggopt.mask(frame, asked)
    numbers, categories = means_by_kind(release.measures.to_dict(), "il")
    (loss,) = [
        line for line in format_release(release, FILES) if line.startswith("Loss: ")
    ]
    assert loss.startswith(
        f"Loss: {100 * release.measures.il:.2f} % of the sum of squares (IL: numbers "
        f"{100 * numbers:.2f} %, categories {100 * categories:.2f} %); "
    )
    (risk,) = [
        line for line in format_release(release, FILES) if line.startswith("Risk: ")
    ]
    share = release.measures.types["sdid"]["illness"]
    assert f"categories published as the original {100 * share:.2f} %" in risk


@pytest.mark.parametrize("section", [{}, {"partition": {"method": "recommended"}}])
def test_the_reason_of_a_method_that_was_chosen_is_one_line(section, release) -> None:
    plain = {"roles": release.job.roles, "privacy": release.job.privacy}
    chosen = aggopt.mask(people(), Job(**plain, **section))
    lines = format_release(chosen, FILES)
    (reason,) = (line for line in lines if "was chosen" in line)
    assert reason in chosen.notes
    assert f"The partition {chosen.job.partition.method!r} was chosen: " in reason
    assert len(lines) <= MOST
    assert not any("was chosen" in line for line in format_release(release, FILES))


@pytest.mark.parametrize(
    ("how", "drawn"), [({"method": "mean"}, False), ({"method": "p3m"}, True)]
)
def test_margins_are_named_after_the_objectives_that_include_them(how, drawn) -> None:
    lines = format_release(aggopt.mask(people(), job(aggregation=how)), FILES)
    last = max(j for j, line in enumerate(lines) if line.startswith("income"))
    assert lines[last + 1].startswith("Objectives include the secret margins") == drawn


def test_notes_that_are_too_many_are_counted(release) -> None:
    plain = replace(release, urgent=0, trivial=0)
    three = replace(plain, notes=("one", "two", "three"))
    assert [x for x in format_release(three, FILES) if x.startswith("Note")] == [
        "Note: one", "Note: two", "Note: three",
    ]  # fmt: skip
    four = replace(plain, notes=("one", "two", "three", "four"))
    shown = format_release(four, FILES)[-5:-2]
    more = "2 more notes: see notes in masked.manifest.json."
    assert shown == ["Note: one", "Note: two", more]


def test_urgent_notes_are_all_printed_and_trivial_ones_never(release) -> None:
    letters = tuple("abcdefgh")
    many = replace(release, notes=letters, urgent=5, trivial=1)
    shown = [line for line in format_release(many, FILES) if line.startswith("Note")]
    assert shown == [f"Note: {letter}" for letter in "abcdefg"]
    more = replace(release, notes=(*letters, "i", "j"), urgent=5, trivial=1)
    shown = format_release(more, FILES)
    assert "Note: g" in shown
    assert not any(line in ("Note: h", "Note: j") for line in shown)
    assert any(line.startswith("2 more notes: see notes in") for line in shown)


def test_what_persons_may_lose_is_noted_first() -> None:
    rng = np.random.default_rng(1)
    amounts = np.append(rng.lognormal(0.0, 0.2, 59), 5000.0)
    frame = pd.DataFrame({"amount": amounts, "id": range(60)})
    asked = Job(
        roles={"quasi-identifier": ["amount"], "other": ["id"]},
        privacy={"k": 3},
        partition={"method": "mdav"},
    )
    release = aggopt.mask(frame, asked)
    telling, dominance, _ = release.notes[: release.urgent]
    assert telling == "'id' (other) differs in every record: is it an identifier?"
    assert dominance.startswith("One record makes up more than ")


@pytest.mark.parametrize("policy", ["patterns", "fill"])
def test_what_incomplete_records_cost_is_always_printed(policy) -> None:
    frame = people().assign(sex=["f", "m"] * 20)
    frame.loc[:8, "income"] = np.nan
    asked = Job(
        roles={
            "identifier": ["name"],
            "quasi-identifier": ["age", "income", "sex"],
            "other": ["illness", "note"],
        },
        privacy={"k": 3},
        missing={"policy": policy},
        aggregation={"method": "p3m"},
    )
    release = aggopt.mask(frame, asked)
    urgent = release.notes[: release.urgent]
    measured = "measured on the 31 of 40 records of which nothing is missing"
    gone = {
        "patterns": "9 values of quasi-identifiers are missing, in",
        "fill": "9 values that are missing in the original are filled with",
    }
    assert any(measured in note for note in urgent)
    assert any(note.startswith(gone[policy]) for note in urgent)
    assert all(f"Note: {note}" in format_release(release, FILES) for note in urgent)
    assert len(set(release.notes)) == len(release.notes)


def test_that_a_margin_of_zero_gives_originals_away_is_always_printed() -> None:
    how = {"method": "p3m", "margin": 0.0}
    release = aggopt.mask(people(), job(aggregation=how))
    urgent = release.notes[: release.urgent]
    assert any(note.startswith("margin = 0: wherever a wish") for note in urgent)


def test_values_below_zero_are_printed_with_the_bound_that_avoids_them() -> None:
    frame = pd.DataFrame({"amount": np.random.default_rng(0).gamma(0.7, 1.0, 60)})
    asked = Job(
        roles={"quasi-identifier": ["amount"]},
        privacy={"k": 6},
        partition={"method": "mdav"},
        aggregation=Mean(keep="variance"),
    )
    release = aggopt.mask(frame, asked)
    (beyond,) = release.notes[: release.urgent]
    assert (release.table["amount"] < 0).any()
    assert beyond.startswith(
        "Released values outside the range of the originals, of 60"
    )
    assert "Below 0, where no original is: 'amount'; lower = 0 under" in beyond
    assert f"Note: {beyond}" in format_release(release, FILES)
    bounds = {"amount": AttributeSection(lower=0.0)}
    bounded = aggopt.mask(frame, asked.model_copy(update={"attributes": bounds}))
    assert (bounded.table["amount"] >= 0).all()
    assert not any("Below 0" in note for note in bounded.notes)


def test_the_worst_case_has_fifteen_lines() -> None:
    wished = wide(80)
    asked = wide_job(
        partition={"method": "individual_ranking"}, privacy={"k": 3, "scope": "blocks"}
    )
    release = aggopt.mask(wished, asked)
    assert release.audit.warning
    plain = replace(release, notes=tuple("abcde"), urgent=0, trivial=0)
    lines = format_release(plain, FILES)
    assert len(lines) == MOST
    assert sum(line.startswith("WARNING") for line in lines) == 1
    assert all("\n" not in line for line in lines)


def test_all_that_is_promised_of_values_is_one_line() -> None:
    release = aggopt.mask(salaried(), promising(l=2, t=0.9, repair="merge"))
    checks = [str(check) for check in release.audit.checks]
    assert len(checks) == 2
    assert format_release(release, FILES)[1] == " ".join(checks)


def test_what_was_not_measured_has_no_line(release) -> None:
    assert format_figures(None) == []
    own = replace(release.measures, own=(("mine", 0.125),))
    assert format_figures(own)[1].endswith("; mine 0.125.")
