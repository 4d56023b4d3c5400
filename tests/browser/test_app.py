"""All screens of the page in Chromium: axe, scripts, keyboard, phones, requests."""

import pytest
from browsing import WAYS
from serving import CANARY, HOSTILE, serve

pytestmark = pytest.mark.slow  # a browser takes seconds to begin
SCREENS = ("table", "roles", "risk", "protect", "compare", "release")
LOOKS = {
    **{way: of for way, of in WAYS.items() if way != "printed"},
    "dark phone": WAYS["phone"] | {"color_scheme": "dark"},
}


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """A page with patients: text, dates, missing values, and hostile names."""
    pytest.importorskip("starlette", reason="pip install 'aggopt[app]'")
    import numpy as np
    import pandas as pd

    folder = tmp_path_factory.mktemp("app")
    rng = np.random.default_rng(0)
    n = 60
    days = pd.Timestamp("2025-01-01") + pd.to_timedelta(rng.integers(0, 300, n), "D")
    bmi = rng.normal(25, 4, n).round(1)
    bmi[[3, 7]] = np.nan
    table = pd.DataFrame(
        {
            "name": [*(f"Person-{number}" for number in range(n - 1)), CANARY],
            "age": rng.integers(18, 90, n),
            "bmi": bmi,
            "admitted": days.strftime("%d.%m.%Y"),
            "note": [f"came by bus, went to room {number}" for number in range(n)],
            HOSTILE: rng.choice(["a", "<img src=x onerror=alert(1)>", "b"], n),
            "illness": rng.choice(["flu", "asthma", "cold"], n),
        }
    )
    table.to_csv(folder / "<b>people.csv", index=False)
    with serve(folder) as client:
        yield client


@pytest.fixture(scope="module")
def context(browser, served, tmp_path_factory):
    """A browser that has made a release by clicks, with what it said and asked for."""
    context = browser.new_context()
    page = context.new_page()
    page.set_default_timeout(200_000)
    said, asked = [], []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"http://127.0.0.1:{served.port}/?token={served.token}")
    page.wait_for_url("**/table")
    clicks = 0

    def click(name, role="button"):
        nonlocal clicks
        clicks += 1
        page.get_by_role(role, name=name, exact=True).first.click()

    page.locator("#progress").wait_for(state="hidden", timeout=200_000)
    click("Open the table")
    page.locator("#rows").wait_for(timeout=200_000)
    click("Next: roles and types", "link")
    page.get_by_label("Role of illness").select_option("confidential")
    clicks += 2
    click("Next: risk before masking")
    page.locator(".cards").wait_for(timeout=200_000)
    click("Next: protect", "link")
    page.locator("[name=method]").select_option("mdav")  # takes no time
    clicks += 2
    click("Mask")
    page.locator("main .cards").wait_for(timeout=200_000)
    click("Add to comparison")
    page.locator("main table.stacked").wait_for()
    page.get_by_label("Values of k").fill("3, 5")
    page.get_by_role("button", name="Compute the map").click()
    page.locator("main #result").wait_for(timeout=200_000)
    click("6 Release", "link")
    click("Write the release")
    page.get_by_text("The release is written").wait_for(timeout=200_000)
    yield context, said, asked, clicks
    context.close()


def test_a_release_takes_fifteen_clicks_and_asks_for_nothing_elsewhere(context, served):
    _, said, asked, clicks = context
    assert clicks <= 15
    assert said == []
    assert all(url.startswith(f"http://127.0.0.1:{served.port}/") for url in asked)
    assert (served.folder / "<b>people.masked.csv").is_file()


@pytest.mark.parametrize("way", LOOKS)
@pytest.mark.parametrize("screen", SCREENS)
def test_axe_finds_no_violation_and_nothing_is_hidden(context, served, screen, way):
    from axe_playwright_python.sync_playwright import Axe

    page = context[0].new_page()
    said = []
    page.on("console", lambda message: said.append(message.text))
    page.emulate_media(color_scheme=LOOKS[way].get("color_scheme", "light"))
    page.set_viewport_size(LOOKS[way].get("viewport", {"width": 1280, "height": 900}))
    page.goto(f"http://127.0.0.1:{served.port}/{screen}")
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    violations = Axe().run(page).response["violations"]
    found = [(v["id"], [n["html"] for n in v["nodes"]]) for v in violations]
    wide = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    heading = page.locator("h1").count()
    title = page.title()
    page.close()
    assert found == []
    assert wide[0] <= wide[1]
    assert heading == 1
    assert "broken" not in title
    assert said == []


FOCUSED = """(e => e.getAttribute("aria-label") ||
  (e.labels && e.labels.length ? e.labels[0].textContent : e.textContent)
)(document.activeElement)"""


def focus(page, name):
    """Press Tab until the element of this name has the focus."""
    for _ in range(90):
        page.keyboard.press("Tab")
        if page.evaluate(FOCUSED).strip().startswith(name):
            return
    pytest.fail(f"no Tab leads to {name}")


def press(page, name, shown):
    """Press Enter at the element of this name, and wait for what it leads to."""
    before = page.evaluate("Number(document.body.dataset.number)")
    focus(page, name)
    page.keyboard.press("Enter")
    if shown == TASK:
        ended = "n => document.body.dataset.number > n && document.body.dataset.status"
        page.wait_for_function(f"{ended} === 'done'", arg=before)
    else:
        page.locator(shown).wait_for()


TASK = "the end of a task"


def test_a_release_is_made_by_keyboard_alone(context, served):
    page = context[0].new_page()
    page.set_default_timeout(200_000)
    page.goto(f"http://127.0.0.1:{served.port}/table")
    before = served_job(context, served)
    press(page, "Open the table", TASK)
    press(page, "Next: roles and types", ".columns")
    focus(page, "Role of illness")
    page.keyboard.type("Conf")
    press(page, "Next: risk before masking", TASK)
    press(page, "Next: protect", "input[name=k]")
    focus(page, "Method")
    page.keyboard.type("mdav")
    press(page, "Mask", TASK)
    press(page, "Next: release", "input[name=out]")
    for name, text in (
        ("Title", "A release by keyboard"),
        ("Masked table", "keys.csv"),
        ("Report", "keys.html"),
        ("The job", "keys.toml"),
        ("Folder", "keys"),
    ):
        focus(page, name)
        page.keyboard.type(text)
    press(page, "Write the release", TASK)
    page.get_by_text("The release is written").wait_for()
    page.close()
    assert (served.folder / "keys.csv").is_file()
    job = served_job(context, served)
    assert job.replace('title = "A release by keyboard"\n', "") == before


def test_a_form_of_another_origin_changes_nothing(browser, context, served, tmp_path):
    job = served_job(context, served)
    page = context[0].new_page()
    forged = tmp_path / "forged.html"
    forged.write_text(
        f'<form method="post" action="http://127.0.0.1:{served.port}/undo">'
        "<button>x</button></form>"
    )
    page.goto(forged.as_uri())
    with page.expect_navigation():
        page.get_by_role("button").click()
    assert "another page" in page.content() or "Open the address" in page.content()
    page.close()
    assert served_job(context, served) == job


def served_job(context, served):
    """Return the job, as the browser with the cookie gets it."""
    url = f"http://127.0.0.1:{served.port}/job.toml"
    return context[0].request.get(url).text()


def test_the_end_of_a_task_keeps_what_was_typed(context, served):
    url = f"http://127.0.0.1:{served.port}"
    page = context[0].new_page()
    page.goto(f"{url}/protect")
    page.get_by_label("Smallest group k").fill("9")
    mine = {"Origin": url, "Sec-Fetch-Site": "same-origin"}
    context[0].request.post(f"{url}/risk", form={"screen": "risk"}, headers=mine)
    page.get_by_role("link", name="Show the result").wait_for(timeout=60_000)
    assert page.get_by_label("Smallest group k").input_value() == "9"
    page.close()


def test_a_second_page_says_that_it_is_one(context, served):
    pages = [context[0].new_page() for _ in range(2)]
    for page in pages:
        page.goto(f"http://127.0.0.1:{served.port}/quit")
    pages[1].locator("#second").wait_for(state="visible", timeout=60_000)
    for page in pages:
        page.close()


def test_the_profile_of_the_browser_holds_no_value(served, tmp_path, browser):
    with serve(served.folder) as client:
        context = browser.browser_type.launch_persistent_context(
            str(tmp_path / "profile"),
            executable_path=find_chromium(),
            args=["--no-sandbox"],
        )
        page = context.new_page()
        page.goto(f"http://127.0.0.1:{client.port}/?token={client.token}")
        page.wait_for_url("**/table")
        page.locator("#progress").wait_for(state="hidden", timeout=200_000)
        page.get_by_role("button", name="Open the table").click()
        page.locator("#rows").wait_for(timeout=200_000)
        page.goto(f"http://127.0.0.1:{client.port}/table?row=41")
        assert CANARY in page.content()
        context.close()
    files = [f for f in (tmp_path / "profile").rglob("*") if f.is_file()]
    assert files
    assert [f.name for f in files if CANARY.encode() in f.read_bytes()] == []


def find_chromium():
    """Return the path of the browser of the system."""
    import shutil

    return shutil.which("chromium") or shutil.which("chromium-browser")
