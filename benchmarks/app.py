"""The page `aggopt app`: its size, its first progress, its cancel, its window of rows.

    python benchmarks/app.py [RECORDS]

RECORDS are those of the table of the window, 1,000,000 by 50 columns if left out.
"""

import ast
import os
import signal
import statistics
import subprocess
import sys
import time
from importlib.metadata import distribution
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from serving import serve  # noqa: E402

EXTRA = ("starlette", "uvicorn", "anyio", "h11", "idna", "sniffio", "click")
WINDOWS = 200
COLUMNS = 50


def measure_sizes() -> None:
    sizes = {}
    for name in EXTRA:
        try:
            files = distribution(name).files or []
        except ImportError:
            continue
        paths = [Path(str(file.locate())) for file in files]
        kept = [p for p in paths if p.is_file() and p.suffix != ".pyc"]
        sizes[name] = sum(path.stat().st_size for path in kept) / 1e6
    print(f"extra app: {sum(sizes.values()):.1f} MB ({', '.join(sizes)})")
    code = "import time; b = time.process_time(); import aggopt.app.server, uvicorn; "
    code += "print(time.process_time() - b)"
    times = [
        float(subprocess.check_output([sys.executable, "-c", code])) for _ in range(5)
    ]
    print(f"import of the server: {statistics.median(times):.2f} s of processor")
    room = ROOT / "aggopt" / "app"
    lines = [len(p.read_text().splitlines()) for p in room.rglob("*.py")]
    code = [count_code(p.read_text()) for p in room.rglob("*.py")]
    print(f"Python of the room: {sum(lines)} lines, {sum(code)} with code")
    script = (room / "static" / "app.js").stat().st_size
    print(f"own JavaScript: {script / 1000:.1f} KB")


def count_code(text: str) -> int:
    """Return the number of lines that are neither blank nor documentation."""
    lines = text.splitlines()
    documented = ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, documented) and ast.get_docstring(node):
            first = node.body[0]
            for place in range(first.lineno - 1, first.end_lineno):
                lines[place] = ""
    return sum(bool(line.strip()) for line in lines)


def make_table(path: Path, n: int, columns: int) -> None:
    rng = np.random.default_rng(0)
    names = [f"x{number}" for number in range(columns)]
    pq.write_table(pa.table({x: rng.normal(size=n).round(3) for x in names}), path)


def time_until(client, *statuses: str) -> float:
    begun = time.perf_counter()
    client.wait(*statuses)
    return time.perf_counter() - begun


def measure_process(client) -> None:
    names = [f"x{number}" for number in range(6)]
    client.open("small.parquet")
    client.choose_roles(dict.fromkeys(names, "quasi-identifier"), then="risk")
    fields = {"k": 5, "method": "local_search", "screen": "protect"}
    for attempt in ("first", "second"):
        begun = time.perf_counter()
        client.run("/protect", **fields, next="preview")
        seconds = time.perf_counter() - begun
        print(f"preview of 2,000 records, {attempt}: {seconds:.1f} s")
    times = []
    for k in range(6, 11):
        begun = time.perf_counter()
        client.post("/protect", **{**fields, "k": k})
        while not client.activity()["step"]:
            pass
        times.append(time.perf_counter() - begun)
        client.post("/cancel")
        client.wait("cancelled", "done")
    print(f"first progress after a click: {max(times):.2f} s at most of {len(times)}")
    for wait in (0.0, 0.3, 1.0, 3.0, 6.0):
        client.wait("idle", "done", "cancelled", "failed")
        client.post("/protect", **{**fields, "k": 11})
        time.sleep(wait)
        step = client.activity()["step"] or "start"
        client.post("/cancel")
        print(f"cancel in step {step!r}: {time_until(client, 'cancelled'):.2f} s")
    client.wait("idle", "done", "cancelled", "failed")
    client.post("/protect", **{**fields, "k": 12})
    while not client.activity()["search"]:
        pass
    client.post("/stop")
    print(f"release after the search is stopped: {time_until(client, 'done'):.2f} s")
    client.run("/risk")
    client.post("/protect", **{**fields, "k": 12})
    children = psutil.Process(client.process.pid).children()
    (child,) = [c for c in children if "aggopt.app.worker" in " ".join(c.cmdline())]
    os.kill(child.pid, signal.SIGKILL)
    print(f"killed process reported after {time_until(client, 'died'):.2f} s")


def measure_window(client, n: int) -> None:
    begun = time.perf_counter()
    client.open("large.parquet")
    print(f"{n:,} x {COLUMNS} opened in {time.perf_counter() - begun:.1f} s")
    begun = time.perf_counter()
    client.get("/table")
    print(f"first window: {time.perf_counter() - begun:.2f} s")
    rng = np.random.default_rng(0)
    times = []
    size = 0
    for row in rng.integers(1, n, WINDOWS):
        begun = time.perf_counter()
        size = len(client.get(f"/table?row={row}"))
        times.append(time.perf_counter() - begun)
    middle, high = np.quantile(times, [0.5, 0.99])
    print(f"window of 20 rows: median {1e3 * middle:.0f} ms, p99 {1e3 * high:.0f} ms")
    print(f"page of the window: {size / 1000:.0f} KB")


def main() -> None:
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    measure_sizes()
    with TemporaryDirectory() as folder:
        make_table(Path(folder) / "small.parquet", 4000, 6)
        make_table(Path(folder) / "large.parquet", n, COLUMNS)
        with serve(folder) as client:
            begun = time.perf_counter()
            client.enter()
            print(f"server answers: {time.perf_counter() - begun:.2f} s")
            print(f"computing process ready: {time_until(client, 'idle'):.1f} s later")
            measure_process(client)
            client.wait("idle", "done", "died")
            measure_window(client, n)


if __name__ == "__main__":
    main()
