"""Anomalies that clients themselves can see: found in what they were told and handed, and in nothing else."""
