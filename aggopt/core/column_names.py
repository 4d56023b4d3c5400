"""Names of columns: refused names, and names that look like a record."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from aggopt.errors import TableError

_ALPHABETS = ("LATIN", "CYRILLIC", "GREEK")  # which share the shapes of letters
_AS_LATIN = str.maketrans(  # letters that look like Latin ones, in most fonts
    "\u0410\u0412\u0415\u041a\u041c\u041d\u041e\u0420\u0421\u0422\u0423\u0425"
    "\u0405\u0406\u0408\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0455\u0456\u0458"
    "\u0391\u0392\u0395\u0396\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a5"
    "\u03a7\u03b1\u03b9\u03ba\u03bd\u03bf\u03c1\u03c5",
    "ABEKMHOPCTYXSIJaeopcyxsijABEZHIKMNOPTYXaikvopu",
)


def check_names(names: Sequence[str]) -> None:
    """Refuse column names that are repeated, look alike or are empty."""
    twice = [name for name, times in Counter(names).items() if name and times > 1]
    if twice:
        raise TableError(
            f"Column names appear more than once: {', '.join(map(repr, twice))}.",
            fix="rename them so that each name is used once.",
        )
    unnamed = list(names).count("")
    if unnamed:
        which = f"{unnamed} of {len(names)} columns have"
        raise TableError(
            f"{'A column has' if unnamed == 1 else which} no name.",
            fix="name every column; remove cells outside the table.",
        )
    times = Counter(map(strip_invisible, names))
    places = [
        str(j) for j, name in enumerate(names, 1) if times[strip_invisible(name)] > 1
    ]
    if places:
        raise TableError(
            f"Names of columns {', '.join(places)} look the same: they differ only in "
            "blanks, in invisible characters or in how Unicode writes them.",
            fix="rename them, so that readers can distinguish them.",
        )


def strip_invisible(text: str) -> str:
    """Return a text as readers see it: NFKC, without format characters (Cf) and blanks.

    >>> strip_invisible("ｘ² ")
    'x2'
    """
    return unicodedata.normalize("NFKC", "".join(filter(_is_shown, text))).strip()


def _is_shown(character: str) -> bool:
    return unicodedata.category(character) != "Cf"


def fold(text: str) -> str:
    """Return a text without invisible characters; texts that look alike become equal.

    It applies NFKC and case folding, as in Unicode's caseless matching (section 3.13
    of the standard), and drops format characters (category Cf), such as a zero-width
    space.
    """
    shown = "".join(filter(_is_shown, text))
    caseless = unicodedata.normalize("NFKD", shown).casefold()
    return unicodedata.normalize("NFKC", caseless).casefold().strip()


def count_alike(texts: Iterable[str]) -> int:
    """Return how many texts differ from another one in case or blanks alone.

    >>> count_alike(["North", "north ", "south"])
    2
    """
    folded = Counter(map(fold, texts))
    return sum(count for count in folded.values() if count > 1)


def _shape(name: str) -> str:
    """Return a name in Latin letters that look like its own, without its case."""
    return fold(name.translate(_AS_LATIN))


def list_confusable_names(names: Sequence[str]) -> Iterator[str]:
    """Yield a note on each name of a column that may be taken for another one."""
    times = Counter(map(fold, names))
    shapes = Counter(map(_shape, names))
    for name in names:
        alphabets = {
            alphabet.capitalize()
            for alphabet in _ALPHABETS
            if any(unicodedata.name(c, "").startswith(f"{alphabet} ") for c in name)
        }
        reasons = {
            "has blanks at its ends": name != name.strip(),
            "has invisible characters": any(
                unicodedata.category(c) == "Cf" for c in name
            ),
            "has characters that Unicode writes in another way, too": (
                not unicodedata.is_normalized("NFC", name)
            ),
            f"mixes alphabets ({', '.join(sorted(alphabets))})": len(alphabets) > 1,
            "differs from another name only in case": times[fold(name)] > 1,
            "looks like another name, in letters of another alphabet": (
                shapes[_shape(name)] > times[fold(name)]
            ),
        }
        reasons_seen = [reason for reason, holds in reasons.items() if holds]
        if reasons_seen:
            yield f"{name!r}: the name of this column {' and '.join(reasons_seen)}."


def check_header(names: Sequence[str], file: str) -> None:
    """Refuse as `check_names`, without repeating what may be a record: by place."""
    times = Counter(names)
    places = [str(j) for j, name in enumerate(names, 1) if name and times[name] > 1]
    if places:
        raise TableError(
            f"Columns of {file} share a name, which stands in the first line more than "
            f"once: see columns {', '.join(places)}.",
            fix="rename them so that each name is used once; if the first line is a "
            "record, put a line with names above it.",
        )
    check_names(names)


def count_numeric_names(names: Sequence[str]) -> int:
    """Return the count of names that are numbers, as in a file without a header."""
    return sum(bool(re.fullmatch(r"[+-]?\d*[.,]?\d+([eE][+-]?\d+)?", n)) for n in names)


def require_no_numbers(names: Sequence[str], file: str) -> None:
    """Refuse names that are numbers, unless they are declared to be names."""
    count = count_numeric_names(names)
    if count:
        raise TableError(
            f"{count} of the {len(names)} column names of {file} are numbers: its "
            "first line may be a record.",
            fix="put a line with names above it.",
        )


def is_perhaps_record(names: Sequence[str], count: int) -> bool:
    """Whether the names may be a record, which is not repeated.

    Some are numbers, or fewer than half of them are `known` from elsewhere.
    """
    return count_numeric_names(names) > 0 or 2 * count < len(names)
