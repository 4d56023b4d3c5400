"""[privacy] with other keys: what no longer acts is left out, all else stays."""

import pytest
from refusals import refused
from tables import promising

from aggopt.errors import JobError
from aggopt.job import Job

BOTH = {
    "t": 0.2,
    "distance": "ordered",
    "l": 2,
    "diversity": "entropy",
    "repair": {"method": "merge"},
    "confidential": {"salary": {"levels": [1000.0], "distance": "equal"}},
    "dominance": 0.9,
}


def changed(**keys):
    asked = promising(k=3, **BOTH)
    sections = {name: getattr(asked, name) for name in Job.model_fields}
    return Job(**{**sections, "privacy": asked.privacy.keys_with(**keys)})


@pytest.mark.parametrize(
    ("keys", "gone"),
    [
        ({"k": 7}, ()),
        ({"t": None}, ("t", "distance")),
        ({"l": None}, ("l", "diversity")),
        (
            {"t": None, "l": None},
            ("t", "distance", "l", "diversity", "repair", "confidential"),
        ),
    ],
    ids=["other k", "no t", "no l", "neither"],
)
def test_what_no_longer_acts_is_left_out(keys, gone):
    expected = {"k": 3, **BOTH, **keys}
    for name in gone:
        del expected[name]
    own = expected.get("confidential")
    if own:
        of_l, of_t = {"levels": [1000.0]}, {"distance": "equal"}
        kept = of_l if "t" in gone else of_t if "l" in gone else of_l | of_t
        expected["confidential"] = {"salary": kept}
    assert changed(**keys) == promising(**expected)


def test_a_t_of_0_is_asked_and_refused():
    with refused(JobError, "t = 0.0"):
        changed(t=0.0)
