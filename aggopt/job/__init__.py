"""The job: what to mask and how.  A TOML file and a Python object say the same."""

from aggopt.job._aggregation import Mean as Mean
from aggopt.job._aggregation import Median as Median
from aggopt.job._aggregation import P3m as P3m
from aggopt.job._aggregation import P3mOnesided as P3mOnesided
from aggopt.job._aggregation import Satisfaction as Satisfaction
from aggopt.job._aggregation import Shifting as Shifting
from aggopt.job._aggregation import Squared as Squared
from aggopt.job._job import Job as Job
from aggopt.job._job import input_section as input_section
from aggopt.job._partition import Cbfs as Cbfs
from aggopt.job._partition import Correlation as Correlation
from aggopt.job._partition import Grouping as Grouping
from aggopt.job._partition import IndividualRanking as IndividualRanking
from aggopt.job._partition import Mdav as Mdav
from aggopt.job._partition import Mhm as Mhm
from aggopt.job._partition import Projection as Projection
from aggopt.job._partition import Univariate as Univariate
from aggopt.job._section import SEPARATORS as SEPARATORS
from aggopt.job._section import Input as Input
from aggopt.job._section import Output as Output
from aggopt.job._section import Privacy as Privacy
from aggopt.job._section import Solved as Solved
