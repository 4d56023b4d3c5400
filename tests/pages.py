"""The pages as tests read them: their blocks, and what is known of each."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from markdown_it import MarkdownIt

ROOT = Path(__file__).parent.parent
MENUS = ("index.md", "overview.md", "contributing.md", "changes.md")  # of the site
NAMES = sorted(path.name for path in (ROOT / "docs").glob("*.md"))
PAGES = ("README.md", *(f"docs/{name}" for name in NAMES if name not in MENUS))
PROGRAMS = ("aggopt", "python", "make", "pip", ".", "R")
MARK = re.compile(r"<!-- (not run|slow|ends with): (.+?) -->", re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A block of a page: its language, or "commands" or "printed"; its text; its mark.

    `mark` is "not run", "slow", "ends with" or nothing, `why` what stands behind it.
    """

    kind: str
    text: str
    title: str
    mark: str
    why: str

    def runs(self, *, slow: bool) -> bool:
        return self.mark != "not run" and (slow or self.mark != "slow")

    @property
    def commands(self) -> Iterator[list[str]]:
        for line in self.text.replace("\\\n", " ").splitlines():
            if words := shlex.split(line, comments=True):
                yield words


def blocks(page: str) -> Iterator[Block]:
    """Yield the blocks of a page in their order."""
    mark = ("", "")
    for token in MarkdownIt("commonmark").parse((ROOT / page).read_text("utf-8")):
        if token.type == "html_block":
            found = MARK.match(token.content)
            mark = (found[1], found[2]) if found else ("", "")
        elif token.type in ("fence", "code_block"):
            language, _, more = token.info.partition(" ")
            title = re.fullmatch(r'title="(.+)"', more.strip())
            program = token.content.split(maxsplit=1)[0] in PROGRAMS
            plain = "commands" if program else "printed"
            named = title[1] if title else ""
            yield Block(language or plain, token.content, named, *mark)
            mark = ("", "")


def said(page: str) -> Iterator[list[str]]:
    """Yield the commands of aggopt that stand within a sentence, word by word."""
    for token in MarkdownIt("commonmark").parse((ROOT / page).read_text("utf-8")):
        for child in token.children or ():
            if child.type == "code_inline" and child.content.startswith("aggopt "):
                yield shlex.split(child.content)
