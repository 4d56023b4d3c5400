"""Pages of the built site in a real browser: axe finds no violation."""

from pathlib import Path

import pytest

pytestmark = pytest.mark.slow  # a browser takes seconds to begin
BUILT = Path(__file__).parents[2] / "docs" / "_build" / "html"


@pytest.mark.parametrize("way", ["light", "dark"])
@pytest.mark.parametrize("name", ["index", "types", "mathematics/univariate"])
def test_axe_finds_no_violation_on_the_site(looked_at, name: str, way: str) -> None:
    page = BUILT / f"{name}.html"
    if not page.exists():
        pytest.skip("the site is not built: make docs")
    from axe_playwright_python.sync_playwright import Axe

    with looked_at(page, way) as (shown, _, _):
        found = Axe().run(shown).response["violations"]
    assert [violation["id"] for violation in found] == []
