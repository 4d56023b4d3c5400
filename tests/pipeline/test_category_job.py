"""What a job says of categories is held against its table before any work."""

import numpy as np
import pandas as pd
import pytest
from holed import KEEP
from refusals import refused

import aggopt
from aggopt.data.table import Table
from aggopt.errors import InfeasibleInputError, JobError, UnknownNameError
from aggopt.pipeline.prepare.defaults import count_widest_block, set_category_method
from aggopt.pipeline.validate.categories import (
    require_category_settings,
    require_cross_table_columns,
)

TREE = {"care": ["doctor", "nurse"], "craft": ["smith"]}
WORK = ["doctor", "nurse", "smith", "smith"]
FRAME = pd.DataFrame(
    {
        "age": np.arange(20.0),
        "town": list("ab" * 10),
        "work": WORK * 5,
        "sex": list("fm" * 10),
        "rare": ["x"] * 2 + ["y"] * 18,
    }
)


def asked(names, attributes=None, frame=FRAME, missing=None, k=4, **categories):
    rest = [name for name in frame if name not in names]
    how = {"categories": categories} if categories else {}
    return aggopt.Job(
        roles={"quasi-identifier": names, "other": rest},
        privacy={"k": k},
        partition={"method": "mdav"},
        attributes=attributes or {},
        missing=missing or {},
        aggregation={"method": "mean", **how},
    )


def checked(names, attributes=None, frame=FRAME, **categories):
    job = asked(names, attributes, frame, **categories)
    table = Table.of(frame, job.roles, job.attributes, missing=job.missing)
    job = set_category_method(job, table)
    require_category_settings(job, table)
    return job


def expect_refusal(kind, *of, **how):
    with refused(kind) as error:
        checked(*of, **how)
    return error.value


@pytest.mark.parametrize(
    ("section", "other"),
    [
        ({"method": "plurality", "occurring": True}, " without"),
        ({"method": "frequencies"}, None),
    ],
)
def test_nodes_are_refused_of_methods_that_publish_levels(section, other):
    work = {"work": {"tree": TREE, "publish": "node"}}
    error = expect_refusal(JobError, ["age", "town", "work"], work, **section)
    more = "" if other is None else " without occurring"
    assert error.fix == (
        f'set publish = "leaf" there; or choose method = "plurality"{more}, which '
        "publishes nodes, under [aggregation.categories]."
    )
    leaf = {"work": {"tree": TREE}}
    assert checked(["age", "work"], leaf, **section).aggregation.categories


def test_the_default_publishes_nodes_unless_their_names_are_alike():
    work = {"work": {"tree": TREE, "publish": "node"}}
    assert checked(["age", "work"], work).aggregation.categories.method == "plurality"
    tree = [["doctor", "high", "care"], ["nurse", "low", "care"], ["smith", "low", "x"]]
    alike = {"work": {"tree": tree, "publish": "node"}}
    expect_refusal(JobError, ["age", "work"], alike)


def test_every_category_is_counted_that_a_slack_is_asked_of():
    exact = {"method": "frequencies", "slack": "exact"}
    expect_refusal(InfeasibleInputError, ["age", "town", "rare"], **exact)
    assert checked(["age", "town"], **exact)
    assert checked(["age", "rare"], method="frequencies", slack=2)
    assert checked(["age", "rare"], method="frequencies", price=1.0)
    assert checked(["age", "rare"], method="plurality")
    expect_refusal(InfeasibleInputError, ["age", "rare"], method="frequencies", slack=1)


def test_a_table_of_cells_has_a_price_unless_it_is_told():
    beside = {"method": "frequencies", "with": ["sex"]}
    assert checked(["age", "rare"], **beside)
    few = FRAME.assign(rare=list("abc") + ["y"] * 17)
    assert expect_refusal(
        InfeasibleInputError, ["age", "rare"], frame=few, slack="exact", **beside
    )
    assert checked(["age", "rare"], frame=few, **beside)
    assert checked(["age", "rare"], frame=few, method="plurality")


def test_a_slack_is_asked_of_frequencies_alone_and_not_beside_a_price():
    frame = FRAME.assign(rare=["x"] * 5 + ["y"] * 15)
    ten = {"frame": frame, "k": 10}  # 5 are lacking: more than the usual slack of 4
    plain = {"method": "frequencies", **ten}
    expect_refusal(InfeasibleInputError, ["age", "rare"], **plain)
    assert checked(["age", "rare"], price=1.0, **plain)
    assert checked(["age", "rare"], method="plurality", **ten)
    assert checked(["age", "rare"], **plain, **{"with": ["sex"]})


def test_levels_are_counted_of_those_who_have_one():
    frame = FRAME.assign(rare=["x"] * 4 + ["y"] * 14 + [None] * 2)
    exact = {"method": "frequencies", "slack": "exact"}
    assert checked(["age", "rare"], frame=frame, missing=KEEP, **exact)


def test_levels_that_nobody_has_are_not_counted():
    """With them, up to 30 records would be possible, and 26 to 30 are not."""
    frame = FRAME.assign(rare=list("a" * 2 + "b" * 18))
    order = {"rare": {"order": ["z", "a", "b", "y"]}}
    exact = {"method": "frequencies", "slack": "exact"}
    expect_refusal(InfeasibleInputError, ["age", "rare"], order, frame, **exact)


def test_a_slack_of_cells_spares_their_levels_and_no_other():
    names = ["age", "rare", "town", "work"]
    cross = {"method": "frequencies", "slack": 1, "cross": [["rare", "town"]]}
    assert checked(names, **cross)
    expect_refusal(
        InfeasibleInputError,
        ["age", "town", "sex", "rare"],
        **{**cross, "cross": [["town", "sex"]]},
    )
    assert checked(["age", "rare"], method="frequencies", slack=1, **{"with": ["sex"]})


def test_a_category_has_two_coordinates_at_least():
    rng = np.random.default_rng(0)
    two = pd.DataFrame({"a": rng.normal(size=6), "c": list("xyxyxy")})
    three = two.assign(b=two["a"] ** 2, e=two["a"] ** 3)
    assert count_widest_block(aggopt.encode(two[["c"]]), ((0,),)) == 2
    assert count_widest_block(aggopt.encode(two), ((0,), (1,))) == 2
    assert count_widest_block(aggopt.encode(two), ((0,),)) == 1
    assert count_widest_block(aggopt.encode(three[["a", "b", "e"]]), ((0, 1, 2),)) == 3
    assert count_widest_block(np.ones((6, 2)), ((0,), (1,))) == 1
    order = {"c": {"order": ["x", "y"]}}  # one coordinate, and no number
    assert aggopt.encode(two[["c"]], order).shape == (6, 1)
    assert count_widest_block(aggopt.encode(two[["c"]], order), ((0,),)) == 2


def beside(*names, frame=FRAME, quasi=("age", "town")):
    job = asked(list(quasi), frame=frame, method="frequencies", **{"with": names})
    require_cross_table_columns(job, Table.of(frame, job.roles, job.attributes))


def test_what_is_kept_with_categories_is_named_once_and_published_as_it_is():
    beside("sex")
    with refused(JobError, "'sex'"):
        beside("sex", "sex")
    with refused(JobError, "'town'"):
        beside("town")
    with refused(UnknownNameError, "'sax'"):
        beside("sax")
    with refused(JobError, "'each'", "20"):
        beside("each", frame=FRAME.assign(each=[f"n{j}" for j in range(20)]))
