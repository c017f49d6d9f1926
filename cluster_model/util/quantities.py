"""Numbers, durations, times and lists as text, for messages, screens and reports.

Times and durations are integer microseconds; nothing here is a float. Floats, such as shares, are formatted by
``spark_report.model.format`` and ``tui.terminal.format``; ``playbooks.units`` formats durations of playbooks.
"""

from collections.abc import Iterable, Sequence

MILLISECOND_US = 1_000
SECOND_US = 1_000_000
MINUTE_US = 60 * SECOND_US


# Numbers.


def thousands(number: int, separator: str = ",") -> str:
    """Format an integer with separated thousands: ``1,203``."""
    return f"{number:,}".replace(",", separator)


def compact_count(number: int) -> str:
    """Format a number in at most five characters: ``999``, ``12345``, ``123k``, ``45M``."""
    if abs(number) < 100_000:
        return str(number)
    if abs(number) < 10_000_000:
        return f"{number // 1000}k"
    return f"{number // 1_000_000}M"


def counted(number: int, noun: str, plural: str = "", *, zero: str = "no") -> str:
    """Format a number with its noun: ``no names``, ``1 name``, ``1,203 names``; ``zero`` replaces 0."""
    return f"{thousands(number) if number else zero} {noun if number == 1 else plural or f'{noun}s'}"


def percent(ppm: int) -> str:
    """Format a share in millionths, with as many digits as needed: ``5%``, ``0.5%``."""
    return f"{_decimal(ppm, 10_000)}%"


def acks_text(level: int) -> str:
    """Format an acks level as in a producer's configuration: ``all``, ``1`` or ``0``."""
    return "all" if level < 0 else str(level)


# Durations.


def exact_seconds(us: int) -> str:
    """Format seconds with as many digits as needed: ``9.1s``, ``12s``."""
    return f"{_decimal(us, SECOND_US)}s"


def exact_duration(us: int) -> str:
    """Format a duration for a sentence, exactly: ``15 s``, ``2.5 s``, ``250 ms``, ``40 us``."""
    if us >= SECOND_US:
        return f"{_decimal(us, SECOND_US)} s"
    return f"{us // MILLISECOND_US} ms" if us >= MILLISECOND_US else f"{us} us"


def compact_duration(us: int) -> str:
    """Format a duration in few characters, in the unit that fits: ``4ms``, ``18.2s``, ``3m05s``."""
    if us < SECOND_US:
        return f"{us // MILLISECOND_US}ms" if us >= MILLISECOND_US else f"{us}us"
    if us < 100 * SECOND_US:
        return f"{seconds_to_the_tenth(us)}s"
    minutes, rest = divmod(us // SECOND_US, 60)
    return f"{minutes}m{rest:02d}s"


def rounded_duration(us: int) -> str:
    """Format a duration with three digits: ``340 us``, ``12.5 ms``, ``1.95 s``, ``2 min 5 s``."""
    if us < MILLISECOND_US:
        return f"{us} us"
    if us < SECOND_US:
        return f"{_three_figures(us, MILLISECOND_US)} ms"
    if us < MINUTE_US:
        return f"{_three_figures(us, SECOND_US)} s"
    minutes, seconds = divmod(_rounded(us, SECOND_US), 60)
    hours, minutes = divmod(minutes, 60)
    parts = [(hours, "h"), (minutes, "min"), (seconds, "s")]
    return " ".join(f"{value} {unit}" for value, unit in parts if value)


def short_seconds(us: int) -> str:
    """Format a duration to a tenth of a second, below that to the millisecond: ``12.3 s``, ``40 ms``, ``0 s``."""
    if us and us < 100_000:
        return f"{max(1, (us + 500) // MILLISECOND_US)} ms"
    return f"{_decimal((us + 50_000) // 100_000, 10)} s"


def seconds_to_the_tenth(us: int) -> str:
    """Format seconds to the nearest tenth, without a unit: ``12.3``."""
    number = _rounded(us, SECOND_US // 10)
    return f"{number // 10}.{number % 10}"


def minutes_and_seconds(us: int) -> str:
    """Format a duration to the millisecond, below one to the microsecond: ``1.55s``, ``3m5.25s``."""
    if us >= MILLISECOND_US:
        us = us // MILLISECOND_US * MILLISECOND_US
    minutes, rest = divmod(us, MINUTE_US)
    return f"{minutes}m{exact_seconds(rest)}" if minutes else exact_seconds(rest)


def elapsed(seconds: int) -> str:
    """Format real time in hours, minutes and seconds: ``0:01:40``."""
    return f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}"


# Times of a session.


def clock(at_us: int) -> str:
    """Format a virtual time as ``mm:ss.mmm``, with hours in front from the first hour on."""
    seconds, micros = divmod(max(at_us, 0), SECOND_US)
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    text = f"{minutes:02d}:{seconds:02d}.{micros // 1000:03d}"
    return f"{hours}:{text}" if hours else text


def time_in_seconds(at_us: int) -> str:
    """Format a virtual time with three digits, or six if it has microseconds: ``12.345s``, ``12.345678s``."""
    whole, rest = divmod(at_us, SECOND_US)
    digits = f"{rest:06d}"
    return f"{whole}.{digits[:3] if digits.endswith('000') else digits}s"


def seconds_to_the_millisecond(at_us: int) -> str:
    """Format seconds to three digits, truncated: ``12.345``."""
    return f"{at_us // SECOND_US}.{at_us // MILLISECOND_US % 1_000:03}"


def rounded_time(at_us: int) -> str:
    """Format a virtual time in seconds to the nearest millisecond: ``5.000 s``."""
    millis = _rounded(at_us, MILLISECOND_US)
    return f"{thousands(millis // 1_000)}.{millis % 1_000:03} s"


# Lists.


def listed(items: Iterable[str], last: str = "or", *, limit: int = 30) -> str:
    """Format items as ``a, b or c``; of more than ``limit`` only the first ones and the number of others."""
    names = list(items)
    if len(names) > limit:
        return f"{', '.join(names[:limit])} {last} {counted(len(names) - limit, 'other')}"
    if len(names) < 2:
        return names[0] if names else "nothing"
    return f"{', '.join(names[:-1])} {last} {names[-1]}"


def alternatives(items: Iterable[str]) -> str:
    """Format sentences to choose from, each once, as ``a; b; or c``; empty for none."""
    found = list(dict.fromkeys(items))
    return f"{'; '.join(found[:-1])}; or {found[-1]}" if len(found) > 1 else "".join(found)


def few_names(items: Sequence[str], limit: int = 3) -> str:
    """Format a few names in full, of more only how many: ``orders-0, orders-3`` or ``orders-0, orders-1 +4``."""
    if len(items) <= limit:
        return ", ".join(items)
    return f"{', '.join(items[: limit - 1])} +{len(items) - limit + 1}"


def brokers(ids: Iterable[int]) -> str:
    """Format broker ids: ``broker 1``, ``brokers 1, 2 and 3``."""
    found = [str(each) for each in dict.fromkeys(ids)]
    return f"broker{'s' if len(found) > 1 else ''} {listed(found, 'and', limit=len(found))}"


def offsets(start: int, end: int) -> str:
    """Format offsets: ``offset 3``, ``offsets 3 to 9``; ``end`` is exclusive."""
    return f"offset {start}" if end - start == 1 else f"offsets {start} to {end - 1}"


def _rounded(number: int, unit: int) -> int:
    """Return ``number / unit`` rounded to the nearest integer, a half to the even one."""
    whole, rest = divmod(number, unit)
    return whole + (2 * rest > unit or (2 * rest == unit and whole % 2 == 1))


def _three_figures(number: int, unit: int) -> str:
    scale = 100 if number < 10 * unit else 10 if number < 100 * unit else 1
    return _decimal(_rounded(number * scale, unit), scale)


def _decimal(number: int, unit: int) -> str:
    """Return ``number / unit`` exactly, for a unit that is a power of ten."""
    whole, rest = divmod(number, unit)
    return f"{whole}.{rest:0{len(str(unit)) - 1}d}".rstrip("0").rstrip(".") if rest else str(whole)
