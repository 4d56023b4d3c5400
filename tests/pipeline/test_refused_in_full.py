"""Jobs that promise what nothing keeps are refused in full sentences."""

import pytest

import aggopt
from aggopt.errors import JobError
from aggopt.pipeline.attribute_blocks import require_scope
from aggopt.pipeline.guarantees import require_guarantees

MERGE = (
    'set repair = "merge" under [privacy], which keeps every promise, or "search", '
    "which loses less and takes longer"
)
LARGER = (
    " Or promise a larger t: aggopt.repair.held_t(release.labels, values) of a release "
    "without t names the smallest that its groups keep, and the group that blocks a "
    "smaller one."
)
ORDERED = (
    "; or, of one confidential attribute and the ordered distance, method = "
    '"closeness_first" or another of its kind, or repair = "sweep".'
)
DIVERSE = (
    "; or, of one confidential attribute and values or entropy, method = "
    '"diverse_vmdav".'
)


def asked(confidential=("pay",), partition="mdav", **privacy):
    roles = {"quasi-identifier": ["age", "debt"], "confidential": [*confidential]}
    sections = {"roles": roles, "privacy": {"k": 3, **privacy}}
    return aggopt.Job(**sections, partition={"method": partition})


@pytest.mark.parametrize(
    ("job", "problem", "fix"),
    [
        (
            asked(l=2),
            "l = 2 is promised, and mdav does not guarantee l of one attribute, in the "
            "sense of distinct diversity.",
            MERGE + DIVERSE,
        ),
        (
            asked(t=0.2),
            "t = 0.2 is promised, and mdav does not guarantee t of one attribute, by "
            "the ordered distance.",
            MERGE + ORDERED + LARGER,
        ),
        (
            asked(("pay", "ill"), l=2, t=0.2),
            "l = 2 and t = 0.2 are promised, and mdav does not guarantee l and t of 2 "
            "attributes, by the ordered distance, in the sense of distinct diversity.",
            f"{MERGE}.{LARGER}",
        ),
        (
            asked(p=2),
            "p = 2 is promised, and mdav does not guarantee p of one attribute.",
            f"{MERGE}.",
        ),
        (
            asked(proximity={"epsilon": 2.5, "m": 2}, repair="sweep", t=0.5),
            "t = 0.5 and proximity = { epsilon = 2.5, m = 2 } are promised, and mdav "
            "with repair 'sweep' does not guarantee proximity of one attribute, by the "
            "ordered distance.",
            f"{MERGE}.{LARGER}",
        ),
    ],
)
def test_what_no_method_keeps_is_refused_with_what_would(job, problem, fix):
    with pytest.raises(JobError) as error:
        require_guarantees(job)
    assert (error.value.problem, error.value.fix) == (problem, fix)


@pytest.mark.parametrize(
    ("method", "instead"),
    [
        ("mdav", 'attributes = "together" under [partition].'),
        (
            "univariate",
            'method = "mdav", "mhm" or another that takes several attributes.',
        ),
    ],
)
def test_blocks_that_do_not_keep_k_are_refused_with_what_would(method, instead):
    with pytest.raises(JobError) as error:
        require_scope(asked(partition=method), ((0,), (1,)))
    assert error.value.fix == (
        'promise less, with scope = "blocks" under [privacy] (a record may then be '
        f"alone with its combination); or group all together, with {instead}"
    )
