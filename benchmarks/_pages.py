"""Run benchmarks and write what each prints to its page.  Not a benchmark.

Run:  python benchmarks/_pages.py [--limit SECONDS] [NAME ...]        (`make bench`)
      python benchmarks/_pages.py --list                      (the list, and no run)
Every benchmark, or those that are named; `docs/benchmarks/NAME.md` is written anew with
what it printed, the version, the machine, the date and the seconds.
`docs/benchmarks/README.md` lists all benchmarks, and states which were not run for this
version.  A benchmark that takes longer than the limit is ended, and its page is kept.
"""

import ast
import os
import platform
import re
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from signal import SIGKILL
from threading import TIMEOUT_MAX, Timer
from time import perf_counter

import aggopt

HERE = Path(__file__).parent
TO = HERE.parent / "docs" / "benchmarks"
BY_PARTS = "statistics"  # it prints other benchmarks, which have pages
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


def ran(name: str, limit: float | None) -> bool:
    """Run a benchmark, show its output and write its page; return if it ended well."""
    print(f"== benchmarks/{name}.py", flush=True)
    started, before = perf_counter(), load()
    wide = os.environ | {"COLUMNS": "120", "NO_COLOR": "1"}
    words = [sys.executable, str(HERE / f"{name}.py")]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=wide) as run:
        timer = Timer(limit or TIMEOUT_MAX, run.kill)
        timer.daemon = True
        timer.start()
        lines = []
        for line in run.stdout or ():
            print(line, end="", flush=True)
            lines.append(ESCAPES.sub("", line).rstrip())
        timer.cancel()
    if limit and run.returncode == -SIGKILL:
        print(f"Ended after {limit:g} seconds: no page is written.")
        return True
    if run.returncode == 0:
        loads = f"{before} at the start, {load()} at the end"
        write(name, "\n".join(lines), perf_counter() - started, loads)
    return run.returncode == 0


def load() -> str:
    """Return the average number of processes that ran in the last minute."""
    return f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown"


def write(name: str, printed: str, seconds: float, loads: str) -> None:
    what = head(name).splitlines()[0]
    date = datetime.now(UTC).date().isoformat()
    text = f"""# {name}

{what}

    python benchmarks/{name}.py

Load average of the machine, other programs included: {loads}.

Printed by aggopt {aggopt.__version__} on {date}, {machine()}, Python \
{platform.python_version()}, in {seconds:.0f} seconds:

```text
{printed.strip()}
```
"""
    TO.mkdir(exist_ok=True)
    (TO / f"{name}.md").write_text(text, "utf-8")


def benchmarks() -> list[str]:
    """Return the names of all benchmarks."""
    return sorted(path.stem for path in HERE.glob("[a-z]*.py"))


def listed() -> None:
    """Write the list of all benchmarks, with the version that printed each page."""
    rows = []
    for name in benchmarks():
        page = TO / f"{name}.md"
        said = page.read_text("utf-8") if page.exists() else ""
        version = re.search(r"^Printed by aggopt (\S+) on (\S+), ", said, re.MULTILINE)
        took = re.search(r"in (\d+) seconds:", said)
        by, date = version.groups() if version else ("", "")
        current = "yes" if by == aggopt.__version__ else "not run for this version"
        current = "in the pages of its parts" if name == BY_PARTS else current
        link = f"[{name}]({name}.md)" if said else f"`benchmarks/{name}.py`"
        cells = (link, head(name).splitlines()[0], by, date, took[1] if took else "")
        rows.append(f"| {' | '.join((*cells, current))} |")
    text = f"""# Benchmarks

What `make bench` printed: each page has the output of one benchmark, with the version,
the machine and the date. `make bench ONLY="units p3m"` writes these two anew. Some
benchmarks take hours, so not all of them are run for each version. The last column
compares with version {aggopt.__version__}.

| benchmark | what | version | date | seconds | this version |
|---|---|---|---|---|---|
"""
    (TO / "README.md").write_text(text + "\n".join(rows) + "\n", "utf-8")


def main() -> None:
    words = sys.argv[1:]
    if words == ["--list"]:
        listed()
        return
    limit = float(words.pop(1)) if words[:1] == ["--limit"] else None
    names = words[1:] if limit else words
    named = names or [each for each in benchmarks() if each != BY_PARTS]
    for name in named:
        if not (HERE / f"{name}.py").exists():
            sys.exit(f"There is no benchmarks/{name}.py.")
    failed = [name for name in named if not ran(name, limit)]
    listed()
    if failed:
        sys.exit(f"Ended with an error: {', '.join(failed)}.")


if __name__ == "__main__":
    main()
