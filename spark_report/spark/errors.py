"""What the report tells a person instead of a traceback."""

import re
from typing import Final

from cluster_model.protocol.errors import CodedError


class ReportError(CodedError):
    """Something the caller can put right: bad input, no Java, a directory that cannot be written. One sentence."""


class JobError(CodedError):
    """Something broke that was not the caller's doing; the message names the log that was kept."""


_OF_THIS_MACHINE: Final = (
    (
        r"OutOfMemoryError|Could not reserve enough space|memory for the Java Runtime|memory \d+ must be at least",
        "not enough memory for Spark: give it more with --memory, such as --memory 4g",
    ),
    (r"No space left on device|Disk quota exceeded", "the disk is full; TMPDIR names another place for working files"),
    (r"Read-only file system", "a disk that is needed is read-only; TMPDIR names another place for working files"),
    (r"All masters are unresponsive", "the master does not answer, or is of another version of Spark"),
    (r"Master removed our application", "the master ended the job: its executors failed again and again"),
)
"""What ends a driver wherever it is said, be it in its log only."""
_OF_A_TASK: Final = (
    (r"ExecutorLostFailure|Could not find CoarseGrainedScheduler", "a worker died, and the rest could not go on"),
    (r"InvalidClassException|local class incompatible", "the cluster runs another version of Spark than this Python"),
    (r"(FileNotFoundException|PATH_NOT_FOUND|does not exist)", "a worker does not see the sessions under that path"),
)
"""What is the end only where the job's own exception says it: a task may be done again elsewhere, and its log stays."""
_CALLING: Final = "An error occurred while calling"
_OF_A_SERVER: Final = (
    ("StatusCode.UNAVAILABLE", "the server of Spark Connect does not answer any more"),
    # What is left of any exception that gRPC's Java side does not expect, such as that of a server on its way down.
    (
        "Application error processing RPC",
        "the server of Spark Connect broke off: it ends, or its log says why",
    ),
)
_GONE: Final = (
    "Answer from Java side is empty",
    "Error while sending or receiving",
    "Connection refused",
    "Py4JNetwork",
)


def first_line(error: BaseException) -> str:
    """What an exception says, in one line; of one that came out of Java what Java says, without its stack."""
    lines = _lines(error)
    if len(lines) > 1 and lines[0].startswith(_CALLING) and lines[1].startswith(":"):
        return lines[1].removeprefix(":").strip()
    return lines[0] if lines else type(error).__name__


def known(error: BaseException, log: str = "") -> str:
    """What went wrong in words of our own, by what an exception and the end of the JVM's log say; empty if unknown."""
    said = "\n".join(_lines(error))
    for sign, meaning in _OF_A_SERVER:
        if sign in said:
            return meaning
    if jvm_gone(error):
        said = ""
    for text, signs in ((said, _OF_THIS_MACHINE + _OF_A_TASK), (log, _OF_THIS_MACHINE)):
        for pattern, meaning in signs:
            if re.search(pattern, text):
                return meaning
    return ""


def jvm_gone(error: BaseException) -> bool:
    """Whether nobody answers at the other end of the bridge to Java any more."""
    name, lines = type(error).__name__, _lines(error)
    # The bridge's own word for an answer that never came has one line; what Java answers is told below it.
    calling = bool(lines) and lines[0].startswith(_CALLING)
    if calling and len(lines) > 1:
        return False
    cut_off = name == "Py4JError" and calling
    told = f"{name} {' '.join(lines)}"
    return isinstance(error, ConnectionError) or cut_off or any(sign in told for sign in _GONE)


def _lines(error: BaseException) -> list[str]:
    try:
        return [line.strip() for line in str(error).splitlines() if line.strip()]
    except Exception:
        # The text of a Java exception is asked of a JVM that may be gone.
        return []
