"""One way to read every answer to an administrator."""

from typing import Any

from cluster_model.protocol.admin_messages import AdminError
from cluster_model.protocol.group_messages import DescribedGroup, FetchedOffset


def entries_of(response: Any) -> tuple[int, tuple[AdminError, ...]]:
    """The error of the whole, and what came of each thing asked for."""
    error = int(getattr(response, "error", 0))
    for field in ("topics", "resources", "partitions", "groups"):
        entries = getattr(response, field, ())
        if entries:
            return error, tuple([told for entry in entries if (told := _entry(entry)) is not None])
    return error, ()


def _entry(entry: Any) -> AdminError | None:
    """What came of one thing; None where the answer only tells of it."""
    if isinstance(entry, AdminError):
        return entry
    if isinstance(entry, FetchedOffset):
        return AdminError(entry.partition, entry.error)
    if isinstance(entry, DescribedGroup):
        return AdminError(entry.group_id, entry.error)
    if type(entry) is tuple:  # A name and its error.
        name, error = entry
        return AdminError(name, error)
    return None
