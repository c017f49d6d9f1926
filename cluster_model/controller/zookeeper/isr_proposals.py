"""From 2.7 on a leader proposes its ISR to the controller (KIP-497): all that is due in one request, one at a time."""

from collections.abc import Callable
from typing import Any, Final

from cluster_model.controller.zookeeper.messages import AlterPartitionsRequest, AlterPartitionsResponse
from cluster_model.kernel.node_context import Alarm, Port
from cluster_model.protocol.messages import NOBODY, AlterPartitionRequest, AlterPartitionResponse

RETRY_US: Final = 50_000
"""Pause after an answer that asks for another try (``AlterPartitionManager``)."""
SEND: Final = "alter partition"
AGAIN: Final = "alter partition again"
TIMED_OUT: Final = "alter partition timeout"


class IsrProposals:
    """One per broker."""

    __slots__ = ("_alarm", "_answered", "_controller", "_correlation", "_epoch", "_port", "_propose_again",
                 "_retrying", "_sent_to", "_timeout_us", "_unsettled", "_waits")  # fmt: skip

    def __init__(
        self,
        port: Port,
        timeout_us: int,
        controller: Callable[[], int],
        epoch: Callable[[], int],
        answered: Callable[[AlterPartitionResponse], bool],
        propose_again: Callable[[str], None],
    ) -> None:
        """``controller`` is the one that this broker's metadata names, ``epoch`` its own broker epoch.

        An answer is waited for ``timeout_us``.
        """
        self._port = port
        self._timeout_us = timeout_us
        self._controller = controller
        self._epoch = epoch
        self._answered = answered
        self._propose_again = propose_again
        self._unsettled: dict[str, AlterPartitionRequest] = {}
        self._sent_to = NOBODY
        """Whom the request under way was sent to, NOBODY while none is."""
        self._waits = False
        """The next one has to wait for a pause to end."""
        self._correlation = 0
        self._retrying: dict[str, None] = {}
        self._alarm = Alarm(port, TIMED_OUT)

    def propose(self, proposal: AlterPartitionRequest) -> None:
        """A leader has something to propose."""
        unchecked = (-1,) * len(proposal.isr)
        self._unsettled[proposal.partition] = proposal._replace(isr_epochs=unchecked)
        self._send()

    def _send(self) -> None:
        if self._sent_to != NOBODY or self._waits or not self._unsettled:
            return
        controller = self._controller()
        if controller == NOBODY:
            self._pause()
            return
        epoch = self._epoch()
        proposals = tuple(proposal._replace(broker_epoch=epoch) for proposal in self._unsettled.values())
        self._correlation += 1
        self._sent_to = controller
        request = AlterPartitionsRequest(self._correlation, self._port.node_id, epoch, proposals)
        self._port.send(controller, request)
        self._alarm.forget()
        self._alarm.want(self._port.now + self._timeout_us)

    def _pause(self) -> None:
        self._sent_to = NOBODY
        if not self._waits:
            self._waits = True
            self._port.timer(RETRY_US, SEND)

    def receive(self, response: AlterPartitionsResponse) -> None:
        """The controller's answer."""
        if response.correlation != self._correlation or self._sent_to == NOBODY:
            return
        self._alarm.forget()
        if response.error:
            self._pause()
            return
        self._sent_to = NOBODY
        for answer in response.partitions:
            known = self._unsettled.get(answer.partition)
            if known is not None and known.correlation == answer.correlation:
                del self._unsettled[answer.partition]
            if self._answered(answer) and answer.partition not in self._retrying:
                self._retrying[answer.partition] = None
                self._port.timer(RETRY_US, AGAIN, answer.partition)
        self._send()

    def on_disconnect(self, peer: int) -> None:
        """A request under way to ``peer`` is lost."""
        if peer == self._sent_to:
            self._alarm.forget()
            self._pause()

    def on_timer(self, timer: tuple[Any, ...]) -> bool:
        """Handle a timer; False if it is another's."""
        if timer[0] == SEND:
            self._waits = False
            self._send()
        elif timer[0] == AGAIN:
            self._retrying.pop(timer[1], None)
            self._propose_again(timer[1])
        elif timer[0] == TIMED_OUT:
            if self._alarm.rang() and self._sent_to != NOBODY:
                self._port.abandon(self._sent_to)
                self._pause()
        else:
            return False
        return True

    def stopped(self) -> None:
        """The process died."""
        self._unsettled.clear()
        self._retrying.clear()
        self._sent_to = NOBODY
        self._waits = False
        self._alarm.forget()

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return (
            tuple(self._unsettled.values()), self._sent_to, self._waits, self._correlation, tuple(self._retrying),
            self._alarm.save(),
        )  # fmt: skip

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        unsettled, self._sent_to, self._waits, self._correlation, retrying, alarm = saved
        self._unsettled = {proposal.partition: proposal for proposal in unsettled}
        self._retrying = dict.fromkeys(retrying)
        self._alarm.load(alarm)
