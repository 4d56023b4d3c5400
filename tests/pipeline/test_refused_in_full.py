"""Jobs that promise what nothing keeps are refused in full sentences."""

from types import SimpleNamespace

import pytest

import aggopt
from aggopt.errors import JobError
from aggopt.models import MODELS
from aggopt.pipeline.validate import privacy_guarantees as guarantees
from aggopt.pipeline.validate.preflight_checks import require_scope
from aggopt.pipeline.validate.privacy_guarantees import require_guarantees

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


EQUAL = {"distance": "equal"}


def asked(names=("pay",), partition="mdav", **privacy):
    roles = {"quasi-identifier": ["age", "debt"], "confidential": [*names]}
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
            asked(("pay", "ill"), "closeness_first", t=0.2),
            "t = 0.2 is promised, and closeness_first does not guarantee t of 2 "
            "attributes, by the ordered distance.",
            MERGE + ORDERED + LARGER,
        ),
        (
            asked(("pay", "ill"), repair="sweep", t=0.2),
            "t = 0.2 is promised, and mdav with repair 'sweep' does not guarantee t of "
            "2 attributes, by the ordered distance.",
            MERGE + ORDERED + LARGER,
        ),
        (
            asked(partition="closeness_first", t=0.2, confidential={"pay": EQUAL}),
            "t = 0.2 is promised, and closeness_first does not guarantee t of one "
            "attribute, by the equal distance.",
            MERGE + ORDERED + LARGER,
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
        f"unique with its combination); or group all together, with {instead}"
    )


def test_methods_for_several_confidential_attributes_keep_t_of_them():
    require_guarantees(asked(("pay", "ill"), "merge_until_close", t=0.2))
    require_guarantees(asked(partition="closeness_first", t=0.2))


def test_a_repair_that_keeps_nothing_of_what_is_promised_is_refused(monkeypatch):
    with pytest.raises(JobError) as error:
        require_guarantees(asked(l=2, repair="sweep"))
    assert error.value.problem == (
        "The repair 'sweep' keeps t, and [privacy] states no t."
    )
    assert error.value.fix == (
        'state t, leave repair out, or set repair = "merge", which keeps every promise.'
    )
    both = SimpleNamespace(name="sweep", adds=frozenset("tl"))
    only = SimpleNamespace(of=lambda _: both)
    monkeypatch.setattr(guarantees, "REPAIRS", only)
    with pytest.raises(JobError, match=r"keeps l or t, and .* states no l or t"):
        require_guarantees(asked(p=2, repair="sweep"))


@pytest.mark.parametrize(
    ("repair", "chosen"),
    [
        ("merge", []),
        ("swap", []),
        ("merge-ilp", [None]),
        ({"method": "swap", "solver": "highs"}, ["highs"]),
        ({"method": "merge-ilp", "solver": "highs"}, ["highs"]),
    ],
)
def test_the_solver_of_a_repair_is_looked_for_where_it_is_used(
    repair, chosen, monkeypatch
):
    asked_for = []
    monkeypatch.setattr(
        guarantees, "choose", lambda name, *kinds: asked_for.append((name, kinds))
    )
    require_guarantees(asked(t=0.2, repair=repair))
    kinds = MODELS["closeness_merge"].kinds
    assert asked_for == [(name, tuple(kinds)) for name in chosen]
