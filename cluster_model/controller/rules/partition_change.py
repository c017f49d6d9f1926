"""What a KRaft controller lets a broker be next (``BrokerHeartbeatManager.calculateNextBrokerState``). Pure."""

from enum import Enum


class BrokerControlState(Enum):
    """A broker as its controller has it."""

    FENCED = "fenced"
    UNFENCED = "unfenced"
    CONTROLLED_SHUTDOWN = "controlled shutdown"
    SHUTDOWN_NOW = "shutdown now"
    """It may end its process."""


def next_state(
    now: BrokerControlState,
    *,
    want_fence: bool,
    want_shut_down: bool,
    metadata_offset: int,
    registration_offset: int,
    leads: bool,
    shutdown_offset: int = -1,
    lowest_active_offset: int | None = None,
) -> BrokerControlState:
    """The state that a heartbeat leads to.

    ``metadata_offset`` is how far the broker has the metadata log, ``registration_offset`` where its registration is;
    ``leads`` whether it leads any partition. A shutdown that began at ``shutdown_offset`` ends once every active broker
    has got there: ``lowest_active_offset`` is where the last of them is, None without any.
    """
    if now is BrokerControlState.FENCED:
        if want_shut_down:
            return BrokerControlState.SHUTDOWN_NOW
        caught_up = not want_fence and metadata_offset >= registration_offset
        return BrokerControlState.UNFENCED if caught_up else BrokerControlState.FENCED
    if now is BrokerControlState.UNFENCED:
        if want_fence:
            return BrokerControlState.SHUTDOWN_NOW if want_shut_down else BrokerControlState.FENCED
        if want_shut_down:
            return BrokerControlState.CONTROLLED_SHUTDOWN if leads else BrokerControlState.SHUTDOWN_NOW
        return BrokerControlState.UNFENCED
    if now is BrokerControlState.CONTROLLED_SHUTDOWN:
        told = lowest_active_offset is None or shutdown_offset <= lowest_active_offset
        return BrokerControlState.CONTROLLED_SHUTDOWN if leads or not told else BrokerControlState.SHUTDOWN_NOW
    return BrokerControlState.SHUTDOWN_NOW
