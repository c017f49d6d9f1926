"""The faults, family by family: each file declares some, and holds the behaviours that go with them."""
