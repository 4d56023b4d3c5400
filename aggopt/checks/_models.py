"""Laws of a model: its declarations, and how a point of it is judged."""

import pickle
import re
from dataclasses import is_dataclass, replace
from typing import Any

import numpy as np

from aggopt.checks import _model as declared
from aggopt.checks._model import (
    HELD,
    LIMIT,
    TriedModel,
    list_arrays,
    list_named_constraints,
)
from aggopt.checks.law import list_laws, not_tried, require, require_refusal
from aggopt.errors import AggoptError, JobError, SolverError, UnknownNameError
from aggopt.solvers import choose_solver, solve
from aggopt.solvers.certificate import Status
from aggopt.solvers.solver import BRANCHING, CLASSES

HEADINGS = ("Data", "Variables", "Minimise", "Subject to", "Class:", "Source:")
CLEAR = 1e-3  # a clear violation
OFF = 1e-5  # of an optimum: what solvers leave
SENTINEL = 7.31415926535


def the_head_states_the_model(f: TriedModel) -> None:
    """Its docstring has Data, Variables, Minimise, Subject to, Class and Source."""
    _require_file(f)
    head = f.file.__doc__ or ""
    places = {heading: head.find(f"\n{heading}") for heading in HEADINGS}
    lacking = [heading for heading, place in places.items() if place < 0]
    require(not lacking, f"the docstring lacks {', '.join(lacking)}")
    require(sorted(places, key=places.__getitem__) == list(HEADINGS), "another order")
    kind = f.model.kind
    require(kind in CLASSES, f"{kind} is none of the classes {', '.join(CLASSES)}")
    stated = re.search(rf"^Class: {kind}\b", head, re.MULTILINE)
    require(stated, f"the docstring does not say 'Class: {kind}'")


def constraints_have_the_names_of_the_head(f: TriedModel) -> None:
    """Declarations and `violations` call each constraint as the head does."""
    _require_file(f)
    head_names = set(list_named_constraints(f))
    require(head_names, "the head names no constraint: '    mean: sum_j c_j = 0'")
    for language in f.model.languages:
        unknown = declared.list_constraint_names(f.declared(language)) - head_names
        require(not unknown, f"in {language}: {', '.join(sorted(unknown))}")
    at = f.known_point
    if at is not None:
        judged = set(f.model.violations(f.data, at))
        wrong = sorted(judged ^ head_names)
        require(not wrong, f"violations and the head differ in {', '.join(wrong)}")


def the_class_is_that_of_the_program(f: TriedModel) -> None:
    """Its class is that of what `build` declares, in each language."""
    _require_file(f)
    for language in f.model.languages:
        kind = declared.classify_problem(f.declared(language))
        stated = f"in {language} it is of class {kind}, not {f.model.kind}"
        require(kind == f.model.kind, stated)


def declaring_solves_nothing(f: TriedModel) -> None:
    """`build` returns a new program each time, which is not solved."""
    for language in f.model.languages:
        problem = f.model.build(f.data, language)
        other = f.model.build(f.data, language)
        require(problem is not other, f"in {language}: the same program again")
        if language == "cvxpy":
            require(problem.status is None, "the program has a status already")


def an_unknown_language_is_refused(f: TriedModel) -> None:
    """A language that it does not have is refused, with the nearest one."""
    if f.model.origin is not None:
        not_tried("a job asks for no other language")
    first = f.model.languages[0]
    require_refusal(
        lambda: f.model.build(f.data, f"{first}i"),
        f"the language '{first}i'",
        UnknownNameError,
        says=f"did you mean '{first}'",
    )


def data_show_no_record(f: TriedModel) -> None:
    """The repr of its data has no array, and so no value of a record."""
    require("array" not in repr(f.data), "an array is printed: field(repr=False)")


def it_goes_to_another_process(f: TriedModel) -> None:
    """The model can be pickled, and is equal afterwards."""
    if f.model.origin is not None:
        not_tried("code of one's own is sent by its path and hash")
    require(pickle.loads(pickle.dumps(f.model)) == f.model, "it is another afterwards")


def languages_and_numpy_agree(f: TriedModel) -> None:
    """At a point, and near it, declarations and NumPy agree on cost and violations."""
    _require_file(f)
    for language in f.model.languages:
        problem = f.declared(language)
        if not _has_variables(f, problem):
            not_tried("a point lists what is not 0, not the variables")
        for at in f.iterate_near_points(problem):
            declared.set_values(problem, at)
            _require_agreement(f, problem, at, language)


def the_solved_program_agrees(f: TriedModel) -> None:
    """Solved in each language, NumPy finds the point feasible and of equal cost."""
    tried = 0
    reasons = []
    for language in f.model.languages:
        try:
            ended = f.solved(language)
        except Exception as none:
            reasons.append(none)
            continue
        tried += 1
        status = ended.status
        require(status.usable, f"in {language}: its small data end as {status.value}")
        require(ended.at is not None, f"in {language}: nothing is read off the program")
        missed = f.model.violation(f.data, ended.at)
        require(missed < HELD, f"in {language}: the point misses by {missed:.3g}")
        objective = f.model.objective(f.data, ended.at)
        stated = declared.evaluate_cost(ended.problem)
        near = abs(objective - stated) <= OFF * max(1.0, abs(stated))
        require(
            near, f"in {language}: objective {objective:.9g}, the program {stated:.9g}"
        )
    if not tried:
        raise reasons[0]


def multipliers_prove_no_more_than_the_optimum(f: TriedModel) -> None:
    """No multipliers prove more than the optimum, and the solver's prove as much."""
    if f.model.proven is None or f.model.multipliers is None:
        both = f.model.proven is None and f.model.multipliers is None
        require(both, "multipliers and proven go together")
        not_tried("it proves nothing by multipliers")
    for language in f.model.languages:
        ended = f.solved(language)
        best = declared.evaluate_cost(ended.problem)
        multipliers = f.model.multipliers(ended.problem, f.data)
        if multipliers is None:
            is_branching = f.model.kind in BRANCHING  # whose solvers leave none
            require(is_branching, f"in {language}: a solved program has no multipliers")
            continue
        proven = f.model.proven(f.data, multipliers)
        near = abs(proven - best) <= OFF * max(1.0, abs(best))
        require(near, f"in {language}: they prove {proven:.9g} of {best:.9g}")
        rng = np.random.default_rng(0)
        for by in (0.0, 0.5, 2.0):
            other = by * np.asarray(multipliers) + (by > 0) * rng.normal(
                size=multipliers.shape
            )
            proven = f.model.proven(f.data, other)
            lies = f"other multipliers prove {proven:.9g}, and {best:.9g} is reached"
            require(proven <= best + 1e-6 * max(1.0, abs(best)), lies)


def no_point_beats_a_bound(f: TriedModel) -> None:
    """Each solver finds a feasible point, and none beats the bound of another."""
    costs = {}
    bounds = {}
    optimal = {}
    for solver in f.solvers:
        answer = f.answer(solver)
        ended = f"{solver.name} ends as {answer.status.value}"
        require(answer.reading is not None or not solver.is_global, ended)
        at = None if answer.reading is None else f.at(answer.reading)
        if at is None:
            continue
        missed = f.model.violation(f.data, at)
        require(missed < 1e-4, f"{solver.name}: its point misses by {missed:.3g}")
        costs[solver.name] = f.model.objective(f.data, at)
        if answer.bound is not None:
            bounds[solver.name] = answer.bound
        if answer.status is Status.OPTIMAL:
            optimal[solver.name] = costs[solver.name]
    if not costs:
        not_tried("no installed solver leaves a point of it")
    best = min(costs, key=costs.__getitem__)
    slack = OFF * max(1.0, abs(costs[best]))
    for name, bound in bounds.items():
        lies = f"{name} proves {bound:.9g}, and {best} reaches {costs[best]:.9g}"
        require(bound <= costs[best] + slack, lies)
    for name, value in optimal.items():
        lies = f"{name} calls {value:.9g} optimal, and {best} reaches {costs[best]:.9g}"
        require(value <= costs[best] + 10 * slack, lies)


def judging_changes_nothing(f: TriedModel) -> None:
    """Cost and violations of a point are equal each time; data do not change."""
    at = f.known_point
    if at is None:
        not_tried("no point is known: no installed solver finds one")
    before = pickle.dumps(list_arrays(f.data))
    one = f.model.objective(f.data, at), f.model.violations(f.data, at)
    other = f.model.objective(f.data, at), f.model.violations(f.data, at)
    require(one == other, "a point is judged otherwise the second time")
    for language in f.model.languages:
        f.declared(language)
    same = before == pickle.dumps(list_arrays(f.data))
    require(same, "the data are others afterwards")


def order_of_records_does_not_matter(f: TriedModel) -> None:
    """Cost and violations do not depend on the order of records and groups."""
    data = f.data
    at = f.known_point
    if not is_dataclass(f.data):
        not_tried("its data are no dataclass, which alone can be put in another order")
    labels = getattr(data, "labels", None)
    m = 0 if labels is None else int(labels.max()) + 1
    reading = getattr(data, "means", None)
    if labels is None or reading is None or np.shape(reading)[:1] != (m,):
        not_tried("it is not of records in groups, with a value of each group")
    n = len(labels)
    order = np.random.default_rng(0).permutation(n)
    number = (np.arange(m) + 1) % m
    moved = {
        name: value[order]
        for name, value in list_arrays(data).items()
        if name != "labels" and value.shape[:1] == (n,)
    }
    other = replace(data, **moved, labels=number[labels[order]])
    in_other_order = np.empty_like(reading)
    in_other_order[number] = reading
    one = f.model.point(data, reading)
    two = f.model.point(other, in_other_order)
    costs = f.model.objective(data, one), f.model.objective(other, two)
    near = abs(costs[0] - costs[1]) <= 1e-8 * max(1.0, abs(costs[0]))
    require(near and at is not None, f"it costs {costs[0]:.9g}, then {costs[1]:.9g}")
    now = f.model.violations(other, two)
    for name, amount in f.model.violations(data, one).items():
        near = abs(amount - now[name]) <= 1e-8 * max(1.0, abs(amount))
        require(near, f"{name} is missed by {amount:.9g}, then {now[name]:.9g}")


def unusable_data_are_refused(f: TriedModel) -> None:
    """A value that is missing is refused, and no message holds another."""
    _require_file(f)
    tried = False
    for name, value in list_arrays(f.data).items():
        if value.dtype.kind != "f" or value.size < 2 or np.isinf(value).any():
            continue
        tried = True
        holed = value.copy()
        holed.flat[0] = np.nan
        holed.flat[-1] = SENTINEL
        try:
            replace(f.data, **{name: holed})
        except AggoptError as refusal:
            quoted = str(SENTINEL)[:7] in str(refusal)
            require(not quoted, f"{name}: the refusal quotes a value")
        else:
            require(False, f"{name} with a missing value is taken")
    if not tried:
        not_tried("its data have no array of numbers")


def _require_file(f: TriedModel) -> None:
    """End the law if the model is a function that declares a program."""
    if f.declared_alone:
        not_tried("a function that declares a program is its own judge")


def _has_variables(f: TriedModel, problem: Any) -> bool:
    """Whether the fields of a point are variables of the problem, of equal shapes."""
    at = f.known_point
    if at is None:
        return True
    shapes = [
        (declared.find_shape(problem, n), np.shape(v)) for n, v in at._asdict().items()
    ]
    return any(declared_shape == shape for declared_shape, shape in shapes)


def _require_agreement(f: TriedModel, problem: Any, at: Any, language: str) -> None:
    """Require that the program at a point agrees with the model's own functions."""
    objective = f.model.objective(f.data, at)
    stated = declared.evaluate_cost(problem)
    near = abs(objective - stated) <= 1e-6 * max(1.0, abs(objective))
    require(near, f"objective says {objective:.9g}, {language} {stated:.9g}")
    missed = f.model.violations(f.data, at)
    program_violations = declared.measure_point_violations(problem)
    domains = program_violations.pop(declared.OF_VARIABLES, 0.0)
    for name, amount in missed.items():
        program_amount = program_violations.get(
            name, domains
        )  # a name without a row is of the domains
        says = f"{name}: violations say {amount:.3g}, {language} {program_amount:.3g}"
        require(amount < CLEAR or program_amount > HELD, says)
        require(
            program_amount < CLEAR or amount > HELD or name not in program_violations,
            says,
        )
    worst = max([0.0, *missed.values()])
    says = f"{language} misses its variables' domains by {domains:.3g}"
    require(domains < CLEAR or worst > HELD, f"{says}, and violations say nothing")


def a_fallback_is_feasible(f: TriedModel) -> None:
    """Its fallback, found without a solver, misses no constraint."""
    if f.model.fallback is None:
        not_tried("it has no fallback")
    reading = f.model.fallback(f.data)
    if reading is None:
        not_tried("it has no fallback for its small data")
    missed = f.model.violation(f.data, f.at(reading))
    require(missed < HELD, f"it misses by {missed:.3g}")


def impossible_data_end_without_an_answer(f: TriedModel) -> None:
    """Data that it calls impossible are refused, or end without a usable point."""
    if f.model.impossible is None:
        not_tried("it gives no impossible data")
    try:
        data = f.model.impossible()
    except AggoptError:
        return
    for language in f.model.languages:
        try:
            solver = choose_solver(None, f.kind, language=language)
        except (JobError, SolverError) as none:
            not_tried(f"{none.problem} {none.fix}")
        problem = f.model.build(data, language)
        status = solve(problem, solver.name, time_limit=LIMIT).status
        require(not status.usable, f"in {language} they end as {status.value}")


LAWS = list_laws(
    the_head_states_the_model,
    constraints_have_the_names_of_the_head,
    the_class_is_that_of_the_program,
    declaring_solves_nothing,
    an_unknown_language_is_refused,
    data_show_no_record,
    unusable_data_are_refused,
    it_goes_to_another_process,
    the_solved_program_agrees,
    languages_and_numpy_agree,
    a_fallback_is_feasible,
    impossible_data_end_without_an_answer,
    judging_changes_nothing,
    order_of_records_does_not_matter,
    multipliers_prove_no_more_than_the_optimum,
    no_point_beats_a_bound,
)
