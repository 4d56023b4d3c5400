"""Jobs that cannot be carried out in blocks are refused, with what can."""

import pyarrow as pa
import pytest
from folders import ROLES, job
from refusals import refused

from aggopt.engine.validate.input_files import require_supported_schema
from aggopt.engine.validate.supported_settings import require_supported_job
from aggopt.errors import JobError, TableError

WITH_MORE = {
    role: {**ROLES, "other": [], role: ["note"]} for role in ("stratum", "unit", "wish")
}
OUT = "leave it out"
ELSEWHERE = (
    "; or leave [engine] and --engine out, which does it of a table that fits memory"
)
MEAN, P3M = {"method": "mean"}, {"method": "p3m"}
FREQUENT, PLAIN = {"method": "frequencies"}, {"method": "plurality"}
EXACT = "[aggregation] asks for distances that are kept exactly"
SOFT = "set importance to 0.5 or less, a number, and alpha to 0.8 or less"
UNABLE = {
    "[weights] published = 'as is'": (
        {
            "roles": {**ROLES, "other": [], "weight": ["note"]},
            "weights": {"published": "as is"},
        },
        'set published = "group mean" or "drop"',
    ),
    "what is kept is kept in each stratum": (
        {
            "roles": WITH_MORE["stratum"],
            "aggregation": {"method": "mean", "keep": "variance"},
        },
        'set keep = "overall"',
    ),
    "[privacy] risk is given": (
        {"privacy": {"k": 4, "risk": 0.2}},
        "set k, by which groups keep 1/k",
    ),
    "[privacy] linkage is given": (
        {"privacy": {"k": 4, "linkage": 0.2}},
        "set k, by which groups keep 1/k",
    ),
    "[measures] is given": ({"measures": {"largest_loss": 0.9}}, OUT),
    "[roles] unit is given": ({"roles": WITH_MORE["unit"]}, OUT),
    "[attributes.age] lower or upper, with keep = 'covariance'": (
        {
            "attributes": {"age": {"lower": 0}},
            "aggregation": MEAN | {"keep": "covariance"},
        },
        'set keep = "variance", or leave it out',
    ),
    "[aggregation.categories] method = 'wish'": (
        {"aggregation": MEAN | {"categories": {"method": "wish"}}},
        'set method = "plurality" or "frequencies"',
    ),
    "[aggregation.categories] occurring is given": (
        {"aggregation": MEAN | {"categories": PLAIN | {"occurring": True}}},
        OUT,
    ),
    "[aggregation.categories] cross is given": (
        {"aggregation": MEAN | {"categories": FREQUENT | {"cross": [["a", "b"]]}}},
        OUT,
    ),
    "[aggregation.categories] with is given": (
        {"aggregation": MEAN | {"categories": FREQUENT | {"with": ["ill"]}}},
        OUT,
    ),
    "[aggregation.categories] time_limit is given": (
        {"aggregation": MEAN | {"categories": PLAIN | {"time_limit": 1.0}}},
        OUT,
    ),
    "[missing] report_compatible is given": (
        {"missing": {"policy": "patterns", "report_compatible": True}},
        OUT,
    ),
    "[risk] is given": ({"risk": {"suda": 2}}, OUT),
    "[output] shuffle or seed is given": (
        {"output": {"shuffle": False}},
        "let the order be random",
    ),
    "scope = 'blocks'": ({"privacy": {"scope": "blocks"}}, 'set scope = "combination"'),
    "repair = 'search'": (
        {"privacy": {"l": 2, "repair": "search"}},
        'set repair = "merge"',
    ),
    "[partition] method = 'mdav'": (
        {"partition": {"method": "mdav"}},
        "set method = 'blocked'",
    ),
    "[partition] time_limit is given": (
        {"partition": {"method": "blocked", "time_limit": 2.0}},
        'choose an effort, "fast" or "best"',
    ),
    "[partition] attributes or weights are given": (
        {"partition": {"method": "blocked", "weights": "range"}},
        "leave them out",
    ),
    "[aggregation] method = 'satisfaction'": (
        {"aggregation": {"method": "satisfaction"}},
        'set method = "mean", "median" or "p3m"',
    ),
    "[aggregation] keep": (
        {"aggregation": P3M | {"keep": "covariance"}},
        'leave it out, or set method = "mean"',
    ),
    "[aggregation] solver = 'uno'": (
        {"aggregation": P3M | {"solver": "uno"}},
        "set solver = 'lagrangian'",
    ),
    "[aggregation] time_limit is given": (
        {"aggregation": P3M | {"time_limit": 2.0}},
        "leave it out",
    ),
    EXACT: ({"aggregation": P3M | {"importance": 0.6}}, SOFT),
    "[aggregation] keep names columns": (
        {"aggregation": {"method": "mean", "keep": {"variance": ["age"]}}},
        'set keep = "covariance"',
    ),
}


@pytest.mark.parametrize("what", UNABLE)
def test_what_needs_all_records_is_refused_with_a_way_out(what):
    sections, fix = UNABLE[what]
    with refused(
        f"{what}: an engine that works block by block does not do that.",
        f"{fix}{ELSEWHERE}.",
        JobError,
    ):
        require_supported_job(job(**sections))


@pytest.mark.parametrize(
    "sections",
    [
        {},
        {"privacy": {"l": 2, "repair": "merge"}},
        {"privacy": {"t": 0.2, "repair": "merge"}},
        {"roles": WITH_MORE["stratum"]},
        {"roles": WITH_MORE["stratum"], "strata": {"small": "merge"}},
        {"partition": {"method": "blocked", "effort": "fast"}},
        {"aggregation": {"method": "mean", "keep": "covariance"}},
        {"aggregation": {"method": "median"}},
        {"aggregation": P3M | {"alpha": 0.8, "importance": 0.5}},
        {"aggregation": MEAN | {"categories": FREQUENT}},
        {"attributes": {"age": {"kind": "nominal", "weight": 2.0}}},
        {"attributes": {"age": {"lower": 0, "integer": True}}},
        {"missing": {"policy": "fill"}},
        {"missing": {"policy": "fill"}, "roles": WITH_MORE["stratum"]},
        {"missing": {"policy": "patterns"}, "aggregation": P3M},
    ],
    ids=[
        *(
            "k",
            "l by merging",
            "t by merging",
            "strata",
            "strata that are merged",
            "blocked",
            "covariance",
            "median",
            "p3m",
        ),
        *("frequencies", "names", "bounds", "holes", "holes within strata"),
        "holes and p3m",
    ],
)
def test_what_blocks_can_do_is_not_refused(sections):
    require_supported_job(job(**sections))


@pytest.mark.parametrize(
    "asked",
    [{"alpha": 0.9}, {"importance": {"relative": 0.1}}],
    ids=["alpha", "relative importance"],
)
def test_distances_that_may_be_kept_exactly_are_refused(asked):
    with pytest.raises(JobError, match="kept exactly"):
        require_supported_job(job(aggregation=P3M | asked))


def test_what_is_no_category_is_refused_before_it_is_read():
    kinds = pa.binary(), pa.list_(pa.string()), pa.decimal128(9, 2)
    schema = pa.schema(list(zip(("age", "height", "income"), kinds, strict=True)))
    with refused(
        "Quasi-identifiers that are neither numbers, nor dates or times, text, "
        "categories or truth values: 'age' (binary), 'height' (list<item: string>), "
        "'income' (decimal128(9, 2)).",
        "give them numbers, or mask the table in parts that fit, or leave [engine] and "
        "--engine out, which does it of a table that fits memory.",
        TableError,
    ):
        require_supported_schema(schema, job())
