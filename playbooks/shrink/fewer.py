"""Fewer decisions: by halves, quarters and so on down to one by one, the latest first.

Zeller's ddmin tries the complements of ever smaller parts. Here the parts of one size are gone through once, and the
single ones again until none of them can go, which is what the end of ddmin comes to as well.
"""

from collections.abc import Iterator

from playbooks.shrink.search import Best, Site, Sweep, refused


def parts(number: int, least: int = 1) -> list[int]:
    """Sizes of the parts that so many decisions are left out in: all of them, then powers of two down to ``least``."""
    sizes = [number] if number > 1 else []
    size = 1
    while size * 2 < number:
        size *= 2
    while size >= least:
        sizes.append(size)
        size //= 2
    return sizes if number else []


def by_parts(number: int, least: int = 1) -> Sweep:
    """Leave out decisions in parts; ``number`` is how many there are as it begins."""

    def sites(best: Best) -> Iterator[Site]:
        for size in parts(number, least):
            yield from _parts_of(best, size)

    return sites


def _parts_of(best: Best, size: int) -> Iterator[Site]:
    """The parts of one size. A site is called by how many decisions come behind it, which stays so as it goes."""
    numbers = [each.number for each in best.draft.steps]
    left = len(numbers)
    while left > 0:
        part = numbers[max(0, left - size) : left]
        yield Site(f"{size} before {len(numbers) - left}", [best.draft.without(part)] if part else [])
        left -= size


def after_it_came(best: Best) -> Iterator[Site]:
    """Leave out what was done after the finding had come, where it is known when that was."""
    came_us = best.verdict.came_us
    late = [
        step.number
        for step, (at_us, _executed) in zip(best.draft.steps, best.verdict.acted, strict=False)
        if 0 <= came_us < at_us
    ]
    if late:
        yield Site("later", [best.draft.without(late)])


def refused_steps(best: Best) -> Iterator[Site]:
    """Leave out at once what was refused, or found nobody: it did nothing."""
    if gone := refused(best.draft, best.verdict):
        yield Site("refused", [best.draft.without(sorted(gone))])


def chained(*sweeps: Sweep) -> Sweep:
    """One sweep after the other, as one."""

    def sites(best: Best) -> Iterator[Site]:
        for number, sweep in enumerate(sweeps):
            for site in sweep(best):
                yield site._replace(name=f"{number} {site.name}")

    return sites
