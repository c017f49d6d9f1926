"""Clients outside of the model: what comes from real ones enters here, and what they are told leaves here."""
