"""Floor 1: a replica's log as extents over shared lineages, its leader-epoch cache, what survives a crash."""
