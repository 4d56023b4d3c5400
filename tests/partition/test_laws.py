"""Every partitioner obeys the laws of `aggopt.checks`, with other settings, too.

A new partitioner joins by itself, and with other settings by a line here.
"""

from functools import partial

from aggopt.checks import parametrize_with_checks
from aggopt.partition import (
    PARTITIONERS,
    blocked,
    cbfs,
    local_search,
    mdav,
    mhm,
    optimal,
    projection,
    vmdav,
)

SOON = {  # settings with which those that search, or prove, end soon
    "blocked": {"block_size": 128, "effort": "fast"},
    "generalising": {"effort": "fast"},
    "local_search": {"effort": "fast"},
    "optimal": {"gap_tol": 0.9},
}
EACH = [partial(m.function, **SOON.get(name, {})) for name, m in PARTITIONERS.items()]
ORDERS = ("cbfs", "md", "npn", "tsp")
AXES = ("zsum", "robust_pca")


def excused(thing, *laws, because):
    thing.excused = dict.fromkeys(laws, because)
    return thing


OTHERS = [
    partial(mdav, ending="nearest"),
    partial(vmdav, gamma=1.1, centroid="remaining"),
    *(partial(mhm, order=order) for order in ORDERS),
    partial(projection, axis="robust_pca"),
    excused(
        partial(projection, axis="zsum"),
        "doubled_and_negated_units_do_not_matter",
        because="a sum of z-scores is another where one has its sign turned",
    ),
]
UNSCALED = [
    partial(mdav, scale="none"),
    partial(mdav, ending="nearest", scale="none"),
    partial(cbfs, scale="none"),
    partial(vmdav, scale="none"),
    *(partial(mhm, order=order, scale="none") for order in ("mdav", *ORDERS)),
    *(partial(projection, axis=axis, scale="none") for axis in ("pca", *AXES)),
    partial(local_search, initial="cbfs", effort="fast", scale="none"),
    partial(blocked, inner="vmdav", block_size=128, effort="fast", scale="none"),
]


@parametrize_with_checks(*EACH, *OTHERS, *UNSCALED)
def test_laws(check) -> None:
    check()


def test_what_is_named_here_is_a_partitioner() -> None:
    assert set(SOON) <= set(PARTITIONERS)
    assert optimal in [own.func for own in EACH]
