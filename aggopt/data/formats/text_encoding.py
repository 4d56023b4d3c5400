"""The encoding of a text file: refused if the bytes show another one."""

from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE, getincrementaldecoder
from collections.abc import Iterator
from pathlib import Path

from aggopt.errors import TableError

UTF_8, CP1252, LATIN_1 = "utf-8", "cp1252", "latin-1"
_CALLED = {UTF_8: "UTF-8", CP1252: "cp1252", LATIN_1: "Latin-1"}
_BLOCK = 2**20  # bytes
_CONTROLS = bytes(range(0x80, 0xA0))  # of Latin-1; in cp1252 these are letters
WIDEST = 3  # bytes that a letter of one byte has in UTF-8: the euro sign of cp1252


def require_encoding(path: Path, encoding: str) -> None:
    """Refuse a file whose bytes show that it is in another encoding.

    Each byte is a letter in Latin-1, and nearly each in cp1252: a wrong encoding would
    publish wrong letters without an error.

    Raises
    ------
    TableError
        The file begins with the mark of UTF-16; or it is UTF-8 with letters beyond
        ASCII, and the encoding is another one; or Latin-1 with letters of cp1252.
    """
    with path.open("rb") as stream:
        first = stream.read(3)
    if first[:2] in (BOM_UTF16_LE, BOM_UTF16_BE):
        raise TableError(
            f"{path.name} is not UTF-8 text: it begins as UTF-16 does.",
            fix="save it again as CSV UTF-8.",
        )
    if encoding == UTF_8:
        return
    if first == BOM_UTF8 or _is_utf_8(path):
        raise TableError(
            f'{path.name} is UTF-8 text, and encoding = "{encoding}".',
            fix=f'write encoding = "{UTF_8}" under [input], or leave it out.',
        )
    blocks = _read_blocks(path) if encoding == LATIN_1 else ()
    if any(block.translate(None, _CONTROLS) != block for block in blocks):
        raise TableError(
            f"{path.name} has bytes that Latin-1 has no letters for, and cp1252 has.",
            fix=f'write encoding = "{CP1252}" under [input] of the job, or --encoding '
            f"{CP1252}.",
        )


def describe_encoding_error(encoding: str) -> tuple[str, str]:
    """Return the error text for a file in another encoding, and the remedy."""
    if encoding == UTF_8:
        return "is not UTF-8 text", (
            f'if Windows in Western Europe wrote it, write encoding = "{CP1252}" '
            f"under [input] of the job, or --encoding {CP1252} of `aggopt init` and "
            "`aggopt convert`, and look whether its letters are right; else save it "
            "again as CSV UTF-8"
        )
    return f"is not {_CALLED[encoding]} text", "save it again as CSV UTF-8"


def _is_utf_8(path: Path) -> bool:
    """Return whether a file is UTF-8 and has letters beyond ASCII."""
    decoder, beyond = getincrementaldecoder(UTF_8)(), False
    try:
        for block in _read_blocks(path):
            decoder.decode(block)
            beyond |= not block.isascii()
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return beyond


def _read_blocks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as stream:
        while block := stream.read(_BLOCK):
            yield block
