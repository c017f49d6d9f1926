"""The assignors by the names that the protocols use."""

from typing import Final

from cluster_model.assignors.base import Assignor
from cluster_model.assignors.range_and_round_robin import RangeAssignor, RoundRobinAssignor
from cluster_model.assignors.sticky import CooperativeStickyAssignor, StickyAssignor
from cluster_model.assignors.uniform import UniformAssignor

_RANGE: Final = RangeAssignor()
_CLIENT: Final[tuple[Assignor, ...]] = (_RANGE, RoundRobinAssignor(), StickyAssignor(), CooperativeStickyAssignor())

CLIENT_ASSIGNORS: Final = {assignor.name: assignor for assignor in _CLIENT}
"""What a consumer's ``partition.assignment.strategy`` can hold, by the names in its JoinGroup."""

SERVER_ASSIGNORS: Final[dict[str, Assignor]] = {"uniform": UniformAssignor(), "range": _RANGE}
"""What ``group.remote.assignor`` can name under KIP-848, the default first. The coordinator gives no racks."""
