"""Floor 0: virtual clock, event queue, seeded random streams, processes and links. Knows nothing of Kafka."""
