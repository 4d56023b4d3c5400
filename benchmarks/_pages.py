"""Run benchmarks and write what each prints to its page.  Not a benchmark.

Run:  python benchmarks/_pages.py [NAME ...]        (`make bench`)
Every benchmark, or those that are named; `docs/benchmarks/NAME.md` is written anew with
what it printed, the machine, the date and the seconds, and `docs/benchmarks/README.md`
lists all pages that are there.
"""

import ast
import os
import platform
import re
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter

import aggopt

HERE = Path(__file__).parent
TO = HERE.parent / "docs" / "benchmarks"
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def head(name: str) -> str:
    """Return what a benchmark says it is."""
    return ast.get_docstring(ast.parse((HERE / f"{name}.py").read_text("utf-8"))) or ""


def machine() -> str:
    """Return the processor, how many of its cores this process may use, and memory."""
    information = Path("/proc/cpuinfo")
    text = information.read_text("utf-8") if information.exists() else ""
    named = re.search(r"^model name\s*: (.+)$", text, re.MULTILINE)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 0
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    processor = named[1] if named else platform.processor() or platform.machine()
    return f"{processor}, {cores or os.cpu_count()} cores, {memory:.0f} GiB"


def ran(name: str) -> bool:
    """Run a benchmark, show what it prints and write its page; say if it ended well."""
    print(f"== benchmarks/{name}.py", flush=True)
    started = perf_counter()
    wide = os.environ | {"COLUMNS": "120", "NO_COLOR": "1"}
    words = [sys.executable, str(HERE / f"{name}.py")]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=wide) as run:
        lines = []
        for line in run.stdout or ():
            print(line, end="", flush=True)
            lines.append(ESCAPES.sub("", line).rstrip())
    if run.returncode == 0:
        write(name, "\n".join(lines), perf_counter() - started)
    return run.returncode == 0


def write(name: str, printed: str, seconds: float) -> None:
    what = head(name).splitlines()[0]
    date = datetime.now(UTC).date().isoformat()
    text = f"""# {name}

{what}

    python benchmarks/{name}.py

Printed by aggopt {aggopt.__version__} on {date}, {machine()}, Python \
{platform.python_version()}, in {seconds:.0f} seconds:

```text
{printed.strip()}
```
"""
    TO.mkdir(exist_ok=True)
    (TO / f"{name}.md").write_text(text, "utf-8")


def listed() -> None:
    """Write the list of the pages that are there."""
    rows = []
    for page in sorted(TO.glob("[a-z]*.md")):
        said = page.read_text("utf-8")
        date = re.search(r" on (\d{4}-\d\d-\d\d), ", said)
        took = re.search(r"in (\d+) seconds:", said)
        rows.append(
            f"| [{page.stem}]({page.name}) | {head(page.stem).splitlines()[0]} "
            f"| {date[1] if date else ''} | {took[1] if took else ''} |"
        )
    text = """# Benchmarks

What `make bench` printed: each page has the output of one benchmark, as it is, with
the machine and the date. `make bench ONLY="units p3m"` writes these two anew. Others
are run by the same command, and have no page until somebody does: some take hours.

| page | what | date | seconds |
|---|---|---|---|
"""
    (TO / "README.md").write_text(text + "\n".join(rows) + "\n", "utf-8")


def main() -> None:
    every = {path.stem for path in HERE.glob("[a-z]*.py")}
    named = sys.argv[1:] or sorted(every - {"statistics"})  # its parts have pages
    for name in named:
        if not (HERE / f"{name}.py").exists():
            sys.exit(f"There is no benchmarks/{name}.py.")
    failed = [name for name in named if not ran(name)]
    listed()
    if failed:
        sys.exit(f"Ended with an error: {', '.join(failed)}.")


if __name__ == "__main__":
    main()
