"""Weights that would weigh nothing are refused before any work."""

from typing import Any

import pytest
from tables import ROLES, job, people, smallest

import aggopt
from aggopt.errors import JobError

FRAME = people().assign(place=["a", "b", "c", "d"] * 10)
QUASI = ["age", "income", "place"]
BLOCKS = {"k": 3, "scope": "blocks"}


def asked(quasi: list[str], way: Any = "together", **sections: Any) -> Any:
    others = ["note", *({"age", "income", "place"} - set(quasi))]
    roles = {**ROLES, "quasi-identifier": quasi, "other": others}
    weights = sections.pop("weights", "variance")
    how = {"method": "mdav", "attributes": way, "weights": weights}
    return job(roles=roles, partition=how, **sections)


def weight(name: str, by: float = 2.0) -> dict[str, Any]:
    return {"attributes": {name: {"weight": by}}}


@pytest.mark.usefixtures("no_work")
@pytest.mark.parametrize(
    "wrong",
    [
        asked(["age"], **weight("age")),
        asked(QUASI, [["income", "place"], ["age"]], privacy=BLOCKS, **weight("age")),
        asked(QUASI, "one by one", privacy=BLOCKS, **weight("age", 0.5)),
    ],
)
def test_a_weight_of_what_is_grouped_by_itself(wrong: Any) -> None:
    with pytest.raises(JobError) as refusal:
        aggopt.mask(FRAME, wrong)
    assert refusal.value.problem == (
        "[attributes.age] weight is of distances beside those of other attributes, and "
        "'age' is grouped by itself."
    )
    assert refusal.value.fix == "group several attributes together, or leave it out."


@pytest.mark.usefixtures("no_work")
@pytest.mark.parametrize(
    ("quasi", "way", "seen"),
    [
        (["place"], "together", "1 category of the job is grouped each by itself"),
        (
            ["place", "work"],
            "one by one",
            "2 categories of the job are grouped each by itself",
        ),
    ],
)
def test_weights_of_categories_each_by_itself(
    quasi: list[str], way: str, seen: str
) -> None:
    frame = FRAME.assign(work=["x", "y"] * 20)
    wrong = asked(quasi, way, privacy=BLOCKS, weights="range")
    if "work" not in quasi:
        frame = frame.drop(columns="work")
    with pytest.raises(JobError) as refusal:
        aggopt.mask(frame, wrong)
    assert refusal.value.problem == (
        f'[partition] weights = "range" is of attributes beside each other, and {seen}.'
    )
    assert refusal.value.fix == "group several attributes together, or leave it out."


@pytest.mark.parametrize(
    "right",
    [
        asked(["age"], **weight("age", 1.0)),
        asked(QUASI, **weight("age")),
        asked(QUASI, [["age", "place"], ["income"]], privacy=BLOCKS, **weight("age")),
        asked(["age"], weights="range"),
        asked(["place", "age"], "one by one", privacy=BLOCKS, weights="range"),
        asked(QUASI, [["age", "place"], ["income"]], privacy=BLOCKS, weights="range"),
        asked(["place"]),
    ],
)
def test_weights_that_act(right: Any) -> None:
    release = aggopt.mask(FRAME, right)
    for block in release.blocks:
        names = [right.roles.quasi_identifier[j] for j in block.columns]
        assert smallest(release.table, names) >= 3
