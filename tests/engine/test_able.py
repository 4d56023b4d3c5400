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
MEAN, P3M = {"method": "mean"}, {"method": "p3m"}
FREQUENT, PLAIN = {"method": "frequencies"}, {"method": "plurality"}
EXACT = "[aggregation] asks for distances that are kept exactly"
UNABLE = {
    "[weights] published = 'as is'": {
        "roles": {**ROLES, "other": [], "weight": ["note"]},
        "weights": {"published": "as is"},
    },
    "what is kept is kept in each stratum": {
        "roles": WITH_MORE["stratum"],
        "aggregation": {"method": "mean", "keep": "variance"},
    },
    "[privacy] average_risk is given": {"privacy": {"k": 4, "average_risk": 0.2}},
    "[privacy] linkage is given": {"privacy": {"k": 4, "linkage": 0.2}},
    "[measures] is given": {"measures": {"largest_loss": 0.9}},
    "[roles] unit is given": {"roles": WITH_MORE["unit"]},
    "[attributes.age] lower or upper, with keep = 'covariance'": {
        "attributes": {"age": {"lower": 0}},
        "aggregation": MEAN | {"keep": "covariance"},
    },
    "[aggregation.categories] method = 'wish'": {
        "aggregation": MEAN | {"categories": {"method": "wish"}}
    },
    "[aggregation.categories] occurring is given": {
        "aggregation": MEAN | {"categories": PLAIN | {"occurring": True}}
    },
    "[aggregation.categories] cross is given": {
        "aggregation": MEAN | {"categories": FREQUENT | {"cross": [["a", "b"]]}}
    },
    "[aggregation.categories] with is given": {
        "aggregation": MEAN | {"categories": FREQUENT | {"with": ["ill"]}}
    },
    "[aggregation.categories] time_limit is given": {
        "aggregation": MEAN | {"categories": PLAIN | {"time_limit": 1.0}}
    },
    "[missing] report_compatible is given": {
        "missing": {"policy": "patterns", "report_compatible": True}
    },
    "[risk] is given": {"risk": {"suda": 2}},
    "[output] shuffle or seed is given": {"output": {"shuffle": False}},
    "scope = 'blocks'": {"privacy": {"scope": "blocks"}},
    "repair = 'search'": {"privacy": {"l": 2, "repair": "search"}},
    "[partition] method = 'mdav'": {"partition": {"method": "mdav"}},
    "[partition] time_limit is given": {
        "partition": {"method": "blocked", "time_limit": 2.0}
    },
    "[partition] attributes or weights are given": {
        "partition": {"method": "blocked", "weights": "range"}
    },
    "[aggregation] method = 'satisfaction'": {
        "aggregation": {"method": "satisfaction"}
    },
    "[aggregation] keep": {"aggregation": P3M | {"keep": "covariance"}},
    "[aggregation] solver = 'uno'": {"aggregation": P3M | {"solver": "uno"}},
    "[aggregation] time_limit is given": {"aggregation": P3M | {"time_limit": 2.0}},
    EXACT: {"aggregation": P3M | {"importance": 0.6}},
    "[aggregation] keep names columns": {
        "aggregation": {"method": "mean", "keep": {"variance": ["age"]}}
    },
}


@pytest.mark.parametrize("what", UNABLE)
def test_what_needs_all_records_is_refused_with_a_way_out(what):
    with refused(JobError, what):
        require_supported_job(job(**UNABLE[what]))


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
    with refused(JobError, "kept exactly"):
        require_supported_job(job(aggregation=P3M | asked))


def test_what_is_no_category_is_refused_before_it_is_read():
    kinds = pa.binary(), pa.list_(pa.string()), pa.decimal128(9, 2)
    schema = pa.schema(list(zip(("age", "height", "income"), kinds, strict=True)))
    with refused(TableError, "'age'", "'height'", "'income'"):
        require_supported_schema(schema, job())
