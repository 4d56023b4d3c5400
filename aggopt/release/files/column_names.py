"""Column names that a kind of file can hold, checked before it is written."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from aggopt.data.readers.formats import file_ending
from aggopt.errors import TableError


@dataclass(frozen=True)
class NameRule:
    """Rule for column names in a kind of file.

    Attributes
    ----------
    longest
        Maximum number of bytes of UTF-8.
    pattern
        Required form, as a regular expression.
    says
        The pattern in words.
    reserved
        Words that are not allowed.
    caseless
        Whether Age and AGE are one name, and reserved words are so in any case.
    """

    longest: int
    pattern: str
    says: str
    reserved: frozenset[str] = frozenset()
    caseless: bool = True

    def broken(self, names: Sequence[str]) -> list[str]:
        """Return the names that break the rule, or that others would be taken for."""
        alike = [name.lower() if self.caseless else name for name in names]
        return [
            name
            for name, as_is in zip(names, alike, strict=True)
            if len(name.encode()) > self.longest
            or not re.fullmatch(self.pattern, name)
            or as_is in self.reserved
            or alike.count(as_is) > 1
        ]


_SPSS = NameRule(
    64,
    r"[^\W\d_][\w.$#@]*(?<!\.)",
    "a letter, then letters, digits and _ . $ # @, but no point at the end, 64 bytes "
    "at most, no word of its language (all, and, by, eq, ge, gt, le, lt, ne, not, or, "
    "to, with), and none twice but for capital letters",
    frozenset(
        (
            *("all", "and", "by", "eq", "ge", "gt", "le", "lt", "ne", "not", "or"),
            *("to", "with"),
        )
    ),
)
_STATA = NameRule(
    32,
    r"(?!str\d+$)[^\W\d]\w*",
    "a letter or _, then letters, digits and _, 32 bytes at most, no word of its "
    "language (if, in, using, with, byte, int, long, float, double, strL, str1, _n, "
    "...)",
    frozenset(
        (
            *("_all", "byte", "double", "float", "if", "in", "int", "long", "_n"),
            *("_N", "_pi", "_pred", "_rc", "_skip", "strL", "using", "with", "_b"),
            *("_coef", "_cons"),
        )
    ),
    caseless=False,
)
_SAS = NameRule(
    32,
    r"[A-Za-z_][A-Za-z0-9_]*",
    "a letter of English or _, then those and digits, 32 at most, and none twice but "
    "for capital letters",
)
_EXCEL = NameRule(
    255,
    r"[^\x00-\x1f]+",
    "no line ends and no control characters, 255 bytes at most",
    caseless=False,
)
_RULES = {".sav": _SPSS, ".zsav": _SPSS, ".dta": _STATA, ".xpt": _SAS, ".xlsx": _EXCEL}


def require_column_names(path: Path, names: Sequence[str]) -> None:
    """Refuse names of columns that a file with the path's ending cannot hold.

    Raises
    ------
    TableError
        The message has the names and the rule.
    """
    ending = file_ending(path)
    rule = _RULES.get(ending)
    broken = rule.broken(names) if rule else []
    if rule and broken:
        raise TableError(
            f"Column names that a {ending} file does not allow: "
            f"{', '.join(map(repr, broken))}.",
            fix=f"rename them in the table and in the job: {rule.says}; or write "
            "another kind of file.",
        )
