"""The texts of the page: one catalogue a language, a file of TOML each."""

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from aggopt.app.process import Activity

LANGUAGES = tuple(sorted(p.stem for p in Path(__file__).parent.glob("*.toml")))
FIRST = "en"


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
    path = Path(__file__).parent / f"{language}.toml"
    texts: dict[str, str] = tomllib.loads(path.read_text("utf-8"))
    return texts
