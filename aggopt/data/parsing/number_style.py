"""Styles of written numbers, which restore the spelling of a number.

Entries come back from the numbers that they spell if all are written in one style: with
so many decimals, or with as few digits as tell them apart.  250.1 and 250.10, or 1e5
and 100000, are in none: codes perhaps, of which two would become one.
"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

_REGULAR = r"^-?(0|[1-9]\d*)(\.\d+)?$"
_POWER = r"^-?[1-9](?:\.(?P<rest>\d*[1-9]))?e(?P<power>[+-](?:\d\d|[1-9]\d\d))$"
_LONG = r"^-?([1-9]0{5,}|\d+0{6,}|0\.000[1-9]|0\.0000\d+)$"  # longer than as a power
_BESIDE_DIGITS = r"^-?[0.]*|[.]|e.*$"
_LEAST = 1e-4  # below it Python writes powers
_MOST = 1e16  # above it, too
_FEW = 4  # zeros behind one digit, from which on R writes powers
_SOME = 5  # zeros before one digit


@dataclass(frozen=True)
class NumberStyle:
    """The style of entries that spell numbers.

    Attributes
    ----------
    exact
        Whether the digits of each are those of its number, none more or less.
    short, pointed
        Whether no zero is at the end of decimals; but one, in 3.0, of whole numbers.
    decimals Number of decimals of the numbers without powers. powers
        Whether some are powers of ten: 1e-05.
    usual, spare
        Whether powers are written as Python does, beyond some size; or as R does, where
        that is shorter.
    """

    exact: bool = True
    short: bool = True
    pointed: bool = True
    decimals: frozenset[int] = frozenset()
    powers: bool = False
    usual: bool = True
    spare: bool = True

    @classmethod
    def of(cls, entries: pa.ChunkedArray, decimal: str) -> "NumberStyle":
        """Return the style of entries; all must spell numbers."""
        if decimal != ".":
            entries = pc.replace_substring(entries, decimal, ".")
        is_power = pc.match_substring(entries, "e", ignore_case=True)
        plain = _find_plain_style(entries.filter(pc.invert(is_power)))
        return plain + _find_power_style(entries.filter(is_power))

    def __add__(self, other: "NumberStyle") -> "NumberStyle":
        """Return the style of the entries of both."""
        return NumberStyle(
            exact=self.exact and other.exact,
            short=self.short and other.short,
            pointed=self.pointed and other.pointed,
            decimals=self.decimals | other.decimals,
            powers=self.powers or other.powers,
            usual=self.usual and other.usual,
            spare=self.spare and other.spare,
        )

    @property
    def one(self) -> bool:
        """Whether each number has one spelling in this style."""
        if not self.exact:
            return False
        if self.powers:
            return (self.usual and (self.short or self.pointed)) or (
                self.spare and self.short
            )
        return self.short or self.pointed or len(self.decimals) == 1


def _find_plain_style(entries: pa.ChunkedArray) -> NumberStyle:
    """Return the style of entries without powers."""
    numbers = entries.cast(pa.float64())
    endless = pc.is_inf(numbers)
    if not _are_all(pc.is_in(entries.filter(endless), pa.array(["inf", "-inf"]))):
        return NumberStyle(exact=False)
    finite = pc.invert(endless)
    return _find_finite_style(entries.filter(finite), numbers.filter(finite))


def _find_finite_style(
    entries: pa.ChunkedArray, numbers: pa.ChunkedArray
) -> NumberStyle:
    has_point = pc.match_substring(entries, ".")
    bare = pc.utf8_rtrim(pc.utf8_rtrim(entries, "0"), ".")
    bare = pc.if_else(has_point, bare, entries)
    point = pc.find_substring(entries, ".")
    behind = pc.subtract(pc.subtract(pc.utf8_length(entries), point), 1)
    size = np.abs(numbers.to_numpy())
    rare = (size < 10 * _LEAST) | (size >= 1e5)
    return NumberStyle(
        exact=_is_reproduced(entries, bare, numbers),
        short=_are_all(pc.equal(entries, bare)),
        pointed=_are_all(has_point)
        and _are_all(pc.or_(pc.equal(entries, bare), _with_zero(entries, bare))),
        decimals=frozenset(pc.unique(pc.if_else(has_point, behind, 0)).to_pylist()),
        usual=bool(((size == 0) | ((size >= _LEAST) & (size < _MOST))).all()),
        spare=not _match_any(entries.filter(pa.array(rare)), _LONG),
    )


def _with_zero(entries: pa.ChunkedArray, bare: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return which entries are whole numbers, spelled 3.0."""
    return pc.equal(entries, pc.binary_join_element_wise(bare, ".0", ""))


def _is_reproduced(
    entries: pa.ChunkedArray, bare: pa.ChunkedArray, numbers: pa.ChunkedArray
) -> bool:
    """Whether numbers printed as text have the digits of their entries, without -0."""
    back = numbers.cast(pa.string())
    if _match_any(back, "^-0$"):
        return False
    other = pc.not_equal(bare, back)
    if not pc.any(other).as_py():
        return True
    entries = entries.filter(other)  # 1e-07 of numbers
    back = back.filter(other)
    same = pc.equal(_extract_digits(entries), _extract_digits(back))
    return _are_all(pc.match_substring_regex(entries, _REGULAR)) and _are_all(same)


def _find_power_style(entries: pa.ChunkedArray) -> NumberStyle:
    """Return the style of powers of ten."""
    if not len(entries):
        return NumberStyle()
    back = entries.cast(pa.float64()).cast(pa.string())
    regular = _are_all(pc.match_substring_regex(entries, _POWER))
    exact = regular and _are_all(
        pc.equal(_extract_digits(entries), _extract_digits(back))
    )
    if not exact:
        return NumberStyle(exact=False, powers=True)
    parts = pc.extract_regex(entries.combine_chunks(), _POWER)
    power = pc.utf8_ltrim(parts.field("power"), "+").cast(pa.int64()).to_numpy()
    rest = pc.utf8_length(parts.field("rest")).to_numpy()
    more = rest > 0
    large = power - rest >= _SOME + more
    small = -power >= _FEW + more
    return NumberStyle(
        powers=True,
        usual=bool(((10.0**power < _LEAST) | (10.0**power >= _MOST)).all()),
        spare=bool((large | small).all()),
    )


def _extract_digits(entries: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the digits of numbers from the first to the last that is not 0."""
    return pc.utf8_rtrim(pc.replace_substring_regex(entries, _BESIDE_DIGITS, ""), "0")


def _are_all(which: pa.ChunkedArray) -> bool:
    return bool(pc.all(which, min_count=0).as_py())


def _match_any(entries: pa.ChunkedArray, pattern: str) -> bool:
    matches = pc.match_substring_regex(entries, pattern)
    return bool(pc.any(matches, min_count=0).as_py())
