"""Array types by their element: one name each, across the package.

`Labels` are group numbers, of NumPy's index type, and `Floats` are records or what is
computed of them; all other names contain the width.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

F64 = npt.NDArray[np.float64]
Floats = F64
F32 = npt.NDArray[np.float32]
I64 = npt.NDArray[np.int64]
I32 = npt.NDArray[np.int32]
U64 = npt.NDArray[np.uint64]
Bool = npt.NDArray[np.bool_]
AnyInt = npt.NDArray[np.integer[Any]]
Labels = npt.NDArray[np.intp]
WishValues = npt.ArrayLike | Mapping[str, npt.ArrayLike]  # or {"relative": r}
