"""One name, one meaning, across the package."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ALIAS = re.compile(r"^(\w+)(?:: \w+)? = (?:npt|np\.typing)\.NDArray\[", re.MULTILINE)
ANYTHING = {"Entries"}  # arrays of any element type have no width to go by


def sources() -> Iterator[Path]:
    """Yield the package's files; the models are there by way of a link."""
    for folder in ("aggopt", "models"):
        yield from sorted((ROOT / folder).rglob("*.py"))


def test_array_types_are_named_in_one_place():
    named = {
        f"{path.relative_to(ROOT)}: {name}"
        for path in sources()
        if path.name != "types.py"
        for name in ALIAS.findall(path.read_text())
        if name not in ANYTHING
    }
    assert not named


def test_each_array_type_has_one_name():
    tree = ast.parse((ROOT / "aggopt/core/types.py").read_text())
    spelt = [
        ast.unparse(node.value) for node in tree.body if isinstance(node, ast.Assign)
    ]
    assert len(set(spelt)) == len(spelt)


MEANT_TWICE = {
    "Close",  # a job's settings, and the state that kernels read
    "Treatment",  # of an attribute, as its requirement wants it
    "_Found",  # what one file hands on within itself
}
IN_EACH_FILE = {"Data", "Point", "Settings"}  # of one model or method: p3m.Data


Trees = dict[str, ast.Module]


@pytest.fixture(scope="module")
def trees() -> Trees:
    """Return the code of each file of the package."""
    return {
        str(path.relative_to(ROOT)): ast.parse(path.read_text("utf-8"))
        for path in sources()
    }


def nodes(trees: Trees) -> Iterator[tuple[str, ast.AST]]:
    """Yield each node of the package's code, with its file."""
    for path, tree in trees.items():
        for node in ast.walk(tree):
            yield path, node


def test_a_class_name_is_used_once(trees):
    found: dict[str, list[str]] = {}
    classes = [
        (n.name, path) for path, n in nodes(trees) if isinstance(n, ast.ClassDef)
    ]
    for name, path in classes:
        if name not in MEANT_TWICE | IN_EACH_FILE:
            found.setdefault(name, []).append(path)
    assert {name: paths for name, paths in found.items() if len(paths) > 1} == {}


# words of the glossary that stand nowhere any more, and are not to come back
RETIRED = """
bend bends climb crew crews drive evened flip flips forced heat heated kick kicked kicks
ladder lessened likeness luck lucky pace plant planted posts settle settles shake shaken
shakes shelf shelves unite walk wells
"""


def said(trees: Trees) -> Iterator[tuple[str, str]]:
    """Yield what users and developers read: public docstrings and messages."""
    for where, node in nodes(trees):
        if isinstance(node, ast.Raise):
            parts = (c.value for c in ast.walk(node) if isinstance(c, ast.Constant))
            yield where, " ".join(part for part in parts if isinstance(part, str))
        documented = isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        if documented and not getattr(node, "name", "").startswith("_"):
            yield where, ast.get_docstring(node) or ""


def test_retired_words_do_not_come_back(trees):
    """They stand in the glossary; names of functions, in backticks, do not count."""
    word = re.compile(rf"\b({'|'.join(RETIRED.split())})\b", re.IGNORECASE)
    found = {
        (where, match[0].lower())
        for where, text in said(trees)
        for match in word.finditer(re.sub(r"`[^`]*`", "", text))
    }
    assert found == set()


def test_retired_words_stand_in_the_glossary_or_in_a_form_of_it():
    glossary = (ROOT / "CONTRIBUTING.md").read_text("utf-8").split("## Glossary")[1]
    forms = {"bends", "flip", "lucky", "settles", "heated", "shelves", "crews", "walk"}
    forms |= {"kicked", "kicks", "planted", "shaken", "shakes"}
    assert [w for w in RETIRED.split() if w not in forms and w not in glossary] == []


# those that no function, parameter, class, member or variable is called
NAMELESS = """
crew heat heats kick kicked kicks luck pace paces plant planted post posts replant
settle shelf shelves turned walks
"""


NAMING = {ast.Name: "id", ast.Attribute: "attr", ast.arg: "arg", ast.keyword: "arg"}


def spelt(trees: Trees) -> set[tuple[str, str]]:
    """Return each name that the package's code gives or reads, with its file."""
    names = (
        (where, getattr(n, NAMING.get(type(n), "name"), None))
        for where, n in nodes(trees)
    )
    return {(where, name) for where, name in names if isinstance(name, str)}


def test_names_in_the_code_are_without_retired_words(trees):
    retired = set(NAMELESS.split())
    found = {
        (where, name)
        for where, name in spelt(trees)
        if not name.startswith("__") and retired & set(name.lower().split("_"))
    }
    assert found == set()


# --- plain English: how often a pattern may stand in 10,000 words of docstrings ---

PATTERNS = {
    r"told|tells?|said|says?|saying|heard|hears?|listens?": 3,
    r"[Ww]hat (?:is|are|was|were|it|they|has|had|have|no|all|some|a|the|each)": 3,
    r"(?:of|by|in|from|with|for|to|at|on) (?:which|whom)": 9,
    r"who|whom|whoever|nobody|somebody|anybody": 3,
    r"beside": 3,
    r"stands?|lies?|goes|comes?": 3,
    r"asks?|asked|asking": 3,
    r"the same|those|such": 25,
    r"as (?:it|they) (?:is|are|was|were)": 3,
    r"[Ww]here (?:it|they|some|none|nothing|there|that|a|the|no|all)": 6,
    r"anew|once more|so many|for want of|if need be|carr(?:y|ies|ied) out": 3,
}
FILLERS = "found own how asked given whole known made held said told seen"
PARTICIPLES = "kept held told made found drawn shown written met put said"


@pytest.fixture(scope="module")
def docstrings(trees: Trees) -> str:
    """Return all docstrings of the package."""
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef)
    with_docstring = (node for _, node in nodes(trees) if isinstance(node, kinds))
    return "\n".join(ast.get_docstring(node) or "" for node in with_docstring)


@pytest.mark.parametrize(("pattern", "most"), PATTERNS.items())
def test_docstrings_are_plain(docstrings, pattern, most):
    hits = re.findall(rf"\b(?:{pattern})\b", docstrings)
    assert len(hits) <= most * len(docstrings.split()) / 10_000


def test_variables_name_things(trees):
    bound = [
        node.arg if isinstance(node, ast.arg) else node.id
        for _, node in nodes(trees)
        if isinstance(node, ast.arg)
        or (isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))
    ]
    fillers = [name for name in bound if name.lstrip("_") in FILLERS.split()]
    assert len(fillers) <= len(bound) / 200


def test_functions_are_named_by_verbs(trees):
    names = [
        node.name.lstrip("_")
        for _, node in nodes(trees)
        if isinstance(node, ast.FunctionDef)
    ]
    participles = [
        name
        for name in names
        if re.fullmatch("[a-z]+ed", name) or name in PARTICIPLES.split()
    ]
    assert len(participles) <= 0.035 * len(names)


PAGES = sorted(
    path
    for path in (
        *(ROOT / "docs").rglob("*.md"),
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
    )
    if "benchmarks" not in path.parts  # printed by commands
)


def read_prose(page: Path) -> str:
    """Return a page without code, displayed formulas and its list of wrong words."""
    text = page.read_text("utf-8")
    if page.name == "CONTRIBUTING.md":
        text = text.split("\n## Glossary")[0]
    text = re.sub(r"(?m)^    .*$", "", text)
    text = re.sub(r"```.*?```|<!--.*?-->|\$\$.*?\$\$", "", text, flags=re.DOTALL)
    return re.sub(r"\$[^$]+\$", "X", text)  # a formula counts as a word


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_is_plain(page):
    """At most 60 hits of the patterns above in 10,000 words; short pages have 3."""
    prose = read_prose(page)
    hits = re.findall(rf"\b(?:{'|'.join(PATTERNS)})\b", prose)
    assert len(hits) <= max(3, 60 * len(prose.split()) / 10_000), hits


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_sentences_of_a_page_are_short(page):
    """17 words on average, and one in twenty has more than 30; no tables, headings."""
    text = re.sub(r"(?m)^\s*\|.*$|^#.*$|^\s*(?:[-*]|\d+\.) ", "\n\n", read_prose(page))
    paragraphs = re.split(r"\n\s*\n", text)
    ends = r"(?<=[.!?:])\s+(?=[A-Z`\[*])"
    sentences = [s.split() for p in paragraphs for s in re.split(ends, p.strip())]
    lengths = [len(words) for words in sentences if len(words) > 2]
    assert sum(lengths) <= 17 * len(lengths)
    assert sum(n > 30 for n in lengths) <= max(1, len(lengths) / 18)
