"""What the site has beyond the pages: the API, the gallery, README and CONTRIBUTING.

A name of the package that ends up on no page fails the build, as every warning does.
"""

import re
from pathlib import Path
from typing import Any

import _api
import _gallery

TOP = {"overview": "README", "contributing": "CONTRIBUTING", "changes": "CHANGELOG"}


def write(app: Any) -> None:
    """Write the pages of the API beside the others, where they changed."""
    folder = Path(app.srcdir) / "api"
    folder.mkdir(exist_ok=True)
    for name, text in _api.pages().items():
        to = folder / f"{name}.rst"
        to.parent.mkdir(exist_ok=True)
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


def complete(app: Any, _env: Any) -> None:
    """Warn of public names that stand on no page."""
    from sphinx.util import logging

    objects = app.env.domains["py"].objects
    for module in _api.MODULES:
        for name in _api.public(module):
            if f"{module}.{name}" not in objects and _api.first(module, name):
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
    app.connect("autodoc-process-docstring", _api.plain, priority=400)
    app.connect("env-check-consistency", complete)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
