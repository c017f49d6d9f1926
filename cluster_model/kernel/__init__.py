"""The discrete-event kernel: virtual time, processes, links and random streams.

event_loop: the queue of events in virtual time.
rng: named random streams, and UUIDs drawn from them.
process: one process, with its CPU; wall_clocks: the wall clock of each.
network: all processes, what passes between them, and messages that are under way.
link: latency, order and loss of one direction, and the shapes that faults give to it.
link_faults: limited throughput, retransmissions and the other effects of link faults.
long_poll: standing request and response exchanges, such as fetches.
node_context: all that a node may use of the kernel: time, links and timers.

It knows nothing of Kafka.
"""

from cluster_model.kernel.link import INTO, OUT, Shape
from cluster_model.kernel.process import ProcessState
from cluster_model.kernel.rng import Stream

__all__ = [
    "INTO",
    "OUT",
    "ProcessState",
    "Shape",
    "Stream",
]
