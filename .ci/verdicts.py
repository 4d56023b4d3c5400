"""Judge what became of each changed piece of code, apart from how it was tried.

`.ci/mutants.py` runs the tests; here is what their end means, which change is which,
and which functions mutmut would leave out.
"""

import ast
import re
import tomllib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

Key = tuple[str, str, str, int]
DECORATORS = (
    "property",
    "cached_property",
    "contextmanager",
    "reraise_interrupts",
)  # are learnt
TAKEN = ("staticmethod", "classmethod")  # mutmut takes these by itself
REFUSED = ("__getattribute__", "__setattr__", "__new__")  # mutmut never changes these
LEFT_OUT = {
    "abstractmethod": "has no body but its words",
    "property, abstractmethod": "has no body but its words",
    "cache": "may have its value from before the change",
}
HUNK = re.compile(r"@@ -(\d+)")
STRICT = re.compile(r"(, ?)?strict=\w+")
CAST = re.compile(r"(?<=\bcast\()\w+(?=, )")


class Verdict(StrEnum):
    """How the tests of one change ended."""

    KILLED = "killed"
    SURVIVED = "survived"
    UNTESTED = "without tests"
    UNTRIED = "untried"
    TIMEOUT = "timed out"
    STOPPED = "stopped pytest"
    CRASHED = "crashed"
    ENDLESS = "timed out twice"
    STOPPED_TWICE = "stopped pytest twice"
    UNCLEAR = "ended unclearly"

    @property
    def noticed(self) -> bool:
        """Whether the tests saw the change for sure.

        An endless loop is seen by the clock, but so is a busy machine: only what times
        out again, alone and with more time, counts.  A signal can be the system's own,
        when memory is short: a crash never counts.
        """
        return self in (Verdict.KILLED, Verdict.ENDLESS, Verdict.STOPPED_TWICE)

    @property
    def again(self) -> bool:
        """Whether the change is to be tried once more, alone."""
        return self in AGAIN


LISTABLE = (Verdict.SURVIVED, Verdict.UNTESTED)
AGAIN = (Verdict.TIMEOUT, Verdict.STOPPED, Verdict.CRASHED, Verdict.UNCLEAR)
CODES = {
    None: Verdict.UNTRIED,
    0: Verdict.SURVIVED,
    1: Verdict.KILLED,
    2: Verdict.STOPPED,  # interrupted, or the tests could not be read
    3: Verdict.STOPPED,  # an error within pytest
    5: Verdict.UNTESTED,
    33: Verdict.UNTESTED,
    24: Verdict.TIMEOUT,
    36: Verdict.TIMEOUT,
    152: Verdict.TIMEOUT,
    -24: Verdict.TIMEOUT,
    124: Verdict.ENDLESS,  # ours, as the next
    125: Verdict.STOPPED_TWICE,
    255: Verdict.UNTRIED,  # mutmut's worker failed, no test did
}
TWICE = {Verdict.TIMEOUT: 124, Verdict.STOPPED: 125}


def verdict(code: int | None) -> Verdict:
    """Return what the exit code of a mutant's tests means."""
    if code is not None and code < 0 and code not in CODES:
        return Verdict.CRASHED
    return CODES.get(code, Verdict.UNCLEAR)


def second(first: int | None, again: int | None) -> int | None:
    """Return the exit code that counts, of two tries."""
    ended = verdict(again)
    same = ended is verdict(first)
    return TWICE[ended] if same and ended in TWICE else again


@dataclass(frozen=True, order=True)
class Mutant:
    """One change: where, what, by which name mutmut knows it, and how it ended."""

    module: str
    function: str
    change: str
    occurrence: int
    name: str
    verdict: Verdict

    @property
    def key(self) -> Key:
        """What stays when other mutants come and go."""
        return self.module, self.function, self.change, self.occurrence

    def __str__(self) -> str:
        """Return it as an entry of the list of equivalent ones has it."""
        nth = f"occurrence = {self.occurrence}\n" if self.occurrence > 1 else ""
        return (
            f"[[mutant]] # {self.name}: {self.verdict}\n"
            f'module = "{self.module}"\nfunction = "{self.function}"\n{nth}'
            f"change = '''\n{self.change}\n'''\n"
        )


def change_of(before: str, diff: str) -> tuple[str, int]:
    """Return the changed lines, and the how-manieth such line of the function it is."""
    body = diff.splitlines()[2:]
    changed = [line for line in body if line[:1] in ("+", "-")]
    text = "\n".join(f"{line[0]} {line[1:].strip()}" for line in changed)
    starts = [int(m[1]) for line in body if (m := HUNK.match(line))]
    removed = [line[1:].strip() for line in changed if line[0] == "-"]
    if not starts or not removed:
        return text, 1
    ahead = [line for line in body if not line.startswith("@@")]
    at = starts[0] - 1 + next(i for i, line in enumerate(ahead) if line[0] == "-")
    lines = [line.strip() for line in before.split("\n")]
    return text, lines[:at].count(removed[0]) + 1


def listed(path: Path, table: str, why: str) -> dict[Key, str]:
    """Return the entries of one table of the list, each with its `why`."""
    entries = tomllib.loads(path.read_text("utf-8")).get(table, [])
    return {_key(entry): entry[why] for entry in entries}


def _key(entry: dict[str, Any]) -> Key:
    change, nth = entry["change"].strip(), entry.get("occurrence", 1)
    return entry["module"], entry["function"], change, nth


def of_claims_alone(change: str) -> bool:
    """Whether a change is of `strict=` or of what `cast` names alone: equivalent.

    The one asserts that two things are equally long which always are, the other tells
    the type checker something and does nothing.
    """
    lines = [line[1:] for line in change.splitlines()]
    for claim in (STRICT, CAST):
        bare = [claim.sub("", line).strip().replace(", )", ")") for line in lines]
        if claim.search(change) and len({line.rstrip(", ") for line in bare}) == 1:
            return True
    return False


def report(
    mutants: list[Mutant],
    equivalent: dict[Key, str],
    hidden: dict[Key, str],
    whole: bool,
    say: Callable[[object], None] = print,
) -> bool:
    """Say counts and what no test notices; return whether that is all listed."""
    if not mutants:
        say("No mutants: nothing was tried.  To fix: ask for a name that exists.")
        return False
    listed_ones = equivalent.keys() | hidden.keys()
    asserting = {m.key: "claimed" for m in mutants if of_claims_alone(m.change)}
    equivalent = equivalent | asserting
    known = listed_ones | asserting.keys()
    unnoticed = [m for m in mutants if not m.verdict.noticed]
    open_ones = [m for m in unnoticed if _is_open(m, known)]
    for m in sorted(open_ones):
        if m.verdict is not Verdict.UNTRIED:
            say(m)
    for line in _counts(mutants, equivalent, hidden):
        say(line)
    if whole:
        for key in listed_ones - {m.key for m in unnoticed}:
            say(f"Listed, but gone or noticed now: {key}")
    if open_ones:
        say(f"No test notices {len(open_ones)} mutants. To fix: add tests, or list")
        say("them with a reason if nothing can notice them.")
    return not open_ones


def _is_open(m: Mutant, known: Iterable[Key]) -> bool:
    """Whether no list explains it; none can explain an unclear end."""
    return m.verdict not in LISTABLE or m.key not in known


def _counts(
    mutants: list[Mutant], equivalent: dict[Key, str], hidden: dict[Key, str]
) -> Iterator[str]:
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for m in mutants:
        word = str(m.verdict)
        if m.verdict in LISTABLE and m.key in equivalent:
            word = "equivalent"
        if m.verdict in LISTABLE and m.key in hidden:
            word = "noticed without mutmut"
        counts[".".join(m.module.split(".")[:2])][word] += 1
    for part, count in sorted(counts.items()):
        ended = ", ".join(f"{n} {word}" for word, n in sorted(count.items()))
        yield f"{part}: {count.total()} mutants: {ended}"


def left_out(source: str) -> list[tuple[str, str]]:
    """Return functions that mutmut would not change, each with what is in the way."""
    return list(_left_out(ast.parse(source).body, "", depth=0))


def _left_out(
    body: list[ast.stmt], prefix: str, depth: int
) -> Iterator[tuple[str, str]]:
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield from _left_out(node.body, f"{prefix}{node.name}.", depth + 1)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            if reason := _in_the_way(node, depth):
                yield prefix + node.name, reason
        else:  # under `if` or `try`, where mutmut does not look
            inner = [s for s in ast.iter_child_nodes(node) if isinstance(s, ast.stmt)]
            yield from _left_out(inner, prefix, depth + 2)


def _in_the_way(node: ast.FunctionDef | ast.AsyncFunctionDef, depth: int) -> str:
    if depth > 1:
        return "nested"
    if node.name in REFUSED:
        return node.name
    names = [_name(decorator) for decorator in node.decorator_list]
    if not names or (len(names) == 1 and names[0] in (*DECORATORS, *TAKEN)):
        return ""
    return ", ".join(names)


def _name(decorator: ast.expr) -> str:
    bare = decorator.func if isinstance(decorator, ast.Call) else decorator
    return bare.id if isinstance(bare, ast.Name) else ast.unparse(bare)
