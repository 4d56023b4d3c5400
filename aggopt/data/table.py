"""A table whose attributes have roles; every check of an input is made with it."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from aggopt.core.columns import REFUSE
from aggopt.core.frame import require_nonempty, to_frame
from aggopt.core.types import Bool, Floats, Labels
from aggopt.data.formats.registry import name_suffixes
from aggopt.data.parsing.categories import (
    Types,
    find_domains,
    find_encoding_types,
    find_missing_entries,
    find_nodes,
    publish_nodes,
)
from aggopt.data.parsing.columns import are_equal_frames, check_comparable, check_text
from aggopt.data.parsing.dates import find_clocks, parse_date_columns
from aggopt.data.parsing.numbers import check_numbers, read_numbers
from aggopt.data.parsing.recoding import (
    recode_columns,
    require_group_labels,
    select_recoded,
)
from aggopt.data.parsing.span_columns import (
    find_group_ends,
    find_spans,
    make_text_column,
)
from aggopt.data.readers.codebook import (
    Codebook,
    read_codebooks,
    select_published_books,
)
from aggopt.data.restore_types import (
    drop_unused_categories,
    replace_values,
    strip_metadata,
    to_arrow_table,
)
from aggopt.encoding import Domain, Encoded, encode
from aggopt.encoding.clock import Clock
from aggopt.encoding.date_format import format_column
from aggopt.encoding.encode_table import encode_observed
from aggopt.encoding.generalisation_rule import RANGE, SUPPRESS
from aggopt.encoding.spans import (
    NumberSpans,
    is_statement_column,
    mark_wide,
    read_span_column,
)
from aggopt.errors import naming
from aggopt.job import AttributeSection, Missing, Roles


@dataclass(frozen=True, eq=False)
class Table:
    """A checked table: pandas, Polars, PyArrow or NumPy inside.

    Make one with `Table.of`, which makes every check.

    Attributes
    ----------
    types
        The declared types of quasi-identifiers, by name.
    domains
        The levels of categorical ones, by name.
    clocks
        The clocks of dates, times of day or durations, by name.
    kept_missing
        Quasi-identifiers whose values may be missing, and remain so.
    codebooks
        The codebooks of a statistical file's columns, by name.
    unrecoded
        The numbers before they were recoded, of quasi-identifiers that stay numbers.
    spans
        What groups publish about numbers in true statements, by name.
    """

    frame: nw.DataFrame[Any] = field(repr=False)
    roles: Roles
    is_array: bool  # came as a NumPy array, and goes out as one
    types: Types = field(default_factory=dict, repr=False)
    domains: Mapping[str, Domain] = field(default_factory=dict, repr=False)
    clocks: Mapping[str, Clock] = field(default_factory=dict, repr=False)
    kept_missing: frozenset[str] = frozenset()
    codebooks: Mapping[str, Codebook] = field(default_factory=dict, repr=False)
    unrecoded: nw.DataFrame[Any] | None = field(default=None, repr=False)
    spans: Mapping[str, NumberSpans] = field(default_factory=dict, repr=False)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Table):
            return NotImplemented
        kinds = (self.roles, self.is_array), (other.roles, other.is_array)
        return kinds[0] == kinds[1] and are_equal_frames(self.frame, other.frame)

    def __hash__(self) -> int:
        """Return a number from the roles and the size."""
        return hash((self.roles, self.is_array, self.frame.shape))

    @classmethod
    def of(
        cls,
        data: Any,
        roles: Roles,
        attributes: Mapping[str, AttributeSection] | None = None,
        *,
        missing: Missing | None = None,
        like: "Table | None" = None,
    ) -> "Table":
        """Return the table of `data`, checked against `roles`.

        The columns of a NumPy array are called "0", "1", ... `attributes` has the
        declared types of quasi-identifiers, and the recodings of their values;
        `missing` is the treatment of holes.  A release is `like` the table that it was
        made from: it is recoded already, has the same levels, dates count from the same
        day, and it may have holes in the columns that may have them there.

        Raises
        ------
        TableError, JobError
            Not a table, empty, duplicate or undeclared columns, text that is no
            Unicode, signalling NaNs, a quasi-identifier that is neither numeric nor
            dates nor a category, or has missing or infinite entries.
        """
        is_array = isinstance(data, np.ndarray)
        frame = to_frame(data, or_else=f", or the path of a {name_suffixes()} file")
        roles.check(frame.columns)
        require_nonempty(frame)
        check_text(frame)
        check_comparable(frame)
        names = roles.quasi_identifier
        attributes = {
            n: section for n, section in (attributes or {}).items() if n in names
        }
        unrecoded = None
        if not like and (recoded := select_recoded(names, attributes)):
            stay = [name for name in recoded if attributes[name].stays_numeric]
            unrecoded = frame.select(*stay) if stay else None
            as_read = frame
            frame = recode_columns(as_read, attributes)
            require_group_labels([as_read], attributes)
        types = like.types if like else find_encoding_types(frame, attributes)
        frame = parse_date_columns(frame, types, like.clocks if like else {})
        policy = missing.policy if missing else REFUSE
        keep_missing = (
            like.kept_missing
            if like
            else list_attributes_kept_missing(names, attributes, policy)
        )
        domains = (
            like.domains if like else find_domains(frame, names, types, keep_missing)
        )
        clocks = like.clocks if like else find_clocks(frame, names, types, domains)
        books = read_codebooks(data)
        table = cls(
            frame,
            roles,
            is_array,
            types,
            domains,
            clocks,
            keep_missing,
            books,
            unrecoded,
        )
        return table._with_spans(like)

    def _with_spans(self, like: "Table | None") -> "Table":
        """Return the table with the statements about its numbers, after their checks.

        A release has the statements of the table `like` it was made from.
        """
        given_spans = dict(like.spans) if like else {}
        plain = [
            name
            for name in (*self.numeric, *self.roles.numbers)
            if not (name in given_spans and is_statement_column(self.frame[name]))
        ]
        check_numbers(
            self.frame, plain, self.clocks, self.kept_missing, part=like is not None
        )
        originals = [name for name in self.numeric if name in plain]
        spans = find_spans(self.frame, originals, self.types, self.clocks)
        return replace(self, spans=given_spans or spans)

    def select_rows(self, rows: Labels) -> "Table":
        """Return the table of these records (m,), by their numbers."""
        unrecoded = None if self.unrecoded is None else self.unrecoded[rows]
        return replace(self, frame=self.frame[rows], unrecoded=unrecoded)

    @property
    def as_read(self) -> "Table":
        """The table with the recoded numbers that stay numbers as they were before.

        Those that publish statements stay recoded: the statements are about them.
        """
        if self.unrecoded is None:
            return self
        columns = [
            self.unrecoded[name]
            for name in self.unrecoded.columns
            if name not in self.spans
        ]
        return replace(self, frame=self.frame.with_columns(*columns))

    @property
    def numeric(self) -> tuple[str, ...]:
        """The quasi-identifiers that are numbers or dates, which count as numbers."""
        names = self.roles.quasi_identifier
        return tuple(name for name in names if name not in self.domains)

    @property
    def places(self) -> list[int]:
        """Their places among the quasi-identifiers, from 0."""
        return [self.roles.quasi_identifier.index(name) for name in self.numeric]

    def matrix(self) -> Floats:
        """Return the quasi-identifiers as floats (n, d): numbers in original units.

        A category is the number of its node, which only shows equality of entries.  A
        missing value is nan.
        """
        columns = [
            self._find_nodes(name) if name in self.domains else self.numbers(name)
            for name in self.roles.quasi_identifier
        ]
        return np.ascontiguousarray(np.stack(columns, axis=1))

    def _find_nodes(self, name: str) -> Floats:
        """Return the tree node of each entry of a column, as floats; nan if missing."""
        column = self.frame[name]
        nodes = find_nodes(column, self.domains[name]).astype(np.float64)
        if name in self.kept_missing:
            nodes[find_missing_entries(column)] = np.nan
        return nodes

    def encode(self, weights: str, sampling: Floats | None = None) -> Encoded | None:
        """Return the encoded quasi-identifiers; None if X is sufficient.

        X is sufficient if all are plain numbers, grouped without strata and without
        unequal `sampling` weights (n,). Coordinates of missing values are nan.
        """
        quasi = self.frame.select(*self.roles.quasi_identifier)
        if self.kept_missing and (absent := np.isnan(self.matrix())).any():
            return encode_observed(quasi, absent, self.types, weights, sampling)
        weighted = any(
            attribute_type.weight != 1 or attribute_type.is_truthful
            for attribute_type in self.types.values()
        )
        within = bool(self.roles.stratum)  # on the scale of all records
        alike = weights == "variance" and sampling is None
        if alike and not (self.domains or weighted or within):
            return None
        return encode(
            quasi.to_native(), self.types, weights=weights, sampling_weights=sampling
        )

    def numbers(self, name: str) -> Floats:
        """Return one numeric column as floats (n,); dates from the first of them on.

        Of a published range or interval it is the middle, of "*" the originals' mean.
        """
        if name in self.spans:
            with naming(f"Column {name!r}", name):
                ends = read_span_column(self.frame[name])
            return self.spans[name].compute_middles(*ends)
        return read_numbers(self.frame, name, self.clocks)

    def find_wide(self) -> Bool:
        """Return which values (n, d) are published as a range or are suppressed."""
        wide = np.zeros((len(self.frame), len(self.roles.quasi_identifier)), bool)
        for name in self.spans:
            place = self.roles.quasi_identifier.index(name)
            wide[:, place] = mark_wide(*read_span_column(self.frame[name]))
        return wide

    def widen(self, name: str, labels: Labels) -> tuple[Floats, Floats]:
        """Return the ends of what groups `labels` (n,) publish about a number, (n,)."""
        lowest, highest = find_group_ends(self.numbers(name), labels)
        low, high = self.spans[name].widen(lowest, highest)
        return low[labels], high[labels]

    def write_spans(self, name: str, labels: Labels) -> list[str]:
        """Return the text (n,) of what groups `labels` (n,) publish about a number."""
        ends = find_group_ends(self.numbers(name), labels)
        texts = np.array(self.spans[name].write(*ends), dtype=object)
        return list(texts[labels])

    def with_values(
        self,
        values: Floats,
        *,
        round_integers: bool = False,
        integers: Collection[str] = (),
        levels: Mapping[str, nw.Series[Any]] = MappingProxyType({}),
        steps: Mapping[str, int] = MappingProxyType({}),
        labels: Labels | None = None,
    ) -> "Table":
        """Return the release of this table, values (n, d) in place of the originals.

        Identifiers and wishes are dropped.  Every other column, the column order, the
        number of records, a pandas index and the types stay; a whole-number
        quasi-identifier becomes a float, or with `round_integers` the nearest value its
        own type can hold, as a date does always; so do those that are named among
        `integers`.  Of a category the values are nodes of its domain; `levels` has the
        entries of each, where these records are some of all.  Dates are multiples of
        `steps` of their units.  nan is published as missing.  Of numbers in `spans`
        the groups `labels` (n,) or (n, d) publish statements, as text.
        """
        masked = []
        for j, name in enumerate(self.roles.quasi_identifier):
            x = values[:, j]
            label = labels if labels is None or labels.ndim == 1 else labels[:, j]
            if name in self.domains:
                column = self._publish_nodes(name, x, levels.get(name))
            elif name in self.spans and label is not None:
                column = self._publish_spans(name, x, label)
            else:
                is_whole = round_integers or name in integers
                column = self._release_column(name, x, is_whole, steps.get(name, 1))
            masked.append(column)
        frame = self.frame.with_columns(*masked).drop(*self.roles.dropped)
        kinds = frame.schema
        coded = [n for n in frame.columns if kinds[n] in (nw.Categorical, nw.Enum)]
        frame = frame.with_columns(
            *(drop_unused_categories(frame[name]) for name in coded)
        )
        numbers = (*self.numeric, *self.roles.weight)
        books = select_published_books(self.codebooks, frame.columns, numbers)
        released = self.roles.released
        return replace(
            self,
            frame=strip_metadata(frame),
            roles=released,
            codebooks=books,
            unrecoded=None,
        )

    def _publish_nodes(
        self, name: str, nodes: Floats, levels: nw.Series[Any] | None
    ) -> nw.Series[Any]:
        """Return a category as the column of its published nodes (n,)."""
        declared = self.types.get(name)
        return publish_nodes(
            self.frame[name],
            self.domains[name],
            nodes,
            levels,
            as_text=declared is not None and declared.publish in (SUPPRESS, RANGE),
        )

    def _publish_spans(
        self, name: str, values: Floats, labels: Labels
    ) -> nw.Series[Any]:
        """Return a number as the column of its groups' statements; nan is missing."""
        texts = self.write_spans(name, labels)
        blank = np.isnan(values).tolist()
        entries = [None if b else text for text, b in zip(texts, blank, strict=True)]
        return make_text_column(self.frame[name], entries)

    def _release_column(
        self, name: str, values: Floats, is_whole: bool, step: int
    ) -> nw.Series[Any]:
        """Return a column with the published values, in the type of the original."""
        column = self.frame[name]
        if name in self.clocks:
            clock = self.clocks[name]
            released = clock.filled(column, values, step)
            return format_column(released, clock.format)
        return replace_values(column, values, is_whole)

    @property
    def keeps_index(self) -> bool:
        """Whether it is a pandas table whose index is more than row numbers."""
        import pandas as pd

        if self.is_array or not self.frame.implementation.is_pandas():
            return False
        index = self.frame.to_native().index
        return index.name is not None or not index.equals(pd.RangeIndex(len(index)))

    @property
    def native(self) -> Any:
        """The table as the kind it came as."""
        native = self.frame.to_native()
        return native.to_numpy() if self.is_array else native

    def to_arrow(self) -> Any:
        """Return the table as a PyArrow table, a pandas index left out.

        Raises
        ------
        TableError
            A column mixes types that no file can hold.
        """
        return to_arrow_table(self.frame)


def list_attributes_kept_missing(
    names: Sequence[str], attributes: Mapping[str, AttributeSection], policy: str
) -> frozenset[str]:
    """Return the quasi-identifiers whose holes the policy is about."""
    if policy == REFUSE:
        return frozenset()
    missing_as_category = {
        name for name, section in attributes.items() if section.missing
    }
    return frozenset(names) - missing_as_category
