"""Regular expressions in RE2's syntax, compiled by google-re2, as Kafka's group coordinator does by RE2/J."""

from functools import lru_cache
from typing import Final

from cluster_model.coordinators.group.consumer_protocol import COMPILED_PATTERNS, PatternError, PatternMatcher

MAX_MEMORY_BYTES: Final = 2 << 20
"""Memory that one compiled expression may take. The library keeps up to 128 of them."""


@lru_cache(maxsize=COMPILED_PATTERNS)
def compile_re2_pattern(pattern: str) -> PatternMatcher:
    """Compile an expression whose matching takes time in proportion to the length of the text.

    Raises:
        PatternError: it is not in RE2's syntax, or takes more memory than :data:`MAX_MEMORY_BYTES`.
    """
    import re2  # noqa: PLC0415 - few sessions have a subscription by a regular expression

    options = re2.Options()
    options.max_mem = MAX_MEMORY_BYTES
    options.log_errors = False
    options.never_capture = True
    try:
        compiled = re2.compile(pattern, options)
    except UnicodeEncodeError as error:
        raise PatternError(str(error)) from None
    except re2.error as error:
        (reason,) = error.args
        raise PatternError(reason.decode(errors="replace")) from None
    return lambda name: compiled.fullmatch(name) is not None
