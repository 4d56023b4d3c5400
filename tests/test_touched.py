"""Dependencies that no test marked smoke imports are named."""

from touched import untouched_packages


def test_a_package_is_touched_if_one_of_its_modules_is_imported():
    names = untouched_packages({"numpy", "sklearn"})
    assert {"scipy", "pandas", "pyreadstat"} <= {*names}
    assert names == sorted(names)
    assert not {"numpy", "scikit-learn", "cyipopt"} & {*names}
