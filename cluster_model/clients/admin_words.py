"""One way to read every answer to an administrator."""

from typing import Any

from cluster_model.clients.admin_messages import AdminError


def entries_of(response: Any) -> tuple[int, tuple[AdminError, ...]]:
    """The error of the whole, and what came of each thing asked for."""
    error = int(getattr(response, "error", 0))
    for field in ("topics", "resources", "partitions"):
        entries = getattr(response, field, ())
        if entries:
            return error, tuple([entry for entry in entries if isinstance(entry, AdminError)])
    return error, ()
