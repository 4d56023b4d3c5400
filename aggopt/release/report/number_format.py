"""Numbers as people read them, and no finer than a page may show them."""

from math import ceil

from aggopt.measure.safe_figures import format_percents, round_percent

MINUS = "\N{MINUS SIGN}"


def format_share(part: float) -> str:
    """Return a fraction as a whole percentage; 0 % and 100 % are exactly none and all.

    Examples
    --------
    >>> format_share(0.187), format_share(0.004), format_share(0.996), format_share(1.0)
    ('19 %', '< 1 %', '> 99 %', '100 %')
    """
    return format_percents(round_percent(part)).replace("-", MINUS)


def format_upper_bound(part: float) -> str:
    """Return an upper bound on a fraction as a whole percentage, rounded up.

    Examples
    --------
    >>> format_upper_bound(0.361), format_upper_bound(0.36), format_upper_bound(0.0)
    ('37 %', '36 %', '0 %')
    """
    rounding = 1e-9  # 100 * 0.36 may be a little more than 36
    return f"{ceil(100 * part - rounding)} %"


def round_share(part: float) -> float:
    """Return a fraction in whole hundredths: all that a public page knows of it.

    >>> round_share(0.1234)
    0.12
    """
    return round_percent(part) / 100


def format_figure(number: float | None, digits: int = 3) -> str:
    """Return a number to three significant digits, or to `digits`.

    Examples
    --------
    >>> [format_figure(x) for x in (48.518, 123456.0, 0.00123456, None)]
    ['48.5', '123000', '0.00123', 'none']
    """
    if number is None:
        return "none"
    rounded = float(f"{number:.{digits - 1}e}")
    plain = f"{rounded:.15g}" if 1e-4 <= abs(rounded) < 1e9 or not rounded else ""
    return (plain or f"{rounded:.{digits - 1}e}").replace("-", MINUS)


def format_whole(number: float) -> str:
    """Return the nearest whole number.

    Examples
    --------
    >>> format_whole(2.6), format_whole(-0.2)
    ('3', '0')
    """
    return f"{round(number)}".replace("-", MINUS)
