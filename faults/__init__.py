"""What can go wrong: the catalogue of faults, selectors of their targets, and the board that applies and heals them."""
