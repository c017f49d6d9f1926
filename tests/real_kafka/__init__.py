"""Kafka itself as a yardstick: answers of its own classes, and runs of real brokers.

Whatever runs Kafka needs Maven and a JDK of version 17 or newer.
"""
