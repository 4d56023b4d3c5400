"""A user's solver: the model judges its answer, and its bound is only a claim."""

from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from inspect import Parameter
from typing import Any, ClassVar

import numpy as np

from aggopt.core.deadline import compile_time
from aggopt.core.plugins.function import UserFunction
from aggopt.core.plugins.loading import Origin
from aggopt.errors import JobError
from aggopt.solvers.certificate import Answer, Claim, Status
from aggopt.solvers.solver import CLASSES, LOCAL_OPTIMUM, Solver

ABOUT = (
    "write a function of (model, data, *, start, time_limit, options) that returns "
    "what model.reader does, such as centroids; or that and a bound; or None."
)


@dataclass(frozen=True)
class OwnSolving(UserFunction):
    """A function (model, data, *, start, time_limit, options) that solves.

    The function receives those of the last three arguments that it takes.  It returns
    the reading of a point, that and a bound, or None if it found no point.  It receives
    copies only, so it can change neither the data nor the model that judges it.
    """

    data: ClassVar[tuple[str, ...]] = ("model", "data")
    offered: ClassVar[tuple[str, ...]] = ("start", "time_limit", "options")

    def __call__(
        self,
        model: Any,
        data: Any,
        start: Any,
        time_limit: float | None,
        options: Mapping[str, Any] | None,
    ) -> Answer:
        """Return the function's answer, which is trusted no more than any other's.

        Raises
        ------
        JobError
            The function fails, or does not take a limit or options that are given.
        """
        offered = {"start": start, "time_limit": time_limit, "options": options or None}
        taken = {name: offered[name] for name in self.offered if self.takes(name)}
        for name in offered.keys() - taken.keys() - {"start"}:
            if offered[name] is not None:
                raise JobError(
                    f"{self.origin.name} takes no {name}.",
                    fix=f"leave {name} out, or give the function an argument of this "
                    "name.",
                )
        copies = (getattr(model, "origin", None) or self.origin).run(deepcopy, data)
        begun = compile_time.now()
        result = self.origin.run(
            self.function, replace(model), copies, **deepcopy(taken)
        )
        spent = compile_time.now() - begun
        answer = self._answer(result, spent)
        if answer.reading is None:
            return answer
        return replace(answer, reading=self._read(model, data, answer.reading))

    def _read(self, model: Any, data: Any, reading: Any) -> Any:
        """Return the reading of a point as an array that the model can judge."""
        theirs = getattr(model, "origin", None) is not None
        if theirs and model.declared:  # centroids, without the cost that it reports
            reading = self.origin.run(getattr, reading, "c", reading)
        array = self.origin.run(np.array, reading)
        kinds, shape = _describe_reading(data, theirs)
        fit = array.dtype.kind in kinds and shape in (None, array.shape)
        if not fit or not (theirs or _is_judged(model, data, array)):
            raise JobError(
                f"{self.origin.name} returns an array of shape {array.shape} and type "
                f"{array.dtype.name}, which {model.name} cannot judge.",
                fix=ABOUT,
            )
        return array

    def takes(self, name: str) -> bool:
        """Whether it takes an argument of this name."""
        every = self._arguments
        return any(p.name == name or p.kind is Parameter.VAR_KEYWORD for p in every)

    def _answer(self, result: Any, seconds: float) -> Answer:
        by = self.origin.name
        if isinstance(result, Answer):
            bound = result.bound
            status = self.origin.run(_lower_status, result.status)
            reading = result.reading
        else:
            reading, bound = result if _is_pair(result) else (result, None)
            status = Status.FAILED if reading is None else Status.LOCAL
        claim = None
        if bound is not None:
            claim = Claim(self.origin.run(float, bound), str(self.origin))
        return Answer(reading, status, None, by, seconds, claimed=claim)


def _describe_reading(data: Any, theirs: bool) -> tuple[str, tuple[int, ...] | None]:
    """Return the kinds of dtype that a reading may have, and its shape if known."""
    if theirs:
        return "iuf", (int(data.labels.max()) + 1,)
    if hasattr(data, "renormalised"):
        return "iuf", data.renormalised.shape
    return "iu", data.x.shape[:1] if hasattr(data, "x") else None  # a label each


def _is_judged(model: Any, data: Any, reading: Any) -> bool:
    """Whether a model can compute the violation of a reading."""
    try:
        model.violation(data, model.point(data, reading))
    except (ArithmeticError, LookupError, TypeError, ValueError):
        return False
    return True


def _is_pair(result: object) -> bool:
    """Whether it is a reading and a bound, and no array or point of two."""
    return type(result) is tuple and len(result) == 2


def _lower_status(status: Status) -> Status:
    """Return the status that holds for a solver that proves nothing."""
    weaker = {Status.OPTIMAL: Status.LOCAL, Status.INFEASIBLE: Status.FAILED}
    return weaker.get(status, Status(status))


def adopt_solver(thing: object, origin: Origin) -> Solver:
    """Return a function, or a `Solver` of the user's, as a solver.

    Raises
    ------
    JobError
        It is neither.
    """
    if isinstance(thing, Solver):
        return replace(
            thing,
            name=origin.name,
            origin=origin,
            finds=LOCAL_OPTIMUM,  # its proofs are not verified
            duals=False,
            harmless=frozenset(),
            tolerances={},
        )
    function: Callable[..., Any] = thing  # type: ignore[assignment]
    return Solver(
        name=origin.name,
        when="a solver of your own",
        language=None,
        native="",
        takes=frozenset(CLASSES),
        finds=LOCAL_OPTIMUM,
        install="it is a function of yours",
        time_limit=None,
        origin=origin,
        run=OwnSolving.of(function, origin, frozenset()),
    )
