"""The manual, and the command that makes its reference pages and pictures (``docs.generate``)."""
