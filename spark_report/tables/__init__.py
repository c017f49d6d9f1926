"""Anomalies counted once more from what clients were told and handed, with nothing of the checker's own."""
