"""Settings of an ensemble, by the names of ``zoo.cfg``."""

from typing import NamedTuple

MS = 1_000


class ZkSettings(NamedTuple):
    """``tickTime`` 2000, ``initLimit`` 10, ``syncLimit`` 5 are those of the ``zoo_sample.cfg`` that ships."""

    tick_us: int = 2_000 * MS
    """Leader's pings to its followers, and the grain of session expiry."""
    init_limit: int = 10
    """Ticks that followers have to connect to a new leader and to catch up."""
    sync_limit: int = 5
    """Ticks of silence between leader and follower after which they give each other up."""
    finalize_us: int = 200 * MS
    """``FastLeaderElection.finalizeWait``: how long a majority waits for a better vote."""

    @property
    def min_session_us(self) -> int:
        """``minSessionTimeout``: 2 ticks."""
        return 2 * self.tick_us

    @property
    def max_session_us(self) -> int:
        """``maxSessionTimeout``: 20 ticks."""
        return 20 * self.tick_us
