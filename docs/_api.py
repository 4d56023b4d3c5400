"""The pages of the API: a page for each module, and one for each public name.

A public name is in `aggopt`, its public folders or the modules below.
"""

import inspect
import re
from collections import Counter
from collections.abc import Iterable
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import _formulas
import _gallery

import aggopt

DOCS = Path(__file__).parent
ALONE = ("README", "index", "overview", "contributing", "changes")  # lists of others
MODULES = (
    "aggopt",
    *(f"aggopt.{folder}" for folder in aggopt._FOLDERS),
    "aggopt.errors",
    "aggopt.job",
    "aggopt.measure.criteria",
    "aggopt.measure.risk",
    "aggopt.measure.types",
    "aggopt.measure.utility",
    "aggopt.experiments.choose",
    "aggopt.experiments.compare_solvers",
    "aggopt.experiments.experiment",
    "aggopt.experiments.reproduce",
    "aggopt.experiments.sweep",
)


def public(module: str) -> list[str]:
    """Return the public names of a module: its `__all__`, or else what is its own.

    Of a folder that is what its `__init__` takes from its files under the same name,
    of a file what it defines.  Submodules have pages of their own.
    """
    there = import_module(module)
    named = getattr(there, "__all__", None) or [
        name for name, found in vars(there).items() if _own(there, name, found)
    ]
    return sorted(
        name
        for name in {*named, *_registered(there)}
        if not inspect.ismodule(getattr(there, name))
    )


def _own(module: Any, name: str, found: Any) -> bool:
    if name.startswith("_") or inspect.ismodule(found):
        return False
    home = str(getattr(found, "__module__", ""))
    if hasattr(module, "__path__"):  # a folder takes them from its files
        return home.startswith("aggopt")
    return home == module.__name__


def _registered(module: Any) -> set[str]:
    """Return the methods that a folder looks up in its registries."""
    found: set[str] = set()
    for name in ("PARTITIONERS", "AGGREGATORS", "CATEGORY_AGGREGATORS", "MEASURES"):
        methods = getattr(module, name, {})
        found |= {each for each in methods if "." not in each and "-" not in each}
    return {name for name in found if hasattr(module, name)}


@cache
def pages() -> dict[str, str]:
    """Return the text of each page of the API, by its name.

    A module has a page with a table of its names, and each name a page in its folder.
    """
    made = {"index": _index(), "models": _models()}
    links = Links()
    for module in MODULES:
        made[module] = _page(module)
        for name in public(module):
            made[_place(module, name)] = _page_of_name(module, name, links)
    return made


def summarise(thing: Any) -> str:
    """Return the first sentence of a docstring, as text without markup."""
    lines = (inspect.getdoc(thing) or "").split("\n\n")[0].split("\n")
    text = [" ".join(lines)]
    plain(None, "", "", None, None, text)
    return text[0]


def _table(rows: Iterable[tuple[str, str]]) -> list[str]:
    lines = [".. list-table::", "   :widths: 35 65", ""]
    for link, text in rows:
        lines += [f"   * - {link}", f"     - {text}"]
    return [*lines, ""]


def _index() -> str:
    rows = [(f":doc:`{name}`", summarise(import_module(name))) for name in MODULES]
    rows += [(":doc:`models`", "The programs that are solved, with their mathematics.")]
    return "\n".join(
        [
            *_title("The API"),
            "Every public name, by its module. Each has a page of its own, which links",
            "the examples and pages that use it.",
            "",
            *_table(rows),
            ".. toctree::",
            "   :hidden:",
            "   :maxdepth: 1",
            "",
            *(f"   {module}" for module in MODULES),
            "   models",
            "",
        ]
    )


def _kind(thing: Any) -> str:
    if inspect.isclass(thing):
        return "class"
    return "function" if callable(thing) else "data"


def _place(module: str, name: str) -> str:
    """Return the file of a name's page: `Mean` and `mean` differ on any file system."""
    kind = _kind(getattr(import_module(module), name))
    return f"{module}/{name}" + ("" if kind == "function" else f"-{kind}")


TITLES = {"function": "Functions", "class": "Classes", "data": "Data"}


def _page(module: str) -> str:
    there, names = import_module(module), public(module)
    lines = [*_title(module), f".. automodule:: {module}", ""]
    for kind, title in TITLES.items():
        rows = [
            (f":doc:`{name} <{_place(module, name)}>`", summarise(getattr(there, name)))
            for name in names
            if _kind(getattr(there, name)) == kind
        ]
        if kind == "data":
            rows = [(link, "") for link, _ in rows]
        if rows:
            lines += [title, "-" * len(title), "", *_table(rows)]
    return "\n".join([*lines, ""])


def _page_of_name(module: str, name: str, links: "Links") -> str:
    thing, options = getattr(import_module(module), name), []
    kind = _kind(thing)
    if kind == "class":
        options = ["   :members:"]
        if not first(module, name):
            options += ["   :no-index:"]
    elif kind == "data":
        options = ["   :no-value:"]
    whole = f"{module}.{name}"
    lines = [":orphan:", "", *_title(whole)]  # 250 names would fill each page's menu
    lines += [f"In :doc:`/api/{module}`.", ""]
    lines += [f".. auto{kind}:: {whole}", *options, ""]
    for title, found in links.find(module, name).items():
        if found:
            lines += [f".. rubric:: {title}", "", *(f"- {link}" for link in found), ""]
    return "\n".join(lines)


class Links:
    """Finds what to read after a page of the API: other names, examples and pages."""

    MOST = 6

    def __init__(self) -> None:
        self.examples = {
            each: {*_gallery.resolve_names(each)} for each in _gallery.list_examples()
        }
        word = re.compile(r"`(\w+)`|\b(aggopt(?:\.\w+)+)")
        self.words = {
            str(path.relative_to(DOCS).with_suffix("")): Counter(
                one or other for one, other in word.findall(path.read_text("utf-8"))
            )
            for path in sorted(DOCS.rglob("*.md"))
            if path.stem not in ALONE and "_build" not in path.parts
        }

    def find(self, module: str, name: str) -> dict[str, list[str]]:
        """Return links in three lists: see also, examples, pages."""
        whole = f"{module}.{name}"
        return {
            "See also": self.find_relatives(module, name)[: self.MOST],
            "Examples that use it": [
                f":ref:`{each.title} <example-{each.name}>`"
                for each, used in self.examples.items()
                if whole in used
            ],
            "Pages that mention it": self.find_pages(module, name)[: self.MOST],
        }

    def find_relatives(self, module: str, name: str) -> list[str]:
        """Return the public names in a docstring, then the names of the reverse."""
        there, names = import_module(module), public(module)
        doc = inspect.getdoc(getattr(there, name)) or ""
        mine = [each for each in names if each != name and f"`{each}`" in doc]
        theirs = [
            each
            for each in names
            if f"`{name}`" in (inspect.getdoc(getattr(there, each)) or "")
        ]
        found = dict.fromkeys([*mine, *(each for each in theirs if each != name)])
        return [f":doc:`{each} </api/{_place(module, each)}>`" for each in found]

    def find_pages(self, module: str, name: str) -> list[str]:
        """Return the pages that mention a name, the most frequent first.

        A method counts by its own name, for example `mdav`, as a job names it.
        """
        words = [f"{module}.{name}"]
        words += [name] * (name in _registered(import_module(module)))
        counts = {p: sum(found[w] for w in words) for p, found in self.words.items()}
        counts[f"mathematics/{name}"] = 1000 * (f"mathematics/{name}" in counts)
        found = sorted((-count, page) for page, count in counts.items() if count)
        return [f":doc:`/{page}`" for _, page in found]


def first(module: str, name: str) -> bool:
    """Whether no module before has shown the same thing, under whatever name."""
    found = getattr(import_module(module), name)
    before = MODULES[: MODULES.index(module)]
    shown = (getattr(import_module(m), n) for m in before for n in public(m))
    return not any(found is each for each in shown)


def _models() -> str:
    """Return the head of each model file: the mathematics that the code declares."""
    lines = [
        *_title("The optimisation models"),
        "The head of each file of ``models/``; the same names stand in its code.",
        "",
    ]
    for name in aggopt.models.MODELS:
        head = inspect.getdoc(import_module(f"aggopt.models.{name}")) or ""
        lines += [name, "-" * len(name), "", *_formulas.render_program(head), ""]
    return "\n".join(lines)


def _title(text: str) -> list[str]:
    return [text, "=" * len(text), ""]


PLAIN = re.compile(r"(``.*?``|`[^`]*`)")


def plain(_app: Any, _what: str, _name: str, _obj: Any, _opt: Any, lines: list[str]):
    """Let docstrings, which are plain text, mean no markup but code and lists."""
    example = shown = False
    for i, line in enumerate(lines):
        example = line.lstrip().startswith((">>>", "...")) or (example and line.strip())
        shown = shown and (not line or line.startswith(" "))
        if example or shown:
            continue
        parts = PLAIN.split(line)
        parts[::2] = [re.sub(r"([*|\\]|_\b)", r"\\\1", part) for part in parts[::2]]
        lines[i] = "".join(parts)
        after = lines[i + 1 : i + 3]
        if line.endswith(":") and after[:1] == [""] and after[-1].startswith("    "):
            lines[i] += ":"
            shown = True
