"""Connections between processes of Kafka: their states, time limits and pauses.

network_client: connections of a client or broker, their states, and what waits for them (NetworkClient).
process_connections: all connections that a broker or controller makes to others, also those of a thread that waits
until it is there (NetworkClientUtils.awaitReady).
"""
