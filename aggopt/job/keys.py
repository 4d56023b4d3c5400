"""The keys of a job's sections as type checkers see them: `Job(privacy={"k": 5})`.

All of them may be left out here; which ones a job needs, and what goes with what, it
says itself.  A section that names one of several methods has the keys of all of them.

`make keys` writes this file from the sections.
"""

from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any, Literal, TypeAlias, TypedDict

from aggopt.core.registry import Method

Own: TypeAlias = Callable[..., Any] | Method  # in place of a method's name
OwnAsked: TypeAlias = str | Own | Mapping[str, Any]
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
        "weight": str,
        "wish": Columns,
        "drop": Columns,
    },
    total=False,
)
RoleNames: TypeAlias = Mapping[str, Columns] | RoleKeys


class AttributeKeys(TypedDict, total=False):
    """[attributes.NAME]: the type of a quasi-identifier, and its published form."""

    cuts: Sequence[int | float] | None
    bottom: int | float | None
    top: int | float | None
    round: int | float | None
    groups: Mapping[str, Sequence[str | int]] | None
    kind: Literal["numeric", "date", "nominal", "ordinal", "hierarchical"] | None
    order: Sequence[bool | int | float | str] | None
    tree: Mapping[str, Any] | str | Sequence[Sequence[str]] | None
    publish: Literal["leaf", "node", "ancestor", "suppress", "interval", "range"]
    cost: Literal["leaves", "height"] | Mapping[str, float | int]
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

    attributes: Sequence[str]
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
    order: Sequence[bool | int | float | str] | None
    tree: Mapping[str, Any] | None


class RepairKeys(TypedDict, total=False):
    """[privacy.repair]."""

    method: str | Own
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


class PrivacyKeys(TypedDict, total=False):
    """[privacy]."""

    k: int
    scope: Literal["combination", "blocks", "keys"]
    keys: Sequence[Sequence[str]] | None
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
    bound: Literal["quick", "none"] | float
    time_limit: float | None
    keep_groups: str | Sequence[str]
    earlier: str | Sequence[str] | None
    person: str | None
    changes: Literal["refuse", "hold back", "merge"]
    solver: str | Own | None
    effort: Literal["fast", "default", "best"]
    initial: str | Own
    seed: int
    gap_tol: float
    inner: str | Own
    block_size: int | None
    ending: Literal["3k", "nearest"]
    order: Literal["npn", "mdav", "cbfs", "md", "tsp"]
    starts: int | None
    axis: Literal["pca", "zsum", "robust_pca"]
    gamma: float
    centroid: Literal["fixed", "remaining"]
    options: Mapping[str, Any]
    cost: Literal["sse", "sae", "maxdist"]
    centroids: Literal["any", "integer"]


class RelativeKeys(TypedDict, total=False):
    """A distance that is a share of each value."""

    relative: float


class ColumnKeys(TypedDict, total=False):
    """A distance or importance in a column of the table."""

    column: str


class ByAttributeKeys(TypedDict, total=False):
    """Distances or importances of attributes, by name."""

    attributes: Mapping[str, float | RelativeKeys | ColumnKeys]


class KeepKeys(TypedDict, total=False):
    """[aggregation.keep]: more of some attributes than of others."""

    covariance: Sequence[str] | Sequence[Sequence[str]]
    variance: Sequence[str]
    mean: Sequence[str]
    regression: str | None


CategoryKeys = TypedDict(
    "CategoryKeys",
    {
        "method": str | Own,
        "occurring": bool,
        "time_limit": float | None,
        "solver": str | Own | None,
        "options": Mapping[str, Any],
        "with": Sequence[str],
        "with_": Sequence[str],
        "cross": Sequence[Sequence[str]],
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
    categories: CategoryKeys | None
    solver: str | Own | None
    time_limit: float | None
    options: Mapping[str, Any]
    model: str | Own | ModuleType
    keep: Literal["nothing", "mean", "variance", "covariance"] | KeepKeys
    delta: float | RelativeKeys | ColumnKeys | ByAttributeKeys
    importance: float | RelativeKeys | ColumnKeys | ByAttributeKeys
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
    """[risk]: measures besides the risks of every release."""

    weight: str | None
    unit: Sequence[str]
    target: Sequence[str]
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
    title: str | None
    office: str | None


class EngineKeys(TypedDict, total=False):
    """[engine]: the processes that do the work."""

    name: Literal["memory", "local", "dask"]
    block: int
    work: str | None
    resume: bool
    jobs: int
    workers: int | None
    scheduler: str | None
    insecure: bool
