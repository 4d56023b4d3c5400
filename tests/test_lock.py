"""The lock names a version and hashes of all that pyproject.toml asks for."""

import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[1]
LOCK = ROOT / ".ci" / "lock"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
GROUPS = PROJECT["dependency-groups"]
LOCKED_GROUPS = ("build", "dev", "docs")  # a rival of a benchmark may be anything


def group(name: str) -> Iterator[str]:
    for each in GROUPS[name]:
        if isinstance(each, dict):
            yield from group(each["include-group"])
        else:
            yield each


def declared() -> list[Requirement]:
    project = PROJECT["project"]
    texts = [*project["dependencies"]]
    for extra in project["optional-dependencies"].values():
        texts += extra
    for name in LOCKED_GROUPS:
        texts += group(name)
    return [Requirement(text) for text in texts]


@cache
def locked(*files: str) -> dict[str, list[str]]:
    versions: dict[str, list[str]] = {}
    for file in files:
        for line in (LOCK / file).read_text("utf-8").splitlines():
            if found := re.match(r"([\w.-]+)==(\S+)", line):
                versions.setdefault(found[1], []).append(found[2])
    return versions


FILES = sorted(path.name for path in LOCK.iterdir())


@pytest.mark.parametrize("file", FILES)
def test_every_package_has_hashes_and_no_line_an_address(file):
    text = (LOCK / file).read_text("utf-8")
    blocks = re.split(r"^(?=\w)", text, flags=re.MULTILINE)[1:]
    assert blocks
    for block in blocks:
        assert re.search(r"--hash=sha256:[0-9a-f]{64}", block), block
    options = set(re.findall(r"^\s*(-[\w-]+)", text, re.MULTILINE))
    assert options == {"--hash"}
    assert "://" not in text


@pytest.mark.parametrize("wanted", declared(), ids=str)
def test_the_lock_has_what_is_declared(wanted):
    versions = locked(*(set(FILES) - {"oldest.txt"}))
    found = versions.get(canonicalize_name(wanted.name), [])
    assert found, "To fix: make lock"
    assert all(wanted.specifier.contains(version) for version in found)


def test_the_oldest_versions_are_the_lower_bounds():
    oldest = locked("oldest.txt")
    project = PROJECT["project"]
    texts = [*project["dependencies"]]
    for extra, more in project["optional-dependencies"].items():
        texts += more if extra != "ipopt" else []  # it has no wheel
    for wanted in map(Requirement, texts):
        (version,) = oldest[canonicalize_name(wanted.name)]
        (bound,) = (s.version for s in wanted.specifier if s.operator == ">=")
        assert Version(version) in SpecifierSet(f"=={bound}.*"), wanted.name
