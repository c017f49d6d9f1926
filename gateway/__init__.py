"""Gateway: listeners for real Kafka clients, in front of a session of the simulation.

server: the gateway: a listener for every broker, frames, and connections that answer requests in order.
realtime_driver: keeps virtual time in step with wall-clock time, and carries requests in and responses out.
metrics_server: the metrics of a session for a real Prometheus.

The wire protocol is in `protocol`, the APIs are in `handlers`; this package builds on both, and on the engine and the
recording of `playbooks`. Only this package opens listening sockets.
"""

__all__ = [
    "metrics_server",
    "server",
]
