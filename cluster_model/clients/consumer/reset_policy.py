"""``auto.offset.reset``: where a consumer goes that has no position, or whose position is gone."""

import re
from typing import Final, NamedTuple

from cluster_model.protocol.errors import ModelError
from cluster_model.protocol.messages import EARLIEST, LATEST
from cluster_model.protocol.versions import Profile

BY_DURATION: Final = "by_duration"
_SECOND: Final = 1_000_000
_UNITS: Final = {"D": 86_400 * _SECOND, "H": 3_600 * _SECOND, "M": 60 * _SECOND, "S": _SECOND}


class ResetPolicy(NamedTuple):
    """``name`` is none, earliest, latest or by_duration; ``back_us`` is how far the last looks back."""

    name: str
    back_us: int = 0

    @property
    def is_none(self) -> bool:
        """Whether the application is told instead."""
        return self.name == "none"

    def timestamp(self, now: int) -> int:
        """What ListOffsets is asked for. The lab's clock begins at 0: what is older is everything."""
        if self.name == BY_DURATION:
            return now - self.back_us if now > self.back_us else EARLIEST
        return EARLIEST if self.name == "earliest" else LATEST


def reset_policy(profile: Profile, text: str) -> ResetPolicy:
    """The policy that a configuration names.

    Raises:
        ModelError: by_duration before 4.0.
    """
    name, _colon, duration = text.partition(":")
    if name != BY_DURATION:
        return ResetPolicy(name)
    if profile.number < (4, 0, 0):
        raise ModelError(f"auto.offset.reset by_duration exists since Kafka 4.0, this is {profile.version}")
    back = 0
    for number, fraction, unit in re.findall(r"([0-9]+)(\.[0-9]+)?([DHMS])", duration):
        back += int(number) * _UNITS[unit] + int(fraction[1:].ljust(6, "0") if fraction else 0)
    return ResetPolicy(name, back)
