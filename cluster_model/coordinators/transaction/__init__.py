"""Transactions: the coordinator that begins and ends them, and what partition leaders do for it (KIP-98, KIP-890)."""
