"""Laws by kind: what is tried, what is said of it, exceptions, refusals."""

import json
import re
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path

import cvxpy as cp
import numpy as np
import pytest
from checks.tried import by
from contract_rows import rows_of
from refusals import refused

from aggopt.checks import (
    Ending,
    LawBrokenError,
    checks_of,
    parametrize_with_checks,
    report,
)
from aggopt.checks._kinds import KINDS
from aggopt.core.registry import Method
from aggopt.errors import JobError, UnknownNameError
from aggopt.measure import MEASURES, sse
from aggopt.models import MODELS
from aggopt.partition import PARTITIONERS, mdav

LAW = "units_do_not_matter"


def in_euros(original, released):
    return float(np.abs(np.subtract(original, released)).mean())


def halves(X, k):
    return np.minimum(np.arange(len(X)) // max(k, len(X) // 2), 1)


def test_a_broken_law_says_what_was_seen():
    verdict = by(LAW, in_euros)
    assert verdict.ending is Ending.BROKEN
    assert verdict.why.startswith("noise, other units: value is ")
    assert str(verdict).startswith("in_euros, units_do_not_matter: broken: noise")
    (trial,) = (t for t in checks_of(in_euros) if t.law.name == LAW)
    with pytest.raises(
        LawBrokenError, match="the units and origins of both tables"
    ) as said:
        trial()
    assert isinstance(said.value, AssertionError)
    assert str(trial) == f"in_euros-{LAW}"


def test_what_crashes_is_broken_and_the_crash_is_named():
    def crashing(original, released):
        raise ZeroDivisionError("of what")

    verdict = by("repeats_itself", crashing)
    assert (verdict.ending, verdict.why) == (
        Ending.BROKEN,
        "ZeroDivisionError: of what",
    )


def test_a_declared_exception_is_said_with_its_reason():
    excused = partial(in_euros)
    excused.excused = {LAW: "it is of euros"}
    assert by(LAW, excused).ending is Ending.EXCUSED
    assert by(LAW, excused).why == "it is of euros"
    assert by("repeats_itself", excused).ending is Ending.KEPT
    method = replace(MEASURES["sse"], function=in_euros, excused={LAW: "of euros"})
    assert by(LAW, method).why == "of euros"


def test_an_exception_that_is_not_needed_hides_nothing():
    kept = partial(sse)
    kept.excused = {LAW: "it is of euros"}
    assert by(LAW, kept).ending is Ending.KEPT


@pytest.mark.parametrize("declared", [{LAW: ""}, {LAW: None}, [LAW], {LAW: " "}])
def test_an_exception_without_a_reason_is_refused(declared):
    thing = partial(in_euros)
    thing.excused = declared
    with refused(JobError):
        next(checks_of(thing))


def test_an_exception_to_no_law_is_refused_with_the_nearest():
    thing = partial(in_euros)
    thing.excused = {"unit_do_not_matter": "it is of euros"}
    with refused(UnknownNameError, "'units_do_not_matter'"):
        next(checks_of(thing))


@pytest.mark.parametrize("nothing", [3, np.mean, dict, Method(name="x", when="never")])
def test_what_no_laws_are_of_is_refused(nothing):
    with refused(JobError):
        next(checks_of(nothing))


def test_settings_are_given_by_name():
    with refused(JobError, "by their places"):
        next(checks_of(partial(mdav, [[1.0]])))
    named = next(checks_of(partial(mdav, ending="nearest")))
    assert named.thing == "mdav(ending='nearest')"


def test_a_function_of_this_package_is_its_method():
    assert {t.thing for t in checks_of(mdav)} == {"mdav"}
    subject = next(checks_of(partial(PARTITIONERS["local_search"].function))).subject
    assert subject.excused == PARTITIONERS["local_search"].excused
    assert subject.public


def test_each_law_says_itself_in_a_sentence():
    things = [mdav, sse, MODELS["p3m"]]
    for law in {trial.law for thing in things for trial in checks_of(thing)}:
        assert law.says.endswith(".")
        assert law.says[0].isupper() or law.says[0] == "`"


def test_the_page_lists_each_law_of_each_kind():
    page = (Path(__file__).parents[2] / "docs" / "checks.md").read_text("utf-8")
    for noun, home, _ in KINDS.values():
        part = page.split(f"### {noun.capitalize()}s\n")[1].split("###")[0]
        laws = import_module(f"aggopt.checks.{home}").LAWS
        rows = [f"| `{law.name}` | {law.says} |" for law in laws]
        assert re.findall(r"^\| `.*$", part, re.MULTILINE) == rows


@pytest.mark.parametrize(
    ("head", "name"),
    [("A partition method", "split"), ("A model", "capped"), ("A solver", "stretch")],
)
def test_what_the_page_on_own_code_shows_breaks_no_law(head, name):
    page = (Path(__file__).parents[2] / "docs" / "extending.md").read_text("utf-8")
    part = page.split(f"## {head}\n")[1]
    made = {"cp": cp}
    exec(re.search(r"^```python\n(.*?)^```$", part, re.S | re.M)[1], made)
    endings = {v.law.name: v.ending for v in report(made[name])}
    assert Ending.KEPT in endings.values()
    assert Ending.BROKEN not in endings.values()
    excused = {law for law, ending in endings.items() if ending is Ending.EXCUSED}
    assert excused == getattr(made[name], "excused", {}).keys()


def test_under_pytest_a_trial_is_a_test():
    excused = partial(in_euros)
    excused.excused = {LAW: "it is of euros"}
    mark = parametrize_with_checks(halves, excused).mark
    (names, tests), ids = mark.args, mark.kwargs["ids"]
    assert names == "check"
    by_id = dict(zip(ids, tests, strict=True))
    assert "halves-groups_have_k_records" in by_id
    with pytest.raises(LawBrokenError):
        by_id["halves-groups_lose_less_than_chance"]()
    with pytest.raises(pytest.skip.Exception, match="takes no time_limit"):
        by_id["halves-a_time_limit_is_kept"]()
    with pytest.raises(pytest.xfail.Exception, match="it is of euros"):
        by_id[
            f"in_euros()-{LAW}" if f"in_euros()-{LAW}" in by_id else f"in_euros-{LAW}"
        ]()


FILE = """
import numpy as np
from aggopt.partition import mdav


def share(original, released):
    original, released = np.asarray(original, float), np.asarray(released, float)
    varies = original.std(axis=0) > 0
    away = np.abs(original - released)[:, varies] / original.std(axis=0)[varies]
    return away.mean()


def first(original, released):
    return float(np.abs(original - released)[0, 0])


def helper(x):
    return x
"""


@pytest.fixture
def code(tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text(FILE)
    monkeypatch.chdir(tmp_path)
    return "mine.py"


def test_the_command_holds_a_file_to_the_laws(code, aggopt):
    ended, out, err = aggopt("check", f"{code}:share")
    assert (ended, err) == (0, "")
    assert out.startswith("mine.py:share  sha256 ")
    assert "  kept      units_do_not_matter" in out
    assert "9 laws: 9 kept" in out
    *_, last, trust = out.splitlines()
    assert last == "No law is broken."
    assert trust.startswith("aggopt mask tries no law: it runs the file, if a job")
    assert "--trust mine.py, and counts" in trust


def test_the_command_says_which_laws_are_broken(code, aggopt):
    ended, out, _ = aggopt("check", code)
    assert ended == 1
    assert "share:" in out
    assert "first:" in out
    assert "helper" not in out
    assert "      It does not depend on the units and origins of both tables." in out
    assert "      Seen: noise, other units: value is" in out
    ended, out, _ = aggopt("check", f"{code}:first", "--json")
    said = json.loads(out)
    assert (ended, said["code"]) == (1, "mine.py:first")
    assert said["broken"] == sum(law["ending"] == "broken" for law in said["laws"]) > 2
    assert len(said["sha256"]) == 64


EXCUSED = """
import numpy as np


def euros(original, released):
    return float(np.abs(original - released).mean())


euros.excused = {%r: %r}
"""
OWN = Path(__file__).parents[2] / "examples" / "own" / "median_mean.py"
CASES = {  # by the row of the page: words on the command line, and the file
    "a file with a function of a kind": (["good.py"], FILE.partition("def first")[0]),
    "a file whose function breaks a law": (["mine.py"], FILE),
    "a file with the parts of a model": (["own.py"], OWN.read_text("utf-8")),
    "an object of a file": (["mine.py:share"], FILE),
    "a file that is not there": (["none.py"], ""),
    "an object that the file does not have": (["mine.py:shares"], FILE),
    "a function of no kind": (["mine.py:helper"], FILE),
    "a file with nothing of a kind": (["bare.py"], "x = 3"),
    "a job together with a file of code": (["mine.py", "job.toml"], FILE),
    "a table without a job": (["people.csv"], ""),
    "an exception without a reason": (["no.py"], EXCUSED % (LAW, " ")),
    "an exception to a law that there is not": (
        ["no.py"],
        EXCUSED % ("unit_do_not_matter", "it is of euros"),
    ),
}


def rows():
    return rows_of("Code tested against laws")


def test_the_page_and_the_tests_list_the_same_inputs():
    assert list(rows()) == list(CASES)


@pytest.mark.parametrize("name", CASES)
def test_each_row_of_the_contract(tmp_path, monkeypatch, aggopt, name):
    (words, code), (outcome, says) = CASES[name], rows()[name]
    file = words[0].partition(":")[0]
    if code:
        (tmp_path / file).write_text(code, "utf-8")
    monkeypatch.chdir(tmp_path)
    ended, out, err = aggopt("check", *words)
    exits = {"refused": 2, "tried, exit code 1": 1, "tried": 0}
    assert ended == exits[outcome], out + err
    assert says in (" ".join(err.split()) if ended == 2 else out)


def test_a_file_with_a_model_is_held_to_the_laws_of_models(aggopt, request):
    ended, out, _ = aggopt("check", str(request.path.with_name("median_mean.py")))
    assert ended == 0, out
    assert "median_mean:" in out
    assert "kept      languages_and_numpy_agree" in out


def capped(x, labels, sizes, *, cap=1.5):
    import cvxpy as cp

    c = cp.Variable(len(sizes), name="c")
    off = c[labels] - x
    cost = cp.Minimize(cp.sum_squares(off))
    return cp.Problem(cost, [cp.abs(off) <= cap, sizes @ c == 0])


def test_a_function_that_declares_a_program_is_a_model():
    verdicts = list(report(capped))
    endings = {verdict.ending for verdict in verdicts}
    assert endings == {Ending.KEPT, Ending.NOT_TRIED}
    (trial,) = (t for t in checks_of(partial(capped, cap=0.01)) if "solved" in str(t))
    assert "small data end as infeasible" in trial.verdict().why


def test_centroids_are_taken_from_an_aggregator_as_a_job_takes_them():
    def middle(X, labels):
        groups = [X[labels == g] for g in range(labels.max() + 1)]
        return np.array([(g.min(axis=0) + g.max(axis=0)) / 2 for g in groups])

    assert Ending.BROKEN not in {verdict.ending for verdict in report(middle)}
    verdicts = {v.law.name: v for v in report(lambda X, labels: X)}
    why = verdicts["one_value_for_a_group_and_attribute"].why
    assert "they have shape (24, 3)" in why


def test_a_function_of_records_groups_and_k_is_a_repair():
    def one_group(X, labels, k, *, broken, always=False):
        return 0 * labels if always or broken(labels).any() else labels

    verdicts = {v.law.name: v for v in report(one_group)}
    assert {v.ending for v in verdicts.values()} == {Ending.KEPT, Ending.NOT_TRIED}
    verdicts = {v.law.name: v for v in report(partial(one_group, always=True))}
    assert verdicts["groups_that_satisfy_it_lose_nothing"].ending is Ending.BROKEN
    verdicts = {v.law.name: v for v in report(lambda X, labels, k: labels)}
    assert "do not satisfy" in verdicts["it_keeps_k_and_what_it_adds"].why


def test_a_report_goes_on_after_a_broken_law():
    endings = [verdict.ending for verdict in report(in_euros)]
    assert endings.count(Ending.BROKEN) >= 1
    assert endings.count(Ending.KEPT) >= 5
