"""Draw the pictures of README and of the pages: maps, plots and marked reports.

Each is drawn on white and on dark: a page shows the one that fits the reader.

Run:  python docs/pictures/draw.py        (`make pictures`; needs Chromium)
Of the 442 patients of scikit-learn's diabetes table: age, sex, body mass index and
blood pressure are masked, the progression of the illness is confidential.
"""

import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import matplotlib.pyplot as plt
import pandas as pd
from PIL import Image
from playwright.sync_api import sync_playwright
from sklearn.datasets import load_diabetes

import aggopt

HERE = Path(__file__).parent
sys.path.append(str(HERE.parent))

from _gallery import save_figure  # noqa: E402

QUASI = ["age", "sex", "bmi", "bp"]
COLOURS = 64  # enough for text and marks; four times smaller than all of them


def patients() -> pd.DataFrame:
    """Return the 442 patients, in the original units."""
    whole = load_diabetes(as_frame=True, scaled=False)
    return whole.data[QUASI].assign(progression=whole.target)


def job(**sections: Any) -> aggopt.Job:
    """Return a job for the patients."""
    roles = {"quasi-identifier": QUASI, "confidential": ["progression"]}
    attributes = {"sex": {"kind": "nominal"}}
    return aggopt.Job(roles=roles, attributes=attributes, privacy={"k": 5}, **sections)


STYLES = {"": "default", "-dark": "dark_background"}  # README shows the reader's
GRID = {"": "0.92", "-dark": "0.25"}  # colours of its lines


def map_of(people: pd.DataFrame) -> Iterator[Path]:
    """Draw loss against linkage for several k, partitions and what is kept."""
    found = aggopt.choose(
        people,
        job(),
        k=[3, 5, 10, 25],
        method=["mdav", "local_search"],
        keep=["mean", "variance", "covariance"],
    )
    for ending, style in STYLES.items():
        with plt.style.context(style):
            figure = found.plot()
            figure.axes[0].set(
                title="442 patients: k = 25, 10, 5, 3 from left to right",
                xlabel="records linked to their own (share)",
                ylabel="probabilistic information loss (PIL)",
            )
            figure.axes[0].grid(color=GRID[ending])
            figure.savefig(HERE / f"map{ending}.png", dpi=110)
        yield HERE / f"map{ending}.png"


def report_of(people: pd.DataFrame) -> Iterator[Path]:
    """Photograph the head of a report, as a browser shows it."""
    asked = job(aggregation={"method": "mean", "keep": "covariance"})
    with TemporaryDirectory() as folder, sync_playwright() as play:
        page = Path(folder) / "report.html"
        aggopt.mask(people, asked).report(page)
        found = shutil.which("chromium") or shutil.which("chromium-browser")
        browser = play.chromium.launch(executable_path=found, args=["--no-sandbox"])
        for ending in STYLES:
            shown = browser.new_page(
                viewport={"width": 900, "height": 700},
                color_scheme="dark" if ending else "light",
            )
            shown.goto(page.as_uri())
            shown.screenshot(path=HERE / f"report{ending}.png")
            yield HERE / f"report{ending}.png"
        browser.close()


PLOTS = {
    "groups": lambda plot: plot.groups(),
    "before-after": lambda plot: plot.before_after("bmi"),
    "correlations": lambda plot: plot.correlations(),
    "risk": lambda plot: plot.risk(),
}


def plots_of(people: pd.DataFrame) -> Iterator[Path]:
    """Draw each plot of a release."""
    release = aggopt.mask(people, job(partition={"method": "mdav"}))
    for name, draw in PLOTS.items():
        yield from save_figure(draw(release.plot), HERE / f"plot-{name}")


def release_of(people: pd.DataFrame) -> Iterator[Path]:
    """Draw age and blood pressure before and after, each point by its records."""
    kept = job(aggregation={"method": "mean", "keep": "covariance"})
    masked = aggopt.mask(people, kept).table
    shown = {
        "before: every patient is unique": people,
        "after: 5 or more share": masked,
    }
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), sharex=True, sharey=True)
    for axis, (title, table) in zip(axes, shown.items(), strict=True):
        points = table.groupby(["age", "bp"]).size().reset_index(name="records")
        r = table["age"].corr(table["bp"])
        axis.scatter(points["age"], points["bp"], 8 * points["records"], alpha=0.6)
        axis.set(title=f"{title} (r = {r:.2f})", xlabel="age in years")
        axis.grid(color="#ebebeb")
    axes[0].set_ylabel("blood pressure")
    figure.tight_layout()
    yield from save_figure(figure, HERE / "release", dpi=110)
    plt.close(figure)


# parts of a report: the pages explain these marks, which are at elements of the report
MARKS = {
    "report-head": (".seal", ".verdict h2", ".verdict p", ".card"),
    "report-intruder": (
        "#intruder h2",
        "#intruder svg",
        "#intruder .grid, #intruder h3",
    ),
    "report-criteria": (),
    "report-proof": ("#proof h2", "#proof table, #proof svg", "#choice h2"),
}
MARK = """([selectors, colour]) => {
  let number = 0;
  for (const selector of selectors)
    for (const e of document.querySelectorAll(selector)) {
      const box = e.getBoundingClientRect();
      if (!box.width || e.classList.contains("narrow")) continue;
      const mark = document.createElement("b");
      mark.textContent = ++number;
      mark.style.cssText = `position:absolute;left:${box.left + scrollX - 22}px;top:${
        box.top + scrollY - 6}px;width:24px;height:24px;border-radius:12px;z-index:9;
        background:${colour};color:white;text-align:center;
        font:bold 15px/24px sans-serif`;
      document.body.append(mark);
      if (!selector.includes("card")) break;
    }
}"""


def survey() -> tuple[pd.DataFrame, aggopt.Job]:
    """Return the table and the job of the page on a first release, from its blocks."""
    page = (HERE.parent / "first-release.md").read_text("utf-8")
    code, toml = (
        re.search(rf"```{kind}\n(.*?)```", page, re.S) for kind in ("python", "toml")
    )
    assert code is not None
    assert toml is not None
    with TemporaryDirectory() as folder:
        table, written = Path(folder) / "survey.csv", Path(folder) / "job.toml"
        exec(code[1].replace("survey.csv", str(table)), {})
        written.write_text(toml[1], "utf-8")
        return pd.read_csv(table), aggopt.Job.read(written)


def marked_report() -> Iterator[Path]:
    """Photograph parts of the survey's report, with numbered marks."""
    with TemporaryDirectory() as folder, sync_playwright() as play:
        page, controlled = (Path(folder) / f"{name}.html" for name in ("plain", "more"))
        for to, settings in ((page, {}), (controlled, {"control": 0.1})):
            release = aggopt.mask(*survey(), **settings)
            release.write(to.with_suffix(".csv"), report=to)
        found = shutil.which("chromium") or shutil.which("chromium-browser")
        browser = play.chromium.launch(executable_path=found, args=["--no-sandbox"])
        for ending in STYLES:
            for name, selectors in MARKS.items():
                shown = browser.new_page(
                    viewport={"width": 900, "height": 700},
                    color_scheme="dark" if ending else "light",
                )
                shown.goto((controlled if "criteria" in name else page).as_uri())
                shown.evaluate(MARK, [selectors, "#b3261e"])
                first, last = AREAS[name]
                top = shown.locator(first).first.bounding_box()
                end = shown.locator(last).first.bounding_box()
                assert top is not None
                assert end is not None
                area = {"x": 0, "width": 900, "y": top["y"] - 24}
                area["height"] = end["y"] - 12 - area["y"]
                to = HERE / f"{name}{ending}.png"
                shown.screenshot(path=to, full_page=True, clip=area)
                yield to
        browser.close()


AREAS = {  # from one element to another
    "report-head": (".verdict", "#columns"),
    "report-intruder": ("#intruder", "#use"),
    "report-criteria": ("#criteria", "#use"),
    "report-proof": ("#proof", "#advice"),
}


def lighter(picture: Path) -> None:
    """Write a picture anew with few colours, the nearest to its own."""
    few = Image.open(picture).convert("RGB").quantize(COLOURS)
    few.save(picture, optimize=True)


def main() -> None:
    """Draw all, light and dark, and say how large they are."""
    people = patients()
    pages = (*plots_of(people), *release_of(people), *marked_report())
    for picture in (*report_of(people), *map_of(people), *pages):
        lighter(picture)
        size = picture.stat().st_size / 1000
        print(f"docs/pictures/{picture.name}: {size:.0f} kB")


if __name__ == "__main__":
    main()
