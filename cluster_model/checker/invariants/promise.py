"""What a property promises, by whom, and since when: what the registry, the manual and a violation say about it."""

from dataclasses import dataclass
from itertools import islice
from typing import Final

from cluster_model.protocol.versions import Profile, modes_of

LOSSY: Final = "lossy"
"""Circumstance: a replica of the partition had lost records that were not on its disk."""
EMPTY: Final = "empty"
"""Circumstance: the ISR is empty."""
ALONG_THE_LOG: Final = "log"
"""Circumstance: it is about the epochs along one log."""
HIGH_WATERMARK: Final = "hw"
"""Circumstance: it is about the HW moving."""
LEAVING: Final = "leaving"
"""Circumstance: it is about a replica that a reassignment takes away."""
KRAFT: Final = "kraft"
"""In the place of a flag: whether a quorum, not ZooKeeper, is the controller."""

CIRCUMSTANCES: Final = {
    LOSSY: "after a lossy crash",
    EMPTY: "with unclean elections",
    ALONG_THE_LOG: "for the epochs along a log",
    HIGH_WATERMARK: "for the HW",
    LEAVING: "for replicas that a reassignment takes away",
}
"""As the manual names them."""


@dataclass(frozen=True, slots=True)
class Mend:
    """What made a property hold, or hold in more circumstances: a rule of the protocol and the version it came with."""

    flag: str
    """The profile's attribute that says whether a version follows the rule."""
    by: str
    """A KIP, or an issue of Kafka's."""
    version: str
    when: str = ""
    """The circumstance in which it takes this rule; empty for every one."""

    def holds(self, profile: Profile) -> bool:
        """Whether the version follows the rule."""
        return bool(getattr(profile, self.flag))


@dataclass(frozen=True, slots=True)
class Promise:
    """One property, as one may read about it."""

    name: str
    title: str
    text: str
    """The exact promise, one sentence."""
    source: str
    mends: tuple[Mend, ...] = ()
    """In the order of their versions; none for what every version promises."""
    exceptions: str = ""
    """What makes a violation none; empty for nothing."""

    def lacking(self, profile: Profile, when: tuple[str, ...] = ()) -> tuple[Mend, ...]:
        """The rules that the version lacks: those that it always takes, and the first that these circumstances take."""
        always = tuple(mend for mend in self.mends if not mend.when and not mend.holds(profile))
        special = (mend for mend in self.mends if mend.when in when and not mend.holds(profile))
        return always + tuple(islice(special, 1))

    def promised_by(self, profile: Profile, when: tuple[str, ...] = ()) -> bool:
        """Whether the version promises it, in these circumstances."""
        return not self.lacking(profile, when)

    def known(self, profile: Profile, when: tuple[str, ...] = ()) -> str:
        """Why a violation is no surprise: ``known for 0.10.2: KIP-101 mended it in 0.11``; empty if it is one."""
        lacking = self.lacking(profile, when)
        if not lacking:
            return ""
        *more, last = [f"{mend.by} in {mend.version}" for mend in lacking]
        version = profile.version if len(modes_of(profile.version)) == 1 else profile.name
        if not more:
            return f"known for {version}: {lacking[0].by} mended it in {lacking[0].version}"
        return f"known for {version}: {', '.join(more)} and {last} mended it"


LEAVING_MEND: Final = Mend(KRAFT, "KIP-500 (KRaft mode)", "3.3", LEAVING)
"""A controller over ZooKeeper writes assignment and ISR to two nodes, one after the other, and tells the leader of the
new assignment before the ISR is written (``KafkaController.updateCurrentReassignment``,
``moveReassignedPartitionLeaderIfRequired``); a quorum changes both by one record."""
LOSSY_MENDS: Final = (
    Mend("bounce_detected", "KIP-380", "2.2", LOSSY),
    Mend(KRAFT, "KIP-500 (KRaft mode)", "3.3", LOSSY),
    Mend("fetch_broker_epoch", "KIP-903", "3.5", LOSSY),
)
"""What came to see that a replica is back without what it had: a bounce that the controller notices, a registration
that the same controller remembers, and an ISR that only the very process joins which fetched."""
