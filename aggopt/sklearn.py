"""Microaggregation as a transformer of scikit-learn."""

import hashlib
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from aggopt.core.frame import require_nonempty, to_frame
from aggopt.core.plural import agree
from aggopt.core.types import I64
from aggopt.core.validation import is_number
from aggopt.data.parsing.recoding import recode_columns
from aggopt.encoding import AttributeType
from aggopt.encoding.nearest import find_nearest_rows
from aggopt.encoding.typed_column import NAME, TypedColumn
from aggopt.errors import JobError, TableError, require_known
from aggopt.job import AttributeSection, Job
from aggopt.pipeline.mask import mask
from aggopt.release.release import Release

__all__ = ["Microaggregator", "expected_failed_checks"]

SIZE = 16  # bytes: of a million rows two that differ are alike once in 1e26 times


def hash_table_rows(frame: nw.DataFrame[Any], key: bytes) -> list[bytes]:
    """Return a keyed hash of each row (n,): equal for equal rows.

    Numbers and truth values count by their value, whatever type or library holds them,
    all else by its spelling.  Missing entries are equal.  Who has the key
    can check a guess of a whole row.
    """
    columns = [_list_cells(frame[name]) for name in frame.columns]
    rows = zip(*columns, strict=True)
    return [_hash(b"".join(cells), key) for cells in rows]


def _hash(row: bytes, key: bytes) -> bytes:
    return hashlib.blake2b(row, digest_size=SIZE, key=key).digest()


def _list_cells(column: nw.Series[Any]) -> list[bytes]:
    """Return the entries (n,), each with its length: no two rows are confused."""
    typed = TypedColumn(column, NAME)
    entries = zip(typed.entries.tolist(), typed.absent.tolist(), strict=True)
    spelled = [b"" if absent else _encode_entry(entry) for entry, absent in entries]
    return [b"%d:%s" % (len(text), text) for text in spelled]


def _encode_entry(entry: Any) -> bytes:
    """Return an entry as bytes that are equal for equal values."""
    if isinstance(entry, bool | np.bool_) or is_number(entry):
        is_integer = float(entry).is_integer()
        return b"#%r" % (int(entry) if is_integer else float(entry))
    return b"'" + str(entry).encode(errors="surrogatepass")


KEY = 32  # bytes of the key under which rows are hashed


@dataclass(frozen=True, eq=False)
class FittedRows:
    """Published row of each fitted record, and the keys that recognise records.

    Attributes
    ----------
    published
        Different rows (m,) of the release, as the kind of table that was fitted,
        without an index.
    place : (n,)
        Which of them each record has.
    hashes, key
        A hash of each record, and the key of all.
    types
        Settings of attributes, by name.
    sections
        Their sections in the job, which recode records that were not fitted.
    """

    published: Any = field(repr=False)
    place: I64 = field(repr=False)
    hashes: tuple[bytes, ...] = field(repr=False)
    key: bytes = field(repr=False)
    types: Mapping[str, AttributeType] = field(repr=False)
    sections: Mapping[str, AttributeSection] = field(repr=False)

    @classmethod
    def of(cls, frame: nw.DataFrame[Any], release: Release) -> "FittedRows":
        """Return the fitted state of the records (n,) of a release."""
        masked = release.masked
        key = secrets.token_bytes(KEY)
        _, first, place = np.unique(
            masked.matrix(), axis=0, return_index=True, return_inverse=True
        )
        native = masked.frame[first].to_native()
        if masked.is_array:
            native = native.to_numpy()
        elif masked.frame.implementation.is_pandas():
            native = native.reset_index(drop=True)  # it would say whose they were
        hashes = tuple(hash_table_rows(frame, key))
        sections = release.job.attributes
        return cls(native, place.ravel(), hashes, key, dict(masked.types), sections)

    def places(self, frame: nw.DataFrame[Any]) -> I64:
        """Return which published row each record has (n,), -1 if it was not fitted.

        Equal rows take turns, so that all rows that were fitted, in any order, get what
        was released.
        """
        fitted: dict[bytes, list[int]] = {}
        for row, place in zip(self.hashes, self.place.tolist(), strict=True):
            fitted.setdefault(row, []).append(place)
        turns = {row: cycle(places) for row, places in fitted.items()}
        hashes = hash_table_rows(frame, self.key)
        return np.array([next(turns[row]) if row in turns else -1 for row in hashes])

    def nearest(self, frame: nw.DataFrame[Any]) -> I64:
        """Return which published row is nearest to each record, (n,)."""
        counts = np.bincount(self.place)
        recoded = recode_columns(frame, self.sections)
        return find_nearest_rows(to_frame(self.published), counts, recoded, self.types)

    def at(self, place: I64, like: Any) -> Any:
        """Return published rows (n,): an array if `like` is an array.

        With the index of a pandas table that they are like.
        """
        if isinstance(self.published, np.ndarray):
            return self.published[place]
        rows = to_frame(self.published)[place]
        if isinstance(like, np.ndarray):
            return rows.to_numpy()
        native = rows.to_native()
        if not rows.implementation.is_pandas():
            return native
        indexed = nw.dependencies.is_pandas_dataframe(like)
        return native.set_axis(like.index if indexed else range(len(place)), axis=0)


WAYS = REFUSE, NEAREST = "refuse", "nearest"
REPEATED = ("mean", "median")  # others have secret margins, drawn in each `fit`


class Microaggregator(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Publish one value per attribute and group of k similar records or more.

    `fit_transform(X)` is the release of X, made and audited as `aggopt.mask` does.
    Every column is a quasi-identifier.  `transform` gives records that were fitted what
    is published for them.  Others have no group, and are refused.

    Parameters
    ----------
    k : int
        Records per group, at least; from 2 up.
    partition
        Method of `[partition]`, by name, by its file or as an object of your own, with
        `partition_settings`, a map of its settings.
    aggregation : str
        Method of `[aggregation]`, with `settings`, a map of its settings, and its
        `solver`.
    scope : "combination" or "blocks"
        As in `[privacy]`: what k records share.
    attributes : map
        As `[attributes]`: by name what the type of a column leaves open, for example
        {"school": {"order": ["primary", "secondary"]}}.
    output : map
        As `[output]`: how values are rounded.
    trust : sequence of paths
        Files of code that may be named: they see the originals, and have your rights.
    unseen : "refuse" or "nearest"
        The treatment of records that were not fitted.  "nearest" gives each the
        published row that is nearest: that is to train models, and keeps no requirement
        of privacy.  Never publish the result.

    Attributes
    ----------
    audit_ : Audit
        Audit of the released values; `fit` is refused unless it holds.
    certificates_ : dict
        Certificates, by attribute.
    measures_ : Assessment or None
        Risk and loss of the release; None if no attribute varies.
    notes_ : tuple of str
        Notes for readers of the release.
    published_
        The different rows of the release, as the kind of table that was fitted.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Raises
    ------
    TableError, JobError, InfeasibleInputError, SolverError, PrivacyError
        As `aggopt.mask`, in `fit`; so is UntrustedCodeError.  In `transform` TableError
        for records that were not fitted, unless `unseen` is "nearest".

    Notes
    -----
    A fitted estimator, and a file that it is dumped to, holds no record.  It holds what
    was published, and a hash of each fitted row, with its key, to recognise the
    row.  So its holder can check a guess of a whole row, and learn its published row:
    keep it as private as a manifest.

    An array is returned as an array of floats, a data frame as one of its own kind, in
    the order of the input.  Publish what `fit_transform` returns, with its rows
    shuffled, or what `aggopt.mask` writes.  Equal rows that were fitted may be in
    different groups, and then take turns in `transform`.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[1.0], [2.0], [3.0], [11.0], [12.0], [16.0]])
    >>> Microaggregator(k=3).fit_transform(X).ravel()
    array([ 2.,  2.,  2., 13., 13., 13.])
    """

    def __init__(
        self,
        k: int = 5,
        *,
        partition: Any = "recommended",
        partition_settings: Mapping[str, Any] | None = None,
        aggregation: Any = "mean",
        settings: Mapping[str, Any] | None = None,
        solver: Any = None,
        scope: str = "combination",
        attributes: Mapping[str, Any] | None = None,
        output: Mapping[str, Any] | None = None,
        trust: Sequence[str | Path] = (),
        unseen: str = REFUSE,
    ) -> None:
        self.k = k
        self.partition = partition
        self.partition_settings = partition_settings
        self.aggregation = aggregation
        self.settings = settings
        self.solver = solver
        self.scope = scope
        self.attributes = attributes
        self.output = output
        self.trust = trust
        self.unseen = unseen

    def __sklearn_tags__(self) -> Any:
        """Return the tags that scikit-learn requires of an estimator."""
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.non_deterministic = self.aggregation not in REPEATED
        return tags

    def fit(self, X: Any, y: Any = None) -> "Microaggregator":
        """Make the release of X, a table or an array (n, d), and audit it."""
        self._fit(X)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Return the release of X, a table or an array (n, d)."""
        return self._fit(X).table

    def transform(self, X: Any) -> Any:
        """Return the published rows of the records of X; see `unseen` for others."""
        check_is_fitted(self)
        require_known("way with records that were not fitted", self.unseen, WAYS)
        data = self._checked(X, reset=False)
        frame = to_frame(data)
        require_nonempty(frame)
        place = self._fitted.places(frame)
        new = np.flatnonzero(place < 0)
        if len(new):
            self._require_any(len(new), len(frame))
            place[new] = self._fitted.nearest(frame[new])
        return self._fitted.at(place, data)

    def __sklearn_is_fitted__(self) -> bool:
        """Whether there is a release; a table that was only looked at is none."""
        return hasattr(self, "_fitted")

    def _fit(self, X: Any) -> Release:
        earlier = [n for n in vars(self) if n.endswith("_") or n == "_fitted"]
        for name in earlier:  # a fit that is refused leaves nothing of them
            delattr(self, name)
        require_known("way with records that were not fitted", self.unseen, WAYS)
        data = self._checked(X, reset=True)
        frame = to_frame(data)
        job = self._job(frame.columns)
        self._require_near_values(job)
        release = mask(data, job, trust=self.trust)
        self._fitted = FittedRows.of(frame, release)
        self.published_ = self._fitted.published
        self.audit_ = release.audit
        self.certificates_ = release.certificates
        self.measures_ = release.measures
        self.notes_ = release.notes
        return release

    def _checked(self, X: Any, *, reset: bool) -> Any:
        """Return a data frame unchanged, all else as an array of floats."""
        if nw.dependencies.is_into_dataframe(X) and _has_named_columns(X):
            return validate_data(self, X, reset=reset, skip_check_array=True)
        minimum = 2 if reset else 1
        try:
            return validate_data(
                self, X, dtype=np.float64, reset=reset, ensure_min_samples=minimum
            )
        except ValueError:
            if not _has_text(X):
                raise
            raise TableError(  # the original message quotes an entry
                "There is text in the array.",
                fix="pass a data frame, whose columns say what they are.",
            ) from None

    def _job(self, names: Sequence[str]) -> Job:
        sections: dict[str, Any] = {
            "privacy": {"k": self.k, "scope": self.scope},
            "partition": _build_section(
                "partition_settings", self.partition_settings, method=self.partition
            ),
            "aggregation": _build_section(
                "settings", self.settings, method=self.aggregation, solver=self.solver
            ),
            "attributes": self.attributes,
            "output": self.output,
        }
        return Job(
            roles={"quasi-identifier": list(names)},
            **{name: section for name, section in sections.items() if section},
        )

    def _require_near_values(self, job: Job) -> None:
        """Refuse to look for near rows among ranges, intervals and suppressed values.

        Raises
        ------
        JobError
            An attribute publishes them, and `unseen` is "nearest".
        """
        stated = [
            (name, section.publish)
            for name, section in job.attributes.items()
            if section.is_truthful and section.publish != "ancestor"
        ]
        if self.unseen != REFUSE and stated:
            name, publish = stated[0]
            raise JobError(
                f'unseen = "nearest" measures distances from published values, and '
                f"{name!r} has publish = {publish!r}.",
                fix='leave unseen out, or publish = "leaf" of that attribute.',
            )

    def _require_any(self, new: int, n: int) -> None:
        """Refuse records that were not fitted, unless `unseen` allows them."""
        if self.unseen == REFUSE:
            raise TableError(
                f"{new} of {n} records {agree(new, 'was', 'were')} not fitted: "
                f"{agree(new, 'it is', 'they are')} in no group, and nothing is "
                f"published for {agree(new, 'it', 'them')}.",
                fix="release all records together, by fit_transform; or set "
                'unseen="nearest", which trains models and keeps no requirement of '
                "privacy: never publish what it returns.",
            )


def _build_section(
    name: str, settings: Mapping[str, Any] | None, **parameters: Any
) -> dict[str, Any]:
    """Return a section of a job: the settings that are given, and own parameters."""
    if not isinstance(settings, Mapping | None):
        raise JobError(
            f"{name} is a {type(settings).__name__}, and no map.",
            fix=f'write {name}={{"key": value}}, or leave it out.',
        )
    parameters = {key: value for key, value in parameters.items() if value is not None}
    twice = sorted(parameters.keys() & (settings or {}).keys())
    if twice:
        raise JobError(
            f"{name} names {', '.join(map(repr, twice))}, which is a parameter itself.",
            fix=f"pass it as that, and leave it out of {name}.",
        )
    return {**parameters, **(settings or {})}


def _has_named_columns(X: Any) -> bool:
    """Whether a data frame names its columns by text, as scikit-learn requires."""
    if not nw.dependencies.is_pandas_dataframe(X):
        return True
    return all(isinstance(name, str) for name in X.columns)


def _has_text(X: Any) -> bool:
    entries = np.asarray(X, dtype=object).ravel()
    return any(isinstance(entry, str) for entry in entries)


def expected_failed_checks(estimator: Microaggregator) -> dict[str, str]:
    """Return the checks of scikit-learn that it fails by design, with the reasons.

    As `check_estimator` and `parametrize_with_checks` of `sklearn.utils` take them.

    Examples
    --------
    >>> list(expected_failed_checks(Microaggregator()))
    ['check_fit_idempotent']
    >>> expected_failed_checks(Microaggregator(unseen="nearest"))
    {}
    """
    if estimator.unseen != REFUSE:
        return {}
    return {
        "check_fit_idempotent": "it transforms records that were not fitted, which are "
        'refused unless unseen = "nearest"'
    }
