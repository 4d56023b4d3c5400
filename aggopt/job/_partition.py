"""The section of a partition method, which turns records into groups."""

from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

from pydantic import SerializeAsAny

from aggopt.core.plugins.section import UserMethodSection
from aggopt.core.registry import Registry
from aggopt.core.section import make_section_union
from aggopt.job.earlier_section import EarlierGroups
from aggopt.partition.registry import PARTITIONERS
from aggopt.partition.shared.settings import Grouping, Seconds


class Recommended(Grouping):
    """The method that `aggopt.partition.recommend` chooses for table and time."""

    method: Literal["recommended"] = "recommended"
    time_limit: Seconds | None = None


class OwnGrouping(UserMethodSection, Grouping):
    """A user's partition method; the other keys are its settings."""

    methods: ClassVar[Registry[Any]] = PARTITIONERS


if TYPE_CHECKING:
    Partition: TypeAlias = Grouping
else:
    own = [method.settings for method in PARTITIONERS.values()]
    Partition = SerializeAsAny[make_section_union([Recommended, EarlierGroups, *own])]
