"""Laws that every model, partitioner, solver or measure obeys; yours too.

The package tests its own methods by these calls:

    from aggopt.checks import parametrize_with_checks, report

    for verdict in report(my_partitioner):
        print(verdict)

    @parametrize_with_checks(my_partitioner, my_measure)   # a pytest test for each law
    def test_laws(check):
        check()

On the command line: `aggopt check my_code.py`.
"""

from aggopt.checks._kinds import checks_of as checks_of
from aggopt.checks._kinds import parametrize_with_checks as parametrize_with_checks
from aggopt.checks._kinds import report as report
from aggopt.checks.law import Ending as Ending
from aggopt.checks.law import Law as Law
from aggopt.checks.law import LawBrokenError as LawBrokenError
from aggopt.checks.law import NotTriedError as NotTriedError
from aggopt.checks.law import Trial as Trial
from aggopt.checks.law import Verdict as Verdict
