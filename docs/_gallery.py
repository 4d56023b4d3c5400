"""The gallery: each script of `examples/` runs, and its page shows output and figures.

Run:  python docs/_gallery.py FOLDER      writes a page per example, and an index

A cell begins with `# %%`.  If its last line is a figure, the page shows it, drawn for
readers of light and of dark pages.
"""

import ast
import contextlib
import hashlib
import io
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "examples"
STAMP = "made-of.txt"


@dataclass(frozen=True)
class Example:
    """A script: its title, the text below it, and its cells of code, with titles."""

    path: Path
    title: str
    text: str
    cells: tuple[tuple[str, str], ...]

    @property
    def name(self) -> str:
        return self.path.stem


def read_example(path: Path) -> Example:
    """Return a script by its cells."""
    source = path.read_text("utf-8").removeprefix("# %% [markdown]\n")
    head = ast.get_docstring(ast.parse(source)) or ""
    title, _, text = head.partition("\n\n")
    code = source.split('"""', 2)[2].lstrip("\n")
    parts = re.split(r"^# %% ?(.*)\n", code, flags=re.MULTILINE)
    cells = [("", parts[0]), *zip(parts[1::2], parts[2::2], strict=True)]
    shown = tuple((title, code.strip("\n")) for title, code in cells if code.strip())
    text = re.sub(r"\n*Run:  python .*", "", text)
    return Example(path, title.replace("\n", " ").rstrip("."), text, shown)


def list_examples() -> list[Example]:
    """Return the examples, the numbered ones first."""
    return [read_example(path) for path in sorted(EXAMPLES.glob("*.py"))]


def run_cell(code: str, names: dict[str, Any], place: str) -> tuple[str, Any]:
    """Run a cell; return its printed text, and the value of its last line, if any."""
    tree = ast.parse(code)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, place, "exec"), names)
        value = None
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), place, "eval"), names)
    return printed.getvalue(), value


def lighten(figure: Any) -> None:
    """Give a figure the colours of a dark page: dark ground, light text and lines."""
    from matplotlib.colors import to_hex

    light = {"#000000": "#eeeeee", "#ffffff": "#131416", "#ebebeb": "#444444"}
    light |= {"#cccccc": "#555555"}
    for artist in figure.findobj():
        for part in ("color", "facecolor", "edgecolor"):
            get = getattr(artist, f"get_{part}", None)
            change = getattr(artist, f"set_{part}", None)
            with contextlib.suppress(TypeError, ValueError):
                if get and change and (new := light.get(to_hex(get()))):
                    change(new)
    for axes in figure.axes:
        axes.tick_params(colors="#eeeeee")


def save_figure(figure: Any, stem: Path, dpi: int = 80) -> list[Path]:
    """Write a figure for light and for dark pages; return both files."""
    light, dark = stem.with_suffix(".png"), stem.with_name(f"{stem.name}-dark.png")
    figure.savefig(light, dpi=dpi, bbox_inches="tight")
    lighten(figure)
    figure.savefig(dark, dpi=dpi, bbox_inches="tight")
    return [light, dark]


def render(example: Example, folder: Path) -> str:
    """Run an example, write its figures, and return its page."""
    lines = [f".. _example-{example.name}:", "", example.title]
    lines += ["=" * len(example.title), "", *_escape(example.text).splitlines(), ""]
    names: dict[str, Any] = {"__name__": "__main__", "__file__": str(example.path)}
    figures = 0
    for title, code in example.cells:
        printed, value = run_cell(code, names, str(example.path))
        lines += [_escape(title).rstrip(".") + ".", ""] if title else []
        lines += ["", ".. code-block:: python", "", *_indent(code), ""]
        if printed.strip():
            shown = re.sub(r"/tmp/\w+", "/tmp/folder", printed)
            lines += [".. code-block:: text", "", *_indent(shown.strip("\n")), ""]
        if hasattr(value, "savefig"):
            figures += 1
            stem = folder / f"{example.name}-{figures}"
            for file, only in zip(
                save_figure(value, stem), ("light", "dark"), strict=True
            ):
                lines += [f".. image:: {file.name}", f"   :class: only-{only}"]
                lines += [f"   :alt: Figure {figures} of the example", ""]
    files = [f"``{example.path.relative_to(ROOT)}``"]
    return "\n".join([*lines, f"The script is {files[0]}.", ""])


def _indent(text: str) -> list[str]:
    return [f"   {line}".rstrip() for line in text.splitlines()]


def _escape(text: str) -> str:
    return re.sub(r"([*|\\]|_\b)", r"\\\1", text)


def render_index(examples: list[Example], folder: Path) -> str:
    """Return the page that lists the examples, with a small picture of each."""
    lines = ["Gallery", "=======", "", "Each example ran when this site was built."]
    lines += ["It shows its code, its output and its pictures.", ""]
    lines += [".. toctree::", "   :hidden:", ""]
    lines += [*(f"   {each.name}" for each in examples), ""]
    lines += [".. list-table::", "   :widths: 35 65", ""]
    for each in examples:
        lines += ["   * -"] if not (folder / f"{each.name}-1.png").exists() else []
        if (folder / f"{each.name}-1.png").exists():
            for place, (ending, only) in enumerate((("", "light"), ("-dark", "dark"))):
                lines += [
                    f"   {'*' if not place else ' '} {'-' if not place else ' '} "
                    f".. image:: {each.name}-1{ending}.png",
                    "          :width: 220",
                    f"          :class: only-{only}",
                    f"          :alt: {each.title}",
                    "",
                ]
        text = " ".join(_escape(each.text).split("\n\n")[0].split())
        lines += [f"     - :ref:`{each.title} <example-{each.name}>`", ""]
        lines += [f"       {text}", ""]
    return "\n".join(lines)


def hash_sources() -> str:
    """Return a digest of the examples, of the package and of this file."""
    files = sorted(
        file
        for folder in (EXAMPLES, ROOT / "aggopt", ROOT / "models")
        for file in folder.rglob("*")
        if file.suffix in (".py", ".toml", ".md") and "__pycache__" not in file.parts
    )
    digest = hashlib.sha256()
    for file in (*files, Path(__file__)):
        digest.update(file.read_bytes())
    return digest.hexdigest()


def make(folder: Path) -> None:
    """Write the pages into a folder, in a process of its own, if anything changed."""
    stamp, digest = folder / STAMP, hash_sources()
    if stamp.exists() and stamp.read_text() == digest:
        return
    folder.mkdir(exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    command = [sys.executable, "-W", "ignore", __file__, str(folder)]
    subprocess.run(command, check=True, cwd=ROOT, env={**os.environ, "COLUMNS": "90"})
    stamp.write_text(digest)


def resolve_names(example: Example) -> Iterator[str]:
    """Yield the names of the package that a script uses, and those of its methods.

    A method that a job names in quotes counts, for example `method="mdav"`.
    """
    tree = ast.parse(example.path.read_text("utf-8"))
    aliases = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("aggopt"):
            for name in node.names:
                aliases[name.asname or name.name] = f"{node.module}.{name.name}"
        elif isinstance(node, ast.Import):
            for name in node.names:
                if name.name.split(".")[0] == "aggopt":
                    aliases["aggopt"] = "aggopt"
    yield from aliases.values()
    texts = [Path(path).read_text("utf-8") for path in _jobs(example)]
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            parts = ast.unparse(node).split(".")
            if parts[0] in aliases:
                yield ".".join((aliases[parts[0]], *parts[1:]))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            texts.append(f'"{node.value}"')
    for quoted in re.findall(r'"(\w+)"', "\n".join(texts)):
        yield f"aggopt.partition.{quoted}"
        yield f"aggopt.aggregate.{quoted}"


def _jobs(example: Example) -> list[Path]:
    source = example.path.read_text("utf-8")
    return [path for path in EXAMPLES.rglob("*.toml") if f'"{path.name}"' in source]


def main() -> None:
    """Write all pages into the folder of the command line."""
    import matplotlib as mpl

    mpl.use("Agg")
    folder, examples = Path(sys.argv[1]), list_examples()
    for example in examples:
        (folder / f"{example.name}.rst").write_text(render(example, folder), "utf-8")
    (folder / "index.rst").write_text(render_index(examples, folder), "utf-8")


if __name__ == "__main__":
    main()
