"""The cleaner thread of one broker: which of its compacted logs is cleaned when (``LogCleaner``).

The dirtiest log goes first. A pass takes effect at once, and the next one begins after the time that reading its
segments takes; when nothing is worth cleaning, the thread rests for ``log.cleaner.backoff.ms``. It also applies
retention to compacted logs, which the broker's retention task leaves to it. Each broker cleans by itself, so replicas
of a partition need not have the same records left.
"""

from collections.abc import Iterable
from typing import Final

from cluster_model.broker.partition.partition import Replica
from cluster_model.broker.storage.damaging import stops_cleaner
from cluster_model.log.log_cleaner import to_clean
from cluster_model.log.recovery import reading_us
from cluster_model.protocol.configs import BrokerConfig
from cluster_model.protocol.events import CorruptBatchFound

_FIRST_TO_GO_ON: Final = (2, 1, 0)
"""KIP-346."""


def is_needed(replicas: Iterable[Replica], config: BrokerConfig) -> bool:
    """Whether there is a cleaner, and anything for it to look at."""
    return config.cleaner and any(replica.log.rules.compact for replica in replicas)


def run_cleaner(replicas: Iterable[Replica], config: BrokerConfig, now: int) -> int:
    """One round of the thread; returns the pause until the next, -1 if it has ended."""
    compacted = [replica for replica in replicas if replica.log.rules.compact and not replica.uncleanable]
    dirtiest: Replica | None = None
    most = end = -1
    for replica in compacted:
        work = to_clean(replica.log, replica.lso, replica.cleaner_offset, replica.wall_time(now))
        if work is not None and work.dirty_ppm > most:
            dirtiest, most, end = replica, work.dirty_ppm, work.first_uncleanable
    if dirtiest is not None and dirtiest.damages and (bad := stops_cleaner(dirtiest, end)) >= 0:
        return _failed(dirtiest, bad, config, now)
    read = -1 if dirtiest is None else dirtiest.clean(now, config.cleaner_keys)
    for replica in compacted:
        replica.retain(now)
    return config.cleaner_backoff_us if read < 0 else max(1, reading_us(read))


def _failed(replica: Replica, offset: int, config: BrokerConfig, now: int) -> int:
    """A batch cannot be taken apart: its log is left alone from here on, before KIP-346 (2.1) every log."""
    goes_on = replica.profile.number >= _FIRST_TO_GO_ON
    detail = "the cleaner leaves this log alone" if goes_on else "the cleaner has ended"
    replica.emit(CorruptBatchFound(now, replica.partition, replica.broker, offset, "cleaner", detail))
    replica.uncleanable = True
    return config.cleaner_backoff_us if goes_on else -1
