"""What a job says of sampling weights, step by step."""

import numpy as np
import pytest
from surveys import survey

from aggopt.data.context.weights import SamplingWeights
from aggopt.pipeline.finish.notes import note_on_sampling_weights
from aggopt.pipeline.partition.methods import weight_arguments
from aggopt.pipeline.partition.requirements import dominance_requirements
from aggopt.pipeline.prepare.defaults import add_dominance_repair

SPREAD, ALIKE = np.r_[np.full(7, 1.0), 9.0], np.ones(8)
MERGES = {  # method, weights, largest share: whether groups are merged
    "a search that looks at it": ("local_search", SPREAD, 0.5, False),
    "a method that does not": ("mdav", SPREAD, 0.5, True),
    "a search of weights that are alike": ("local_search", ALIKE, 0.3, True),
    "groups that cannot be dominated": ("mdav", SPREAD, 9 / 11, False),
    "groups that can, by a little": ("mdav", SPREAD, 0.818, True),
}


@pytest.mark.parametrize("case", MERGES)
def test_groups_are_merged_where_the_method_does_not_see_to_it(case) -> None:
    method, each, share, merged = MERGES[case]
    job = survey(partition={"method": method}, weights={"dominance": share})
    known = None if each is ALIKE else each / 2
    found, why = add_dominance_repair(
        job, SamplingWeights("w", each, known), apart=False
    )
    if not merged:
        assert (found, why) == (job, ())
        return
    assert (found.privacy.repair.method, found.privacy.k) == ("merge", 3)
    assert why == (
        f"No record is to have more than {share:g} of the weight of its group, which "
        f"{method!r} does not look at: groups are merged until none has, by repair = "
        '"merge".',
    )
    again = add_dominance_repair(found, SamplingWeights("w", each, known), apart=False)
    assert again == (found, ())


def test_a_partition_is_told_what_it_takes() -> None:
    looks, does_not = (
        survey(partition={"method": name}, weights={"dominance": 0.7})
        for name in ("local_search", "mdav")
    )
    assert weight_arguments(looks, None) == {}
    assert weight_arguments(looks, SPREAD) == {"weights": SPREAD, "dominance": 0.7}
    assert weight_arguments(does_not, SPREAD) == {"weights": SPREAD}


def test_what_is_required_of_weights_is_of_their_column() -> None:
    each = np.array([2.0, 1.0, 2.0, 5.0])
    sampling = SamplingWeights("w", each, each / 2.5)
    assert dominance_requirements(survey(), None) == ()
    assert dominance_requirements(survey(weights={"dominance": 1.0}), sampling) == ()
    (found,) = dominance_requirements(survey(weights={"dominance": 0.7}), sampling)
    assert (found.name, found.codes.tolist()) == ("w", [1, 0, 1, 2])
    assert found.codes.dtype == np.int64
    (asked,) = found.requirements
    assert asked.required == 0.7
    assert not asked.check(np.array([0, 0, 1, 1])).holds
    assert asked.check(np.array([0, 0, 0, 0])).holds


@pytest.mark.parametrize(
    ("method", "made"),
    [
        ("local_search", "groups, means and losses are by weight"),
        (
            "mdav",
            "means and losses are by weight; 'mdav' makes groups without weights, of "
            "which the certificate says the weighted loss",
        ),
    ],
)
def test_what_is_weighed_is_said(method, made) -> None:
    job = survey(partition={"method": method})
    said = f"'w' weighs records: {made}. k counts records, whatever they weigh."
    assert note_on_sampling_weights(job, SPREAD) == [said]
    assert note_on_sampling_weights(job, None) == []
    units = job.model_copy(
        update={"roles": job.roles.model_copy(update={"unit": ("household",)})}
    )
    assert note_on_sampling_weights(units, SPREAD) == [
        said.replace("counts records", "counts units")
    ]
