"""The codebook of a release for archives: a file of DDI Codebook 2.5.

It has names, labels, types and categories of the published columns, what was masked and
how, and the requirements that the file satisfies.  It holds no value that fewer than k
published records share, no statistic, and nothing of the originals.  It has no date, so
that `aggopt repeat` writes equal bytes.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pyarrow as pa

from aggopt.core.plural import plural
from aggopt.data.formats.registry import FORMATS, Format, get_suffix
from aggopt.data.formats.statistical import supports_texts
from aggopt.data.readers.codebook import Codebook, spell_code
from aggopt.release.files.write_table import TRUTH, replace_missing_codes
from aggopt.release.report.facts import Facts
from aggopt.release.report.sections.headline import (
    STATISTICS,
    describe_check,
    describe_count,
)
from aggopt.release.report.sections.provenance import DISTINCT, ERRORS

CHILDREN = {  # of each element that is written, in the order of the schema
    "codeBook": ("docDscr", "stdyDscr", "fileDscr", "dataDscr"),
    "docDscr": ("citation",),
    "stdyDscr": ("citation", "method"),
    "citation": ("titlStmt", "prodStmt"),
    "titlStmt": ("titl",),
    "prodStmt": ("producer", "software"),
    "method": ("notes", "dataProcessing"),
    "fileDscr": ("fileTxt", "notes"),
    "fileTxt": ("fileName", "dimensns", "fileType", "software"),
    "dimensns": ("caseQnty", "varQnty"),
    "dataDscr": ("var",),
    "var": ("labl", "invalrng", "txt", "catgry", "codInstr", "varFormat"),
    "invalrng": ("item",),
    "catgry": ("catValu", "labl"),
}
_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_FILE = "F1"  # identifies the file within the codebook


def render_ddi(facts: Facts, name: str, steps: Mapping[str, float | None]) -> bytes:
    """Return the codebook of a release that is in a file of this name.

    `steps` has the step of each rounded attribute: its values are multiples of it.
    """
    format = FORMATS[get_suffix(Path(name))]
    table = facts.released.to_arrow()
    if not format.declares_missing:
        table = replace_missing_codes(table, facts.released.codebooks)
    variables = [
        _make_variable(
            facts, format, column, j, table.column(column), steps.get(column)
        )
        for j, column in enumerate(table.column_names, 1)
    ]
    title = f"Codebook: {facts.title}"
    root = _make(
        "codeBook",
        _make("docDscr", _make_citation(title, facts, _make_software(facts))),
        _make(
            "stdyDscr",
            _make_citation(facts.title, facts),
            _make(
                "method",
                *_make_notes(facts),
                _make(
                    "dataProcessing",
                    text=" ".join(_describe_masking(facts)),
                    type="disclosure control",
                ),
            ),
        ),
        _make_file(facts, name, table),
        _make("dataDscr", *variables),
        xmlns="ddi:codebook:2_5",
        version="2.5",
    )
    ElementTree.indent(root)
    content: bytes = ElementTree.tostring(root, "utf-8", xml_declaration=True)
    return content + b"\n"


def _make(
    tag: str, *children: ElementTree.Element, text: str = "", **attributes: str
) -> ElementTree.Element:
    """Return an XML element with its children in the order of the schema."""
    written = {name.replace("_", "-"): _clean(x) for name, x in attributes.items()}
    element = ElementTree.Element(tag, written)
    element.text = _clean(text) or None
    order = CHILDREN.get(tag, ())
    element.extend(sorted(children, key=lambda child: order.index(child.tag)))
    return element


def _clean(text: str) -> str:
    """Return a text without characters that XML does not allow."""
    return _NOT_IN_XML.sub("\N{REPLACEMENT CHARACTER}", text)


def _make_citation(
    title: str, facts: Facts, *makers: ElementTree.Element
) -> ElementTree.Element:
    """Return a citation with the office that publishes the release, and the makers."""
    office = facts.job.output.office
    if office is not None:
        makers = (_make("producer", text=office), *makers)
    statement = [_make("prodStmt", *makers)] if makers else []
    return _make("citation", _make("titlStmt", _make("titl", text=title)), *statement)


def _make_software(facts: Facts) -> ElementTree.Element:
    """Return the XML element that names this package and its version."""
    return _make("software", text="aggopt", version=facts.made[1])


def _make_notes(facts: Facts) -> Iterator[ElementTree.Element]:
    """Yield notes: the requirements that the file satisfies, and advice."""
    sentences = [*describe_count(facts), *map(describe_check, facts.audit.checks)]
    yield _make("notes", text=" ".join(sentences), type="requirements of the release")
    for advice in _list_advice(facts):
        yield _make("notes", text=advice, type="use of the release")


def _list_advice(facts: Facts) -> Iterator[str]:
    """Yield sentences on what masked columns may be used for."""
    keeps = facts.job.aggregation.keeps
    moved = {*facts.filled, *facts.suppressed}
    statistics = [name for name in STATISTICS if name in keeps]
    weighted = "weighted " if facts.job.roles.weight else ""
    what = " and ".join(f"the {weighted}{statistic}" for statistic in statistics)
    names = [name for name in facts.columns if name not in moved]
    plain = ", ".join(name for name in names if name not in facts.recoded)
    recoded = ", ".join(name for name in names if name in facts.recoded)
    sources = {"originals of these records": plain, "recoded values": recoded}
    for source, subject in sources.items():
        if subject and what:
            yield f"As in the {source}, but for rounding: {what} of {subject}."
    if names and what and weighted and facts.job.weights.published == "drop":
        yield "The sampling weights are not published."
    if facts.columns and "variance" not in keeps:
        yield "Variances of masked numbers are smaller than in the originals."
    if facts.filled:
        yield f"Some values were missing, and are filled in: {', '.join(facts.filled)}."
    yield f"Do not {DISTINCT}"
    yield f"Do not {ERRORS}"


def _describe_masking(facts: Facts) -> Iterator[str]:
    """Yield sentences on how the whole table was masked."""
    job, audit = facts.job, facts.audit
    names = ", ".join(facts.names)
    count = plural(audit.k, facts.what)
    if audit.scope == "keys":
        yield (
            f"Disclosure control by suppression: values of {names} were suppressed "
            f"until each published combination of keys is shared by at least {count}."
        )
    else:
        blocks = ", in each block of attributes" if len(audit.blocks) > 1 else ""
        yield (
            "Disclosure control by microaggregation: similar records form groups of at "
            f"least {count}{blocks}, and each group publishes one value for each of "
            f"{names}."
        )
    if audit.strata:
        yield f"No group has records of two strata ({', '.join(audit.strata)})."
    if not job.output.shuffle:
        yield "The records have the order of the originals."
    else:
        yield "The records are in random order."
    unchanged = [name for name in job.roles.as_they_are if name not in audit.strata]
    if unchanged:
        yield f"Published unchanged: {', '.join(unchanged)}."


def _make_file(facts: Facts, name: str, table: pa.Table) -> ElementTree.Element:
    """Return the description of the file."""
    suffix = get_suffix(Path(name))
    encoding = facts.job.released_input.encoding
    charset = {"charset": encoding} if FORMATS[suffix].has_text_entries else {}
    sha256 = facts.sha256 or ""
    return _make(
        "fileDscr",
        _make(
            "fileTxt",
            _make("fileName", text=name),
            _make(
                "dimensns",
                _make("caseQnty", text=str(table.num_rows)),
                _make("varQnty", text=str(table.num_columns)),
            ),
            _make("fileType", text=suffix[1:], **charset),
            _make_software(facts),
        ),
        _make("notes", text=sha256, type="SHA-256 of the file"),
        ID=_FILE,
    )


@dataclass(frozen=True)
class _Category:
    """A category of a column: its value in the file, and its text."""

    value: str
    text: str = ""
    is_missing: bool = False


def _make_variable(
    facts: Facts,
    format: Format,
    name: str,
    number: int,
    column: pa.ChunkedArray,
    step: float | None,
) -> ElementTree.Element:
    """Return the description of a published column."""
    book = facts.released.codebooks.get(name, Codebook())
    kind = column.type
    is_category = (
        pa.types.is_dictionary(kind)
        or pa.types.is_boolean(kind)
        or name in facts.released.domains
    )
    has_codes = _has_codes(column, book, format)
    categories: list[_Category] = []
    if is_category or book.texts or book.missing:
        entries = _select_frequent(column, facts.audit.k)
        texts = is_category or pa.types.is_string(kind)
        listed = _list_categories if texts else _list_labelled_numbers
        categories = listed(entries, book, has_codes)
    missing = [category for category in categories if category.is_missing]
    parts = [_make_category(category) for category in categories]
    if book.label:
        parts.append(_make("labl", text=book.label))
    if missing:
        items = [_make("item", VALUE=category.value) for category in missing]
        parts.append(_make("invalrng", *items))
    if column.null_count:
        parts.append(_make("txt", text="An empty entry is missing."))
    is_discrete = is_category or bool(book.texts) or not _is_continuous(kind)
    is_weight = {"wgt": "wgt"} if name in facts.job.roles.weight else {}
    return _make(
        "var",
        *parts,
        _make("codInstr", text=" ".join(_describe_column(facts, name, step))),
        _make_format(kind, has_codes and not _has_text_codes(book)),
        ID=f"V{number}",
        name=name,
        files=_FILE,
        intrvl="discrete" if is_discrete else "contin",
        **is_weight,
    )


def _select_frequent(column: pa.ChunkedArray, k: int) -> list[Any]:
    """Return the different entries that k records or more have."""
    counts = Counter(column.to_pylist())
    return [entry for entry, n in counts.items() if entry is not None and n >= k]


def _has_codes(column: pa.ChunkedArray, book: Codebook, format: Format) -> bool:
    """Whether the file has codes with texts in place of these entries."""
    if not format.has_codes or pa.types.is_boolean(column.type):
        return format.has_codes
    codes = book.encode_texts(column.to_pylist()) if book.texts else None
    return codes is not None and supports_texts(codes, format.name)


def _has_text_codes(book: Codebook) -> bool:
    """Whether some codes of a codebook are text."""
    return any(isinstance(code, str) for code, _ in book.texts)


def _list_categories(
    entries: Iterable[Any], book: Codebook, has_codes: bool
) -> list[_Category]:
    """Return the categories of a column in the order of their codes, or of texts."""
    codes = {text: code for code, text in book.texts or TRUTH}
    texts = [str(entry) for entry in entries]
    coded = sorted((codes[text], text) for text in texts if text in codes)
    others = sorted(text for text in texts if text not in codes)
    categories = []
    for code, text in coded:
        value, label = (spell_code(code), text) if has_codes else (text, "")
        categories.append(_Category(value, label, book.is_missing_code(code)))
    return categories + [_Category(text) for text in others]


def _list_labelled_numbers(
    entries: Iterable[Any], book: Codebook, has_codes: bool
) -> list[_Category]:
    """Return the numbers of a column that have a text, or represent missing values."""
    names = book.names
    return [
        _Category(spell_code(n), names.get(n, ""), book.is_missing_code(n))
        for n in sorted(entries)
        if n in names or book.is_missing_code(n)
    ]


def _is_continuous(kind: pa.DataType) -> bool:
    """Whether a column of this type has continuous values."""
    return bool(
        pa.types.is_floating(kind)
        or pa.types.is_decimal(kind)
        or pa.types.is_temporal(kind)
    )


def _make_category(category: _Category) -> ElementTree.Element:
    """Return the XML element of a category."""
    labels = [_make("labl", text=category.text)] if category.text else []
    missing = {"missing": "Y"} if category.is_missing else {}
    return _make("catgry", _make("catValu", text=category.value), *labels, **missing)


def _make_format(kind: pa.DataType, is_coded: bool) -> ElementTree.Element:
    """Return the type of a column in the file."""
    is_number = pa.types.is_integer(kind) or pa.types.is_floating(kind)
    is_date = pa.types.is_date(kind) or pa.types.is_timestamp(kind)
    category = "date" if is_date else "time" if pa.types.is_time(kind) else "other"
    return _make(
        "varFormat",
        type="numeric" if is_number or is_coded else "character",
        category=category,
    )


def _describe_column(facts: Facts, name: str, step: float | None) -> Iterator[str]:
    """Yield sentences on how a column was masked."""
    job = facts.job
    if name not in facts.names:
        yield _describe_other_role(facts, name)
        return
    section = job.attributes.get(name)
    if section is not None and section.is_recoded:
        keys = [*section.number_keys, *(["groups"] if section.groups else [])]
        yield f"Recoded before masking ({', '.join(keys)})."
    if facts.audit.scope == "keys":
        yield "Published unchanged otherwise, but for suppressed values."
    elif section is not None and section.is_truthful:
        yield "Each group publishes a statement that is true of all its members."
    else:
        yield "Each record has the value that its group publishes."
    if step and name not in facts.released.clocks:
        yield f"Values are multiples of {step:g}."
    if name in facts.filled:
        yield "Missing values have the value of their group."


def _describe_other_role(facts: Facts, name: str) -> str:
    """Return a sentence on a column that is no quasi-identifier."""
    job = facts.job
    if name in job.roles.weight:
        if job.weights.published == "as is":
            return "Sampling weight, published unchanged."
        return "Sampling weight: the mean of the group of the record."
    if name in job.roles.stratum:
        return "Published unchanged; groups lie within its values."
    if name in job.roles.unit or name == job.pseudonym:
        return "A pseudonym of the unit, drawn at random for this release."
    return "Published unchanged."
