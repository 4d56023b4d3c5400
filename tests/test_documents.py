"""Pages do not rot: links, files, names and symbols that they mention are there."""

import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from xml.etree import ElementTree

import pytest
from test_import_direction import FLOORS

import aggopt

ROOT = Path(__file__).parent.parent
NONE = {  # what names what there was; and what stands at the top, and on the site alone
    *("CHANGELOG.md", "index.md", "overview.md", "contributing.md", "changes.md")
}
PAGES = tuple(
    sorted(
        page
        for page in (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"))
        if page.name not in NONE
    )
)
MATHEMATICS = tuple(page for page in PAGES if page.parent.name == "mathematics")
FOLDERS = ("aggopt", "models", "tests", "docs", "examples", "benchmarks", ".ci")
FENCE = re.compile(r"^```(.*?)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
CODE = re.compile(r"`([^`\n]+)`")
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
DOTTED = re.compile(r"(?<![\w./-])aggopt(?:\.[a-zA-Z_]\w*)+")

each_page = pytest.mark.parametrize(
    "page", PAGES, ids=lambda page: str(page.relative_to(ROOT))
)


def prose(page: Path) -> str:
    return FENCE.sub("", page.read_text("utf-8"))


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as they are made where it is shown."""
    titles = re.findall(r"^#+ (.+)$", prose(page), re.MULTILINE)
    kept = (re.sub(r"[^\w\- ]", "", title.lower()) for title in titles)
    return {title.strip().replace(" ", "-") for title in kept}


@each_page
def test_links_lead_somewhere(page: Path) -> None:
    for link in LINK.findall(prose(page)):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


def files(page: Path) -> Iterator[Path]:
    """Yield the files and folders that a page names, from the root on."""
    for code in CODE.findall(prose(page)):
        top, slash, _ = code.partition("/")
        if slash and top in FOLDERS and re.fullmatch(r"[\w./-]+", code):
            yield ROOT / code


def sources(path: Path) -> list[Path]:
    """Return a file, or those of a folder; what Python leaves there does not count."""
    return [path] if path.is_file() else [p for p in path.glob("*") if p.is_file()]


@each_page
def test_files_that_are_named_are_there(page: Path) -> None:
    gone = [path for path in files(page) if not (path.is_file() or sources(path))]
    assert [str(path.relative_to(ROOT)) for path in gone] == []


@cache
def found(name: str) -> bool:
    """Whether `aggopt.x.y` is a module, or something in one."""
    parts = name.split(".")
    for count in range(len(parts), 0, -1):
        try:
            it = import_module(".".join(parts[:count]))
        except ModuleNotFoundError:
            continue
        for part in parts[count:]:
            if not hasattr(it, part):
                return False
            it = getattr(it, part)
        return True
    return False


@each_page
def test_names_that_are_given_are_there(page: Path) -> None:
    """In prose and in code, but not in files to be made, or in what then holds."""
    text = page.read_text("utf-8")
    made = [match[0] for match in FENCE.finditer(text) if "=" in match[1]]
    for block in made:
        text = text.replace(block, "")
    assert [name for name in DOTTED.findall(text) if not found(name)] == []


@pytest.mark.parametrize("page", MATHEMATICS, ids=lambda page: page.name)
def test_symbols_are_those_of_the_files_that_a_page_names(page: Path) -> None:
    text = "\n".join(
        p.read_text("utf-8") for path in files(page) for p in sources(path)
    )
    names = {
        part
        for code in CODE.findall(prose(page))
        if re.fullmatch(r"[A-Za-z_][\w.]*", code)
        for part in code.split(".")
    }
    known = set(re.findall(r"\w+", text))
    if page.name == "README.md":
        known |= {p.stem.lstrip("_") for p in (ROOT / "aggopt").rglob("*.py")}
    assert sorted(names - known) == []


def test_every_page_is_linked_from_another() -> None:
    linked = {
        (page.parent / link.partition("#")[0]).resolve()
        for page in PAGES
        for link in LINK.findall(prose(page))
    }
    named = {path.resolve() for path in files(ROOT / "README.md")}
    inner = [page for page in PAGES if page.parent != ROOT]
    assert [page.name for page in inner if page not in linked | named] == []


def test_the_picture_shows_rooms_in_the_order_of_the_floors() -> None:
    tree = ElementTree.parse(ROOT / "docs" / "architecture.svg")
    texts = [e for e in tree.iter() if e.get("class") == "name"]
    rooms = [e.text for e in texts]
    assert rooms == [floor for floor in FLOORS if floor in rooms]
    folders = {p.name for p in (ROOT / "aggopt").iterdir() if p.is_dir()}
    files = {f"{room}.py" for room in set(rooms) - folders}
    assert folders - {"__pycache__"} <= set(rooms)
    assert files <= {p.name for p in (ROOT / "aggopt").glob("*.py")}


def test_the_picture_has_each_step_of_the_page_once() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    steps = re.findall(r"^\| (\d+) \|", page, re.MULTILINE)
    tree = ElementTree.parse(ROOT / "docs" / "architecture.svg")
    numbers = [e.text or "" for e in tree.iter() if e.get("class") == "number"]
    assert sorted(numbers, key=int) == steps


def test_the_page_lists_rooms_in_the_order_of_the_floors() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    table = page.split("## Rooms and floors")[1].split("\n\n")[2]
    rows = re.findall(r"^\| `(?:aggopt/)?(\w+)(?:\.py|/)`", table, re.MULTILINE)
    assert rows == [floor for floor in FLOORS if floor in rows]
    assert {floor for floor in FLOORS if floor.isalpha()} == set(rows)


def test_the_guide_keeps_to_the_glossary() -> None:
    """Words that the glossary gives without a meaning in brackets have none."""
    guide, glossary = (ROOT / "CONTRIBUTING.md").read_text("utf-8").split("## Glossary")
    left = re.findall(r"^\| ([^|`]+) \| [^|]+ \|$", glossary, re.MULTILINE)
    plain = {word for words in left if "(" not in words for word in words.split(", ")}
    assert len(plain) > 20
    pages = {"CONTRIBUTING.md": guide}
    for page in ("README.md", "architecture.md", "mathematics/*.md"):
        for path in (ROOT / "docs").glob(page):
            pages[path.name] = CODE.sub("", LINK.sub("", prose(path)))
    found = [
        (name, word)
        for name, text in pages.items()
        for word in sorted(plain - {"not", "---"})
        if re.search(rf"\b{word}\b", FENCE.sub("", text))
    ]
    assert found == []


def test_troubleshooting_quotes_messages_that_there_are() -> None:
    page = (ROOT / "docs" / "troubleshooting.md").read_text("utf-8")
    quoted = re.findall(r"^\| `([^`]+)` \| [^|]+ \| [^|]+ \|$", page, re.MULTILINE)
    assert len(quoted) > 15
    golden = (ROOT / "tests").rglob("messages.txt")
    messages = "\n".join(path.read_text("utf-8") for path in golden)
    contract = (ROOT / "docs").glob("input-*.md")
    messages += "\n".join(path.read_text("utf-8") for path in contract)
    assert [text for text in quoted if text not in messages] == []


BENCHMARK_PAGES = sorted((ROOT / "docs" / "benchmarks").glob("[a-z]*.md"))


@pytest.mark.parametrize("page", BENCHMARK_PAGES, ids=lambda page: page.name)
def test_a_page_of_a_benchmark_is_of_this_version_or_says_so(page: Path) -> None:
    """It names version, date, machine and seconds; the list marks an older version."""
    pattern = (
        r"^Printed by aggopt (\S+) on \d{4}-\d\d-\d\d, .+, \d+ cores, .+ seconds:$"
    )
    version = re.search(pattern, page.read_text("utf-8"), re.MULTILINE)
    assert version is not None
    listed = (page.parent / "README.md").read_text("utf-8")
    (row,) = re.findall(rf"^\| \[{page.stem}\].*$", listed, re.MULTILINE)
    assert f"| {version[1]} |" in row
    assert row.endswith("| yes |") == (version[1] == aggopt.__version__)


def test_every_benchmark_has_a_page_or_is_listed_without() -> None:
    listed = (ROOT / "docs" / "benchmarks" / "README.md").read_text("utf-8")
    names = {path.stem for path in (ROOT / "benchmarks").glob("[a-z]*.py")}
    rows = re.findall(
        r"^\| (?:\[(\w+)\]\(|`benchmarks/(\w+)\.py`)", listed, re.MULTILINE
    )
    assert {one or other for one, other in rows} == names
    assert f"version {aggopt.__version__}." in listed
