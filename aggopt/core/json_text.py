"""JSON text of results; JSON has no text for a number that is not finite."""

import json
from math import isfinite
from typing import Any


def json_text(value: object) -> str:
    """Return JSON text; NaN and infinity, which JSON does not have, become null.

    Examples
    --------
    >>> print(json_text([1.5, float("inf")]))
    [
      1.5,
      null
    ]
    """
    return json.dumps(_finite(value), indent=2, allow_nan=False)


def _finite(value: object) -> Any:
    if isinstance(value, dict):
        return {key: _finite(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(entry) for entry in value]
    return None if isinstance(value, float) and not isfinite(value) else value
