"""How a release publishes its sampling weights."""

from dataclasses import replace

import numpy as np
import pandas as pd

from aggopt import Job
from aggopt.data.table import Table
from aggopt.pipeline.finish.rounding import publish_weights

JOB = Job(roles={"quasi-identifier": ["age"], "weight": "w"}, privacy={"k": 2})
BOOKS = {"age": "of age", "w": "of w"}
EACH = np.array([1.0, 2.0, 5.0, 8.0])
FRAME = pd.DataFrame({"age": [1.0, 1.0, 2.0, 2.0], "w": EACH.astype(int)})


def published(how):
    """Return a release before and after its weights are put there."""
    job = JOB.model_copy(
        update={"weights": JOB.weights.model_copy(update={"published": how})}
    )
    made = replace(Table.of(FRAME, JOB.roles), codebooks=BOOKS)
    return made, publish_weights(made, np.array([0, 0, 1, 1]), EACH, job), job


def test_with_weights_as_they_are_nothing_changes():
    made, found, _ = published("as is")
    assert found is made


def test_dropped_weights_leave_no_trace():
    made, found, job = published("drop")
    assert found.frame.columns == ["age"]
    assert found.codebooks == {"age": "of age"}
    assert found.roles == job.released_roles != made.roles
    assert found.frame["age"].to_list() == [1.0, 1.0, 2.0, 2.0]


def test_groups_have_their_mean_weight_with_its_decimals():
    made, found, _ = published("group mean")
    assert found.frame["w"].to_list() == [1.5, 1.5, 6.5, 6.5]
    assert found.frame["age"].to_list() == made.frame["age"].to_list()
    assert (found.roles, found.codebooks) == (made.roles, BOOKS)
