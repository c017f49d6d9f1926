"""Groups by the consumer protocol of KIP-848, at their coordinator."""
