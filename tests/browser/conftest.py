"""A browser, and pages opened in it."""

import shutil
from contextlib import contextmanager

import pytest
from browsing import WAYS


@pytest.fixture(scope="session")
def browser():
    """Chromium of the system, if it and what drives it are there."""
    found = next(
        filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None
    )
    if found is None:
        pytest.skip("no browser: .ci/install-chromium, or apt-get install chromium")
    api = pytest.importorskip(
        "playwright.sync_api", reason="pip install playwright axe-playwright-python"
    )
    with api.sync_playwright() as playwright:
        opened = playwright.chromium.launch(
            executable_path=found, args=["--no-sandbox"]
        )
        yield opened
        opened.close()


@pytest.fixture(scope="session")
def looked_at(browser):
    """Open a page in a way: the page, and what the browser said and asked for."""

    @contextmanager
    def open_page(path, way):
        context = browser.new_context(**WAYS[way])
        page = context.new_page()
        said, asked = [], []
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        if way == "printed":
            page.emulate_media(media="print")
        url = path.as_uri()
        page.goto(url)
        yield page, said, [each for each in asked if each != url]
        context.close()

    return open_page
