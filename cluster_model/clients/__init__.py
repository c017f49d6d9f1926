"""Floor 3: producers and consumers, which know of the cluster only what brokers tell them."""
