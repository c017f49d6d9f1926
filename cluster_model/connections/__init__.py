"""Connections between processes of Kafka: their states, time limits and pauses.

network_client: connections of a client or broker, their states, and what waits for them (NetworkClient).
"""
