"""What a reader sees of a page: its text, and its tables by their captions."""

import re
from html.parser import HTMLParser

NUMBER = re.compile(r"(?<![\w.])[\d,]*\.?\d+(?:e[+−-]?\d+)?")


class Reader(HTMLParser):
    """Collects the text of a page, without styles and charts, and its tables."""

    def __init__(self, page: str):
        super().__init__()
        self.words: list[str] = []
        self.tables: dict[str, list[list[str]]] = {}
        self._hidden, self._caption, self._cell = 0, False, False
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self._hidden += tag in ("style", "svg")
        if tag == "caption":
            self._caption = True
        elif tag == "tr":
            self._rows.append([])
        elif tag in ("th", "td"):
            self._rows[-1].append("")
            self._cell = True

    def handle_endtag(self, tag):
        self._hidden -= tag in ("style", "svg")
        self._caption = self._caption and tag != "caption"
        self._cell = self._cell and tag not in ("th", "td")

    def handle_data(self, data):
        if self._hidden:
            return
        self.words.append(data)
        if self._caption:
            self._rows = self.tables.setdefault(data, [])
        elif self._cell:
            self._rows[-1][-1] += data

    @property
    def text(self) -> str:
        return re.sub(r"\s+", " ", " ".join(self.words))


def table(page: str, caption: str) -> list[list[str]]:
    """Return the rows of a table, its head first."""
    return Reader(page).tables[caption]


def digits(number: str) -> int:
    """Return how many significant digits a number is written with."""
    mantissa = number.replace(",", "").partition("e")[0]
    plain = mantissa.replace(".", "").lstrip("0")
    return len(plain if "." in mantissa else plain.rstrip("0"))
