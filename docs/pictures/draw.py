"""Draw the pictures of README: the map of risk and loss, and the head of a report.

Each is drawn on white and on dark: README shows the one that fits the reader.

Run:  python docs/pictures/draw.py        (`make pictures`; needs Chromium)
Of the 442 patients of scikit-learn's diabetes table: age, sex, body mass index and
blood pressure are masked, the progression of the illness is confidential.
"""

import shutil
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


def lighter(picture: Path) -> None:
    """Write a picture anew with few colours, the nearest to its own."""
    few = Image.open(picture).convert("RGB").quantize(COLOURS)
    few.save(picture, optimize=True)


def main() -> None:
    """Draw both, light and dark, and say how large they are."""
    people = patients()
    for picture in (*report_of(people), *map_of(people)):
        lighter(picture)
        size = picture.stat().st_size / 1000
        print(f"docs/pictures/{picture.name}: {size:.0f} kB")


if __name__ == "__main__":
    main()
