"""Draw every screen of `aggopt app` from the real page, for docs/app.md.

    python docs/pictures/draw_app.py [FOLDER]

It needs the Chromium of the system, as the tests of pages in a browser.
"""

import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
from playwright.sync_api import sync_playwright

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1] / "tests"))

from serving import serve  # noqa: E402

SCREENS = ("table", "roles", "risk", "protect", "compare", "release")
SIZE = {"width": 1280, "height": 900}


def make_patients() -> pd.DataFrame:
    """Return invented patients."""
    rng = np.random.default_rng(0)
    n = 400
    return pd.DataFrame(
        {
            "patient": [f"P{number:04}" for number in range(n)],
            "age": rng.integers(18, 90, n),
            "sex": rng.choice(["f", "m"], n),
            "bmi": rng.normal(25, 4, n).round(1),
            "illness": rng.choice(["flu", "asthma", "cold"], n),
            "progression": rng.integers(25, 346, n),
        }
    )


def draw(to: Path) -> None:
    """Make a release in the page, and write a picture of each screen."""
    with TemporaryDirectory() as folder, sync_playwright() as playwright:
        make_patients().to_csv(Path(folder) / "patients.csv", index=False)
        chromium = shutil.which("chromium") or shutil.which("chromium-browser")
        browser = playwright.chromium.launch(
            executable_path=chromium, args=["--no-sandbox"]
        )
        page = browser.new_page(viewport=SIZE)
        page.set_default_timeout(200_000)
        with serve(folder) as client:
            address = f"http://127.0.0.1:{client.port}"
            page.goto(f"{address}/?token={client.token}")
            page.wait_for_url("**/table")
            page.locator("#progress").wait_for(state="hidden")
            page.get_by_role("button", name="Open the table").click()
            page.locator("#rows").wait_for()
            page.get_by_role("link", name="Next: roles and types").click()
            page.screenshot(path=to / "app-questions.png")
            page.get_by_label("Role of illness").select_option("confidential")
            page.get_by_label("Role of progression").select_option("confidential")
            page.get_by_role("button", name="Next: risk").click()
            page.locator("main .cards").wait_for()
            page.goto(f"{address}/protect")
            page.get_by_role("button", name="Mask").click()
            page.locator("main .cards").wait_for()
            page.get_by_role("button", name="Add to comparison").click()
            page.get_by_role("button", name="Compute the map").click()
            page.locator("main #result").wait_for()
            page.goto(f"{address}/release")
            page.get_by_role("button", name="Write the release").click()
            page.get_by_text("The release is written").wait_for()
            for screen in SCREENS:
                page.goto(f"{address}/{screen}")
                page.screenshot(path=to / f"app-{screen}.png")
            page.set_viewport_size({"width": 390, "height": 844})
            page.goto(f"{address}/table")
            page.screenshot(path=to / "app-phone.png", full_page=True)
            wide = "[...document.querySelectorAll('main *')].filter(e => "
            wide += "e.getBoundingClientRect().right > 391).map(e => e.tagName)"
            print(page.evaluate(wide)[:12])
        browser.close()


if __name__ == "__main__":
    draw(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE)
