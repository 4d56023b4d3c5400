"""The texts of the page: one catalogue a language, a file of TOML each."""

import re
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from string import Formatter

from markupsafe import Markup

from aggopt.app.process import Activity

HERE = Path(__file__).parent
LANGUAGES = tuple(sorted(path.stem for path in HERE.glob("*.toml")))
FIRST = "en"
Pattern = tuple[re.Pattern[str], str]  # of a sentence of aggopt, and its translation


class Texts:
    """The texts of a language by name, with the values that a sentence takes.

    >>> Texts("en")("k holds", k=5)
    'k = 5'
    """

    def __init__(self, language: str) -> None:
        self.language = language
        self._texts = read_catalogue(language)

    def __call__(self, name: str, /, **values: object) -> str:
        """Return a text; an unknown name raises a KeyError."""
        return self._texts[name].format_map(values)

    def has(self, name: str) -> bool:
        """Return whether there is a text of this name."""
        return name in self._texts

    def translate(self, sentence: str) -> str | None:
        """Return a sentence of aggopt in this language; None if it is not known.

        >>> Texts("de").translate("text, 3 different")
        'Text, 3 verschiedene'
        """
        for pattern, translation in read_sentences(self.language):
            match = pattern.fullmatch(sentence)
            if match:
                values = {
                    name: self.translate(value) if name.isupper() else value
                    for name, value in match.groupdict().items()
                }
                if None not in values.values():
                    return translation.format_map(values)
        return sentence if self.language == FIRST else None

    def tell(self, sentence: str, *, begins: bool = False) -> Markup:
        """Return a sentence of aggopt for a page; one that stays English is marked.

        One that `begins` there has a capital letter.
        """
        known = self.translate(sentence)
        text = sentence if known is None else known
        text = text[:1].upper() + text[1:] if begins else text
        marked = '<span lang="en">{}</span>' if known is None else "{}"
        return Markup(marked).format(text)

    def describe(self, activity: Activity) -> str:
        """Return what the process does, in a sentence for the line of progress."""
        if activity.status == "starting":
            return self("starting")
        step = self._texts.get(f"step {activity.step}") or activity.step
        share = f" · {activity.share:.0%}" if activity.share else ""
        return f"{step}{share}" if step else self("begins")


@cache
def read_catalogue(language: str) -> Mapping[str, str]:
    """Return the texts of a language by name."""
    texts: dict[str, str] = tomllib.loads(
        (HERE / f"{language}.toml").read_text("utf-8")
    )
    return texts


@cache
def read_sentences(language: str) -> Sequence[Pattern]:
    """Return the patterns of the sentences of aggopt that a language has."""
    path = HERE / "sentences" / f"{language}.toml"
    sentences = tomllib.loads(path.read_text("utf-8"))
    return [(_compile(known), translation) for known, translation in sentences.items()]


def _compile(sentence: str) -> re.Pattern[str]:
    """Return the pattern of a sentence: a field of one letter is a number."""
    parts = [
        re.escape(text) + ("" if name is None else f"(?P<{name}>{_match(name)})")
        for text, name, _, _ in Formatter().parse(sentence)
    ]
    return re.compile("".join(parts), re.DOTALL)


def _match(name: str) -> str:
    """Return the pattern of the texts that a field takes."""
    return r"\d[\d,.]*" if len(name) == 1 else ".+?"
