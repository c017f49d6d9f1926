"""Connections between Kafka processes: their states, timeouts and backoff.

network_client: connections of a client or broker, their states, and requests that wait for them (NetworkClient).
process_connections: all connections that a broker or controller makes to others, including those of a thread that
blocks until it is connected (NetworkClientUtils.awaitReady).
"""
