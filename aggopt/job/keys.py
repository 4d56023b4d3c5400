"""The keys of a job's sections as type checkers see them: `Job(privacy={"k": 5})`.

All of them may be left out here; which ones a job needs, and what goes with what, it
says itself.  A section that names one of several methods has the keys of all of them.
"""

from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any, Literal, TypeAlias, TypedDict

from aggopt.core.registry import Method

Entry: TypeAlias = bool | int | float | str
Own: TypeAlias = Callable[..., Any] | Method  # in place of a method's name
Names: TypeAlias = Sequence[str]
Columns: TypeAlias = list[str] | tuple[str, ...]  # no text, of which each letter is one
RoleKeys = TypedDict(
    "RoleKeys",
    {
        "identifier": Columns,
        "quasi-identifier": Columns,
        "quasi_identifier": Columns,
        "confidential": Columns,
        "other": Columns,
        "stratum": Columns,
        "unit": Columns,
        "wish": Columns,
        "drop": Columns,
        "weight": str,
    },
    total=False,
)
RoleNames: TypeAlias = Mapping[str, Columns] | RoleKeys


class AttributeKeys(TypedDict, total=False):
    """[attributes.NAME]: what a quasi-identifier is, and how it is published."""

    kind: Literal["numeric", "date", "nominal", "ordinal", "hierarchical"] | None
    order: Sequence[Entry] | None
    tree: Mapping[str, Any] | str | Sequence[Sequence[str]] | None
    publish: Literal["leaf", "node", "ancestor"]
    weight: float
    missing: Literal["refuse", "own value"] | None
    lower: float | None
    upper: float | None
    integer: bool
    rare: Literal["avoid", "publish"] | None
    format: str | None


class MissingKeys(TypedDict, total=False):
    """[missing]."""

    policy: Literal["refuse", "patterns", "fill"]
    report_compatible: bool


class StrataKeys(TypedDict, total=False):
    """[strata]."""

    small: Literal["refuse", "merge", "drop"]
    keep: Literal["stratum", "overall"]
    jobs: int


class UnitsKeys(TypedDict, total=False):
    """[units]."""

    attributes: Names
    published: Literal["drop", "pseudonym"]


class WeightsKeys(TypedDict, total=False):
    """[weights]."""

    published: Literal["group mean", "drop", "as is"]
    dominance: float


class TreatmentKeys(TypedDict, total=False):
    """[privacy.confidential.NAME]: how values of a confidential attribute compare."""

    missing: Literal["refuse", "own value"]
    alike: Literal["refuse", "different"]
    levels: int | Sequence[float] | None
    distance: Literal["ordered", "equal", "hierarchical"] | None
    order: Sequence[Entry] | None
    tree: Mapping[str, Any] | None


class RepairKeys(TypedDict, total=False):
    """[privacy.repair]."""

    method: Literal["merge", "search", "merge-ilp", "swap", "sweep"] | Own
    time_limit: float | None
    solver: str | Own | None


class ProximityKeys(TypedDict, total=False):
    """[privacy.proximity]."""

    epsilon: float | Mapping[str, float]
    m: int
    relative: bool


class DissimilarityKeys(TypedDict, total=False):
    """[privacy.dissimilarity]."""

    epsilon: float | Mapping[str, float]
    delta: float


OwnAsked: TypeAlias = str | Own | Mapping[str, Any]


class PrivacyKeys(TypedDict, total=False):
    """[privacy]."""

    k: int
    scope: Literal["combination", "blocks"]
    l: int | None  # noqa: E741
    diversity: Literal["distinct", "entropy", "recursive"]
    c: float | None
    t: float | None
    distance: Literal["ordered", "equal", "hierarchical"]
    p: int | None
    proximity: ProximityKeys | None
    dissimilarity: DissimilarityKeys | None
    own: OwnAsked | Sequence[OwnAsked]
    repair: RepairKeys | str | Own | None
    confidential: Mapping[str, TreatmentKeys]
    dominance: float
    risk: float | None
    average_risk: float | None
    linkage: float | None


class CorrelationKeys(TypedDict, total=False):
    """[partition.attributes]: those together that are correlated."""

    correlation: float


class PartitionKeys(TypedDict, total=False):
    """[partition]: the keys of all methods."""

    method: str | Own
    attributes: (
        Literal["together", "one by one"] | CorrelationKeys | Sequence[Sequence[str]]
    )
    weights: Literal["variance", "range"]
    time_limit: float | None
    effort: Literal["fast", "default", "best"]
    initial: str | Own
    inner: str | Own
    block_size: int | None
    seed: int
    solver: str | Own | None
    gap_tol: float
    options: Mapping[str, Any]
    ending: Literal["3k", "nearest"]
    order: Literal["npn", "mdav", "cbfs", "md", "tsp"]
    starts: int | None
    axis: Literal["pca", "zsum", "robust_pca"]
    gamma: float
    centroid: Literal["fixed", "remaining"]
    cost: Literal["sse", "sae", "maxdist"]
    keep_groups: str
    earlier: str | None
    person: str | None
    changes: Literal["refuse", "hold back", "merge"]
    centroids: Literal["any", "integer"]


class RelativeKeys(TypedDict, total=False):
    """A distance that is a share of each value."""

    relative: float


class ColumnKeys(TypedDict, total=False):
    """A distance or importance that stands in a column of the table."""

    column: str


class ByAttributeKeys(TypedDict, total=False):
    """Distances or importances of attributes, by name."""

    attributes: Mapping[str, float | RelativeKeys | ColumnKeys]


class KeepKeys(TypedDict, total=False):
    """[aggregation.keep]: more of some attributes than of others."""

    covariance: Names | Sequence[Names]
    variance: Names
    mean: Names
    regression: str | None


Wish: TypeAlias = float | RelativeKeys | ColumnKeys | ByAttributeKeys

CategoryKeys = TypedDict(
    "CategoryKeys",
    {
        "method": str | Own,
        "occurring": bool,
        "solver": str | Own | None,
        "time_limit": float | None,
        "options": Mapping[str, Any],
        "with": Names,
        "with_": Names,
        "cross": Sequence[Names],
        "slack": int | Literal["exact"] | None,
        "price": float | None,
        "delta": float | ColumnKeys | ByAttributeKeys | None,
        "importance": float | ColumnKeys | ByAttributeKeys,
        "budget": float | None,
    },
    total=False,
)


class AggregationKeys(TypedDict, total=False):
    """[aggregation]: the keys of all methods, or of a model of your own."""

    method: str | Own
    model: str | Own | ModuleType
    categories: CategoryKeys | None
    keep: Literal["nothing", "mean", "variance", "covariance"] | KeepKeys
    solver: str | Own | None
    time_limit: float | None
    options: Mapping[str, Any]
    delta: Wish
    importance: Wish
    margin: float | None
    alpha: float
    start: Literal["means", "renormalised", "lagrangian"] | None
    starts: int
    seed: int | None
    price: float


class MeasuresKeys(TypedDict, total=False):
    """[measures]: those of the user's, and the most that may be lost."""

    extra: Sequence[str | Own]
    largest_loss: float | None


class RiskKeys(TypedDict, total=False):
    """[risk]: what is measured beside the risks of every release."""

    weight: str | None
    unit: Names
    target: Names
    suda: int | None


class InputKeys(TypedDict, total=False):
    """[input]: how a CSV file is written."""

    separator: Literal[",", ";", "\t", "|"]
    decimal: Literal[".", ","]
    multiline: bool
    encoding: Literal["utf-8", "cp1252", "latin-1"]


class OutputKeys(TypedDict, total=False):
    """[output]: how the release is written."""

    shuffle: bool
    seed: int | None
    round_integers: bool
    digits: int | Literal["full"] | None
    decimals: int | None
    encoding: Literal["utf-8", "cp1252", "latin-1"]


class EngineKeys(TypedDict, total=False):
    """[engine]: who carries the work out."""

    name: Literal["memory", "local", "dask"]
    block: int
    work: str | None
    resume: bool
    jobs: int
    workers: int | None
    scheduler: str | None
    insecure: bool
