"""Change the code in small ways, one at a time, and list what no test notices.

Usage: python .ci/mutants.py [--again | --on] [PATTERN ...]

mutmut makes the changes ("mutants") and runs, of each, the tests that call the changed
function; `[tool.mutmut]` in pyproject.toml says in which files and by which tests.
Here it learns decorated functions, which it leaves out by itself, is asked for one
change of each text instead of three, and runs the likeliest tests first.  Only what
stands in functions is changed: not the constants of a module, nor fields of a class,
nor default values that are more than a name, a number or a text, nor compiled kernels.

A mutant that no test notices fails the run, unless tests/equivalent_mutants.toml says
why nothing can notice it.  Time-outs, crashes and interruptions are tried again, alone
and with more time.  So does a function fail it that mutmut would leave out unasked.
PATTERN such as "aggopt.privacy*" runs some only; --again runs, of these, what was not
noticed last time, with more tests.  --on goes on with a run that was stopped: it tries
what has not been tried, and functions that have changed since.  Without any, all begins
anew.
"""

import fnmatch
import os
import re
import shutil
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import libcst as cst
import mutmut.__main__ as mutmut
from mutmut.mutation import diff_apply, file_mutation
from mutmut.runners.harness import PytestRunner
from mutmut.state import state
from mutmut.utils.file_utils import walk_mutatable_files
from mutmut.workers.isolation import ForkServerRunner
from verdicts import (
    DECORATORS,
    LEFT_OUT,
    Mutant,
    Verdict,
    change_of,
    left_out,
    listed,
    report,
    second,
    verdict,
)

RESULTS = Path("mutants")
CALLS = RESULTS / "mutmut-stats.json"
LISTS = Path("tests/equivalent_mutants.toml")
SHARED = Path("../shared/data")
FIRST = 25  # tests, in a session of their own: most changes are noticed by these
SECONDS = 4.0  # of tests a mutant; more would notice little, and late
MORE = 60.0  # the same, of those that --again tries
LIMIT = 80  # seconds of processor for these; half as many by the clock
GENEROUS = 480  # the same, of the second try


def learn() -> None:
    """Let mutmut change what `DECORATORS` decorate, and each text in one way."""
    skips = file_mutation.MutationVisitor._skip_node_and_children
    arranged = file_mutation.function_trampoline_arrangement

    def skip(self: file_mutation.MutationVisitor, node: cst.CSTNode) -> bool:
        return not _learnt(node) and skips(self, node)

    def arrange(
        function: cst.FunctionDef, mutants: object, class_name: str | None
    ) -> object:
        if not _learnt(function):
            return arranged(function, mutants, class_name)
        bare = function.with_changes(decorators=[])
        before, nodes, after, names = arranged(bare, mutants, class_name)
        decorators = [*function.decorators, *nodes[0].decorators]
        nodes[0] = nodes[0].with_changes(decorators=decorators)
        return before, nodes, after, names

    def one_text(node: cst.BaseString) -> Iterator[cst.BaseString]:
        yield from list(texts(node))[:1]

    operators = list(file_mutation.mutation_operators)
    at = [kind for kind, _ in operators].index(cst.BaseString)
    texts = operators[at][1]
    operators[at] = (cst.BaseString, one_text)
    file_mutation.mutation_operators = operators
    file_mutation.MutationVisitor._skip_node_and_children = skip
    file_mutation.function_trampoline_arrangement = arrange


def hurry(limit: int, seconds: float = SECONDS) -> None:
    """Run the tests of the changed file's own folder first, the quickest before.

    Those of the test file that is called like it, and of files that call the changed
    function by its name, count as four times as quick.  What the tests of a file share
    is made by whichever comes first, as its seconds show.
    """

    def sorted_by_time(
        self: ForkServerRunner, name: str, tests: list[str], _: int, estimated: float
    ) -> None:
        module = name.rpartition(".")[0].split(".")
        own, called = f"tests/{module[1]}/", f"/test_{module[-1].strip('_')}.py"
        times, shared = state().duration_by_test, _longest(tests)
        named = _naming(re.findall(r"\w+", name.partition("__mutmut")[0])[-1])

        def order(test: str) -> tuple[bool, float]:
            file = _file(test)
            near = called in test or file in named
            return own not in test, (times[test] + shared[file]) * (0.25 if near else 1)

        few, spent, seen = [], 0.0, set[str]()
        for test in sorted(tests, key=order):
            spent += times[test] if _file(test) in seen else shared[_file(test)]
            if spent >= seconds:
                break
            seen.add(_file(test))
            few.append(test)
        SUBMIT(self, name, few or tests[:1], limit, estimated)

    def in_two(self: PytestRunner, *, mutant_name: str, tests: list[str]) -> int:
        first, rest = tests[:FIRST], tests[FIRST:]
        code = RUN(self, mutant_name=mutant_name, tests=first)
        return code or (RUN(self, mutant_name=mutant_name, tests=rest) if rest else 0)

    ForkServerRunner.submit = sorted_by_time
    PytestRunner.run_tests = in_two


@cache
def _naming(mangled: str) -> set[str]:
    """Return the test files in which a function is called by its name."""
    bare = mangled.removeprefix("x_").rpartition("ǁ")[2]
    word = re.compile(rf"\b{bare}\(")
    files = Path("tests").rglob("*.py")
    return {str(file) for file in files if word.search(file.read_text("utf-8"))}


def _file(test: str) -> str:
    return test.partition("::")[0]


def _longest(tests: list[str]) -> dict[str, float]:
    """Return the seconds of the longest test of each file."""
    found = dict.fromkeys(map(_file, tests), 0.0)
    for test in tests:
        found[_file(test)] = max(found[_file(test)], state().duration_by_test[test])
    return found


SUBMIT, RUN = ForkServerRunner.submit, PytestRunner.run_tests


def _learnt(node: cst.CSTNode) -> bool:
    if not isinstance(node, cst.FunctionDef) or len(node.decorators) != 1:
        return False
    decorator = node.decorators[0].decorator
    name = decorator.func if isinstance(decorator, cst.Call) else decorator
    return isinstance(name, cst.Name) and name.value in DECORATORS


def unlearnt() -> list[str]:
    """Return the functions that would be left out without a reason."""
    return [
        f"{path}: {function}: {why}"
        for path in walk_mutatable_files()
        for function, why in left_out(path.read_text("utf-8"))
        if why not in LEFT_OUT
    ]


def files() -> Iterator[mutmut.SourceFileMutationData]:
    """Yield what is known of each file that can be changed."""
    for path in walk_mutatable_files():
        data = mutmut.SourceFileMutationData(path=path)
        data.load()
        yield data


def results() -> list[Mutant]:
    """Return all mutants as the last run left them."""
    return [
        _mutant(name, data.path, verdict(code))
        for data in files()
        for name, code in data.exit_code_by_key.items()
    ]


def matching(mutants: list[Mutant], patterns: list[str]) -> list[Mutant]:
    """Return those whose name is one of the patterns, or like it."""
    names = set(patterns)
    return [
        m
        for m in mutants
        if m.name in names or any(fnmatch.fnmatch(m.name, p) for p in patterns)
    ]


def _mutant(name: str, path: Path, ended: Verdict) -> Mutant:
    module, _, mangled = name.partition("__mutmut_")[0].rpartition(".")
    function = mangled.removeprefix("x").removeprefix("_").strip("ǁ")
    change, nth = "", 1
    if not ended.noticed and ended is not Verdict.UNTRIED:
        before, _ = diff_apply.read_functions_from_index(name, path)
        code = cst.Module([before]).code.strip()
        change, nth = change_of(code, diff_apply.get_diff_for_mutant(name, path=path))
    return Mutant(module, function.replace("ǁ", "."), change, nth, name, ended)


def renew() -> None:
    """Let mutmut copy, change and call anew what it takes for known by itself.

    It copies no file twice, and asks only new tests which functions they call.
    """
    for copy in (RESULTS / "aggopt").rglob("*.py"):
        copy.unlink()
    shutil.rmtree(RESULTS / "tests", ignore_errors=True)
    sources = [p for of in ("aggopt", "tests", ".ci") for p in Path(of).rglob("*.py")]
    if CALLS.exists() and max(map(_changed, sources)) > _changed(CALLS):
        CALLS.unlink()


def _changed(path: Path) -> float:
    return path.stat().st_mtime


def again(asked: list[str]) -> None:
    """Try those once more that ended in no clear way, alone and with more time."""
    before = {
        name: code
        for data in files()
        for name, code in data.exit_code_by_key.items()
        if verdict(code).again and (not asked or _asked(name, asked))
    }
    if not before:
        return
    print(f"Trying {len(before)} again that timed out, crashed or stopped:", *before)
    hurry(GENEROUS, MORE)
    mutmut._run(list(before), 1)
    for data in files():
        codes = data.exit_code_by_key
        for name in codes.keys() & before.keys():
            codes[name] = second(before[name], codes[name])
        data.save()


def _asked(name: str, patterns: list[str]) -> bool:
    return any(name == p or fnmatch.fnmatch(name, p) for p in patterns)


def main(arguments: list[str]) -> int:
    """Run what is asked for; return the exit code."""
    if skipped := unlearnt():
        print("mutmut would leave out unasked, and nobody would know:", *skipped)
        print("To fix: let .ci/mutants.py learn it, or give a reason in LEFT_OUT.")
        return 1
    asked = [a for a in arguments if a not in ("--again", "--on")]
    patterns, seconds = asked, SECONDS
    if "--again" in arguments:
        last = matching(results(), asked or ["*"])
        if missing := unmet(last, asked or ["*"]):
            print("No results to begin with of:", *missing, "(run without --again)")
            return 1
        patterns, seconds = [m.name for m in last if not m.verdict.noticed], MORE
        print(f"{len(patterns)} of {len(last)} mutants were not noticed last time.")
    elif not patterns and "--on" not in arguments:
        shutil.rmtree(RESULTS, ignore_errors=True)
    if patterns or "--again" not in arguments:
        run(patterns, seconds)
    ended = matching(results(), asked or ["*"])
    if missing := unmet(ended, asked):
        print("No mutant has a name like:", *missing)
        return 1
    equivalent = listed(LISTS, "mutant", "reason")
    hidden = listed(LISTS, "hidden", "test")
    return 0 if report(ended, equivalent, hidden, not asked) else 1


def unmet(mutants: list[Mutant], patterns: list[str]) -> list[str]:
    """Return the patterns that no mutant's name is like."""
    return [p for p in patterns if not matching(mutants, [p])]


def run(patterns: list[str], seconds: float) -> None:
    """Try the mutants, and some of them again."""
    if SHARED.is_dir():
        os.environ.setdefault("AGGOPT_DATA", str(SHARED.resolve()))
    renew()
    learn()
    hurry(LIMIT, seconds)
    mutmut.print_stats = lambda *_, **__: None  # a line for each mutant
    mutmut._run(patterns, os.cpu_count())
    again(patterns)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
