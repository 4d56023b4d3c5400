"""Wrong measures, each caught by the law that it breaks; right ones are not."""

import numpy as np
import pytest
from checks.tried import caught

from aggopt.checks import Ending, report
from aggopt.measure import MEASURES, il


def standardised(original, released):
    original, released = (np.asarray(x, float) for x in (original, released))
    scale = original.std(axis=0)
    varies = scale > 0
    mean = original.mean(axis=0)
    return (
        (original - mean)[:, varies] / scale[varies],
        (released - mean)[:, varies] / scale[varies],
    )


def right(original, released):
    x, y = standardised(original, released)
    return np.abs(x - y).mean()


def no_number_without_noise(original, released):
    return il(original, released) * np.float64(np.nan if original is released else 1)


def below_nothing(original, released):
    return il(original, released) - 1e-9


def text(original, released):
    return f"{il(original, released):.3f} of the variance"


def one_for_each_attribute(original, released):
    return list(np.abs(np.subtract(original, released)).mean(axis=0))


def in_units(original, released):
    return np.abs(np.subtract(original, released)).mean()


def first_records_count_twice(original, released):
    x, y = standardised(original, released)
    return np.abs(x - y).mean() + np.abs(x - y)[0].mean()


def of_the_first_attribute(original, released):
    x, y = standardised(original, released)
    return np.abs(x - y)[:, 0].mean()


def per_attribute_that_is_there(original, released):
    x, y = standardised(original, released)
    return np.abs(x - y).sum() / np.size(original)


def of_large_values(original, released):
    x, y = standardised(original, released)
    return np.abs(np.maximum(x, 0) - np.maximum(y, 0)).mean()


def sorts(original, released):
    found = il(original, released)
    np.asarray(released).sort(axis=0)
    return found


def noisy(original, released):
    return il(original, released) + np.random.random()


def arrays_alone(original, released):
    return il(original[:], released + 0)


def whole_numbers_divided(original, released):
    if np.asarray(original).dtype.kind == "i":
        return 2 * il(original, released)
    return il(original, released)


WRONG = [
    (below_nothing, "stays_in_its_range"),
    (text, "stays_in_its_range"),
    (one_for_each_attribute, "stays_in_its_range"),
    (in_units, "units_do_not_matter"),
    (first_records_count_twice, "order_of_records_does_not_matter"),
    (of_the_first_attribute, "order_of_attributes_does_not_matter"),
    (per_attribute_that_is_there, "constant_attribute_weighs_nothing"),
    (of_large_values, "signs_do_not_matter"),
    (sorts, "tables_are_left_alone"),
    (noisy, "repeats_itself"),
    (whole_numbers_divided, "container_does_not_matter"),
]


@pytest.mark.parametrize(
    ("wrong", "law"), WRONG, ids=lambda x: getattr(x, "__name__", x)
)
def test_a_wrong_measure_is_caught(wrong, law):
    caught(law, wrong)


def test_one_that_leaves_the_range_it_says_is_caught():
    from dataclasses import replace

    wrong = replace(MEASURES["sse"], range="0..1")
    assert "not in 0..1" in caught("stays_in_its_range", wrong)


def test_a_right_one_is_not_blamed():
    assert [str(v) for v in report(right) if v.ending is not Ending.KEPT] == []
