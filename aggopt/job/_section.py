"""The sections that name no method: attributes, files, missing values, units, risks."""

from collections.abc import Mapping
from math import inf
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    StrictBool,
    StrictFloat,
    StrictInt,
    field_validator,
    model_validator,
)

from aggopt.core.columns import REFUSE
from aggopt.core.plural import agree, join_names
from aggopt.core.section import Section, list_written_keys, to_int, to_plain
from aggopt.encoding import AttributeType
from aggopt.encoding.arx import read_rows
from aggopt.errors import JobError, require_known, toml_key
from aggopt.job._privacy import Privacy
from aggopt.job._recoding import Recoding
from aggopt.job.roles import Roles
from aggopt.privacy.models.t_closeness import Value


def _to_text_path(tree: Any) -> Any:
    """Return the path of a tree as text; a tree unchanged."""
    return str(tree) if isinstance(tree, Path) else tree


def _to_plain_tree(tree: Any) -> Any:
    """Return a tree of plain dicts and lists, ready for a job file."""
    return None if tree is None else to_plain(tree)


class AttributeSection(Recoding):
    """The type of one quasi-identifier, its recoding, and its published form.

    Attributes
    ----------
    kind
        As `aggopt.encoding.AttributeType`; inferred from the order, the tree or the
        column's type when left out.
    order
        The levels from lowest to highest.
    tree
        Nested, the parent of each value, or the path of a hierarchy as ARX writes it,
        relative to the job file; or the lines of that file, each a list of its entries.
    publish
        "leaf": a level that some record has; of a tree "node", the nearest node, or
        "ancestor", the lowest one that is true of the whole group.  Other statements
        that are true of the whole group: "suppress", the value that all share, or "*";
        of a number or an order "range", from the least to the greatest value; of a
        number "interval", between cut points.
    cost
        Loss of the nodes of a tree in a generalised loss: "leaves", "height", or a
        cost of each inner node, by its name.
    weight
        Factor of its distances when records are grouped.
    missing
        "refuse", or "own value": missing entries count as one additional level.  When
        left out, [missing] applies.
    lower, upper
        The least and the largest published value of a number.
    integer
        Publish whole numbers.
    rare
        Treatment of categories that fewer than k originals have: "avoid" publishes the
        nearest frequent category instead; "publish" publishes them.  When left out they
        are published and counted, unless most entries are rare, which is refused.
    format
        Format of dates in text, "%d.%m.%Y" for 22.09.1930; as ISO 8601 when left out.
    cuts, bottom, top, round, groups
        As `aggopt.job._recoding.Recoding`; kind, order and tree are those of the
        recoded values.
    """

    kind: Literal["numeric", "date", "nominal", "ordinal", "hierarchical"] | None = None
    order: tuple[Value, ...] | None = Field(default=None, min_length=1)
    tree: Annotated[
        dict[str, Any] | str | list[list[str]] | None,
        BeforeValidator(_to_text_path),
        AfterValidator(_to_plain_tree),
    ] = Field(default=None, min_length=1)
    publish: Literal["leaf", "node", "ancestor", "suppress", "interval", "range"] = (
        "leaf"
    )
    cost: Literal["leaves", "height"] | dict[str, StrictFloat | StrictInt] = "leaves"
    weight: float = Field(default=1.0, gt=0, allow_inf_nan=False, strict=True)
    missing: Literal["refuse", "own value"] | None = None
    lower: float | None = Field(default=None, allow_inf_nan=False, strict=True)
    upper: float | None = Field(default=None, allow_inf_nan=False, strict=True)
    integer: StrictBool = False
    rare: Literal["avoid", "publish"] | None = None
    format: str | None = None

    @property
    def bounded(self) -> bool:
        """Whether published values have a bound."""
        return self.lower is not None or self.upper is not None

    @property
    def limited(self) -> bool:
        """Whether published values are within bounds, or whole."""
        return self.bounded or self.integer

    @property
    def type(self) -> AttributeType:
        """Its arguments for `aggopt.encode`, once recoded; raises if they conflict."""
        levels = self.order or self.cells
        order = None if levels is None else list(levels)
        is_merged = self.groups is not None and levels is None and self.tree is None
        kind = "nominal" if self.kind is None and is_merged else self.kind
        missing = self.missing or REFUSE
        return AttributeType(
            kind,
            order,
            self.tree,
            None,
            self.weight,
            missing,
            self.format,
            publish=self.publish if self.is_truthful else None,
            cost=self.cost,
            cuts=self.cuts if self.publish == "interval" else None,
        )

    @property
    def is_truthful(self) -> bool:
        """Whether groups publish a statement that is true of all their records."""
        return self.publish not in ("leaf", "node")

    @property
    def read_kind(self) -> str | None:
        """The kind of the column before it is recoded; None if its type shows it."""
        return "numeric" if self.recodes_numbers else self.type.kind

    @property
    def recoded(self) -> "AttributeSection":
        """The section of the recoded attribute, as a release has it."""
        if not self.is_recoded:
            return self
        after = {"kind": self.type.kind, "order": self.order or self.cells}
        if self.publish == "interval":
            after["cuts"] = self.cuts
        return self.model_copy(update={**dict.fromkeys(Recoding.model_fields), **after})

    def require(self) -> None:
        """Refuse settings that contradict each other.

        Raises
        ------
        JobError
            As `AttributeType` and `require_recoding`; or nodes are to be published
            without a tree; or bounds apply to an attribute that is not a number, or
            have no value between them.
        """
        self.require_recoding()
        self._require_limits()
        self._require_statement()
        needs_tree = self.publish in ("node", "ancestor")
        if self.type.kind != "hierarchical" and needs_tree:
            raise JobError(
                f'publish = "{self.publish}" needs a tree.',
                fix='give one, { lung = ["asthma", "flu"], heart = ["attack"] }, or '
                "leave publish out.",
            )

    def _require_statement(self) -> None:
        """Refuse keys that have no effect with the statement that is published."""
        if self.publish == "interval" and self.cuts is None:
            raise JobError(
                'publish = "interval" is given without cuts.',
                fix="name those between which intervals are published, as in cuts = "
                "[0, 18, 45, 65]; or leave publish out.",
            )
        if self.is_truthful and self.limited:
            raise JobError(
                f'lower, upper and integer are of means, and publish = "{self.publish}"'
                " publishes true statements about the originals.",
                fix="leave them out.",
            )
        if self.is_truthful and self.publish != "ancestor" and self.rare is not None:
            raise JobError(
                f'rare = "{self.rare}" is of single categories, and publish = '
                f'"{self.publish}" publishes none that is not true of k records.',
                fix="leave it out.",
            )

    def _require_limits(self) -> None:
        """Refuse bounds or whole numbers of an attribute that is not numeric."""
        if self.limited and self.type.kind not in (None, "numeric"):
            raise JobError(
                f'lower, upper and integer are of numbers, not of "{self.type.kind}".',
                fix="leave them out.",
            )
        lower = -inf if self.lower is None else self.lower
        upper = inf if self.upper is None else self.upper
        if not lower < upper:
            raise JobError(
                f"lower = {lower:g} is not below upper = {upper:g}.",
                fix="write lower < upper, or leave one of them out.",
            )

    def load_contents(self) -> "AttributeSection":
        """Return it with the lines of its tree in place of the path of a file.

        Raises
        ------
        TableError
            The file cannot be read as a hierarchy.
        """
        if not isinstance(self.tree, str):
            return self
        return self.model_copy(update={"tree": read_rows(Path(self.tree))})

    def resolve_from(self, folder: Path) -> "AttributeSection":
        """Return it with the path of a tree seen from a folder."""
        if not isinstance(self.tree, str):
            return self
        return self.model_copy(update={"tree": str(folder / self.tree)})


SEPARATORS = (",", ";", "\t", "|")
Encoding = Literal["utf-8", "cp1252", "latin-1"]


class Input(Section):
    """The format of CSV files, of the input and of the release.

    `multiline` allows entries that span several lines.  Otherwise they are refused,
    because two stray quotes make one entry out of the records between them.  The
    `encoding` applies to the input file; [output] has the encoding of the release.
    """

    separator: Literal[",", ";", "\t", "|"] = ","
    decimal: Literal[".", ","] = "."
    multiline: StrictBool = False
    encoding: Encoding = "utf-8"

    @model_validator(mode="after")
    def _check(self) -> "Input":
        if self.separator == self.decimal:
            raise ValueError("separator and decimal are the same")
        return self


DIGITS = 6  # a millionth of the spread: finer than measures are printed
Digits = Annotated[StrictInt, Field(ge=2, le=15), BeforeValidator(to_int)]


def _require_line(text: str) -> str:
    """Return a text of one line that is not empty."""
    if not text.strip() or len(text) > LONGEST_LINE or not text.isprintable():
        raise ValueError(f"it is no line of 1 to {LONGEST_LINE} characters")
    return text


LONGEST_LINE = 200  # characters of a title
Line = Annotated[str, Field(strict=True), AfterValidator(_require_line)]
Decimals = Annotated[StrictInt, Field(ge=-15, le=15), BeforeValidator(to_int)]


class Output(Section):
    """The form of the written release.

    Attributes
    ----------
    shuffle
        Write the records in a random order, because the order of a table can identify
        people.
    seed
        Fixes the order each time one release is written.  Another release has another
        secret, which is mixed in, and another order.  To write identical bytes again,
        use `aggopt repeat`.
    round_integers
        Publish whole numbers if the original attribute has them.
    digits
        The number of significant digits, counted from the first digit of an attribute's
        standard deviation, 6 when left out.  With a deviation of 12.3, values have four
        decimals.  "full" publishes unrounded values.
    decimals
        In place of digits: the number of decimals of all published values; if negative,
        the number of zeros before the point.
    encoding
        The encoding of a written CSV file.
    title
        The title of the report, in place of the name of the masked table.
    office
        Who publishes the release: the report names it.
    """

    shuffle: StrictBool = True
    seed: StrictInt | None = Field(default=None, ge=0)
    round_integers: StrictBool = False
    digits: Digits | Literal["full"] | None = None
    decimals: Decimals | None = None
    encoding: Encoding = "utf-8"
    title: Line | None = None
    office: Line | None = None

    @model_validator(mode="before")
    @classmethod
    def _record_digits(cls, section: Any) -> Any:
        """Record the default digits in a written job, although no user chose them."""
        if not isinstance(section, dict):
            return section
        digits = section.get("digits"), section.get("decimals")
        return section if digits != (None, None) else {**section, "digits": DIGITS}

    @model_validator(mode="after")
    def _check(self) -> "Output":
        if self.seed is not None and not self.shuffle:
            raise ValueError("seed is given, but shuffle is false")
        if self.digits is not None and self.decimals is not None:
            raise ValueError("digits and decimals are given: leave one of them out")
        return self

    @property
    def significant(self) -> int | None:
        """Significant digits of the standard deviation; None where not so rounded."""
        return None if self.digits == "full" else self.digits


class Missing(Section):
    """Treatment of missing values of all quasi-identifiers.

    An attribute's `missing = "own value"`, or `"refuse"`, has precedence.

    Attributes
    ----------
    policy
        "refuse"; "patterns": they are published as missing, and groups consist of
        records with values missing in equal attributes, see `aggopt.missing.patterns`;
        or "fill": they are replaced by the value of their group, and groups are made by
        imputed values, see `aggopt.missing.imputed`.
    report_compatible
        Whether the audit also counts how many records would share the rarest
        combination if missing values equalled any value: a figure, not k.
    """

    policy: Literal["refuse", "patterns", "fill"] = "refuse"
    report_compatible: StrictBool = False

    @model_validator(mode="after")
    def _check(self) -> "Missing":
        if self.report_compatible and self.policy != "patterns":
            raise ValueError(
                "report_compatible counts holes of a release, which only policy = "
                '"patterns" leaves'
            )
        return self


class Strata(Section):
    """Settings of groups within strata, and of small strata.

    Attributes
    ----------
    small
        Treatment of strata of fewer than k records: "refuse"; "merge", each with the
        nearest one; or "drop", which leaves their records out of the release.
    keep
        The scope in which an aggregation of numbers keeps means and variances: each
        "stratum", or "overall".
    jobs
        The number of processes that share the strata.  It does not change the release,
        unless a time limit ends a search.
    """

    small: Literal["refuse", "merge", "drop"] = "refuse"
    keep: Literal["stratum", "overall"] = "stratum"
    jobs: StrictInt = Field(default=1, ge=1)


def require_strata(strata: Strata, roles: Roles) -> None:
    """Refuse settings of strata in a table without strata.

    Raises
    ------
    JobError
        The section is given, and no column has the role stratum.
    """
    if list_written_keys(strata) and not roles.stratum:
        raise JobError(
            "[strata] is given, and no column has the role stratum.",
            fix='name those that groups lie within, under [roles]: stratum = ["NAME"]; '
            "or leave the section out.",
        )


def require_effect(
    attributes: Mapping[str, AttributeSection], roles: Roles, strata: Strata
) -> None:
    """Refuse sections of columns that are not masked: they have no effect.

    An order or a tree of a stratum has an effect if small strata are merged.

    Raises
    ------
    JobError
        Sections are of columns with other roles; all are named.
    UnknownNameError
        A section is of a column in no list of the roles.
    """
    role_of = {name: role for role, names in roles for name in names}
    idle: dict[str, str] = {}
    for name, section in attributes.items():
        if name not in role_of:
            require_known("quasi-identifier", name, roles.combination)
        merged = name in roles.stratum and strata.small == "merge"
        if name not in roles.quasi_identifier and not (
            merged and _is_near_only(section)
        ):
            idle[name] = role_of[name]
    if not idle:
        return
    count = len(idle)
    sections = join_names([f"[attributes.{toml_key(name)}]" for name in idle], count)
    reasons = join_names(
        [f"{n!r} has the role {role}" for n, role in idle.items()], count
    )
    fix = f"delete {agree(count, 'this section', 'these sections')}"
    if "stratum" in idle.values():
        fix += (
            "; of a stratum, an order or a tree alone has an effect, and only with "
            'small = "merge" under [strata]'
        )
    raise JobError(
        f"{sections} {agree(count, 'has', 'have')} no effect: {reasons}, and only "
        "quasi-identifiers are masked.",
        fix=f"{fix}.",
    )


def _is_near_only(section: AttributeSection) -> bool:
    """Whether a section has an order or a tree, and nothing else that acts."""
    nothing = {"kind": None, "order": None, "tree": None}
    idle = section.model_copy(update=nothing) == AttributeSection()
    return idle and (section.order is not None or section.tree is not None)


PSEUDONYM = "pseudonym"  # the column of a release


class Units(Section):
    """Attributes and pseudonyms of the units of records, as households.

    Attributes
    ----------
    attributes
        Quasi-identifiers with one value for all records of a unit.  They are masked
        once for each unit.  Groups for the others contain records of k units.
    published
        The link between records of one unit in a release: "drop" removes it;
        "pseudonym" publishes a new number of the unit, in a column of this name.
    """

    attributes: tuple[str, ...] = ()
    published: Literal["drop", "pseudonym"] = "drop"

    def apart(self, roles: Roles) -> bool:
        """Whether some quasi-identifiers are of units, and others of records."""
        return 0 < len(self.attributes) < len(roles.quasi_identifier)


def require_units_section(units: Units, roles: Roles, privacy: Privacy) -> None:
    """Refuse settings of units that cannot be satisfied.

    Raises
    ------
    JobError
        No column has the role; or `attributes` names a column that is not a
        quasi-identifier, or one twice, or only some although k refers to the
        combination with the others; or a column has the name of the pseudonyms.
    """
    if list_written_keys(units) and not roles.unit:
        raise JobError(
            "[units] is given, and no column has the role unit.",
            fix='name what numbers the units, under [roles]: unit = ["NAME"]; or leave '
            "the section out.",
        )
    taken = any(PSEUDONYM in names for _, names in roles)
    if units.published == "pseudonym" and taken:
        raise JobError(
            f'[units] published = "pseudonym" writes a column {PSEUDONYM!r}, and the '
            "table has one.",
            fix="give that column another name, in the table and under [roles].",
        )
    for name in units.attributes:
        require_known("quasi-identifier", name, roles.quasi_identifier)
    count = len(units.attributes)
    d = len(roles.quasi_identifier)
    if count > len(set(units.attributes)):
        raise JobError(
            "[units] attributes names a quasi-identifier twice.", fix="name each once."
        )
    if units.apart(roles) and privacy.scope == "combination":
        raise JobError(
            f"[units] attributes names {count} of {d} quasi-identifiers: those of "
            "units and those of records are masked each by themselves. k = "
            f"{privacy.k} then holds of each kind, and not for the combination of all "
            "of them, which the job promises.",
            fix='promise less, with scope = "blocks" under [privacy]; or name every '
            "quasi-identifier, if all are the same within a unit; or leave the section "
            "out: groups then hold records of k units.",
        )


class Risk(Section):
    """Risk measures: totals in the manifest, and values for each record in the key.

    Attributes
    ----------
    weight
        The column with the number of people that each record represents; the column
        with the role weight when left out.
    unit
        The columns that identify the household, or another unit, of each record; the
        columns with the role unit when left out.
    target
        Confidential attributes that a group may reveal.
    suda
        The largest number of attributes in a combination that makes a record special.
    """

    weight: str | None = None
    unit: tuple[str, ...] = ()
    target: tuple[str, ...] = ()
    suda: int | None = Field(default=None, ge=1, strict=True)

    @field_validator("unit", "target", mode="before")
    @classmethod
    def _require_lists(cls, names: Any) -> Any:
        if not isinstance(names, list | tuple):
            raise ValueError('write a list of names: ["NAME", ...]')
        return names

    @property
    def idle(self) -> bool:
        """Whether the section is empty."""
        return self == Risk()

    def by(self, roles: Roles) -> "Risk":
        """Return it with weight and unit of the roles as defaults.

        It remains empty if nothing is requested and no record has a weight.
        """
        if self.idle and not roles.weight:
            return self
        weight = self.weight or next(iter(roles.weight), None)
        defaults = {"weight": weight, "unit": self.unit or roles.unit}
        return self.model_copy(update=defaults)

    def require(self, roles: Roles) -> None:
        """Refuse names that the roles lack, or whose role does not fit.

        Raises
        ------
        UnknownNameError
            A name does not belong to a column with a fitting role.
        JobError
            A column is weight and unit.
        """
        published = (*roles.stratum, *roles.weight, *roles.confidential, *roles.other)
        allowed = (*roles.identifier, *roles.unit, *roles.drop, *published)
        weights = [] if self.weight is None else [self.weight]
        for name in (*weights, *self.unit):
            require_known("column that is not masked", name, allowed)
        for name in self.target:
            require_known(
                "column that is published unchanged",
                name,
                (*roles.confidential, *roles.other),
            )
        if self.weight in self.unit:
            raise JobError(
                f"[risk] names {self.weight!r} as weight and as unit.",
                fix="name the column of the weights under weight alone.",
            )
