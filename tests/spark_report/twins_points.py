"""Twins of the tables whose rows are single events, and of the totals of a session."""

from tests.spark_report.twins_common import Found, History, election, isr_change, records, times

_TERMS = ("sent", "acked", "failed", "unknown", "aborted", "acked_lost", "committed_lost", "duplicates", "reordered")


def _copied(history: History, columns: str, *kinds: str) -> Found:
    names = ("at_us", "seq", *columns.split())
    return [{name: row.get(name) for name in names} for row in history.of(*kinds)]


def elections(history: History) -> Found:
    """Every decision on a leader; that there is none has leader -1."""
    found = _copied(history, "partition leader leader_epoch isr by", "leader_elected", "partition_offline")
    for row in found:
        event = history.rows[row["seq"]]
        row["election"] = election(event)
        row["leader"] = -1 if event["kind"] == "partition_offline" else event["leader"]
    return found


def isr_changes(history: History) -> Found:
    found = _copied(history, "partition leader leader_epoch isr previous_isr by", "isr_changed")
    for row in found:
        row["change"] = isr_change(history.rows[row["seq"]])
    return found


def losses(history: History) -> Found:
    columns = "partition client sequence count log_offset leader_epoch acks committed cause"
    found = _copied(history, columns, "records_lost", "records_missing")
    for row in found:
        row["status"] = history.rows[row["seq"]]["kind"].removeprefix("records_")
    return found


def violations(history: History) -> Found:
    columns = "invariant partition broker detail cause log_offset end_offset leader_epoch known"
    return _copied(history, columns, "invariant_violated")


def liveness_violations(history: History) -> Found:
    return _copied(history, "property partition broker detail since_us bound_us known", "liveness_violated")


def truncations(history: History) -> Found:
    return _copied(history, "partition broker leader_epoch log_offset end_offset hw rule", "truncated")


def expectations(history: History) -> Found:
    return _copied(history, "rule ok detail", "expectation_checked")


def controllers(history: History) -> Found:
    return _copied(history, "node broker leader_epoch", "controller_changed")


def steps(history: History) -> Found:
    return _copied(history, "by target detail error", "step_taken")


def guards(history: History) -> Found:
    return _copied(history, "rule detail fault target cause", "guard_acted")


def counts(history: History) -> Found:
    """The totals of a session, in events or in records."""
    rows = history.rows
    seqs = [row["seq"] for row in rows]
    voted = [election(row) for row in rows]
    changed = [isr_change(row) for row in history.of("isr_changed")]
    return [
        {
            "events": len(rows),
            "last_seq": max(seqs),
            "gapless": seqs == list(range(max(seqs) + 1)),
            **{f"elections_{how}": voted.count(how) for how in ("clean", "unclean", "offline")},
            "isr_shrinks": changed.count("shrink") + changed.count("swap"),
            "isr_expands": changed.count("expand") + changed.count("swap"),
            "faults": times(rows, "fault_injected"),
            "truncations": times(rows, "truncated"),
            "attempts_refused": times(rows, "produce_refused"),
            "violations": times(rows, "invariant_violated"),
            "consumed": records(rows, "records_read"),
            **_of_events(history),
        }
    ]


def _of_events(history: History) -> dict[str, int]:
    rows = history.rows
    books = {term: records(rows, f"records_{term}") for term in _TERMS[:5]}
    lost = records(rows, "records_lost")
    committed = sum(row["count"] for row in history.of("records_lost") if row["committed"])
    return {**books, "acked_lost": lost, "committed_lost": committed}


def ledger(history: History) -> Found:
    """Each term from the events, where they give it, and from the result, where there is one."""
    counted = _of_events(history)
    found = []
    for term in _TERMS:
        one = counted.get(term)
        other = None if history.ledger is None else history.ledger.get(term)
        agrees = None if one is None or other is None else one == other
        found.append({"term": term, "from_events": one, "from_result": other, "agrees": agrees})
    return found
