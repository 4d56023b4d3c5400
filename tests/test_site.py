"""The site has every page and every public name; every public function has an example.

`make docs` builds it, and fails on a warning: one is of public names on no page.
"""

import importlib.util
import inspect
import re
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import aggopt
from aggopt.aggregate import AGGREGATORS, CATEGORY_AGGREGATORS
from aggopt.measure import MEASURES
from aggopt.models import MODELS
from aggopt.partition import PARTITIONERS

DOCS = Path(__file__).parent.parent / "docs"
ELSEWHERE = {  # functions without an example of their own, and who runs them
    "aggopt.datasets.census": "tests/test_datasets.py, where the file is at hand",
    "aggopt.datasets.eia": "tests/test_datasets.py, where the file is at hand",
    "aggopt.datasets.tarragona": "tests/test_datasets.py, where the file is at hand",
}


def load(name: str) -> ModuleType:
    """Return a module of the folder of pages, which is no part of the package."""
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    sys.modules[name] = made  # as its dataclasses need
    spec.loader.exec_module(made)
    return made


@pytest.fixture(scope="module")
def formulas() -> ModuleType:
    """Return what writes formulas of docstrings in LaTeX."""
    return load("_formulas")


@pytest.fixture(scope="module")
def api(gallery: ModuleType, formulas: ModuleType) -> ModuleType:
    """Return what makes the pages of the API; it reads the gallery."""
    return load("_api")


@pytest.fixture(scope="module")
def site(api: ModuleType) -> ModuleType:
    """Return what connects all parts of the site."""
    return load("_site")


def shown(api: ModuleType) -> set[str]:
    """Return the names that the pages of the API show, by the text of these pages."""
    shows = r"^\.\. auto(?:class|function|data):: ([\w.]+)$"
    return {
        name
        for text in api.pages().values()
        for name in re.findall(shows, text, re.MULTILINE)
    }


def test_every_page_stands_in_the_list_and_on_the_site() -> None:
    menu = (DOCS / "index.md").read_text("utf-8")
    listed = (DOCS / "README.md").read_text("utf-8")
    pages = {page.stem for page in DOCS.glob("*.md")} - {"index"}
    placed = re.findall(r"^([\w-]+)$", menu, re.MULTILINE)
    assert sorted(placed) == sorted(pages)
    links = set(re.findall(r"\]\(([\w-]+)\.md\)", listed))
    assert links == pages - {"README", "overview", "contributing", "changes"}


def test_every_public_name_has_a_place(api: ModuleType) -> None:
    registered = {"partition": PARTITIONERS, "measure": MEASURES}
    named = {f"aggopt.{name}" for name in aggopt.__all__}
    for folder, methods in registered.items():
        named |= {f"aggopt.{folder}.{name}" for name in methods if "." not in name}
    for name in (*AGGREGATORS, *CATEGORY_AGGREGATORS):
        named |= {f"aggopt.aggregate.{name}"} - {"aggopt.aggregate.by_model"}
    assert named - shown(api) - set(api.MODULES) == set()


def test_no_public_name_is_gone(api: ModuleType, request: Any) -> None:
    """The committed list is of the last version: docs/stability.md."""
    listed = Path(__file__).with_name("public_names.txt")
    there = shown(api)
    if request.config.getoption("--rewrite-messages"):
        listed.write_text("\n".join([*sorted(there), ""]), "utf-8")
    gone = set(listed.read_text("utf-8").split()) - there
    assert gone == set(), "deprecate a public name for two minor versions first"


def test_what_pages_name_has_a_place(api: ModuleType) -> None:
    """Functions and classes in prose, but for what is said to be private."""
    there = shown(api)
    text = "".join(page.read_text("utf-8") for page in DOCS.glob("*.md"))
    named = set(re.findall(r"`(aggopt(?:\.[a-z]\w*)*\.[a-z]\w*)[(`]", text))
    missing = {name for name in named - there if is_public(name, api)}
    assert missing == set()


def is_public(name: str, api: ModuleType) -> bool:
    module, _, last = name.rpartition(".")
    if module not in api.MODULES:
        return False
    found = getattr(import_module(module), last)
    return inspect.isclass(found) or inspect.isfunction(found)


def functions(api: ModuleType) -> dict[str, Any]:
    found = {}
    for name in sorted(shown(api)):
        module, _, last = name.rpartition(".")
        thing = getattr(import_module(module), last)
        if callable(thing) and not inspect.isclass(thing):
            found[name] = thing
    return found


def test_every_public_function_has_an_example_that_runs(api: ModuleType) -> None:
    without = {
        name
        for name, found in functions(api).items()
        if ">>>" not in (doc := inspect.getdoc(found) or "") or "+SKIP" in doc
    }
    assert without == ELSEWHERE.keys()


def test_markup_in_docstrings_is_text(api: ModuleType) -> None:
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
    api.plain(None, "", "", None, None, lines)
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


@pytest.fixture(scope="module")
def gallery() -> ModuleType:
    """Return what makes the pages of the gallery."""
    return load("_gallery")


def test_the_gallery_shows_every_example_with_a_figure(gallery: ModuleType) -> None:
    examples = gallery.list_examples()
    scripts = (DOCS.parent / "examples").glob("*.py")
    assert {each.path for each in examples} == set(scripts)
    assert len({each.title for each in examples}) == len(examples) >= 12
    for each in examples:
        last = [code.splitlines()[-1] for _, code in each.cells]
        drawn = any(line == "figure" or ".plot" in line for line in last)
        assert drawn or each.name in {"09_a_folder", "own_solver"}, each.name


def test_a_cell_has_its_output_and_its_last_value(gallery: ModuleType) -> None:
    names: dict[str, Any] = {}
    assert gallery.run_cell("x = 2\nprint(x)\nx + 1", names, "here") == ("2\n", 3)
    assert gallery.run_cell("y = x", names, "here") == ("", None)


def test_an_example_uses_what_it_imports_and_what_its_jobs_name(
    gallery: ModuleType,
) -> None:
    used = {
        each.name: {*gallery.resolve_names(each)} for each in gallery.list_examples()
    }
    assert {"aggopt.partition.univariate", "aggopt.aggregate.mean"} <= used[
        "04_one_attribute"
    ]
    assert "aggopt.partition.individual_ranking" in used["03_blocks_of_attributes"]
    assert "aggopt.mask" in used["01_mask_a_table"]
    assert "aggopt.mask" not in used["own_solver"]


def test_a_page_of_the_api_leads_to_examples_pages_and_relatives(
    api: ModuleType,
) -> None:
    pages = api.pages()
    mdav = pages["aggopt.partition/mdav"]
    assert "<example-04_one_attribute>" in mdav
    assert ":doc:`/mathematics/mdav`" in mdav
    assert ":doc:`mdav <aggopt.partition/mdav>`" in pages["aggopt.partition"]
    assert api.summarise(PARTITIONERS["mdav"]) in pages["aggopt.partition"]
    assert len({name.lower() for name in pages}) == len(pages)  # on any file system


FORMULAS = {
    "sum_ij c_ij y_ij <= floor(n / (2 k))": r"\sum_{ij} c_{ij} y_{ij} \le"
    r" \lfloor n / (2 k)\rfloor",
    "sqrt(n / n_j) + |x_i|": r"\sqrt{n / n_j} + |x_i|",
    "alpha * shift_j^2 in M": r"\alpha \, \text{shift}_j^2 \in M",
    "sum_{i in U_u} x_{a_cl, l} >= ybar_j'": r"\sum_{i \in U_u} x_{a_{cl}, l} \ge"
    r" \bar{y}_j'",
}


@pytest.mark.parametrize(("plain", "latex"), FORMULAS.items())
def test_formulas_of_plain_text_are_latex(
    formulas: ModuleType, plain: str, latex: str
) -> None:
    assert formulas.to_latex(plain).split() == latex.split()


@pytest.mark.parametrize("name", list(MODELS))
def test_every_formula_of_a_model_is_drawn(formulas: ModuleType, name: str) -> None:
    """All its lines are on the page, without LaTeX that MathML does not know."""
    convert = pytest.importorskip("latex2mathml.converter").convert
    head = inspect.getdoc(import_module(f"aggopt.models.{name}")) or ""
    page = formulas.render_program(head)
    drawn = [
        page[place + 2].strip()
        for place, line in enumerate(page)
        if line == ".. math::"
    ]
    named = re.search(r"\nSubject to\n(.*?)\n\n", head, re.DOTALL)
    constraints = re.findall(r"^    (\w+):", named[1], re.MULTILINE) if named else []
    assert constraints
    assert re.findall(r"^.text{(\w+):}", "\n".join(drawn), re.MULTILINE) == constraints
    assert len(drawn) > len(constraints)
    for formula in drawn:
        assert not re.search(r"\\[a-zA-Z]+|<mi>&<", convert(formula)), formula


def test_no_page_is_long() -> None:
    """2,500 words; benchmarks are printed, and a formula is many words."""
    pages = {page.name: page.read_text("utf-8") for page in DOCS.glob("*.md")}
    long = {name: len(text.split()) for name, text in pages.items()}
    assert {name: words for name, words in long.items() if words > 2500} == {}
