"""The category of each group at least loss, categories as often as before."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal

import numpy.typing as npt
from pydantic import BeforeValidator, Field, StrictInt, model_validator

from aggopt.aggregate.categories._candidates import (
    read_attributes,
    read_level_categories,
)
from aggopt.aggregate.categories.kept_combinations import (
    KeepingOptions,
    choose_combinations,
)
from aggopt.aggregate.categories.published import PublishedCategories, PublishedTogether
from aggopt.aggregate.categories.registry import CategoryAggregator, CategorySection
from aggopt.core.section import SolverSection, to_int
from aggopt.errors import JobError
from aggopt.models import frequencies as model

Slack = Annotated[StrictInt, Field(ge=0), BeforeValidator(to_int)]
USUAL = 4.0  # records: less than a group of five


def frequencies(
    column: Any,
    groups: npt.ArrayLike,
    *,
    order: Any = None,
    tree: Any = None,
    with_: Any = None,
    slack: float | str | None = None,
    price: float | None = None,
    solver: str | None = None,
    time_limit: float | None = None,
    options: Mapping[str, Any] | None = None,
    seed: int = 0,
    weights: npt.ArrayLike | None = None,
) -> PublishedCategories:
    """Return one category per group at least loss, each category as often as before.

    The most frequent category of each group loses less, and makes rare categories
    rarer.  Here the release has each category as often as the originals, within
    `slack`, which also decides between equally near categories.  The model is stated in
    `aggopt.models.frequencies`.

    Parameters
    ----------
    column, groups, order, tree
        As in `plurality`.
    with_ : (n,) or a table
        Attributes that are published unchanged.  For each, the table of its values with
        the categories is kept, in place of the categories' counts.  Numbers and dates
        count by fifths.
    slack : float or "exact"
        The number of records by which the release may differ in each category, or in
        each cell of a table.  4 if neither slack nor price nor `with_` is given.  A
        slack of the largest group's size always leaves a choice of categories, less may
        not.
    price : float
        Instead of a slack, the cost of each record of difference; two levels are at
        most 1 apart.  1 if neither slack nor price is given, but `with_` is: many cells
        have few records.
    solver
        A name of `aggopt.solvers.SOLVERS` that takes the model: "slots", the default,
        or "cvxpy:highs", "pyomo:highs" and others that take integer programs.
    time_limit
        Seconds; 600 when omitted.
    options
        Passed to the solver under its own names.
    seed : int
        Seed of the choice among equivalent groups.
    weights : (n,)
        As in `plurality`: distances and kept counts are sums of weights; a slack is in
        records of mean weight.

    Returns
    -------
    PublishedCategories
        `.values` (n,) and `.certificate`: total distance, plus the price of all records
        of difference if given, and its bound; `violation` is the number of records
        beyond the slack.  If the status is INFEASIBLE, or FAILED because no choice was
        found in time, the values are the result of `plurality`.

    Raises
    ------
    InfeasibleInputError
        With "exact" counts, some level has fewer records than the smallest group.
    JobError, TableError
        As `plurality`; slack and price together; "exact" with weights that differ; an
        option that the solver lacks; `with_` has other records, or hardly two equal
        ones.
    SolverError
        The solver is not installed.

    Notes
    -----
    Each attribute keeps its own frequencies: associations between attributes are not
    kept, and may suffer.  `crossed_frequencies` keeps the associations of some
    attributes.

    Examples
    --------
    >>> school = ["low", "low", "high", "low", "low", "high", "low", "high", "high"]
    >>> groups = [0, 0, 0, 1, 1, 1, 2, 2, 2]
    >>> found = frequencies(school, groups, slack=1)
    >>> found.values.tolist().count("low"), found.certificate.status.value
    (6, 'optimal')
    """
    categories = read_level_categories(column, order, tree)
    keeping = KeepingOptions(
        with_, slack, price, solver, time_limit, options, seed, weights
    )
    (published,) = choose_combinations((categories,), groups, keeping)
    return published


def crossed_frequencies(
    attributes: Any,
    groups: npt.ArrayLike,
    *,
    with_: Any = None,
    slack: float | str | None = None,
    price: float | None = None,
    solver: str | None = None,
    time_limit: float | None = None,
    options: Mapping[str, Any] | None = None,
    seed: int = 0,
    weights: npt.ArrayLike | None = None,
) -> PublishedTogether:
    """Return combinations of categories for each group, each as often as before.

    Two attributes or more are chosen together, among the combinations that some record
    has, at least loss.  This keeps their table, and with it their association.

    Parameters
    ----------
    attributes
        The result of `aggopt.encode`, or a list of its attributes.
    groups, with_, slack, price, solver, time_limit, options, seed, weights
        As in `frequencies`; the price is 1 if neither it nor a slack is given.

    Returns
    -------
    PublishedTogether
        `.values` (n, attributes), `.attributes` and one `.certificate`: the sum of the
        attributes' total distances and of the costs of differences.

    Raises
    ------
    JobError, TableError, InfeasibleInputError, SolverError
        As `frequencies`; or `attributes` are not two or more that are encoded.

    Examples
    --------
    >>> import aggopt, pandas as pd
    >>> people = pd.DataFrame({"sex": list("mmfffm") * 2, "work": list("xyyxyx") * 2})
    >>> E = aggopt.encode(people)
    >>> crossed_frequencies(E, [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3]).values.shape
    (12, 2)
    """
    keeping = KeepingOptions(
        with_, slack, price, solver, time_limit, options, seed, weights
    )
    return PublishedTogether(
        choose_combinations(read_attributes(attributes), groups, keeping)
    )


class Frequencies(SolverSection, CategorySection):
    """Settings of `aggopt.aggregate.frequencies`.

    `with_`, in a file `with`, are names of columns that are published unchanged, and
    `cross` sets of categories that `aggopt.aggregate.crossed_frequencies` publishes.
    """

    of_job: ClassVar[frozenset[str]] = frozenset({"cross"})
    method: Literal["frequencies"]
    with_: tuple[str, ...] = Field(
        default=(),
        alias="with",
        description='name columns that are published as they are: ["NAME", ...].',
    )
    cross: tuple[tuple[str, ...], ...] = Field(
        default=(),
        description='write lists of two names or more: [["NAME", "NAME"], ...].',
    )
    slack: Slack | Literal["exact"] | None = Field(
        default=None,
        description='write by how many records counts may differ, or "exact".',
    )
    price: float | None = Field(default=None, gt=0, allow_inf_nan=False, strict=True)

    @model_validator(mode="after")
    def _check(self) -> "Frequencies":
        """Refuse a slack together with a price, and invalid lists of crossed names."""
        if self.slack is not None and self.price is not None:
            raise JobError(
                "[aggregation.categories] has both slack and price.",
                fix="leave one of them out: by how many records counts may differ, or "
                "what each record of difference costs.",
            )
        crossed = [name for names in self.cross for name in names]
        few = any(len(names) < 2 for names in self.cross)
        if few or len(set(crossed)) < len(crossed):
            raise JobError(
                "[aggregation.categories] cross has a list of less than two names."
                if few
                else "[aggregation.categories] cross has a name twice.",
                fix='write lists of two names or more, each name once: [["sex", '
                '"occupation"]].',
            )
        return self

    def together(self, blocks: Sequence[Sequence[str]]) -> list[tuple[str, ...]]:
        """Return the sets of crossed attributes, and each other attribute alone.

        Raises
        ------
        JobError
            Some are not categories, or are grouped in several blocks.
        """
        for names in self.cross:
            if not any(set(names) <= set(block) for block in blocks):
                raise JobError(
                    f"[aggregation.categories] cross names {', '.join(names)}, which "
                    "are not all categories, or not of one block of attributes.",
                    fix="name quasi-identifiers that are categories and grouped "
                    "together.",
                )
        crossed = {name for names in self.cross for name in names}
        alone = [(n,) for block in blocks for n in block if n not in crossed]
        return [*self.cross, *alone]


AGGREGATOR = CategoryAggregator(
    name="frequencies",
    when="each category as often as before, at least loss",
    rank=20,
    function=frequencies,
    together=crossed_frequencies,
    settings=Frequencies,
    certificate="total distance, with a price what differences cost besides, and what "
    "the solver proves of it",
    model=model.MODEL,
    template="""\
# slack = 4              # frequencies: records by which a count may differ; "exact";
#                          or price = 1.0, what each record of difference costs
# with = ["salary"]      # columns that are published as they are: their tables are kept
# cross = [["a", "b"]]   # categories whose table with each other is kept
# solver = "highs"       # or "pyomo:highs", ...; left out, "slots" where it can
# time_limit = 60        # seconds per attribute; left out, 600
""",
)
