"""A release of the page and one of the command line have equal bytes."""

import tomllib

import numpy as np
import pandas as pd
import pytest

from aggopt.job import Job
from aggopt.pipeline.mask import mask
from aggopt.release.manifest import read_manifest_or_none

ENDINGS = ("csv", "parquet", "xlsx", "sav")
TREE = "flu;lung;any\nasthma;lung;any\nulcer;belly;any\n"


def survey(seed: int) -> pd.DataFrame:
    """Return households with weights, a region, dates, categories and holes."""
    rng = np.random.default_rng(seed)
    n = 60
    days = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), "D")
    income = rng.gamma(2.0, 1e4, n).round(1)
    income[rng.integers(0, n, 4)] = np.nan
    return pd.DataFrame(
        {
            "hhid": np.repeat(np.arange(n // 2), 2) + 100,
            "age": rng.integers(18, 90, n),
            "income": income,
            "visit": days.strftime("%Y-%m-%d"),
            "illness": rng.choice(["flu", "asthma", "ulcer"], n),
            "region": np.where(np.arange(n) < n // 2, "north", "south"),
            "weight": np.repeat(rng.choice([1.5, 2.5], n // 2), 2),
            "score": rng.normal(size=n).round(3),
        }
    )


VARIANTS = {
    "plain": {},
    "units": {"hhid": "unit"},
    "weights": {"weight": "weight"},
    "strata": {"region": "stratum"},
    "tree": {},
}


def write(table: pd.DataFrame, path) -> None:
    """Write a table in the format of a path."""
    match path.suffix:
        case ".csv":
            table.to_csv(path, index=False)
        case ".parquet":
            table.to_parquet(path)
        case ".xlsx":
            pytest.importorskip("openpyxl", reason="pip install 'aggopt[excel]'")
            table.to_excel(path, index=False)
        case ".sav":
            pyreadstat = pytest.importorskip(
                "pyreadstat", reason="pip install 'aggopt[stats]'"
            )
            pyreadstat.write_sav(table, str(path))


@pytest.mark.slow
@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("variant", VARIANTS)
def test_the_command_line_repeats_the_release(page, forked, ending, variant):
    folder = page.folder
    name = f"{variant}_{ending}"
    table = folder / f"{name}.{ending}"
    write(survey(len(variant)), table)
    page.open(table.name)
    roles = {
        "hhid": "drop",
        "age": "quasi-identifier",
        "income": "quasi-identifier",
        "visit": "quasi-identifier",
        "illness": "quasi-identifier",
        "region": "other",
        "weight": "drop",
        "score": "confidential",
        **VARIANTS[variant],
    }
    more = {"kind3": "date", "policy": "fill"}
    if variant == "tree":
        (folder / "illness.csv").write_text(TREE)
        more |= {"kind4": "", "tree4": "illness.csv", "rare4": ""}
    checked = page.choose_roles(roles, then="risk", **more)
    assert checked["status"] == "done", checked
    fields = {"keep": "", "method": "mdav", "screen": "protect"}
    for k in (2, 3, 4):  # back to 3 by undo and redo
        assert page.run("/protect", k=k, **fields)["status"] == "done", page.activity()
    page.post("/undo")
    page.post("/undo")
    page.post("/redo")
    assert tomllib.loads(page.job())["privacy"]["k"] == 3
    (folder / f"{name}.toml").write_text(page.job())
    page.open(table.name)
    page.run("/open", job=f"{name}.toml")  # reopened

    masked, report = f"{name}.masked.{ending}", f"{name}.html"
    places = {
        "out": masked,
        "report": report,
        "keys": name,
        "saved": f"{name}.job.toml",
        "title": "A survey of 2026",
        "office": "Office of <b>statistics</b>",
    }
    written = page.run("/release", **places)
    assert written["status"] == "done", written
    manifest = folder / name / f"{name}.masked.manifest.json"

    again = folder / f"{name}.again.{ending}"
    words = ["repeat", str(manifest), str(table), "--out", str(again)]
    ended = forked(f"from aggopt.command.cli import app; app({words!r})")
    assert ended.returncode == 0, ended.stderr
    assert again.read_bytes() == (folder / masked).read_bytes()

    secret = read_manifest_or_none(manifest, "output", "secret")
    seed = read_manifest_or_none(manifest, "output", "seed")
    job = Job.read(folder / places["saved"])
    job = job.model_copy(
        update={"output": job.output.model_copy(update={"seed": seed})}
    )
    released = mask(table, job, secret=secret)
    other = folder / f"{name}-other"
    other.mkdir()
    released.write(other / masked, report=other / report)
    assert (other / masked).read_bytes() == (folder / masked).read_bytes()
    assert (other / report).read_bytes() == (folder / report).read_bytes()
    shown = (folder / report).read_text()
    assert "<h1><bdi>A survey of 2026</bdi></h1>" in shown
    assert "Office of &lt;b&gt;statistics&lt;/b&gt;" in shown
