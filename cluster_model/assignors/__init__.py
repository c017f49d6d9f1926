"""Who in a group gets which partitions: the assignors of consumers, and those of the coordinator since KIP-848."""
