"""One page of HTML that opens offline: whatever is put into it is escaped."""

import base64
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from aggopt.release.report.number_format import (
    format_figure,
    format_share,
    format_whole,
)

NO_BREAK = "\N{NO-BREAK SPACE}"
TEMPLATES = Path(__file__).parent / "templates"


def fill_template(template: str, *, script: str = "", **facts: Any) -> str:
    """Return a page: the template of this name, filled with facts.

    It needs no script and loads no address. Its Content-Security-Policy lets a browser
    run and draw only its own contents.

    Parameters
    ----------
    template
        The name of a file in `aggopt/release/report/templates/`.
    script
        Plain JavaScript that adds to the page; none when empty.
    facts
        Values of the template's names.  A name that it uses and that is not among them
        raises.

    Examples
    --------
    >>> "<h1><bdi>&lt;b&gt;</bdi></h1>" in fill_template("base.html", title="<b>")
    True
    """
    style = (TEMPLATES / "style.css").read_text("utf-8")
    return (
        _make_environment()
        .get_template(template)
        .render(
            style=Markup(style),
            script=Markup(script),
            style_hash=_digest(style),
            script_hash=_digest(script) if script else "",
            **facts,
        )
    )


@cache
def _make_environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "share": format_share,
        "figure": format_figure,
        "whole": format_whole,
    }
    environment.filters["unbroken"] = _join_signs
    return environment


def _join_signs(text: str) -> str:
    """Return text whose lines never break before a percent sign, nor after < or >."""
    for sign in (" %", "< ", "> "):
        text = text.replace(sign, sign.replace(" ", NO_BREAK))
    return text


def _digest(text: str) -> str:
    """Return the name of an inline text in a Content-Security-Policy."""
    return f"sha256-{base64.b64encode(sha256(text.encode()).digest()).decode()}"
