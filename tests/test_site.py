"""The site has every page and every public name; every public function has an example.

`make docs` builds it, and fails on a warning: one is of public names on no page.
"""

import importlib.util
import inspect
import re
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import aggopt
from aggopt.aggregate import AGGREGATORS, CATEGORY_AGGREGATORS
from aggopt.measure import MEASURES
from aggopt.partition import PARTITIONERS

DOCS = Path(__file__).parent.parent / "docs"
ELSEWHERE = {  # functions without an example of their own, and who runs them
    "aggopt.datasets.census": "tests/test_datasets.py, where the file is at hand",
    "aggopt.datasets.eia": "tests/test_datasets.py, where the file is at hand",
    "aggopt.datasets.tarragona": "tests/test_datasets.py, where the file is at hand",
}


@pytest.fixture(scope="module")
def site() -> ModuleType:
    """Return what makes the pages of the API, which is no part of the package."""
    spec = importlib.util.spec_from_file_location("_site", DOCS / "_site.py")
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def shown(site: ModuleType) -> set[str]:
    """Return the names that the pages of the API show, by the text of these pages."""
    return {
        f"{module}.{name}"
        for module, text in site.pages().items()
        for name in re.findall(
            r"^\.\. auto(?:class|function|data):: (\w+)$", text, re.M
        )
    }


def test_every_page_stands_in_the_list_and_on_the_site() -> None:
    menu = (DOCS / "index.md").read_text("utf-8")
    listed = (DOCS / "README.md").read_text("utf-8")
    pages = {page.stem for page in DOCS.glob("*.md")} - {"index"}
    placed = re.findall(r"^([\w-]+)$", menu, re.MULTILINE)
    assert sorted(placed) == sorted(pages)
    links = set(re.findall(r"\]\(([\w-]+)\.md\)", listed))
    assert links == pages - {"README", "overview", "contributing", "changes"}


def test_every_public_name_has_a_place(site: ModuleType) -> None:
    registered = {"partition": PARTITIONERS, "measure": MEASURES}
    named = {f"aggopt.{name}" for name in aggopt.__all__}
    for folder, methods in registered.items():
        named |= {f"aggopt.{folder}.{name}" for name in methods if "." not in name}
    for name in (*AGGREGATORS, *CATEGORY_AGGREGATORS):
        named |= {f"aggopt.aggregate.{name}"} - {"aggopt.aggregate.by_model"}
    assert named - shown(site) - set(site.MODULES) == set()


def test_what_pages_name_has_a_place(site: ModuleType) -> None:
    """Functions and classes in prose, but for what is said to be private."""
    there = shown(site)
    text = "".join(page.read_text("utf-8") for page in DOCS.glob("*.md"))
    named = set(re.findall(r"`(aggopt(?:\.[a-z]\w*)*\.[a-z]\w*)[(`]", text))
    missing = {name for name in named - there if is_public(name, site)}
    assert missing == set()


def is_public(name: str, site: ModuleType) -> bool:
    module, _, last = name.rpartition(".")
    if module not in site.MODULES:
        return False
    found = getattr(import_module(module), last)
    return inspect.isclass(found) or inspect.isfunction(found)


def functions(site: ModuleType) -> dict[str, Any]:
    found = {}
    for name in sorted(shown(site)):
        module, _, last = name.rpartition(".")
        thing = getattr(import_module(module), last)
        if callable(thing) and not inspect.isclass(thing):
            found[name] = thing
    return found


def test_every_public_function_has_an_example_that_runs(site: ModuleType) -> None:
    without = {
        name
        for name, found in functions(site).items()
        if ">>>" not in (doc := inspect.getdoc(found) or "") or "+SKIP" in doc
    }
    assert without == ELSEWHERE.keys()


def test_markup_in_docstrings_is_text(site: ModuleType) -> None:
    lines = [
        "by:",
        "",
        "    a * b",
        "    c_",
        "of |x - x'| and *args_ in `a * b`",
        ">>> 2 * 3",
        "6",
        "",
        "* and `x_`",
    ]
    site.plain(None, "", "", None, None, lines)
    assert lines == [
        *["by::", "", "    a * b", "    c_"],
        r"of \|x - x'\| and \*args\_ in `a * b`",
        ">>> 2 * 3",
        "6",
        "",
        r"\* and `x_`",
    ]


def test_links_lead_to_pages_of_the_site_or_nowhere(site: ModuleType) -> None:
    said = "[a](../CONTRIBUTING.md#x), [b](../../README.md), [c](../examples/own)"
    led = "[a](/contributing.md#x), [b](/overview.md), c"
    assert site.inward(said + " [d](../types.md)", "../") == led + " [d](../types.md)"
    said = "![p](docs/p.png) [a](docs/types.md#x), [b](CONTRIBUTING.md), [c](LICENSE)"
    led = "![p](/p.png) [a](/types.md#x), [b](/contributing.md), c"
    assert site.inward(said + " [d](#x)", "") == led + " [d](#x)"


def test_the_site_has_one_picture_for_light_and_one_for_dark(site: ModuleType) -> None:
    for page in (DOCS.parent / "README.md", *DOCS.glob("*.md")):
        text = page.read_text("utf-8")
        shown = site.PICTURE.sub(r"\1 for \2", text)
        assert "<img" not in shown, page.name
        for dark, light in re.findall(r"(\S+) for (\S+\.png)", shown):
            assert dark == light.replace(".png", "-dark.png")


def test_terms_that_pages_link_to_are_in_the_glossary(site: ModuleType) -> None:
    glossary = (DOCS / "glossary.md").read_text("utf-8")
    terms = site.list_terms()
    assert {"microaggregation", "quasi-identifier", "SSE"} <= set(terms)
    assert [term for term in site.COMMON if f"{term}" not in glossary] == []
    assert not site.COMMON & set(terms)
