"""The version of floodmark that runs."""

from functools import cache
from importlib.metadata import PackageNotFoundError, version


@cache
def tool_version() -> str:
    """Version of the installed distribution; ``unknown`` when run from files that nobody installed."""
    try:
        return version("floodmark")
    except PackageNotFoundError:
        return "unknown"
