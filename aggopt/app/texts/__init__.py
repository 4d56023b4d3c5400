"""The texts of the page: one catalogue a language, a file of TOML each."""

import re
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from html import unescape
from pathlib import Path
from string import Formatter
from typing import Any

from markupsafe import Markup, escape

from aggopt.app.process import Activity

HERE = Path(__file__).parent
LANGUAGES = tuple(sorted(path.stem for path in HERE.glob("*.toml")))
FIRST = "en"
LABEL = r'(?<=aria-label=")[^"]+'  # of a chart
WORDS = rf"{LABEL}|(?<=>)[^<>]+(?=</t)"  # all texts of a chart


class Texts:
    """The texts of a language by name, with the values that a sentence takes."""

    def __init__(self, language: str) -> None:
        self.language = language
        self._texts = read_catalogue(language)

    def __call__(self, name: str, /, **values: object) -> str:
        """Return a text; an unknown name raises a KeyError."""
        return str(self._texts[name].format_map(values))

    def list_choices(self, kind: str) -> dict[str, str]:
        """Return the values that a field may have, each with its text."""
        return dict(self._texts["choices"][kind])

    def translate(self, sentence: str) -> str | None:
        """Return a sentence of aggopt in this language; None if it is not known.

        >>> Texts("de").translate("text, 3 different")
        'Text, 3 verschiedene'
        """
        for pattern, translation in read_sentences(self.language):
            match = pattern.fullmatch(sentence)
            if match:
                values: dict[str, str | None] = match.groupdict()
                for name, value in match.groupdict().items():
                    if name.isupper():
                        values[name] = self.translate(value)
                    elif len(name) == 1:
                        values[name] = self.spell(value)
                if None not in values.values():
                    return translation.format_map(values)
        return sentence if self.language == FIRST else None

    def spell(self, number: str) -> str:
        """Return a number with the separators of this language."""
        return number.translate(str.maketrans(",.", self("separators")))

    def tell(self, sentence: str, *, begins: bool = False) -> Markup:
        """Return a sentence of aggopt for a page, marked if it stays English."""
        known = self.translate(sentence)
        text = sentence if known is None else known
        text = text[:1].upper() + text[1:] if begins else text
        marked = '<span lang="en">{}</span>' if known is None else "{}"
        return Markup(marked).format(text)

    def draw(self, chart: str, *, has_entries: bool) -> Markup:
        """Return a chart in this language; its texts stay if they may be entries."""

        def translate(match: re.Match[str]) -> str:
            text = unescape(match[0])
            return escape(self.translate(text) or text)

        return Markup(re.sub(LABEL if has_entries else WORDS, translate, chart))

    def describe(self, activity: Activity) -> str:
        """Return what the process does, in a sentence for the line of progress."""
        if activity.status == "starting":
            return self("starting")
        step = self.list_choices("step").get(activity.step, activity.step)
        share = f" · {activity.share:.0%}" if activity.share else ""
        return f"{step}{share}" if step else self("begins")


@cache
def read_catalogue(language: str) -> Mapping[str, Any]:
    """Return the texts of a language by name."""
    return tomllib.loads((HERE / f"{language}.toml").read_text("utf-8"))


@cache
def read_sentences(language: str) -> Sequence[tuple[re.Pattern[str], str]]:
    """Return the pattern of each sentence of aggopt, with its translation."""
    path = HERE / "sentences" / f"{language}.toml"
    sentences = tomllib.loads(path.read_text("utf-8"))
    return [(_compile(known), translation) for known, translation in sentences.items()]


def _compile(sentence: str) -> re.Pattern[str]:
    """Return the pattern of a sentence: a field of one letter is a number."""
    pattern = ""
    for text, name, _, _ in Formatter().parse(sentence):
        entry = r"-?\d[\d,.-]*" if name and len(name) == 1 else ".+?"
        pattern += re.escape(text) + (f"(?P<{name}>{entry})" if name else "")
    return re.compile(pattern, re.DOTALL)
