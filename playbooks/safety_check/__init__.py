"""What would come of an action: a session forked where it stands, and run on over many seeds with it and without."""
