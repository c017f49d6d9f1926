"""The discrete-event kernel: virtual time, processes, links and random streams.

event_loop: the queue of events in virtual time.
rng: named random streams, and UUIDs drawn from them.
process: one process, with its CPU; wall_clocks: each machine's wall clock.
network: all processes, their connections, and messages in flight.
link: latency, order and loss of one direction, and the link conditions of faults.
link_faults: limited throughput, retransmissions and the other effects of link faults.
long_poll: long-running request and response exchanges, such as fetches.
node_context: a node's interface to the kernel: time, links and timers.

It knows nothing of Kafka.
"""

from cluster_model.kernel.link import INTO, OUT, LinkCondition
from cluster_model.kernel.process import ProcessState
from cluster_model.kernel.rng import RandomStream, RandomStreams

__all__ = [
    "INTO",
    "OUT",
    "LinkCondition",
    "ProcessState",
    "RandomStream",
    "RandomStreams",
]
