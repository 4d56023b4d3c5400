"""A page with a table that is open; `messages.txt` has no refusals of it."""

import numpy as np
import pandas as pd
import pytest
from serving import CANARY, HOSTILE, serve

ROLES = {"progression": "confidential", "illness": "confidential"}


def patients(n=80) -> pd.DataFrame:
    """Return patients with names, numbers, text and a hostile name of a column."""
    rng = np.random.default_rng(0)
    names = [f"Person-{number}" for number in range(n - 1)]
    return pd.DataFrame(
        {
            "name": [*names, CANARY],
            "age": rng.integers(18, 90, n),
            "bmi": rng.normal(25, 4, n).round(1),
            HOSTILE: rng.choice(["a", "<img src=x onerror=alert(1)>", "b"], n),
            "illness": rng.choice(["flu", "asthma", "cold"], n),
            "progression": rng.gamma(2.0, 10.0, n).round(2),
        }
    )


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """The folder where the page starts."""
    folder = tmp_path_factory.mktemp("start")
    patients().to_csv(folder / "people.csv", index=False)
    return folder


@pytest.fixture(scope="session")
def served(folder):
    """A page in that folder; nobody has entered."""
    pytest.importorskip("starlette", reason="pip install 'aggopt[app]'")
    with serve(folder) as client:
        yield client


@pytest.fixture(scope="session")
def page(served):
    """A page whose table is open."""
    served.enter()
    served.wait("idle")
    served.open("people.csv")
    return served


@pytest.fixture
def anew(page):
    """The page with its table opened anew."""
    page.open("people.csv")
    return page


@pytest.fixture
def protected(anew):
    """A page that has masked the table."""
    page = anew
    assert page.choose_roles(ROLES, then="risk")["status"] == "done"
    fields = {"k": 4, "keep": "", "method": "mdav", "screen": "protect"}
    assert page.run("/protect", **fields)["status"] == "done"
    return page
