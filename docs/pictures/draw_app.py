"""Draw every screen of `aggopt app` from the real page, for docs/app.md.

    python docs/pictures/draw_app.py [TABLE COLUMN=ROLE ...]

It makes the household survey of docs/app.md, opens it in the page, and makes a release
by clicks, which it counts.  With a table of yours it makes the release, and no picture.
It needs the Chromium of the system, as the tests of pages in a browser.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from PIL import Image
from playwright.sync_api import Page, sync_playwright

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1] / "tests"))

from serving import Client, serve  # noqa: E402

SIZE = {"width": 1280, "height": 880}
COLOURS = 48  # enough for text and marks
WIDTH = 960
LONGEST = 600_000  # milliseconds that a task may take on a loaded machine


def make_survey(folder: Path) -> Path:
    """Write the household survey by the code of docs/app.md."""
    page = (HERE.parent / "app.md").read_text("utf-8")
    code = re.findall(r"```python\n(.*?)```", page, re.DOTALL)[0]
    subprocess.run([sys.executable, "-c", code], cwd=folder, check=True)
    return folder / "survey.csv"


class Visit:
    """A person at the page, whose clicks are counted."""

    def __init__(self, page: Page, pictures: Path | None) -> None:
        self.page = page
        self.pictures = pictures
        self.clicks = 0

    def click(self, name: str, role: str = "button") -> None:
        """Click a button or a link."""
        self.page.get_by_role(role, name=name, exact=True).first.click()
        self.clicks += 1

    def choose(self, column: str, role: str) -> None:
        """Choose the role of a column: a click opens the list, and one chooses."""
        self.page.get_by_label(f"Role of {column}", exact=True).select_option(role)
        self.clicks += 2

    def draw(self, name: str) -> None:
        """Write two pictures of the screen, a dark one and a light one."""
        if self.pictures is None:
            return
        for scheme, ending in (("dark", "-dark"), ("light", "")):
            self.page.emulate_media(color_scheme=scheme)
            path = self.pictures / f"app-{name}{ending}.png"
            self.page.screenshot(path=path)
            picture = Image.open(path).convert("RGB")
            height = round(picture.height * min(1.0, WIDTH / picture.width))
            small = picture.resize((min(WIDTH, picture.width), height), Image.LANCZOS)
            small.quantize(COLOURS).save(path, optimize=True)


def make_release(
    client: Client, visit: Visit, table: str, roles: dict[str, str]
) -> None:
    """Make a release of a table by clicks, and draw each screen."""
    page = visit.page
    page.goto(f"http://127.0.0.1:{client.port}/?token={client.token}")
    page.wait_for_url("**/table")
    page.locator("#progress").wait_for(state="hidden")
    page.get_by_label("File").select_option(table)
    visit.click("Open the table")
    page.locator("#rows").wait_for()
    visit.draw("table")
    visit.click("Next: roles and types", "link")
    visit.draw("roles")
    for name, role in roles.items():
        visit.choose(name, role)
    visit.click("Next: risk before masking")
    page.locator("main .cards").wait_for()
    visit.draw("risk")
    visit.click("Next: protect", "link")
    visit.click("Mask")
    page.locator("main .cards").wait_for()
    visit.draw("protect")
    visit.click("Next: release", "link")
    visit.click("Write the release")
    page.get_by_text("The release is written").wait_for()
    print(f"{table}: {visit.clicks} clicks from the table to the release")
    for screen in ("protect", "compare", "release"):
        page.goto(f"http://127.0.0.1:{client.port}/{screen}")
        risks = page.locator("aside .card", has_text="What remains at risk")
        print(f"{screen}: {risks.inner_text().splitlines()[1:]}")
    visit.draw("release")
    if visit.pictures is not None:
        for k in ("5", "10"):
            page.goto(f"http://127.0.0.1:{client.port}/protect")
            if k != "5":
                page.get_by_label("Smallest group k").fill(k)
                visit.click("Mask")
            page.locator(".verdict h2", has_text=f"k = {k} holds").wait_for()
            visit.click("Add to comparison")
            page.locator("main table.stacked").wait_for()
        page.get_by_label("Methods").fill("mdav")
        visit.click("Compute the map")
        page.locator("main #result").wait_for()
        visit.draw("compare")


def main() -> None:
    """Draw the screens, or try a table."""
    with TemporaryDirectory() as place, sync_playwright() as playwright:
        folder = Path(place, "survey")
        folder.mkdir()
        chromium = shutil.which("chromium") or shutil.which("chromium-browser")
        browser = playwright.chromium.launch(
            executable_path=chromium, args=["--no-sandbox"]
        )
        page = browser.new_page(viewport=SIZE)
        page.set_default_timeout(LONGEST)
        if sys.argv[1:]:
            table = Path(shutil.copy(sys.argv[1], folder))
            roles = dict(word.split("=") for word in sys.argv[2:])
            pictures = None
        else:
            table = make_survey(folder)
            roles = {"income": "confidential", "weight": "weight"}
            pictures = HERE
        with serve(folder) as client:
            make_release(client, Visit(page, pictures), table.name, roles)
        browser.close()


if __name__ == "__main__":
    main()
