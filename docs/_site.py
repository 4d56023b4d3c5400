"""What the site has beyond the pages: the API, and README and CONTRIBUTING.

A public name is what `aggopt`, its public folders and the modules below say is theirs.
A name that ends up on no page fails the build, as every warning does.
"""

import inspect
import re
from importlib import import_module
from pathlib import Path
from typing import Any

import aggopt

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
TOP = {"index": "README", "contributing": "CONTRIBUTING", "changes": "CHANGELOG"}


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


def pages() -> dict[str, str]:
    """Return the text of each page of the API, by its name."""
    made = {module: _page(module) for module in MODULES}
    made["models"] = _models()
    return {"index": _index(), **made}


def _index() -> str:
    return "\n".join(
        [
            *_title("The API"),
            "Every public name, by the module that it is taken from.",
            "",
            ".. toctree::",
            "   :maxdepth: 1",
            "",
            *(f"   {module}" for module in MODULES),
            "   models",
            "",
        ]
    )


def _page(module: str) -> str:
    there = import_module(module)
    lines = [*_title(module), f".. automodule:: {module}", ""]
    for name in public(module):
        found, options = getattr(there, name), []
        if inspect.isclass(found):
            kind, options = "class", ["   :members:"]
            if not first(module, name):
                options += ["   :no-index:"]
        elif callable(found):
            kind = "function"
        else:
            kind, options = "data", ["   :no-value:"]
        lines += [f".. auto{kind}:: {name}", *options, ""]
    return "\n".join(lines)


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
        lines += [name, "-" * len(name), "", ".. code-block:: text", ""]
        lines += [f"   {line}" for line in head.splitlines()]
        lines += [""]
    return "\n".join(lines)


def _title(text: str) -> list[str]:
    return [text, "=" * len(text), ""]


def write(app: Any) -> None:
    """Write the pages of the API beside the others, where they changed."""
    folder = Path(app.srcdir) / "api"
    folder.mkdir(exist_ok=True)
    for name, text in pages().items():
        to = folder / f"{name}.rst"
        if not to.exists() or to.read_text("utf-8") != text:
            to.write_text(text, "utf-8")


def moved(app: Any, name: str, source: list[str]) -> None:
    """Put pages from the top of the repository where the site has them."""
    text, up = source[0], "../"
    if name in TOP:
        page = Path(app.srcdir).parent / f"{TOP[name]}.md"
        app.env.note_dependency(str(page))
        text, up = page.read_text("utf-8") + "\n" + text, ""
    source[0] = inward(text, up)


def inward(text: str, up: str) -> str:
    """Return a page whose links lead to pages of the site, and none to code.

    `up` leads from the page to the top of the repository.
    """
    for here, page in TOP.items():
        text = re.sub(rf"\]\((?:{up})+{page}\.md", f"](/{here}.md", text)
    if not up:
        text = text.replace("](docs/", "](/")
        return re.sub(r"(?<!!)\[([^]]*)\]\((?![/#]|\w+:)[^)]*\)", r"\1", text)
    return re.sub(r"\[([^]]*)\]\((?:\.\./)+(?![^)]*\.md)[^)]*\)", r"\1", text)


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


def complete(app: Any, _env: Any) -> None:
    """Warn of public names that stand on no page."""
    from sphinx.util import logging

    objects = app.env.domains["py"].objects
    for module in MODULES:
        for name in public(module):
            if f"{module}.{name}" not in objects and first(module, name):
                logging.getLogger(__name__).warning("%s.%s: no page", module, name)


def render_inline(translator: Any, node: Any) -> None:
    """Write an inline formula as MathML, which browsers draw without a script."""
    _render_formula(translator, node, "inline")


def render_displayed(translator: Any, node: Any) -> None:
    """Write a displayed formula as MathML; a wide one scrolls."""
    translator.body.append('<div style="overflow-x: auto" tabindex="0">')
    _render_formula(translator, node, "block", after="</div>\n")


def _render_formula(translator: Any, node: Any, display: str, after: str = "") -> None:
    from docutils.nodes import SkipNode
    from latex2mathml.converter import convert

    formula = convert(node.astext(), display=display)
    aligned = re.sub(r'columnalign="(\w+)"', r'style="text-align: \1"', formula)
    translator.body.append(aligned + after)
    raise SkipNode


def setup(app: Any) -> dict[str, bool]:
    """Connect all of it."""
    app.add_html_math_renderer(
        "mathml", (render_inline, None), (render_displayed, None)
    )
    app.connect("builder-inited", write)
    app.connect("source-read", moved)
    app.connect("autodoc-process-docstring", plain, priority=400)
    app.connect("env-check-consistency", complete)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
