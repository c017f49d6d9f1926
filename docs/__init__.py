"""The manual, and the commands that make its reference pages and pictures (``docs.generate``)."""
