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
TOP = {"overview": "README", "contributing": "CONTRIBUTING", "changes": "CHANGELOG"}


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
        text = text.replace("# aggopt\n", "# Overview\n", 1)
    source[0] = inward(
        PICTURE.sub(r"![\3](\2){.only-light} ![\3](\1){.only-dark}", text), up
    )


PICTURE = re.compile(
    r'<picture><source media="[^"]+" srcset="([^"]+)"><img src="([^"]+)" alt="([^"]*)">'
    r"</picture>"
)


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


def mend(_app: Any, _page: str, _template: str, context: Any, _tree: Any) -> None:
    """Repair what the theme lacks for readers who use a keyboard or a screen reader."""
    menu = context.get("furo_navigation_tree", "")
    level = 'role="heading" aria-level="2"'
    context["furo_navigation_tree"] = menu.replace('role="heading"', level)
    if "body" in context:
        context["body"] = context["body"].replace("<pre>", '<pre tabindex="0">')


GLOSSARY = "glossary"
COMMON = {  # words of the glossary that every page has: no links
    *("block", "bound", "combination", "gap", "group", "k", "l", "model", "record"),
    *("release", "role", "t", "optimal", "solver", "attribute", "unit", "wish"),
    *("importance", "margin", "requirement", "violation", "objective", "repair"),
    *("delta", "alpha", "heuristic", "linkage", "partition", "aggregation", "audit"),
}


def list_terms() -> list[str]:
    """Return the terms of the glossary that pages link to, the longest first."""
    page = (Path(__file__).parent / f"{GLOSSARY}.md").read_text("utf-8")
    cells = re.findall(r"^\| ([^|]+?) \|", page, re.MULTILINE)[2:]
    terms = {term for cell in cells for term in cell.split(", ")} - COMMON
    return sorted(terms, key=lambda term: (-len(term), term))


def link_terms(app: Any, tree: Any) -> None:
    """Link the first use of each term of the glossary on a page to its meaning."""
    from docutils import nodes
    from sphinx import addnodes

    name = app.env.docname
    domain = app.env.get_domain("std")
    if name == GLOSSARY:
        for row in tree.findall(nodes.row):
            for term in row[0].astext().split(", "):
                row["ids"].append(nodes.make_id(f"term-{term}"))
                domain.note_object("term", term, row["ids"][-1])
        return
    if name.startswith(("api/", "gallery/", "benchmarks/")) or name in (*TOP, "index"):
        return
    terms = {term.lower(): term for term in list_terms()}
    word = re.compile(
        rf"(?<![\w-])({'|'.join(map(re.escape, terms))})s?(?![\w-])", re.I
    )
    for text in list(tree.findall(nodes.Text)):
        if not isinstance(text.parent, nodes.paragraph):
            continue
        if isinstance(text.parent.parent, nodes.entry):
            continue
        for match in word.finditer(text):
            if term := terms.pop(match[1].lower(), None):
                new = nodes.inline(match[0], match[0], classes=["xref", "std-term"])
                link = addnodes.pending_xref(
                    "", new, refdomain="std", reftype="term", reftarget=term
                )
                link["refexplicit"], link["refdoc"], link["refwarn"] = True, name, True
                parts = [text[: match.start()], text[match.end() :]]
                text.parent.replace(
                    text, [nodes.Text(parts[0]), link, nodes.Text(parts[1])]
                )
                break


def setup(app: Any) -> dict[str, bool]:
    """Connect all of it."""
    import _gallery

    app.connect(
        "builder-inited", lambda app: _gallery.make(Path(app.srcdir, "gallery"))
    )
    app.connect("html-page-context", mend, priority=900)
    app.connect("doctree-read", link_terms)
    app.add_html_math_renderer(
        "mathml", (render_inline, None), (render_displayed, None)
    )
    app.connect("builder-inited", write)
    app.connect("source-read", moved)
    app.connect("autodoc-process-docstring", plain, priority=400)
    app.connect("env-check-consistency", complete)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
