"""Release: the masked table with its certificates and its audit."""

import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import narwhals.stable.v2 as nw
import numpy as np
import pyarrow as pa

from aggopt.core.equality import EqualByField
from aggopt.core.html import (
    render_html_details,
    render_html_lines,
    render_html_list,
    render_html_seal,
    render_html_section,
    render_html_table,
    render_text_table,
)
from aggopt.core.not_pickled import NotPickled
from aggopt.core.plural import plural
from aggopt.core.randomness import BITS, draw_permutation
from aggopt.core.types import F64, Bool, Floats, Labels
from aggopt.data.context.strata import RecordStrata
from aggopt.data.formats.registry import FORMATS, get_suffix, list_packages
from aggopt.data.parsing.columns import to_floats
from aggopt.data.table import Table
from aggopt.errors import JobError, TableError, require_known
from aggopt.job import Job
from aggopt.measure import Assessment
from aggopt.measure.criteria import Criteria
from aggopt.measure.safe_figures import compute_correlations
from aggopt.partition.shared.result import Block, combine_labels
from aggopt.release.audit.audit import Audit, recount_file
from aggopt.release.audit.changes import WaveChanges
from aggopt.release.audit.counts import Count, combine_codes, encode_entries
from aggopt.release.audit.risk_limits import LINKAGE
from aggopt.release.audit.risks import RiskMeasures, record_risks
from aggopt.release.files.output_paths import ReleaseFiles
from aggopt.release.files.staging import Staging, compute_sha256
from aggopt.release.files.write_table import write_json, write_key, write_table
from aggopt.release.manifest import (
    Drift,
    Source,
    WriteRecipe,
    list_versions,
    make_manifest,
    partition_certificates,
    partition_names,
)
from aggopt.solvers import Certificate
from aggopt.solvers.certificate import HEADER, make_certificate_rows

if TYPE_CHECKING:
    from aggopt.release.figures.figure import Picture
    from aggopt.release.figures.release_pictures import Sizes

PRIVATE = "private=True draws each record, for you alone."


@dataclass(frozen=True, eq=False, repr=False)
class Plots:
    """Pictures of a release: each method returns a figure of matplotlib.

    The parts of originals that they show may be published, by docs/pictures.md: bins
    and levels of ten records or more, chosen from released values, and rounded figures.
    Pictures that show single records require `private=True`.

    Raises
    ------
    TableError
        The release has nothing to show, or is a copy out of a pickle, which holds no
        originals.
    """

    _masked: Table = field(repr=False)
    _original: Table | None = field(repr=False)
    _audit: Audit
    _measures: Assessment | None
    _job: Job
    _units: Labels | None = field(repr=False)

    def __repr__(self) -> str:
        """Return what there is."""
        return "Plots: groups(), before_after(name), correlations(), risk()"

    def groups(self) -> "Picture":
        """Return the picture of how many records share each combination, and of k.

        If k was required within blocks of attributes, it has a panel for each block.
        """
        from aggopt.release.figures.release_pictures import draw_group_sizes

        audit = self._audit
        counts = (audit.whole,) if audit.scope == "combination" else audit.blocks
        return draw_group_sizes([self._count_sizes(count) for count in counts], audit.k)

    def _count_sizes(self, count: Count) -> "Sizes":
        from aggopt.release.figures.release_pictures import Sizes

        frame = self._masked.frame
        units = self._units
        labels = combine_codes(encode_entries(frame[name]) for name in count.attributes)
        if units is not None:
            labels = np.unique(np.stack([labels, units]), axis=1)[0]
        return Sizes(count.attributes, np.bincount(labels), count.what)

    def before_after(self, name: str, *, private: bool = False) -> "Picture":
        """Return the distribution of a quasi-identifier before and after masking.

        With `private` each record before against after; of a category the number that
        moved from level to level.  Do not publish that.

        Raises
        ------
        UnknownNameError
            The release has no quasi-identifier of this name.
        TableError
            Fewer than ten records have a value.
        """
        from aggopt.release.figures.distributions import make_distribution
        from aggopt.release.figures.release_pictures import (
            draw_before_after,
            draw_records,
        )

        original = self._known()
        names = original.roles.quasi_identifier
        require_known("quasi-identifier of the release", name, names)
        if private:
            return draw_records(original, self._masked, name)
        shares = make_distribution(original, self._masked, name)
        if shares is None:
            raise TableError(
                f"{name!r}: fewer than ten records have a value, before masking or "
                "after; a picture would show them.",
                fix=PRIVATE,
            )
        return draw_before_after(shares)

    def correlations(self) -> "Picture":
        """Return the correlations of the originals, and what masking made of them.

        Of quasi-identifiers and confidential attributes that are numbers.
        """
        from aggopt.release.figures.release_pictures import (
            draw_correlation_changes as drawn,
        )

        before, after = self._numbers()
        if len(before) < 2:
            raise TableError(
                f"{len(before)} of the quasi-identifiers and confidential attributes "
                "are numbers: there is nothing to correlate.",
                fix="release.plot.before_after(name) draws any attribute.",
            )
        tables = (np.column_stack([*columns.values()]) for columns in (before, after))
        return drawn(list(before), *map(compute_correlations, tables))

    def _numbers(self) -> tuple[dict[str, F64], dict[str, F64]]:
        """Return the attributes that are numbers (n,), by name, before and after."""
        from aggopt.release.figures.distributions import read_plain_numbers

        original = self._known()
        frame = self._masked.frame
        before = {name: read_plain_numbers(original, name) for name in original.numeric}
        after = {
            name: read_plain_numbers(self._masked, name) for name in original.numeric
        }
        kinds = frame.schema
        numeric = [n for n in self._job.roles.confidential if kinds[n].is_numeric()]
        same = {name: _to_finite(frame[name]) for name in numeric}
        return before | same, after | same

    def risk(self) -> "Picture":
        """Return the success rates of attacks, compared to chance and k's limit."""
        from aggopt.release.figures.release_pictures import draw_risk, list_attacks

        if self._measures is None:
            raise TableError(
                "Nothing was measured on this release: too few records are complete.",
                fix="release.plot.groups() draws what k promises.",
            )
        return draw_risk(list_attacks(self._measures))

    def _known(self) -> Table:
        """Return the originals."""
        if self._original is None:
            raise TableError(
                "This release holds no originals: it is a copy, or out of a pickle.",
                fix="draw from the release that aggopt.mask returned; "
                "release.plot.groups() and .risk() need no originals.",
            )
        return self._original


def _to_finite(column: nw.Series[Any]) -> F64:
    values = to_floats(column)
    return np.where(np.isfinite(values), values, np.nan)


@dataclass(frozen=True, eq=False)
class Order:
    """The place of each record of the input in the file, (n,), and its seed.

    It identifies every record: it is for the owner.
    """

    seed: int = field(repr=False)
    place: Labels = field(repr=False)

    @classmethod
    def drawn(
        cls, n: int, job: Job, source: Source, secret: str, seed: int | None
    ) -> "Order":
        """Return the order of n records, from a seed or a random one.

        The secret and every column are mixed into the seed.  The seed without the
        secret reveals nothing, even if an attacker knows all quasi-identifiers.
        """
        if seed is None:
            seed = secrets.randbits(BITS)
        if not job.output.shuffle:
            return cls(seed, np.arange(n))
        return cls(
            seed, draw_permutation(secret, f"order {seed} {source.fingerprint}", n)
        )

    @property
    def records(self) -> Labels:
        """The record of the input at each place, (n,)."""
        return np.argsort(self.place)


@dataclass(frozen=True, eq=False, repr=False)
class Release(EqualByField):
    """A masked table that passed its audit.

    Its `repr` shows no value of a record, nor does any file but the masked table.

    Attributes
    ----------
    masked
        The masked table and the roles of its attributes; `table` returns it in the
        input's kind of table, in the original record order.
    blocks
        Attributes that were partitioned together, with their groups and certificates.
        Private: do not publish.
    certificates
        One per quasi-identifier, by name; one of all that were solved together, by
        their names.
    audit, measures
        The results of the audit, and measures, of the values of the release.  Measures
        are of all quasi-identifiers; None if none of them varies.
    notes
        Remarks for readers of the release, the gravest first: possible losses of
        persons, values outside the range of the originals, records and values that are
        left out or filled, all else.
    urgent, trivial
        Number of first notes that are printed in any case; and number of last notes
        that are for the manifest only.
    job, source
        The job, and its input.
    secret
        128 random bits, drawn for this release, the source of the margins of requests
        and of the order of records.  Private.
    drift
        Drift by rounding of the rounded attributes, by name.
    risks
        Results that [risk] of the job requests; None if it requests nothing.
    strata
        The strata that contain the groups; None if the job names none.  Private.
    units
        The unit of each record, if k counts units.  Private.
    original
        The original quasi-identifiers, in the order of `masked`, for pictures and
        reports.  Private: copies and pickles have none.
    weights
        The sampling weight of each record, if records have weights; if values are
        missing the weight of each value, 0 of one that decides nothing.  Private.
    wave
        Comparison with an earlier release whose groups this one keeps; None if the job
        does not identify persons across waves.
    criteria
        Singling out, linkability and inference, measured with a control; None without.
    """

    masked: Table
    blocks: tuple[Block, ...]
    certificates: dict[str, Certificate]
    audit: Audit
    measures: Assessment | None
    notes: tuple[str, ...]
    job: Job
    source: Source
    secret: str = field(repr=False)
    drift: dict[str, Drift]
    risks: RiskMeasures | None = None
    strata: RecordStrata | None = None
    units: Labels | None = field(default=None, repr=False)
    original: NotPickled[Table] = field(default_factory=NotPickled, repr=False)
    weights: Floats | None = field(default=None, repr=False)
    urgent: int = 0
    trivial: int = 0
    wave: WaveChanges | None = None
    criteria: Criteria | None = None

    def __repr__(self) -> str:
        """Return verdict, certificates and how many notes there are."""
        parts = [
            str(self.audit),
            render_text_table(HEADER, make_certificate_rows(self.proofs)),
        ]
        if self.notes:
            parts.append(f"{plural(len(self.notes), 'note')}: see .notes.")
        return "\n\n".join(parts)

    def _repr_html_(self) -> str:
        """Return verdict, certificates, notes, measures and job for a notebook."""
        return render_html_section(
            "Release",
            render_html_seal(self.audit.seal.state, self.audit.seal.heading),
            render_html_lines(str(self.audit)),
            render_html_table(HEADER, make_certificate_rows(self.proofs)),
            render_html_list(self.notes),
            *(
                [render_html_details("Measures", render_html_lines(str(self.measures)))]
                if self.measures
                else []
            ),
            render_html_details("Job", render_html_lines(self.job.as_text())),
        )

    @property
    def proofs(self) -> dict[str, Certificate]:
        """The certificates of the groups and of their values, by their subject."""
        grouped = partition_certificates(self.blocks, self.job)
        of_groups = {f"groups of {name}": c for name, c in grouped.items()}
        places = None if self.wave is None else self.wave.certificate
        of_wave = {} if places is None else {"places of changes": places}
        return of_groups | of_wave | self.certificates

    @property
    def kept(self) -> Bool | None:
        """Mask (n,) of the input records that are released; None if all are."""
        if self.wave is not None and self.wave.kept is not None:
            return self.wave.kept
        return self.strata.is_released if self.strata else None

    @property
    def table(self) -> Any:
        """The masked table, in the input's kind of table.

        It has the order of the input, and a pandas index, which both identify records,
        for any `shuffle`: publish the file that `write` writes.
        """
        return self.masked.native

    @property
    def labels(self) -> Labels:
        """Group of each record: (n,), or (n, d) with several blocks.  Private."""
        return combine_labels(self.blocks)

    @property
    def plot(self) -> Plots:
        """Pictures of the release: `release.plot.groups()`, `.before_after("age")`."""
        masked = self.masked
        original = self.original.value
        sources = (self.audit, self.measures, self.job, self.units)
        return Plots(masked, original, *sources)

    def manifest(self) -> dict[str, Any]:
        """Return the record of the making of the release, for its owner."""
        more: dict[str, Any] = {} if self.risks is None else {"risk": self.risks.totals}
        stated = make_manifest(
            self.job,
            self.source,
            self.blocks,
            self.audit,
            self.measures,
            self.certificates,
            self.notes,
            self.drift,
            self.strata,
        )
        of_wave = {} if self.wave is None else {"wave": self.wave.to_dict()}
        if self.criteria is not None:
            more["criteria"] = self.criteria.to_dict()
        return stated | more | of_wave

    def write(
        self,
        path: str | Path,
        *,
        overwrite: bool = False,
        private: str | Path | None = None,
        report: str | Path | None = None,
        ddi: bool = False,
    ) -> ReleaseFiles:
        """Write the release and return the paths of its three files.

        `path` (.csv, .parquet, .sav, ...) gets the masked table, without identifiers
        and index, in random order unless the job sets otherwise: this one is for
        the public.  The other two are for you only (mode 0600):
        `NAME.manifest.json` records how the release was made, `NAME.private.csv`
        links each record of the
        input to its `group` (with several blocks of attributes `group_1`, `group_2`,
        ... in the manifest's order) and to its place in the masked table
        (`released_record`), with its `risk`: 1 / number of records that share its
        published quasi-identifiers, and the measures of [risk]; nothing for a
        record that was left out.  These two go to the folder `private`, if one is
        named, so that the public folder can be passed on unchanged.  `report` gets
        the public report of
        the release (docs/report.md), counted on the file.  With `ddi`,
        `NAME.ddi.xml` is its codebook in DDI Codebook 2.5 (docs/ddi.md), for the
        public, too.

        The table is staged and recounted from the bytes of that file; only then do the
        files appear under their names: all, or none.  An interrupt meanwhile is raised
        when all files exist.

        Raises
        ------
        TableError
            The path has another ending or the table names that this kind of file does
            not allow, a folder does not exist, a file exists already and `overwrite` is
            not set, or is the table that was masked, or the key of another; a column
            cannot be written, or the disk refuses.
        PrivacyError
            The recount violates a requirement; nothing is left behind.
        """
        with self.staged(
            path, overwrite=overwrite, private=private, report=report, ddi=ddi
        ) as commit:
            return commit()

    @contextmanager
    def staged(
        self,
        path: str | Path,
        *,
        overwrite: bool = False,
        private: str | Path | None = None,
        again: WriteRecipe | None = None,
        report: str | Path | None = None,
        ddi: bool = False,
    ) -> Iterator[Callable[[], ReleaseFiles]]:
        """Stage the files of `write`; yield the function that renames them.

        `again` is the record of an earlier writing of this release: a difference is
        refused, and a DDI codebook is written if there was one.  If the function was
        not called, no file is left behind.
        """
        folder, page = (None if p is None else Path(p) for p in (private, report))
        ddi = ddi or (again is not None and again.ddi is not None)
        files = ReleaseFiles.of_table(Path(path), folder, page, ddi=ddi)
        files.check(
            overwrite=overwrite,
            masked=self.source.sha256,
            names=self.masked.frame.columns,
        )
        seed = again.seed if again else self.job.output.seed
        of = len(self.masked.frame), self.job, self.source, self.secret
        with Staging() as staging:
            self._write_files(staging, files, Order.drawn(*of, seed), again)
            yield lambda: files.appear(staging, overwrite=overwrite)

    def _write_files(
        self,
        staging: Staging,
        files: ReleaseFiles,
        order: Order,
        again: WriteRecipe | None,
    ) -> None:
        risk = record_risks(self.masked.frame, self.job.combination, self.units)
        further = {} if self.risks is None else self.risks.records
        key = staging.write(
            files.private,
            lambda to: write_key(
                to, self.blocks, order.place, risk, further, self.kept
            ),
        )
        rows = order.records
        aside = staging.write(files.table, lambda to: self._write_table(to, rows))
        if again:
            again.require(compute_sha256(aside))
        blocks = partition_names(self.blocks, self.job)
        units = None if self.units is None else self.units[rows]
        weights = None if self.weights is None else self.weights[rows]
        audit = recount_file(aside, self.job, blocks, len(rows), units, weights)
        measured = [limit for limit in self.audit.limits if limit.name == LINKAGE]
        audit = replace(audit, limits=(*audit.limits, *measured))
        audit.require()
        stated = self.manifest()
        stated["notes"] += self.notes_on(files.table)
        stated["versions"] |= list_versions(list_packages(files.table))
        stated["output"] = {
            "file": files.table.name,
            "sha256": compute_sha256(aside),
            "key_sha256": compute_sha256(key),
            "seed": order.seed if self.job.output.shuffle else None,
            "secret": self.secret,
            "recounted": audit.to_dict(),
        }
        if files.ddi is not None:
            from aggopt.release.report.release_report import write_ddi

            name = again.file if again else files.table.name
            sha256 = stated["output"]["sha256"]
            codebook = write_ddi(staging, files.ddi, self, name, audit, sha256)
            digest = compute_sha256(codebook)
            if again:
                again.require_ddi(digest)
            stated["output"]["ddi"] = {"file": files.ddi.name, "sha256": digest}
        staging.write(files.manifest, lambda to: write_json(to, stated))
        if files.report is not None:
            from aggopt.release.report.release_report import write_aside

            facts = self, files.table.name, audit, compute_sha256(aside)
            write_aside(staging, files.report, *facts)

    def report(
        self,
        path: str | Path,
        *,
        private: bool = False,
        title: str | None = None,
        originals: object = None,
        overwrite: bool = False,
    ) -> Path:
        """Write the report of the release, one page of HTML, and return its path.

        It is for the public (docs/report.md), unless it is `private`: then it has the
        private section, and mode 0600.  What `write` writes as `report` is counted on
        the file; this one on the values in memory, with their originals: only the
        release of a folder takes `originals`.

        Raises
        ------
        JobError
            `originals` are named.
        TableError
            The path does not end in .html, cannot be written to, or is taken and
            `overwrite` is not set.
        """
        from aggopt.release.report.release_report import write_report

        if originals is not None:
            raise JobError(
                "This release has its originals in memory, and takes no others.",
                fix="leave originals out; the release of a folder takes them.",
            )
        return write_report(
            self, path, private=private, title=title, overwrite=overwrite
        )

    def notes_on(self, path: Path) -> tuple[str, ...]:
        """Return the notes on a file of the release, by its ending."""
        format = FORMATS.get(get_suffix(path))
        if format is None or format.notes is None:
            return ()
        return tuple(format.notes(self.masked.to_arrow(), self.job.released_input))

    def _write_table(self, to: Path, rows: Labels) -> None:
        shuffled = self.masked.to_arrow().take(pa.array(rows))
        write_table(to, shuffled, self.job, self.masked.codebooks)
