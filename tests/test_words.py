"""One name, one meaning, across the package."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

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
    "_How",  # options of one file, handed on within it
    "_Found",  # what one file hands on within itself
}
IN_EACH_FILE = {"Data", "Point", "Settings"}  # of one model or method: p3m.Data


def classes() -> Iterator[tuple[str, str]]:
    """Yield each class of the package, with its file."""
    for path in sources():
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ClassDef):
                yield node.name, str(path.relative_to(ROOT))


def test_a_class_name_is_used_once():
    found: dict[str, list[str]] = {}
    for name, path in classes():
        if name not in MEANT_TWICE | IN_EACH_FILE:
            found.setdefault(name, []).append(path)
    assert {name: paths for name, paths in found.items() if len(paths) > 1} == {}
