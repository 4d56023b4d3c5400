"""Remedies: if a job does what its refusal says, it masks."""

import numpy as np
import pandas as pd
import pytest

import aggopt
from aggopt.errors import AggoptError

RNG = np.random.default_rng(0)
N = 120
TOWNS = [f"t{i % 70}" for i in range(N)]  # one or two records each
PEOPLE = pd.DataFrame(
    {
        "age": RNG.integers(18, 90, N).astype(float),
        "town": TOWNS,
        "my place": np.where(np.arange(N) < 20, "X", [f"p{i % 45}" for i in range(N)]),
        "letter": RNG.choice(list("ABCDEFGHIJ"), N),
        "ill": RNG.choice(["flu", "cold", "hiv", "none"], N),
        "day": pd.Timestamp("2020-01-01")
        + pd.to_timedelta(RNG.integers(900, size=N), "D"),
        "w": RNG.gamma(2.0, 10.0, N) + 1,
    }
)
TREE = {
    half: [f"t{i}" for i in towns]
    for half, towns in (("a", range(35)), ("b", range(35, 70)))
}


def refusal(job):
    with pytest.raises(AggoptError) as error:
        aggopt.mask(PEOPLE, aggopt.Job(**job))
    return error.value


def of(*quasi, confidential=(), attributes=None, aggregation=None, **privacy):
    named = {*quasi, *confidential}
    roles = {
        "quasi-identifier": [*quasi],
        "confidential": [*confidential],
        "drop": [name for name in PEOPLE if name not in named],
    }
    job = {"roles": roles, "privacy": {"k": 3, **privacy}}
    job["partition"] = {"method": "mdav"}
    if attributes:
        job["attributes"] = attributes
    if aggregation:
        job["aggregation"] = aggregation
    return job


def ill(treatment, **privacy):
    own = {"confidential": {"ill": treatment}} if treatment else {}
    job = of("age", confidential=["ill"], repair="merge")
    job["privacy"] |= {**privacy, **own}
    return job


def town(**section):
    return of("age", "town", attributes={"town": section})


def place(**section):
    return of(
        "age", "my place", attributes={"my place": {"kind": "nominal", **section}}
    )


def day(**privacy):
    job = of("age", confidential=["day"], repair="merge")
    job["privacy"] |= privacy
    return job


LEVELS = "leave levels out under [privacy.confidential."
CASES = {
    "words have no levels": (
        ill({"levels": 3}, l=2),
        f"{LEVELS}ill]: l then",
        [ill({}, l=2)],
    ),
    "dates have no levels": (
        day(l=2, confidential={"day": {"levels": 5}}),
        f"{LEVELS}day]: l then",
        [day(l=2)],
    ),
    "a distance without t": (
        ill({}, l=2, distance="equal"),
        "leave distance out, or promise t, too.",
        [ill({}, l=2), ill({}, l=2, t=0.6, distance="equal")],
    ),
    "an order without t": (
        ill({"order": ["none", "cold", "flu", "hiv"]}, l=2),
        "leave order out, or promise t, too.",
        [ill({"order": ["none", "cold", "flu", "hiv"]}, l=2, t=0.6)],
    ),
    "a distance without its tree": (
        ill({}, t=0.5, distance="hierarchical"),
        "under [privacy.confidential.ill], tree = {",
        [
            ill(
                {"tree": {"lung": ["flu", "cold"], "no": ["hiv", "none"]}},
                t=0.5,
                distance="hierarchical",
            ),
            ill({}, t=0.6, distance="equal"),
        ],
    ),
    "dates and the ordered distance": (
        day(t=0.3),
        'choose distance = "equal"',
        [day(t=0.6, distance="equal")],
    ),
    "names of most records": (
        of("age", "town"),
        'list the column as drop; or, in a job, write rare = "avoid"',
        [of("age")],
    ),
    "names of which some are frequent": (
        of("age", "my place"),
        'under [attributes."my place"], write rare = "avoid"',
        [place(rare="avoid"), place(rare="publish"), of("age")],
    ),
    "a tree of rare leaves": (
        town(tree=TREE),
        'write a tree, publish = "node" and rare = "avoid"',
        [
            town(tree=TREE, publish="node", rare="avoid"),
            town(tree=TREE, rare="publish"),
        ],
    ),
    "a tree whose nodes are published": (
        town(tree=TREE, publish="node"),
        'under [attributes.town], write rare = "avoid"',
        [town(tree=TREE, publish="node", rare="avoid")],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_job_that_does_what_its_refusal_says_masks(name):
    refused, words, mended = CASES[name]
    assert words in refusal(refused).fix
    for job in mended:
        assert aggopt.mask(PEOPLE, aggopt.Job(**job)).audit.holds


def test_the_slack_that_is_named_suffices_and_a_smaller_one_does_not():
    def slack(value):
        how = {"categories": {"method": "frequencies", "slack": value}}
        nominal = {"letter": {"kind": "nominal", "rare": "publish"}}
        return of("age", "letter", attributes=nominal, aggregation=how, k=15)

    assert "allow a slack of 7 records or more" in refusal(slack(4)).fix
    assert "allow a slack of 7 records or more" in refusal(slack(6)).fix
    assert aggopt.mask(PEOPLE, aggopt.Job(**slack(7))).audit.holds
