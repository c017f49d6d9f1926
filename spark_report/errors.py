"""What the report tells a person instead of a traceback."""


class ReportError(Exception):
    """Something the caller can put right: bad input, no Java, a directory that cannot be written. One sentence."""
