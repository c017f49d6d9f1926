"""Errors of a report that are shown to the user instead of a traceback."""

import re
from typing import Final

from cluster_model.protocol.errors import CodedError


class ReportError(CodedError):
    """An error that the caller can fix: bad input, no Java, an unwritable directory. The message is one sentence."""


class JobError(CodedError):
    """An internal failure of Spark; the message names the copied log."""


_OF_THIS_MACHINE: Final = (
    (
        r"OutOfMemoryError|Could not reserve enough space|memory for the Java Runtime|memory \d+ must be at least",
        "not enough memory for Spark: give it more with --memory, such as --memory 4g",
    ),
    (r"No space left on device|Disk quota exceeded", "the disk is full; set TMPDIR to another directory"),
    (r"Read-only file system", "the file system is read-only; set TMPDIR to another directory"),
    (r"All masters are unresponsive", "the master does not respond, or runs another version of Spark"),
    (r"Master removed our application", "the master ended the job after repeated executor failures"),
)
"""Patterns of fatal errors of the driver, in an exception or in the driver's log."""
_OF_A_TASK: Final = (
    (r"ExecutorLostFailure|Could not find CoarseGrainedScheduler", "a worker died, and the others could not continue"),
    (r"InvalidClassException|local class incompatible", "the cluster runs another version of Spark than this Python"),
    (r"(FileNotFoundException|PATH_NOT_FOUND|does not exist)", "a worker cannot see the sessions under that path"),
)
"""Patterns of task errors, fatal only in the job's exception: in the log they may be of a task that was retried."""
_CALLING: Final = "An error occurred while calling"
_OF_A_SERVER: Final = (
    ("StatusCode.UNAVAILABLE", "the Spark Connect server does not respond any more"),
    # gRPC's Java side reports any unexpected exception so, such as that of a server that shuts down.
    (
        "Application error processing RPC",
        "the Spark Connect server failed or is shutting down; see its log",
    ),
)
_GONE: Final = (
    "Answer from Java side is empty",
    "Error while sending or receiving",
    "Connection refused",
    "Py4JNetwork",
)


def first_line(error: BaseException) -> str:
    """Return the message of an exception in one line; for a Java exception, its message without the stack."""
    lines = _lines(error)
    if len(lines) > 1 and lines[0].startswith(_CALLING) and lines[1].startswith(":"):
        return lines[1].removeprefix(":").strip()
    return lines[0] if lines else type(error).__name__


def known_failure(error: BaseException, log: str = "") -> str:
    """Return a plain description of a known failure, by its exception and the end of the JVM's log; else empty."""
    message = "\n".join(_lines(error))
    for sign, meaning in _OF_A_SERVER:
        if sign in message:
            return meaning
    if jvm_gone(error):
        message = ""
    for text, signs in ((message, _OF_THIS_MACHINE + _OF_A_TASK), (log, _OF_THIS_MACHINE)):
        for pattern, meaning in signs:
            if re.search(pattern, text):
                return meaning
    return ""


def jvm_gone(error: BaseException) -> bool:
    """Return whether an exception means that the JVM behind Py4J has ended."""
    name, lines = type(error).__name__, _lines(error)
    # Py4J's message for a missing response has one line; with a response, Java's message is on the lines below it.
    calling = bool(lines) and lines[0].startswith(_CALLING)
    if calling and len(lines) > 1:
        return False
    cut_off = name == "Py4JError" and calling
    text = f"{name} {' '.join(lines)}"
    return isinstance(error, ConnectionError) or cut_off or any(sign in text for sign in _GONE)


def _lines(error: BaseException) -> list[str]:
    try:
        return [line.strip() for line in str(error).splitlines() if line.strip()]
    except Exception:
        # The text of a Java exception is requested from a JVM that may be gone.
        return []
