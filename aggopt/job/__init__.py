"""The job: what to mask and how, in a TOML file or an equivalent Python object."""

from aggopt.aggregate import Mean as Mean
from aggopt.aggregate import Median as Median
from aggopt.aggregate import P3m as P3m
from aggopt.aggregate import P3mOnesided as P3mOnesided
from aggopt.aggregate import Satisfaction as Satisfaction
from aggopt.aggregate.shift_settings import Shifting as Shifting
from aggopt.aggregate.shift_settings import Squared as Squared
from aggopt.core.section import SolverSection as SolverSection
from aggopt.job._attributes import AttributeSection as AttributeSection
from aggopt.job._job import Job as Job
from aggopt.job._job import choose_partition as choose_partition
from aggopt.job._job import make_input_section as make_input_section
from aggopt.job._privacy import Privacy as Privacy
from aggopt.job._privacy import Repairing as Repairing
from aggopt.job._privacy import Treatment as Treatment
from aggopt.job._section import SEPARATORS as SEPARATORS
from aggopt.job._section import Input as Input
from aggopt.job._section import Missing as Missing
from aggopt.job._section import Output as Output
from aggopt.job._section import Risk as Risk
from aggopt.job._section import Strata as Strata
from aggopt.job._section import Units as Units
from aggopt.job._sections import Measures as Measures
from aggopt.job._sections import Recommended as Recommended
from aggopt.partition.shared.settings import Correlation as Correlation
from aggopt.partition.shared.settings import Grouping as Grouping
