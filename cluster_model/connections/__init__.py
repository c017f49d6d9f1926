"""Connections between processes of Kafka: their states, time limits and pauses.

network_client: connections of a client or broker, their states, and what waits for them (NetworkClient).
blocking_connection: the connection of a thread that waits until it is there (NetworkClientUtils.awaitReady).
process_connections: all connections that a broker or controller makes to others.
"""
