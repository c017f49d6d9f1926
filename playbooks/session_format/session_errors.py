"""Why a session cannot be read: in one sentence, for whoever named it."""


class SessionError(Exception):
    """Not a session that can be read; the message says which file, what was found and what was expected."""


class BundleError(SessionError):
    """A bundle that cannot be written or is not to be trusted; the message says which file and why."""
