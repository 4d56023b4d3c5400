"""How `make mutants` judges: what counts as noticed, and what it must not pass over."""

import importlib.util
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LISTS = ROOT / "tests" / "equivalent_mutants.toml"


@pytest.fixture(scope="module")
def judge():
    path = ROOT / ".ci" / "verdicts.py"
    if not path.is_file():
        pytest.skip("mutmut copies no .ci")
    spec = importlib.util.spec_from_file_location("verdicts", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["verdicts"] = module  # dataclasses look themselves up
    spec.loader.exec_module(module)
    yield module
    del sys.modules["verdicts"]


def mutant(judge, code, change="- a\n+ b", nth=1):
    where = ("aggopt.privacy._x", "f", change, nth, "aggopt.privacy._x.x_f__mutmut_1")
    return judge.Mutant(*where, judge.verdict(code))


@pytest.mark.parametrize("code", [1, 124, 125])
def test_a_failed_test_is_noticed_and_what_stops_twice(judge, code):
    assert judge.verdict(code).noticed


@pytest.mark.parametrize(
    "code", [None, 0, 2, 3, 4, 5, 24, 33, 36, 152, 255, -2, -9, -11, -24]
)
def test_nothing_else_is_noticed(judge, code):
    assert not judge.verdict(code).noticed


@pytest.mark.parametrize("code", [2, 3, 4, 24, 36, -9, -11, -24])
def test_an_unclear_end_is_tried_again(judge, code):
    assert judge.verdict(code).again


@pytest.mark.parametrize("code", [None, 0, 1, 5, 33, 124, 125, 255])
def test_a_clear_end_is_not(judge, code):
    assert not judge.verdict(code).again


@pytest.mark.parametrize(
    ("first", "again", "ended"),
    [
        (36, -24, "timed out twice"),
        (36, 0, "survived"),
        (36, 1, "killed"),
        (36, -9, "crashed"),
        (-9, 36, "timed out"),
        (-9, -9, "crashed"),
        (-11, -11, "crashed"),
        (2, 2, "stopped pytest twice"),
        (2, 0, "survived"),
        (0, 36, "timed out"),
    ],
)
def test_two_tries_count_as_what_they_agree_upon(judge, first, again, ended):
    assert judge.verdict(judge.second(first, again)) == ended


def test_a_run_without_mutants_fails_in_words(judge):
    said = []
    assert not judge.report([], {}, {}, False, said.append)
    assert said == [
        "No mutants: nothing was tried.  To fix: ask for a name that exists."
    ]


def test_only_what_is_noticed_or_listed_passes(judge):
    killed, survived = mutant(judge, 1), mutant(judge, 0)
    why = {survived.key: "no effect"}
    assert judge.report([killed], {}, {}, False, repr)
    assert not judge.report([killed, survived], {}, {}, False, repr)
    assert judge.report([killed, survived], why, {}, False, repr)
    assert judge.report([killed, survived], {}, why, False, repr)


@pytest.mark.parametrize("code", [None, 36, -9, 2])
def test_no_list_explains_an_unclear_end(judge, code):
    one = mutant(judge, code)
    assert not judge.report([one], {one.key: "no effect"}, {}, False, repr)


def test_each_kind_is_counted_apart(judge):
    said = []
    ends = [mutant(judge, code, str(code)) for code in (1, 1, 0, 124, 125, -9)]
    listed = {ends[2].key: "no effect"}
    assert not judge.report(ends, listed, {}, False, said.append)
    assert said[1] == (
        "aggopt.privacy: 6 mutants: 1 crashed, 1 equivalent, 2 killed, "
        "1 stopped pytest twice, 1 timed out twice"
    )


def test_what_is_listed_in_vain_is_named(judge):
    said = []
    gone = mutant(judge, 1).key
    assert judge.report([mutant(judge, 1)], {gone: "?"}, {}, True, said.append)
    assert f"Listed, but gone or noticed now: {gone}" in said


BEFORE = "def f(a):\n    a = a + 1\n    b = 2\n    c = 3\n    d = 4\n    a = a + 1\n"
DIFF = """--- x
+++ x
@@ -{at},4 +{at},4 @@
 ahead
-    a = a + 1
+    a = a - 1
 behind
"""


def test_the_same_change_of_two_lines_is_two(judge):
    first = judge.change_of(BEFORE, DIFF.format(at=1))
    later = judge.change_of(BEFORE, DIFF.format(at=5))
    assert first == ("- a = a + 1\n+ a = a - 1", 1)
    assert later == ("- a = a + 1\n+ a = a - 1", 2)


def test_the_second_such_line_is_asked_for_in_the_list(judge, tmp_path):
    one = mutant(judge, 0, nth=2)
    path = tmp_path / "list.toml"
    path.write_text(f'{one}reason = "no effect"\n')
    assert judge.listed(path, "mutant", "reason") == {one.key: "no effect"}
    assert mutant(judge, 0).key not in judge.listed(path, "mutant", "reason")


SOURCE = """
class A:
    @property
    def plain(self): ...
    @abstractmethod
    def bare(self): ...
    def __new__(cls): ...
    class B:
        def inner(self): ...
@reraise_interrupts()
def mask(): ...
@staticmethod
@other
def two(): ...
if True:
    def under(): ...
@lru_cache(maxsize=1)
def cached(): ...
"""


def test_what_mutmut_leaves_out_is_named(judge):
    assert judge.left_out(SOURCE) == [
        ("A.bare", "abstractmethod"),
        ("A.__new__", "__new__"),
        ("A.B.inner", "nested"),
        ("two", "staticmethod, other"),
        ("under", "nested"),
        ("cached", "lru_cache"),
    ]


def test_nothing_is_left_out_of_what_is_to_be_changed_without_a_reason(judge):
    config = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["mutmut"]
    found = {p for one in config["only_mutate"] for p in ROOT.glob(one)}
    found -= {ROOT / one for one in config["do_not_mutate"]}
    assert len(found) > 30
    reasons = {why for p in found for _, why in judge.left_out(p.read_text("utf-8"))}
    assert reasons <= set(judge.LEFT_OUT)


def test_a_hidden_change_names_a_test_that_exists():
    for entry in tomllib.loads(LISTS.read_text("utf-8"))["hidden"]:
        file, _, name = entry["test"].partition("::")
        assert f"def {name}(" in (ROOT / file).read_text("utf-8")


@pytest.mark.parametrize(
    ("before", "after", "alone"),
    [
        ("for a, b in zip(x, y, strict=True)", "for a, b in zip(x, y, )", True),
        ("for a, b in zip(x, y, strict=True):", "for a, b in zip(x, y, ):", True),
        ("zip(x, y, strict=True)", "zip(x, y, strict=False)", True),
        ("x, y, strict=True", "x, y, strict=None", True),
        ("x, y, strict=True", "x, y,", True),
        ("zip(x, y, strict=True)", "zip(x, strict=True)", False),
        ("zip(x, y, strict=True)", "zip(x, None, strict=True)", False),
        ("zip(x, y)", "zip(x, )", False),
        ("said = cast(Section, x), k", "said = cast(None, x), k", True),
        ("said = cast(Section, x), k", "said = cast(Section, None), k", False),
        ("said = cast(Section, x), k", "said = None", False),
        ("said = recast(Section, x)", "said = recast(None, x)", False),
    ],
)
def test_a_change_of_what_only_claims_is_equivalent(judge, before, after, alone):
    change = f"- {before}\n+ {after}"
    assert judge.of_claims_alone(change) == alone
    one = judge.Mutant("aggopt.a.b", "f", change, 1, "name", judge.Verdict.SURVIVED)
    assert judge.report([one], {}, {}, True, repr) == alone
