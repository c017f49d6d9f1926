"""A member by the consumer protocol of KIP-848, the client's side."""
