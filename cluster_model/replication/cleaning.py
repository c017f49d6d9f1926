"""The cleaner thread of one broker: which of its compacted logs is cleaned when (``LogCleaner``).

The dirtiest log goes first. A pass takes effect at once, and the next one begins after the time that reading its
segments takes; when nothing is worth cleaning, the thread rests for ``log.cleaner.backoff.ms``. It also applies
retention to compacted logs, which the broker's retention task leaves to it. Each broker cleans by itself, so replicas
of a partition need not have the same records left.
"""

from collections.abc import Iterable

from cluster_model.config import BrokerConfig
from cluster_model.log.cleaner import to_clean
from cluster_model.log.recovery import reading_us
from cluster_model.replication.replica import Replica


def is_needed(replicas: Iterable[Replica], config: BrokerConfig) -> bool:
    """Whether there is a cleaner, and anything for it to look at."""
    return config.cleaner and any(replica.log.rules.compact for replica in replicas)


def run_cleaner(replicas: Iterable[Replica], config: BrokerConfig, now: int) -> int:
    """One round of the thread; returns the pause until the next."""
    compacted = [replica for replica in replicas if replica.log.rules.compact]
    dirtiest: Replica | None = None
    most = -1
    for replica in compacted:
        work = to_clean(replica.log, replica.lso, replica.cleaner_offset, replica.wall_time(now))
        if work is not None and work.dirty_ppm > most:
            dirtiest, most = replica, work.dirty_ppm
    read = -1 if dirtiest is None else dirtiest.clean(now, config.cleaner_keys)
    for replica in compacted:
        replica.retain(now)
    return config.cleaner_backoff_us if read < 0 else max(1, reading_us(read))
