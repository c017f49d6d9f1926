"""What the report tells a person instead of a traceback."""


class ReportError(Exception):
    """Something the caller can put right: bad input, no Java, a directory that cannot be written. One sentence."""


class JobError(Exception):
    """Something broke that was not the caller's doing; the message names the log that was kept."""


def first_line(error: BaseException) -> str:
    """What an exception says, in one line; of one that came out of Java what Java says, without its stack."""
    try:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    except Exception:
        # The text of a Java exception is asked of a JVM that may be gone.
        lines = []
    if len(lines) > 1 and lines[0].startswith("An error occurred while calling") and lines[1].startswith(":"):
        return lines[1].removeprefix(":").strip()
    return lines[0] if lines else type(error).__name__
