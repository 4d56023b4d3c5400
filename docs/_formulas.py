r"""Formulas of plain text, as docstrings have them, in LaTeX; the heads of models.

`sum_ij c_ij y_ij <= k` becomes `\sum_{ij} c_{ij} y_{ij} \le k`.
"""

import re
from collections.abc import Iterator

GREEK = ("alpha", "gamma", "delta", "rho", "epsilon", "Sigma")
SIGNS = {"<=": r"\le ", ">=": r"\ge ", "*": r"\, ", "&": r"\cap ", "±": r"\pm "}
SIGNS |= {"|": "|", "{": r"\{", "}": r"\}", "->": r"\to "}
WORDS = {"min": r"\min ", "max": r"\max ", "log": r"\log ", "in": r"\in "}
TOKEN = re.compile(
    r"(?P<name>[A-Za-z]+)(?:_(?P<sub>\{[^}]*\}|[A-Za-z0-9]+))?(?P<prime>'?)"
    r"|(?P<sign><=|>=|->|[*&±|{}])|(?P<open>\()|(?P<close>\))|(?P<other>.)"
)


def to_latex(text: str) -> str:
    """Return a formula of plain text in LaTeX."""
    parts: list[str] = []
    closers: list[str] = []
    for match in TOKEN.finditer(text):
        if match["name"]:
            name = match["name"]
            if name in ("floor", "sqrt") and text[match.end() : match.end() + 1] == "(":
                closers.append(name)  # for the bracket that follows
                continue
            parts.append(_write_name(name, match["sub"], match["prime"]))
        elif match["open"]:
            pending = bool(closers) and closers[-1] in ("floor", "sqrt")
            function = closers.pop() if pending else ""
            closers.append({"floor": r"\rfloor ", "sqrt": "}"}.get(function, ")"))
            parts.append({"floor": r"\lfloor ", "sqrt": r"\sqrt{"}.get(function, "("))
        elif match["close"]:
            parts.append(closers.pop() if closers else ")")
        else:
            parts.append(SIGNS.get(match["sign"], match["sign"]) or match["other"])
    return re.sub(r"\^([\w.]{2,})", r"^{\1}", "".join(parts))


def _write_name(name: str, sub: str | None, prime: str) -> str:
    if name in WORDS and not sub:
        return WORDS[name]
    index = ""
    if sub:
        inner = sub[1:-1] if sub.startswith("{") else sub
        nested = to_latex(inner) if sub.startswith("{") else inner
        index = f"_{{{nested}}}" if len(nested) > 1 else f"_{nested}"
    if name == "sum":
        return rf"\sum{index} "
    if name.endswith("bar") and len(name) > 3:
        return rf"\bar{{{name[:-3]}}}{index}{prime}"
    if name in GREEK:
        return rf"\{name}{index}{prime} "
    if len(name) == 1 or (len(name) == 2 and name[0] == "n"):
        return f"{name}{index}{prime}"
    return rf"\text{{{name}}}{index}{prime}" if sub else rf"\text{{ {name} }}{prime}"


LABEL = re.compile(r"(\w+):\s+(.*)")  # of a constraint


def read_program(head: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the parts of a model's head: a title, or none for text, and their lines.

    Lines that continue one with deeper indentation are joined to it.
    """
    title, lines = "", []
    for line in [*head.splitlines(), "End"]:
        named = re.fullmatch(r"Data|Variables|Minimise|Maximise|Subject to|End", line)
        left = title and line and not line.startswith(" ")
        if named or left:
            yield title, lines
            title, lines = (line, []) if named else ("", [line])
        elif (
            title
            and line.startswith("     ")
            and lines
            and not LABEL.match(line.strip())
        ):
            if title in ("Minimise", "Subject to"):
                lines[-1] += " " + line.strip()
            else:
                lines.append(line)
        else:
            lines.append(line)


def render_program(head: str) -> list[str]:
    """Return the head of a model as a page has it: its formulas are drawn."""
    page: list[str] = []
    for title, lines in read_program(head):
        if title:
            page += [f".. rubric:: {title}", ""]
        if title in ("Minimise", "Maximise", "Subject to"):
            for line in filter(str.strip, lines):
                page += _render_formula(line.strip())
        elif title:
            page += _render_text(lines)
        else:
            for paragraph in "\n".join(lines).strip("\n").split("\n\n"):
                shown = paragraph.splitlines()
                inset = paragraph.startswith(" ")
                page += _render_text(shown) if inset else [*map(escape, shown), ""]
    return page


def escape(text: str) -> str:
    """Return a line of plain text in which no character is markup."""
    return re.sub(r"([*|\\]|_\b|(?<=\w)_(?=\w))", r"\\\1", text)


def _render_text(lines: list[str]) -> list[str]:
    return [".. code-block:: text", "", *(f"   {line}" for line in lines), ""]


def _render_formula(line: str) -> list[str]:
    label = LABEL.match(line)
    name, formula = (label[1], label[2]) if label else ("", line)
    formula, *rest = re.split(r"(?<![<>=]),?\s{2,}", formula, maxsplit=1)
    condition = re.sub(r"\s+", " ", " ".join(rest)).strip("()") if rest else ""
    tail = rf" \qquad ({to_latex(condition)})" if condition else ""
    lead = rf"\text{{{name}:}} \quad " if name else ""
    return [".. math::", "", f"   {lead}{to_latex(formula)}{tail}", ""]
