"""Odd tables and jobs, at random: no internal error, no value that gets out, k holds.

    python benchmarks/fuzz.py --cases 3000 --seed 1

Each case is a random table, a random job and a command, in one process that goes on.
Printed are the number of cases by command and exit code, and each case that breaks one
of the rules:

- no internal error, no exception, no warning, no file that is left behind;
- an exit code by cause;
- no entry of the table in what is printed, in the log, in manifest or public report;
- each release, read by pandas, has k or more records with equal quasi-identifiers.

Exit code 1 if a case breaks a rule.
"""

import argparse
import contextlib
import io
import json
import os
import random
import re
import signal
import sys
import tempfile
import tomllib
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from aggopt.command import cli, console
from aggopt.core import guardian
from aggopt.core.worker import inside

CODES = {0, 1, 2, 3, 4}
LIMIT = 300  # seconds of a case: what takes longer hangs
FINITE = [0.0, -0.0, 1e-308, 5e-324, 1e308, -1e308, 1e15, 0.1 + 0.2, -1.0, 2.0**53]
ODD = [np.nan, np.inf, -np.inf]
WORDS = ["Zqflu", "zqFLU", "Zqflu\u200b", "Zq\u0066lu", "Zqcafe\u0301", "Zqcaf\u00e9"]
TEXTS = [
    "=Zq1+1",
    "Zq,;\t",
    'Zq"quoted"',
    "Zq\nline",
    " Zqblank ",
    "Zq007",
    "-Zq",
    "Zq|",
]
NAMES = [
    "age",
    "income",
    " x",
    "a,b",
    'q"',
    "é",
    "=1+1",
    "\u202e",
    "k",
    "group",
    "0",
    "[b]",
]


class Case(NamedTuple):
    """A table, a job, the command, and whether a release has one value a group."""

    frame: pd.DataFrame
    file: str
    job: str
    words: list[str]


def column(r: random.Random, n: int) -> list[Any]:
    """Return n entries of one random kind."""
    numbers = [round(r.gauss(50_000, 9_000), 3) for _ in range(n)]
    kinds = {
        "number": numbers,
        "number2": [round(r.expovariate(1e-4), 2) for _ in range(n)],
        "whole": [r.randrange(10_000_000, 99_999_999) for _ in range(n)],
        "few": [r.choice([1, 2, 3]) for _ in range(n)],
        "huge": [
            r.choice([1e300, -1e300, 3e299, 1e-300]) * r.random() for _ in range(n)
        ],
        "tiny": [r.random() * 1e-310 for _ in range(n)],
        "finite": [r.choice(FINITE) for _ in range(n)],
        "odd": [r.choice([*numbers, *ODD]) for _ in range(n)],
        "holes": [None if r.random() < 0.2 else x for x in numbers],
        "constant": [numbers[0]] * n,
        "empty": [None] * n,
        "words": [r.choice(WORDS) for _ in range(n)],
        "plain": [r.choice(["Zqa", "Zqb", "Zqc"]) for _ in range(n)],
        "texts": [r.choice(TEXTS) for _ in range(n)],
        "codes": [f"0{r.randrange(10)}" for _ in range(n)],
        "mixed": [r.choice([1, 2.5, "Zqthree"]) for _ in range(n)],
        "dates": [
            f"20{r.randrange(10, 24)}-0{r.randrange(1, 9)}-1{r.randrange(9)}"
            for _ in range(n)
        ],
        "truth": [r.choice([True, False]) for _ in range(n)],
    }
    weights = {"number": 6, "number2": 6, "whole": 3, "plain": 3, "few": 2}
    kind = r.choices(list(kinds), [weights.get(each, 1) for each in kinds])[0]
    found = kinds[kind]
    if r.random() < 0.05 and found:
        found[r.randrange(n)] = r.choice([None, np.nan, "Zqodd", 1e308])
    return found


def table(r: random.Random) -> pd.DataFrame:
    """Return a random table; its texts begin with Zq, and its numbers are long."""
    n = r.choice([1, 2, 3, 6, 12, 24, 40, 40])
    names = r.sample(NAMES, 3) if r.random() < 0.2 else ["age", "income", "height"]
    frame = pd.DataFrame({name: pd.Series(column(r, n)) for name in names})
    frame["name"] = [
        f"Zqperson{r.randrange(n) if r.random() < 0.1 else i}" for i in range(n)
    ]
    frame["ill"] = [
        r.choice(r.choice([WORDS, ["Zqflu", "Zqhiv", "Zqcold"]])) for _ in range(n)
    ]
    frame["region"] = [r.choice(["Zqnorth", "Zqsouth"]) for _ in range(n)]
    frame["weight"] = [round(1 + 9 * r.random(), 5) for _ in range(n)]
    frame["house"] = [f"Zqhouse{i // 2}" for i in range(n)]
    if r.random() < 0.1:
        frame = pd.concat([frame, frame], ignore_index=True)
    return frame


def spelled(value: Any) -> str:
    """Return a value as TOML."""
    return (
        json.dumps(value, ensure_ascii=False)
        if not isinstance(value, dict)
        else (
            "{"
            + ", ".join(
                f"{json.dumps(k, ensure_ascii=False)} = {spelled(v)}"
                for k, v in value.items()
            )
            + "}"
        )
    )


def job(r: random.Random, frame: pd.DataFrame) -> str:
    """Return a random job for the table, mostly one that masks."""
    masked = list(frame.columns[: r.choice([1, 2, 2, 3])])
    role = {name: "drop" for name in frame.columns[:3] if name not in masked}
    role |= dict.fromkeys(masked, "quasi-identifier")
    role["name"] = r.choice(["identifier", "identifier", "drop"])
    role["ill"] = r.choice(
        ["confidential", "confidential", "other", "drop", "quasi-identifier"]
    )
    role["region"] = r.choice(["drop", "drop", "stratum", "other", "quasi-identifier"])
    role["weight"] = r.choice(["drop", "drop", "drop", "weight"])
    role["house"] = r.choice(["drop", "drop", "drop", "unit"])
    roles: dict[str, list[str]] = {}
    for name, kind in role.items():
        roles.setdefault(kind, []).append(name)
    sections: dict[str, dict[str, Any]] = {
        "roles": roles,
        "privacy": {"k": r.choice([1, 2, 3, 3, 5])},
    }
    maybe = r.random
    if maybe() < 0.2:
        sections["privacy"] |= r.choice(
            [
                {"l": 2},
                {"t": 0.3},
                {"l": 3, "repair": "merge"},
                {"t": 0.2, "repair": "merge"},
                {"scope": "blocks"},
            ]
        )
    methods = [
        "mdav",
        "vmdav",
        "local_search",
        "mhm",
        "projection",
        "cbfs",
        "univariate",
        "optimal",
        "individual_ranking",
        "blocked",
    ]
    if maybe() < 0.7:
        sections["partition"] = {
            "method": r.choice(methods[:5] if maybe() < 0.6 else methods)
        }
        if maybe() < 0.2:
            sections["partition"]["attributes"] = r.choice(
                ["one by one", "together", {"correlation": 0.5}]
            )
            sections["privacy"]["scope"] = "blocks"
    if maybe() < 0.3:
        sections["aggregation"] = r.choice(
            [
                {"method": "p3m"},
                {"method": "mean"},
                {"method": "median"},
                {"method": "mean", "keep": "variance"},
                {"method": "p3m", "delta": 0.2},
                {"method": "p3m", "margin": 0},
            ]
        )
    if maybe() < 0.5:
        sections["missing"] = {
            "policy": r.choice(["patterns", "fill", "fill", "refuse"])
        }
    if maybe() < 0.7 and "stratum" in roles:
        sections["strata"] = {"small": r.choice(["merge", "drop", "refuse"])}
    if maybe() < 0.2:
        sections["output"] = r.choice(
            [{"digits": "full"}, {"decimals": 0}, {"decimals": 2}]
        )
    if maybe() < 0.1:
        sections["risk"] = r.choice([{"target": ["ill"]}, {"suda": 2}])
    if maybe() < 0.25:
        name = r.choice(masked)
        how = r.choice(
            [
                {"kind": "nominal"},
                {"kind": "date"},
                {"lower": 0},
                {"integer": True},
                {"kind": "nominal", "rare": "avoid"},
                {"kind": "nominal", "rare": "publish"},
                {"missing": "own value"},
            ]
        )
        sections["attributes"] = {name: how}
    if maybe() < 0.1:  # a job that makes no sense
        section = r.choice(list(sections))
        sections[section][
            r.choice(
                ["k", "method", "policy", "x", *map(str, list(sections[section])[:2])]
            )
        ] = r.choice([-1, 1e308, "", [], ["age"], True, "Zq", {"a": 1}])
    return (
        "\n".join(
            f"[{name}]\n"
            + "\n".join(
                f"{json.dumps(k, ensure_ascii=False)} = {spelled(v)}"
                for k, v in section.items()
            )
            for name, section in sections.items()
        )
        + "\n"
    )


COMMANDS = {
    "mask": 12,
    "report": 3,
    "check": 3,
    "init": 2,
    "risk": 2,
    "convert": 1,
    "folder": 1,
    "sweep": 1,
    "choose": 1,
    "compare-solvers": 1,
}


def words_of(r: random.Random, name: str, file: str) -> list[str]:
    """Return the words of a command on a file."""
    ending = r.choice([".csv", ".csv", ".csv", ".parquet", ".xlsx"])
    mask = ["mask", file, "job.toml", "--out", f"m{ending}"]
    return {
        "mask": [*mask, "--log", "log.jsonl"],
        "report": [*mask, "--report", "page.html"],
        "check": ["check", file, "job.toml"],
        "init": ["init", file, "--out", "new.toml"],
        "risk": ["risk", file, "job.toml"],
        "convert": ["convert", file, "made"],
        "folder": [
            "mask",
            file,
            "job.toml",
            "--out",
            "m",
            "--engine",
            "local",
            "--jobs",
            "1",
        ],
        "sweep": [
            "sweep",
            file,
            "job.toml",
            "--alpha",
            "0.5",
            "--delta",
            "0.1",
            "--jobs",
            "1",
        ],
        "choose": [
            "choose",
            file,
            "job.toml",
            "--out",
            "c.html",
            "--k",
            "2",
            "--jobs",
            "1",
        ],
        "compare-solvers": [
            "compare-solvers",
            file,
            "job.toml",
            "--solvers",
            "lagrangian",
            "--time-limit",
            "5",
        ],
    }[name]


def run(words: list[str]) -> tuple[Any, str]:
    """Return exit code and output of a command, run here."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(
            number,
            signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL,
        )
    console._announced.add(console.COMPILING)
    sys.argv = ["aggopt", *words]
    printed = io.StringIO()
    signal.alarm(LIMIT)
    try:
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            cli.run_app()
    except SystemExit as ended:
        return ended.code or 0, printed.getvalue()
    except BaseException as error:
        return repr(error), printed.getvalue()
    finally:
        signal.alarm(0)
    return 0, printed.getvalue()


def secrets(frame: pd.DataFrame) -> Iterator[str]:
    """Yield entries that are of records and of nothing else: texts, long numbers."""
    for name in frame.columns:
        for value in frame[name].dropna().unique():
            text = str(value).strip()
            if "Zq" in text or (
                isinstance(value, int | float)
                and len(text.strip("-0.")) > 6
                and "e" not in text
                and name != "weight"
            ):
                yield text


def too_small(frame: pd.DataFrame, masked: Path, job_text: str) -> str:
    """Return what a release breaks: groups of fewer than k records; "" if none."""
    stated = tomllib.loads(job_text)
    roles, k = stated["roles"], stated["privacy"]["k"]
    readers = {".csv": pd.read_csv, ".parquet": pd.read_parquet, ".xlsx": pd.read_excel}
    how = (
        {"dtype": str, "keep_default_na": False} if masked.suffix != ".parquet" else {}
    )
    released = readers[masked.suffix](masked, **how)
    quasi = [*roles["quasi-identifier"], *roles.get("stratum", [])]
    within = stated["privacy"].get("scope") == "blocks"
    for block in [[name] for name in quasi] if within else [quasi]:
        sizes = released.groupby(block, dropna=False, sort=False).size()
        if len(sizes) and sizes.min() < k:
            return (
                f"{(sizes < k).sum()} groups of fewer than {k}, the least {sizes.min()}"
            )
    return ""


def reason(printed: str) -> str:
    """Return why a case was refused, without names and numbers."""
    found = re.search(r"(Error: |problem.: .)(.*)", printed)
    return re.sub(r"'[^']*'|[0-9.]+", "_", found[2])[:90] if found else ""


def broken(r: random.Random, folder: Path) -> tuple[str, Any, list[str], str]:
    """Run a case; return its command, exit code, rules that it breaks, and reason."""
    for path in sorted(folder.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    frame, ending = table(r), r.choice([".csv", ".csv", ".csv", ".parquet", ".xlsx"])
    name = r.choices(list(COMMANDS), list(COMMANDS.values()))[0]
    if name == "convert":
        ending = ".csv"
    file = f"t{ending}"
    try:
        if ending == ".csv":
            frame.to_csv(file, index=False, sep=r.choice([",", ",", ",", ";"]))
        elif ending == ".parquet":
            frame.to_parquet(file)
        else:
            frame.to_excel(file, index=False)
    except Exception:  # no such file can be written: another table
        file = "t.csv"
        frame.to_csv(file, index=False)
    if name == "folder":
        file = "parts"
        os.mkdir(file)
        with contextlib.suppress(Exception):
            frame.to_parquet("parts/a.parquet")
    text = job(r, frame)
    Path("job.toml").write_text(text)
    before = {path.name for path in folder.iterdir()}
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        code, printed = run(words_of(r, name, file))
    made = {path.name for path in folder.iterdir()} - before - {"log.jsonl"}
    rules = [f"warned: {each.message}"[:200] for each in warned]
    rules += [f"exit code {code}"] * (code not in CODES)
    rules += ["internal error"] * ("nternal error" in printed or "Traceback" in printed)
    rules += [f"left {sorted(made)}"] * (code not in (0, 1) and bool(made))
    rules += [f"left {each}" for each in made if each.startswith(".")]
    entries = set(secrets(frame))
    public = [("output", printed)]
    for each in ("log.jsonl", "m.manifest.json"):
        if Path(each).exists():
            public.append((each, Path(each).read_text(encoding="utf-8")))
    for where, said in public:
        if any(entry in said for entry in entries):
            rules.append(f"{where} has an entry of the table")
    if name in ("mask", "report") and code == 0:
        (masked,) = (
            path
            for path in folder.glob("m.*")
            if path.stem == "m" and path.suffix != ".json"
        )
        rules += filter(None, [too_small(frame, masked, text)])
    if rules:
        print(
            f"\n{name} {file}: {'; '.join(rules)}\n{text}{printed[-700:]}", flush=True
        )
    return name, code, rules, reason(printed)


def main() -> None:
    """Run the cases, and print those that break a rule."""
    asked = argparse.ArgumentParser()
    asked.add_argument("--cases", type=int, default=300)
    asked.add_argument("--first", type=int, default=0, help="number of the first case")
    asked.add_argument("--seed", type=int, default=1)
    asked.add_argument("--only", type=int, default=None, help="number of one case")
    words = asked.parse_args()
    inside.is_worker, guardian._state.wanted = True, False
    counts: Counter[tuple[str, Any]] = Counter()
    reasons: Counter[tuple[Any, str]] = Counter()
    bad = 0
    with tempfile.TemporaryDirectory() as name:
        os.chdir(name)
        numbers = range(words.first, words.first + words.cases)
        for number in numbers if words.only is None else [words.only]:
            r = random.Random(f"{words.seed}-{number}")
            command, code, rules, why = broken(r, Path(name))
            counts[command, code] += 1
            reasons[code, why] += 1
            if rules:
                bad += 1
                print(f"case {number} of seed {words.seed}", flush=True)
            if words.only is not None:
                os.system(f"cp -r {name} /tmp/case-{words.seed}-{number}")
        os.chdir("/")
    for (command, code), count in sorted(counts.items(), key=str):
        print(f"{command:16} exit {code}: {count}")
    for (code, why), count in reasons.most_common(25):
        print(f"{count:6} exit {code} {why}")
    print(f"{sum(counts.values())} cases, {bad} break a rule")
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
