"""Change the code in small ways, one at a time, and list what no test notices.

Usage: python .ci/mutants.py [--again] [PATTERN ...]

mutmut makes the changes ("mutants") and runs, of each, the tests that call the changed
function; `[tool.mutmut]` in pyproject.toml says in which files and by which tests.
Here it learns properties and context managers, which it leaves out by itself, is asked
for one change of each text instead of three, and runs the likeliest tests first.

A mutant that no test notices fails the run, unless tests/equivalent_mutants.toml says
why nothing can notice it.  PATTERN such as "aggopt.privacy*" runs some only; --again
runs, of these, what was not noticed last time.  Without either, all begins anew.
"""

import fnmatch
import os
import shutil
import sys
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

import libcst as cst
import mutmut.__main__ as mutmut
from mutmut.mutation import file_mutation
from mutmut.mutation.diff_apply import get_diff_for_mutant
from mutmut.runners.harness import PytestRunner
from mutmut.state import state
from mutmut.utils.file_utils import walk_mutatable_files
from mutmut.workers.isolation import ForkServerRunner

RESULTS = Path("mutants")
EQUIVALENT = Path("tests/equivalent_mutants.toml")
SHARED = Path("../shared/data")
LEARNT = ("property", "cached_property", "contextmanager")
FIRST = 25  # tests, in a session of their own: most changes are noticed by these
SECONDS = 4.0  # of tests a mutant; more would notice little, and late
INTERRUPTED = "check was interrupted by user"  # by a test of interrupts
NOTICED = ("killed", "timeout", "segfault", INTERRUPTED)
UNKNOWN = "not checked"  # the run was interrupted
BROKEN = 255  # mutmut's worker failed, no test did


@dataclass(frozen=True, order=True)
class Mutant:
    """One change: where, what, by which name mutmut knows it, and how it ended."""

    module: str
    function: str
    change: str
    name: str
    status: str

    @property
    def key(self) -> tuple[str, str, str]:
        """What stays when other mutants come and go."""
        return self.module, self.function, self.change

    def __str__(self) -> str:
        """Return it as an entry of the list of equivalent ones has it."""
        return (
            f"[[mutant]] # {self.name}: {self.status}\n"
            f'module = "{self.module}"\nfunction = "{self.function}"\n'
            f"change = '''\n{self.change}\n'''\n"
        )


def learn() -> None:
    """Let mutmut change what `LEARNT` decorates, and each text in one way."""
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


def hurry() -> None:
    """Run the tests of the changed file's own folder first, the quickest before."""
    submit, run = ForkServerRunner.submit, PytestRunner.run_tests

    def sorted_by_time(
        self: ForkServerRunner, name: str, tests: list[str], *limits: float
    ) -> None:
        own, times = f"tests/{name.split('.')[1]}/", state().duration_by_test
        tests = sorted(tests, key=lambda test: (own not in test, times[test]))
        ends = accumulate(times[test] for test in tests)
        few = [test for test, end in zip(tests, ends, strict=True) if end < SECONDS]
        submit(self, name, few or tests[:1], *limits)

    def in_two(self: PytestRunner, *, mutant_name: str, tests: list[str]) -> int:
        first, rest = tests[:FIRST], tests[FIRST:]
        code = run(self, mutant_name=mutant_name, tests=first)
        return code or (run(self, mutant_name=mutant_name, tests=rest) if rest else 0)

    ForkServerRunner.submit = sorted_by_time
    PytestRunner.run_tests = in_two


def _learnt(node: cst.CSTNode) -> bool:
    if not isinstance(node, cst.FunctionDef) or len(node.decorators) != 1:
        return False
    decorator = node.decorators[0].decorator
    return isinstance(decorator, cst.Name) and decorator.value in LEARNT


def results() -> list[Mutant]:
    """Return all mutants as the last run left them."""
    found = []
    for path in walk_mutatable_files():
        data = mutmut.SourceFileMutationData(path=path)
        data.load()
        for name, code in data.exit_code_by_key.items():
            status = mutmut.status_by_exit_code[None if code == BROKEN else code]
            found.append(_mutant(name, path, status))
    return found


def matching(mutants: list[Mutant], patterns: list[str]) -> list[Mutant]:
    """Return those whose name is one of the patterns, or like it."""
    names = set(patterns)
    return [
        m
        for m in mutants
        if m.name in names or any(fnmatch.fnmatch(m.name, p) for p in patterns)
    ]


def _mutant(name: str, path: Path, status: str) -> Mutant:
    module, _, mangled = name.partition("__mutmut_")[0].rpartition(".")
    function = mangled.removeprefix("x").removeprefix("_").strip("ǁ")
    change = ""
    if status not in (*NOTICED, UNKNOWN):
        lines = get_diff_for_mutant(name, path=path).splitlines()[2:]
        change = "\n".join(
            f"{line[0]} {line[1:].strip()}" for line in lines if line[:1] in "+-"
        )
    return Mutant(module, function.replace("ǁ", "."), change, name, status)


def equivalent() -> dict[tuple[str, str, str], str]:
    """Return why nothing can notice the mutants that are listed."""
    listed = tomllib.loads(EQUIVALENT.read_text("utf-8")).get("mutant", [])
    return {
        (one["module"], one["function"], one["change"].strip()): one["reason"]
        for one in listed
    }


def report(mutants: list[Mutant], whole: bool) -> bool:
    """Print counts and what no test notices; return whether that is all listed."""
    reasons = equivalent()
    unnoticed = [m for m in mutants if m.status not in NOTICED]
    unknown = sorted(m for m in unnoticed if m.key not in reasons)
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for m in mutants:
        listed = "equivalent" if m.key in reasons else m.status
        counts[".".join(m.module.split(".")[:2])][listed] += 1
    for m in unknown:
        if m.status != UNKNOWN:
            print(m)
    for part, count in sorted(counts.items()):
        ended = ", ".join(f"{n} {status}" for status, n in sorted(count.items()))
        print(f"{part}: {count.total()} mutants: {ended}")
    if whole:
        for key in reasons.keys() - {m.key for m in unnoticed}:
            print("Listed as equivalent, but gone or noticed now:", *key, sep="\n  ")
    if unknown:
        print(f"No test notices {len(unknown)} mutants. To fix: add tests, or list")
        print(f"them with a reason in {EQUIVALENT} if nothing can notice them.")
    return not unknown


def main(arguments: list[str]) -> int:
    """Run what is asked for; return the exit code."""
    patterns = [a for a in arguments if a != "--again"]
    if "--again" in arguments:
        asked = matching(results(), patterns or ["*"])
        patterns = [m.name for m in asked if m.status not in NOTICED]
        if not patterns:
            return 0
    elif not patterns:
        shutil.rmtree(RESULTS, ignore_errors=True)
    if SHARED.is_dir():
        os.environ.setdefault("AGGOPT_DATA", str(SHARED.resolve()))
    learn()
    hurry()
    mutmut.print_stats = lambda *_, **__: None  # a line for each mutant
    mutmut._run(patterns, os.cpu_count())
    return 0 if report(matching(results(), patterns or ["*"]), not patterns) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
