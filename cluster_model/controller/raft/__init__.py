"""Kafka's Raft (KIP-595): a quorum of voters elects a leader by epochs, and everybody else fetches its log."""
