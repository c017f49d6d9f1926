"""Listeners that real Kafka clients can connect to, in front of a session of the simulation.

server: the gateway: a listener for every broker, frames, and connections that answer requests in order.
realtime_driver: keeps the simulation in step with the wall clock, and carries requests in and answers out.

What bytes mean is in `protocol`, what each API answers in `handlers`; this folder builds on both, and on the
engine and the recording of `playbooks`. Only this folder opens listening sockets.
"""

__all__ = [
    "server",
]
