"""An answer in lines for people, and as the published document."""

from typing import Any, Final

from playbooks.engine.expectations import seconds
from playbooks.errors import counted
from playbooks.exit_codes import FAILED, INCONCLUSIVE, OK
from playbooks.model.wording import step_words
from playbooks.results.outages import acks_word, short_seconds
from playbooks.safety_check.asking import Asked
from playbooks.safety_check.check import STALL_US, WHY_STALL, Answer, Effect, Spread
from playbooks.safety_check.simulation import length, longest
from playbooks.units import duration_text

EXIT_CODES: Final = {
    "safe": OK, "loses": FAILED, "violates": FAILED, "stalls": FAILED, "refused": INCONCLUSIVE,
    "inconclusive": INCONCLUSIVE,
}  # fmt: skip
_LABEL: Final = 12
_COUNTS: Final = {
    "committed_lost": "lost records that a consumer could have read", "duplicates": "duplicates",
    "failed": "writes that fail", "unknown": "writes of unknown outcome",
}  # fmt: skip


def headline(answer: Answer) -> str:
    """The answer in one line."""
    if answer.verdict == "loses":
        lost = answer.over("lost")
        return f"can lose {counted(lost.worst, 'acknowledged record')}, {_among(lost.seeds, answer)}"
    if answer.verdict == "violates":
        broken = sum(bool(each.violations) for each in answer.effects)
        return f"breaks a promise of the protocol, {_among(broken, answer)}"
    if answer.verdict == "stalls":
        what = "reads" if answer.by_reads else "writes"
        spread = answer.over("read_stall_us" if answer.by_reads else "stall_us")
        return f"stalls {what} {_spread(spread)}, {_among(spread.seeds, answer)}"
    if answer.verdict == "safe":
        return f"safe over {counted(len(answer.effects), 'seed')}"
    share = sum(each.verdict(answer.stall_us) == answer.verdict for each in answer.effects)
    return f"{answer.verdict}, {_among(share, answer)}"


def _among(number: int, answer: Answer) -> str:
    total = len(answer.effects)
    return f"in {number} of {total} seeds" if total > 1 else "in the only seed looked at"


def _spread(spread: Spread) -> str:
    return f"{short_seconds(spread.worst)} at worst, {short_seconds(spread.median)} in the median"


def lines(asked: Asked) -> list[str]:
    """The whole answer."""
    answer, worst = asked.answer, asked.answer.worst
    found = [headline(answer)]
    if answer.why:
        found.append(_line("why", answer.why))
    if answer.verdict != "stalls" and answer.over("stall_us").worst:
        found.append(_line("stalls", f"writes {_spread(answer.over('stall_us'))}"))
    found += [_line("acks=" + acks_word(acks), text) for acks, text in _by_acks(worst)]
    found += _besides(answer)
    found.append(_line("without it", _baseline(worst)))
    found.append(_line("watched", f"{duration_text(asked.question.plan.horizon_us)}: {asked.question.horizon_words}"))
    reason = WHY_STALL if answer.stall_us == STALL_US else "as asked for"
    found.append(_line("a stall is", f"more than {duration_text(answer.stall_us)}: {reason}"))
    futures = counted(len(answer.effects), "possible future")
    were = "was" if len(answer.effects) == 1 else "were"
    found.append(_line("note", f"{futures} of this model {were} looked at; that proves nothing about the others"))
    return found


def _line(label: str, text: str) -> str:
    return f"  {label:<{_LABEL}}{text}"


def _by_acks(effect: Effect) -> list[tuple[int, str]]:
    """For each acks level whom it kept waiting longest, under the seed that is shown."""
    found: dict[int, list[str]] = {}
    for (client, acks, partition), spans in effect.writes.items():
        if longest(spans):
            found.setdefault(acks, []).append(f"{client} into {partition} {short_seconds(longest(spans))}")
    few = 4
    return [
        (acks, ", ".join(each[:few]) + (f" and {len(each) - few} more" if len(each) > few else ""))
        for acks, each in sorted(found.items())
    ]


def _besides(answer: Answer) -> list[str]:
    found = []
    reads = answer.over("read_stall_us")
    if reads.worst and not (answer.verdict == "stalls" and answer.by_reads):
        found.append(_line("reads", f"a partition without a leader for {_spread(reads)}"))
    under = max(sum(map(length, each.under_min.values())) for each in answer.effects)
    if under:
        found.append(_line("ISR", f"below min.insync.replicas for up to {short_seconds(under)}, over all partitions"))
    for name, words in _COUNTS.items():
        if answer.most(name):
            found.append(_line("up to", f"{answer.most(name)} {words}"))
    return found


def _baseline(effect: Effect) -> str:
    baseline = effect.pair.baseline
    stall_us = max(map(longest, baseline.seen.writes.values()), default=0)
    stalls = f"writes stall {short_seconds(stall_us)}" if stall_us else "no write stalls"
    lost = f"{baseline.acked_lost} acknowledged records are lost" if baseline.acked_lost else "nothing is lost"
    return f"{stalls}, {lost}"


def title(asked: Asked, name: str) -> str:
    """What was asked, of what, where."""
    text = f'to "{asked.question.text}"' if asked.question.text else "to go on with the steps that are still to come"
    at_us = asked.standing.at_us
    at = f"right before {seconds(at_us + 1)}" if at_us % 1_000 == 999 else f"at {seconds(at_us)}"
    return f"{name}, {at}, after {asked.standing.executed} events: is it safe {text}?"


def to_json(asked: Asked, name: str, witness: str) -> dict[str, Any]:
    """The published document."""
    answer, standing = asked.answer, asked.standing
    return {
        "of": name,
        "at_us": standing.at_us,
        "executed": standing.executed,
        "question": asked.question.text,
        "steps": [step_words(step) for step in asked.question.plan.steps],
        "verdict": answer.verdict,
        "exit_code": EXIT_CODES[answer.verdict],
        "answer": headline(answer),
        "why": answer.why,
        "seeds": len(answer.effects),
        "worst_seed": answer.worst.seed,
        "horizon_us": asked.question.plan.horizon_us,
        "stall_threshold_us": answer.stall_us,
        "lost": _spread_json(answer.over("lost")),
        "write_stall_us": _spread_json(answer.over("stall_us")),
        "read_stall_us": _spread_json(answer.over("read_stall_us")),
        "most": {key: answer.most(key) for key in _COUNTS},
        "runs": [_run(each, answer.stall_us) for each in answer.effects],
        "witness": witness,
    }


def _spread_json(spread: Spread) -> dict[str, int]:
    return {"worst": spread.worst, "median": spread.median, "seeds": spread.seeds}


def _run(effect: Effect, stall_us: int) -> dict[str, Any]:
    action = effect.pair.action
    return {
        "seed": effect.seed,
        "verdict": effect.verdict(stall_us),
        "lost": effect.lost,
        "committed_lost": effect.more("committed_lost"),
        "duplicates": effect.more("duplicates"),
        "write_stall_us": effect.stall_us,
        "read_stall_us": effect.read_stall_us,
        "writes": [
            {"client": client, "acks": acks_word(acks), "partition": partition, "longest_us": longest(spans),
             "us": length(spans)}
            for (client, acks, partition), spans in effect.writes.items()
        ],
        "under_min_isr_us": {name: length(spans) for name, spans in effect.under_min.items()},
        "losses": [
            {"partition": each.partition, "count": each.count, "committed": each.committed,
             "acks": acks_word(each.acks), "cause": each.cause}
            for each in effect.losses
        ],
        "violations": [list(each) for each in effect.violations],
        "refused": list(action.seen.refused),
        "waited": action.waited,
        "unfinished": list(effect.unfinished),
        "baseline": {
            "lost": effect.pair.baseline.acked_lost,
            "write_stall_us": max(map(longest, effect.pair.baseline.seen.writes.values()), default=0),
        },
        "digest": action.digest,
    }  # fmt: skip
