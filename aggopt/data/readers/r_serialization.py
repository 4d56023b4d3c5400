"""Objects of R in a file of `saveRDS`: XDR serialization, as *R Internals* defines it.

Nothing is evaluated.  No memory is reserved for entries that the file does not have,
and the nesting is limited.
"""

import bz2
import lzma
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from struct import Struct
from typing import Any, NoReturn, Protocol

import numpy as np

from aggopt.core.memory import format_size, require_memory
from aggopt.errors import AggoptError, TableError

DENSEST = 1000  # times that tables become smaller in a file, at most
SMALL = 2**28  # bytes: up to this many, any share of the file is fine
LARGEST_XZ = 2**28  # bytes that the decompressor of xz may use
CHUNK = 2**24  # bytes that are unpacked at once
DEEPEST = 200  # objects within each other
LONGEST_SEQUENCE = 2**20  # numbers of a sequence that the file states by its ends
MOST_NUMBERS = 2**24  # of all sequences of a file, if it has fewer bytes
MOST_OBJECTS = 2**20  # of a file: a table has a few for each column
ONLY_DATA = "save the data frame alone: saveRDS(as.data.frame(data), file)."

NOTHING, SYMBOL, PAIRS, CLOSURE, ENVIRONMENT, PROMISE, CALL = 0, 1, 2, 3, 4, 5, 6
SPECIAL, BUILTIN, CHARACTERS, LOGICAL, INTEGER, REAL, COMPLEX = 7, 8, 9, 10, 13, 14, 15
TEXT, DOTS, LIST, EXPRESSION, BYTE_CODE = 16, 17, 19, 20, 21
POINTER, WEAK, RAW, S4 = 22, 23, 24, 25
COMPACT, REFERENCE, PACKAGE, NAMESPACE = 238, 255, 250, 249
CONSTANTS = (241, 242, 251, 252, 253, 254, NOTHING)  # without content
_VECTORS = {LOGICAL: ">i4", INTEGER: ">i4", REAL: ">f8", COMPLEX: ">c16", RAW: "u1"}
_PAIRED = (PAIRS, CALL, CLOSURE, PROMISE, DOTS)
_HAS_ATTRIBUTES, _HAS_TAG = 1 << 9, 1 << 10
_BYTES, _LATIN, _UTF8 = 1 << 1, 1 << 2, 1 << 3
_WORD = Struct(">i")
_TWO_WORDS = Struct(">ii")
_MISSING = -1  # length of a missing text
_LONG = -1  # length of a vector whose length takes two words
COMPACT_NAMES = ("compact_intseq", "compact_realseq")


@dataclass(frozen=True, eq=False)
class RObject:
    """An object of R.

    Attributes
    ----------
    kind
        Number of its type, as R numbers them.
    values
        An array of numbers, texts, objects, or the name of a symbol; None for objects
        without values that a table has.
    attributes
        Attributes by name; of an S4 object, its slots.
    """

    kind: int
    values: Any = field(default=None, repr=False)
    attributes: Mapping[str, "RObject"] = field(default_factory=dict, repr=False)

    @property
    def classes(self) -> tuple[str, ...]:
        """The names of its classes."""
        return tuple(self.texts("class"))

    def texts(self, name: str) -> list[str]:
        """Return the texts of an attribute; none if it is missing."""
        attribute = self.attributes.get(name)
        if attribute is None or attribute.kind != TEXT:
            return []
        return [text or "" for text in attribute.values]

    def elements(self) -> dict[str, "RObject"]:
        """Return the elements of a list by name; none if it is no list with names."""
        if self.kind != LIST:
            return {}
        return dict(zip(self.texts("names"), self.values, strict=False))


class _Decompressor(Protocol):
    """The shared part of decompressors of bzip2 and xz."""

    @property
    def eof(self) -> bool: ...
    def decompress(self, data: bytes, max_length: int = -1) -> bytes: ...


def read_rds(path: Path) -> RObject:
    """Return the object in a file of `saveRDS`.

    Raises
    ------
    TableError
        The file is damaged, of another kind, or far larger than its size suggests.
    MemoryLimitError
        It holds more than the memory that is left.
    """
    content = _unpack(path)
    if content[:2] != b"X\n":
        _refuse_kind(path, content[:5])
    reader = _ObjectReader(path, content, 2)
    try:
        return reader.read_file()
    except AggoptError:
        raise
    except (AttributeError, LookupError, TypeError, ValueError):
        pass  # its message may quote an entry
    raise describe_damage(path)


def _unpack(path: Path) -> bytes:
    """Return the content of a file, decompressed if it is compressed."""
    packed = path.read_bytes()
    decompressor: _Decompressor
    if packed[:2] == b"\x1f\x8b":
        decompressor = _Gzip()
    elif packed[:3] == b"BZh":
        decompressor = bz2.BZ2Decompressor()
    elif packed[:6] == b"\xfd7zXZ\0":
        decompressor = lzma.LZMADecompressor(memlimit=LARGEST_XZ)
    else:
        return packed
    limit = max(SMALL, DENSEST * len(packed))
    chunks: list[bytes] = []
    size = 0
    try:
        chunk = decompressor.decompress(packed, CHUNK)
        while chunk and size <= limit:
            chunks.append(chunk)
            size += len(chunk)
            require_memory(3 * size, f"The object in {path.name}")
            chunk = b"" if decompressor.eof else decompressor.decompress(b"", CHUNK)
    except (zlib.error, lzma.LZMAError, OSError, EOFError):
        raise describe_damage(path) from None
    if size > limit:
        raise TableError(
            f"{path.name} unpacks to more than {format_size(limit)}: no table unpacks "
            f"to more than {DENSEST} times its size.",
            fix="use the file only if you trust it: then write it as CSV UTF-8.",
        )
    if not decompressor.eof:
        raise describe_damage(path)
    return b"".join(chunks)


class _Gzip:
    """The decompressor of gzip, with the interface of those of bzip2 and xz."""

    def __init__(self) -> None:
        self._inflate = zlib.decompressobj(31)

    @property
    def eof(self) -> bool:
        """Whether the end was reached."""
        return self._inflate.eof

    def decompress(self, data: bytes, max_length: int = -1) -> bytes:
        """Return the next bytes, at most `max_length`."""
        rest = data or self._inflate.unconsumed_tail
        return self._inflate.decompress(rest, max(max_length, 0))


def describe_damage(path: Path) -> TableError:
    """Return the error of a file that is damaged, or of another kind."""
    return TableError(
        f"{path.name} is not a readable rds file.",
        fix="check that it is a file of saveRDS, and not damaged; in R, readRDS reads "
        "it, and saveRDS writes it again.",
    )


def _refuse_kind(path: Path, start: bytes) -> NoReturn:
    """Refuse a file that is no binary file of `saveRDS`, by its first bytes."""
    if start[:3] in (b"RDX", b"RDA", b"RDB"):
        raise TableError(
            f"{path.name} is a file of save(), which may hold several objects.",
            fix="in R, load() it, and write one object by saveRDS(data, file).",
        )
    if start[:2] in (b"A\n", b"B\n"):
        raise TableError(
            f"{path.name} holds its object as text, or in the order of bytes of one "
            "machine.",
            fix="in R, write it by saveRDS(data, file), without ascii.",
        )
    raise describe_damage(path)


class _ObjectReader:
    """Reads the objects of one file, from a place on."""

    def __init__(self, path: Path, content: bytes, start: int) -> None:
        self._path = path
        self._content = content
        self._at = start
        self._encoding = "utf-8"
        self._objects = 0
        self._numbers = 0  # of sequences
        self._referenced: list[RObject] = []
        self._texts: dict[tuple[int, bytes], str] = {}  # equal texts are one object

    def read_file(self) -> RObject:
        """Return the object of the whole file, after its header."""
        version, _, _ = (self._read_word() for _ in range(3))
        if version not in (2, 3):
            raise describe_damage(self._path)
        if version == 3:
            length = self._read_word()
            self._encoding = self._take(length).decode("ascii")
            "".encode(self._encoding)  # LookupError if Python does not know it
        contents = self._read_object(0)
        if self._at != len(self._content):
            raise describe_damage(self._path)
        return contents

    def _take(self, size: int) -> bytes:
        """Return the next bytes; refuse a file that ends before."""
        end = self._at + size
        if size < 0 or end > len(self._content):
            raise describe_damage(self._path)
        taken = self._content[self._at : end]
        self._at = end
        return taken

    def _read_word(self) -> int:
        """Return the next four bytes as a number."""
        (word,) = _WORD.unpack(self._take(4))
        return int(word)

    def _read_length(self) -> int:
        """Return the length of a vector; reading its entries refuses one too long."""
        length = self._read_word()
        if length == _LONG:
            high, low = self._read_word(), self._read_word()
            length = (high << 32) + low
        if length < 0:
            raise describe_damage(self._path)
        return length

    def _read_object(self, depth: int, flags: int | None = None) -> RObject:
        """Return the next object, at this depth."""
        if depth > DEEPEST:
            raise TableError(
                f"{self._path.name} has objects more than {DEEPEST} levels deep.",
                fix=ONLY_DATA,
            )
        self._objects += 1
        if self._objects > MOST_OBJECTS:
            raise TableError(
                f"{self._path.name} has more than {MOST_OBJECTS} objects.",
                fix=ONLY_DATA,
            )
        if flags is None:
            flags = self._read_word()
        kind = flags & 0xFF
        if kind in CONSTANTS:
            return RObject(NOTHING)
        if kind in _PAIRED:
            return self._read_pairs(kind, flags, depth)
        if kind == REFERENCE:
            return self._referenced[(flags >> 8 or self._read_word()) - 1]
        if kind == SYMBOL:
            symbol = RObject(SYMBOL, self._read_text())
            self._referenced.append(symbol)
            return symbol
        if kind == COMPACT:
            return self._read_compact(depth)
        if kind in (ENVIRONMENT, PACKAGE, NAMESPACE, POINTER, WEAK):
            return self._read_environment(kind, flags, depth)
        values = self._read_values(kind, depth)
        return RObject(kind, values, self._read_attributes(flags, depth))

    def _read_values(self, kind: int, depth: int) -> Any:
        """Return the values of a vector, a list or a text; None of other objects."""
        if kind in _VECTORS:
            kind_of_number = np.dtype(_VECTORS[kind])
            length = self._read_length()
            numbers = np.frombuffer(
                self._take(length * kind_of_number.itemsize), kind_of_number
            )
            return numbers.astype(kind_of_number.newbyteorder("="))
        if kind == TEXT:
            return [self._read_text() for _ in range(self._read_length())]
        if kind in (LIST, EXPRESSION):
            length = self._read_length()
            return [self._read_object(depth + 1) for _ in range(length)]
        if kind == S4:
            return None
        if kind in (SPECIAL, BUILTIN):
            return self._take(self._read_length()) and None
        if kind == BYTE_CODE:
            raise TableError(
                f"{self._path.name} holds a compiled function, such as a model has.",
                fix="save an sdcMicro object before you add a model; or " + ONLY_DATA,
            )
        raise describe_damage(self._path)

    def _read_text(self) -> str | None:
        """Return the next text; None if it is missing."""
        if self._at + 8 > len(self._content):
            raise describe_damage(self._path)
        flags, length = _TWO_WORDS.unpack_from(self._content, self._at)
        self._at += 8
        if flags & 0xFF != CHARACTERS:
            raise describe_damage(self._path)
        if length == _MISSING:
            return None
        key = flags >> 12, self._take(length)
        text = self._texts.get(key)
        if text is None:
            text = self._texts[key] = key[1].decode(self._find_encoding(key[0]))
        return text

    def _find_encoding(self, levels: int) -> str:
        """Return the encoding that the flags of a text state."""
        if levels & _UTF8:
            return "utf-8"
        if levels & _BYTES:
            return "ascii"
        return "latin-1" if levels & _LATIN else self._encoding

    def _read_pairs(self, kind: int, flags: int, depth: int) -> RObject:
        """Return a list of pairs, or a call or a function, whose content is dropped."""
        attributes: dict[str, RObject] = {}
        values: list[RObject] = []
        while kind in _PAIRED:
            if flags & _HAS_ATTRIBUTES:
                self._read_object(depth + 1)
            tag = self._read_object(depth + 1) if flags & _HAS_TAG else None
            value = self._read_object(depth + 1)
            values.append(value)
            if tag is not None and isinstance(tag.values, str):
                attributes[tag.values] = value
            flags = self._read_word()
            kind = flags & 0xFF
        values.append(self._read_object(depth + 1, flags))
        return RObject(PAIRS, values, attributes)

    def _read_attributes(self, flags: int, depth: int) -> Mapping[str, RObject]:
        """Return the attributes of an object, if its flags state that it has some."""
        if not flags & _HAS_ATTRIBUTES:
            return {}
        return self._read_object(depth + 1).attributes

    def _read_environment(self, kind: int, flags: int, depth: int) -> RObject:
        """Return an object that others refer to, such as an environment, without it."""
        if kind in (PACKAGE, NAMESPACE):
            self._read_word()
            for _ in range(self._read_length()):
                self._read_text()
            self._referenced.append(RObject(kind))
            return self._referenced[-1]
        self._referenced.append(RObject(kind))
        referenced = self._referenced[-1]
        if kind == ENVIRONMENT:
            self._read_word()  # whether it is locked
        parts = {ENVIRONMENT: 4, POINTER: 2, WEAK: 0}[kind]
        for _ in range(parts):
            self._read_object(depth + 1)
        if kind != ENVIRONMENT:
            self._read_attributes(flags, depth)
        return referenced

    def _read_compact(self, depth: int) -> RObject:
        """Return a vector that R wrote in a short form."""
        about, state, attributes = (self._read_object(depth + 1) for _ in range(3))
        name = about.values[0].values if about.kind == PAIRS else None
        parts: Mapping[str, RObject] = attributes.attributes
        if name in COMPACT_NAMES and state.kind == REAL and len(state.values) == 3:
            length, first, step = state.values.tolist()
            longest = max(LONGEST_SEQUENCE, len(self._content))
            if not (0 <= length <= longest and np.isfinite([first, step]).all()):
                raise describe_damage(self._path)
            self._numbers += int(length)
            if self._numbers > max(MOST_NUMBERS, len(self._content)):
                raise describe_damage(self._path)
            numbers = np.arange(int(length)) * step + first
            is_whole = name == COMPACT_NAMES[0]
            if is_whole and not (np.abs(numbers) < 2**31).all():
                raise describe_damage(self._path)
            kind = INTEGER if is_whole else REAL
            return RObject(
                kind, numbers.astype(np.int32) if is_whole else numbers, parts
            )
        if str(name).startswith("wrap_") and state.kind in (LIST, PAIRS):
            wrapped: RObject = state.values[0]
            return RObject(
                wrapped.kind, wrapped.values, {**wrapped.attributes, **parts}
            )
        if name == "deferred_string" and state.values[0].kind == INTEGER:
            numbers = state.values[0].values.tolist()
            texts = [None if n == -(2**31) else str(n) for n in numbers]
            return RObject(TEXT, texts, parts)
        return RObject(COMPACT, None, parts)
