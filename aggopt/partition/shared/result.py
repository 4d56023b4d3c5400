"""Results of partitioners: labels of groups with their certificates."""

from collections.abc import Iterator, Sequence
from dataclasses import FrozenInstanceError, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from aggopt.core.equality import are_equal
from aggopt.core.html import render_html_section, render_html_table
from aggopt.core.plural import plural
from aggopt.core.types import Labels
from aggopt.core.validation import copy_labels
from aggopt.errors import JobError
from aggopt.partition.shared.evidence import QUICK, Evidence
from aggopt.partition.shared.neighbour_bound import read_budget
from aggopt.solvers import Certificate, Status
from aggopt.solvers.certificate import HEADER, make_certificate_rows, sum_certificates

INTERRUPTED = "The search was interrupted: these are its best groups so far."
SHOWN = 2_000  # records up to which a notebook computes a bound within a second

Proof = Certificate | Evidence


class Partition:
    """Groups of records: labels with a certificate.

    A partition is accepted wherever labels are, and behaves like them: `np.asarray(p)`,
    `p[i]`, `len(p)`, and `p == 3` compares entry by entry.  It is immutable, and its
    labels are read-only; `np.array(p)` is a writable copy.  pandas accepts only its own
    types and arrays: pass the labels, `frame.groupby(p.labels)`.

    Parameters
    ----------
    labels : (n,) or (n, d) ints
        Group of each record, 0..m-1; or of each record in each attribute.
    certificate
        Certificate of the groups; if blocks of attributes are partitioned
        independently, one for each block.
    merging
        For a repair by "merge-ilp": the certificate of the program that selected the
        groups to merge.

    Raises
    ------
    JobError
        labels are empty, not whole numbers, negative or skip a group number; or the
        certificate is not one.

    Examples
    --------
    >>> from aggopt.partition import mdav
    >>> groups = mdav([[0.0], [12.0], [2.0], [11.0], [3.0], [10.0]], k=3)
    >>> groups
    Partition: 6 records in 2 groups of 3
    >>> groups.labels
    array([0, 1, 0, 1, 0, 1])
    >>> round(groups.loss, 3), groups.certificate.status.value
    (0.291, 'optimal')
    """

    __slots__ = ("evidence", "labels", "merging")

    labels: Labels
    merging: Certificate | None
    evidence: tuple[Evidence, ...]

    def __init__(
        self,
        labels: npt.ArrayLike,
        certificate: Proof | Sequence[Proof],
        *,
        merging: Certificate | None = None,
    ) -> None:
        read_only = copy_labels(labels)
        read_only.flags.writeable = False
        read_only = read_only.view()  # whose own flag cannot be set again
        evidence = tuple(
            Evidence.from_certificate(proof)
            if isinstance(proof, Certificate)
            else proof
            for proof in _require_proofs(certificate)
        )
        object.__setattr__(self, "labels", read_only)
        object.__setattr__(self, "merging", merging)
        object.__setattr__(self, "evidence", evidence)

    def __setattr__(self, name: str, value: object) -> None:
        raise FrozenInstanceError(f"{name} cannot be set: a Partition does not change.")

    def __delattr__(self, name: str) -> None:
        raise FrozenInstanceError(f"{name} cannot be deleted.")

    @property
    def sizes(self) -> Labels:
        """Number of records of each group (m,).

        For labels (n, d) the shape is (m, d), with 0 after the last group of an
        attribute that has fewer than m.
        """
        if self.labels.ndim == 1:
            return np.bincount(self.labels)
        m = int(self.labels.max()) + 1
        return np.stack([np.bincount(x, minlength=m) for x in self.labels.T], axis=1)

    @property
    def certificates(self) -> tuple[Certificate, ...]:
        """Certificate of each block of attributes that is partitioned independently."""
        return tuple(evidence.certificate for evidence in self.evidence)

    @property
    def certificate(self) -> Certificate:
        """Certificate of the groups: their loss, and a bound for any groups.

        Unless the method proves a bound itself, the certificate is computed on first
        access, in three seconds at most and fewer for small tables, see `with_bound`.
        objective: the sum of squares within groups, over all records and attributes, on
        the scale of the method's distances (z-scores by default).  bound: that of
        `loss_bound`; no groups of k lose less that satisfy the requirements which the
        method keeps, such as t.  seconds: the time of the method.  For several blocks,
        the certificate is the sum of theirs.
        """
        return sum_certificates(self.certificates)

    @property
    def loss(self) -> float:
        """Loss of the groups, without the computation of a bound."""
        return sum(evidence.loss for evidence in self.evidence)

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended the search early."""
        return any(e.status is Status.INTERRUPTED for e in self.evidence)

    def with_bound(self, bound: str | float) -> "Partition":
        """Return the partition with another budget for the bound of its certificate.

        Parameters
        ----------
        bound : "quick", "none" or seconds
            As in `loss_bound`.  Blocks of attributes, and parts of a table, share it.

        Raises
        ------
        JobError
            bound is no budget; the certificate exists already, or the method proves its
            groups itself; or an unknown budget (UnknownNameError).

        Examples
        --------
        >>> from aggopt.partition import mdav
        >>> X = [[0.0], [1.0], [3.0], [7.0], [8.0]]
        >>> round(mdav(X, k=2).with_bound("none").certificate.gap, 3)
        0.613
        """
        read_budget(bound, len(self), 1)
        evidence = [part.with_bound(bound) for part in self.evidence]
        return Partition(self.labels, evidence, merging=self.merging)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the labels: (n,), or (n, d) if attributes have their own groups."""
        return self.labels.shape

    @property
    def ndim(self) -> int:
        """Number of dimensions of the labels: 1, or 2 if attributes have their own."""
        return self.labels.ndim

    def max(self, axis: int | None = None, out: Any = None, **options: Any) -> Any:
        """Return the largest group number, as `numpy.ndarray.max` does.

        Arguments are those of an array's `max`, which `np.max` passes on.
        """
        return _convert_scalar(self.labels.max(axis, out, **options))

    def min(self, axis: int | None = None, out: Any = None, **options: Any) -> Any:
        """Return the smallest group number, 0; arguments are those of `max`."""
        return _convert_scalar(self.labels.min(axis, out, **options))

    def tolist(self) -> list[Any]:
        """Return the labels as a list of Python ints."""
        return list(self.labels.tolist())

    def copy(self) -> Labels:
        """Return the labels as a new, writable array."""
        return self.labels.copy()

    def __getattr__(self, name: str) -> Any:
        """Raise an error; for attributes of arrays it refers to the labels."""
        problem = f"A Partition has no {name!r}"
        if not name.startswith("_") and hasattr(np.ndarray, name):
            raise AttributeError(f"{problem}, its labels do: .labels.{name}.")
        raise AttributeError(f"{problem}.")

    def __array__(
        self, dtype: Any = None, copy: bool | None = None
    ) -> npt.NDArray[Any]:
        """Return the labels: read-only, or a writable copy.

        Raises
        ------
        ValueError
            `copy` is False, and `dtype` is not that of the labels.
        """
        if copy:
            return self.labels.astype(dtype or np.intp)
        array = self.labels if dtype is None else self.labels.astype(dtype, copy=False)
        if copy is False and array is not self.labels:
            raise ValueError("labels of another type are a copy, and none is allowed.")
        return array

    def __len__(self) -> int:
        return len(self.labels)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.labels)

    def __getitem__(self, index: Any) -> Any:
        return self.labels[index]

    def __eq__(self, other: object) -> Any:
        return self.labels == _extract_labels(other)

    def __ne__(self, other: object) -> Any:
        return self.labels != _extract_labels(other)

    __hash__ = None  # type: ignore[assignment]

    def __copy__(self) -> "Partition":
        return self

    def __deepcopy__(self, memo: object) -> "Partition":
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Keep the certificates, never the records that they are computed from."""
        return _rebuild, (self.labels, self.certificates, self.merging)

    def __repr__(self) -> str:
        return f"Partition: {self._summary}"

    @property
    def _summary(self) -> str:
        """Text on the number of records and the sizes of groups."""
        sizes = self.sizes[self.sizes > 0]
        smallest = int(sizes.min())
        largest = int(sizes.max())
        size_range = (
            str(smallest) if smallest == largest else f"{smallest} to {largest}"
        )
        if self.ndim == 2:
            n, d = self.shape
            attributes = plural(d, "attribute")
            return f"{n} records, each of {attributes} in groups of {size_range}"
        return f"{len(self)} records in {plural(len(sizes), 'group')} of {size_range}"

    def _repr_html_(self) -> str:
        """Return an HTML table of sizes and certificates, for a notebook."""
        is_computed = not all(evidence.settled for evidence in self.evidence)
        if is_computed and len(self) > SHOWN:
            return render_html_section(
                repr(self), "<p>Its bound takes a while: .certificate</p>"
            )
        certificates = self.certificates
        titles = {"groups": certificates[0]} if len(certificates) == 1 else {}
        titles |= {
            f"block {j}": c for j, c in enumerate(certificates) if len(certificates) > 1
        }
        if self.merging is not None:
            titles["merging"] = self.merging
        return render_html_section(
            repr(self), render_html_table(HEADER, make_certificate_rows(titles))
        )


def combine_blocks(
    parts: Sequence[Partition], columns: Sequence[tuple[int, ...]]
) -> Partition:
    """Return the partition (n, d) of separately partitioned blocks of attributes.

    `columns` are the positions of each block; together they are 0..d-1.
    """
    d = sum(map(len, columns))
    labels = np.empty((len(parts[0]), d), np.intp)
    for part, block in zip(parts, columns, strict=True):
        labels[:, block] = part.labels[:, None]
    return Partition(labels, [proof for part in parts for proof in part.evidence])


def budget_bound(partition: Partition, bound: str | float, share: float) -> Partition:
    """Return the partition of a table's part, with its share of the bound's budget."""
    partition = partition if bound == QUICK else partition.with_bound(bound)
    evidence = [part.take_share(share) for part in partition.evidence]
    return Partition(partition.labels, evidence, merging=partition.merging)


def _require_proofs(certificates: object) -> tuple[Proof, ...]:
    """Return certificates as a tuple; raise if one is of another type."""
    sequence = isinstance(certificates, list | tuple) and certificates
    proofs: list[Proof] = []
    for proof in certificates if sequence else [certificates]:  # type: ignore[attr-defined]
        if not isinstance(proof, Proof):
            raise JobError(
                f"The certificate of a Partition is of type {type(proof).__name__}.",
                fix="pass an aggopt.solvers.Certificate, or one for each block.",
            )
        proofs.append(proof)
    return tuple(proofs)


def _convert_scalar(value: Any) -> Any:
    """Return a NumPy scalar as a Python number; others unchanged."""
    return value.item() if isinstance(value, np.generic) else value


def _extract_labels(other: object) -> Any:
    """Return the labels of a partition; other objects unchanged."""
    return other.labels if isinstance(other, Partition) else other


def _rebuild(
    labels: Labels, certificates: tuple[Certificate, ...], merging: Certificate | None
) -> Partition:
    """Return a partition from its pickled parts."""
    return Partition(labels, certificates, merging=merging)


@dataclass(frozen=True, eq=False)
class Block:
    """Attributes that are partitioned together, with their groups.

    Attributes
    ----------
    columns
        Positions of the attributes.
    partition
        Their groups, with the certificate.
    unrepaired_loss
        Loss of the groups of k that a repair has changed, on the scale of the
        certificate; None without a repair.
    """

    columns: tuple[int, ...]
    partition: Partition
    unrepaired_loss: float | None = None

    @property
    def labels(self) -> Labels:
        """Group of each record (n,) in this block of attributes."""
        return self.partition.labels

    @property
    def certificate(self) -> Certificate:
        """Certificate of the groups of this block of attributes."""
        return self.partition.certificate

    @property
    def groups(self) -> int:
        """Number of groups in this block of attributes."""
        return len(self.partition.sizes)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Block):
            return NotImplemented
        return are_equal(self._compared_parts, other._compared_parts)

    def __hash__(self) -> int:
        """Return a hash of the columns: a set rarely contains many blocks."""
        return hash((Block, self.columns))

    @property
    def _compared_parts(self) -> tuple[object, ...]:
        """The parts by which blocks are compared: columns, labels, certificates."""
        return self.columns, self.labels, self.partition.certificates


def combine_labels(blocks: Sequence[Block]) -> Labels:
    """Return the labels of blocks of attributes: (n,) of one, (n, d) of several."""
    if len(blocks) == 1:
        return blocks[0].labels
    parts = [block.partition for block in blocks]
    return combine_blocks(parts, [block.columns for block in blocks]).labels
