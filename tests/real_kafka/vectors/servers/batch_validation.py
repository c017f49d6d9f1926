"""Validation of a client's batch by its keys and timestamps (``LogValidator``).

A case is the topic's settings, the broker's clock in ms, and the records of a batch: ``k500`` has a key and the
timestamp 500 ms, ``n500`` has no key.
"""

import random
from typing import Final

from cluster_model.broker.partition.producer_state_manager import batch_error
from cluster_model.log.batch_store import BatchStore
from cluster_model.log.replica_log import ReplicaLog
from cluster_model.protocol.config_defaults import line_of
from cluster_model.protocol.configs import log_rules
from cluster_model.protocol.messages import ALL, ProduceRequest
from cluster_model.protocol.versions import Profile, parse_version
from tests.real_kafka.kafka_jars import SERVER
from tests.real_kafka.vectors.servers.case_text import case_text, parse_fields
from tests.real_kafka.vectors.subject import Answers, Exemption, Subject, releases_since

_CASES: Final = 300
_CLOCK_MS: Final = 100_000
_TYPES: Final = {"CREATE_TIME": "CreateTime", "LOG_APPEND_TIME": "LogAppendTime"}


def cases(_release: str) -> list[str]:
    """Return the cases, the same for every release."""
    source = random.Random(32)
    return [_case(source, number) for number in range(_CASES)]


def model_answers(release: str, kafka: Answers) -> Answers:
    """Return the model's errors for Kafka's cases."""
    profile = Profile.of(line_of(parse_version(release)))
    return {case: _error(case, profile) for case in kafka}


def _error(case: str, profile: Profile) -> str:
    fields = parse_fields(case)
    rules = log_rules(
        profile,
        {},
        {
            "cleanup.policy": "compact" if fields["compact"] == "yes" else "delete",
            "message.timestamp.type": _TYPES[fields["type"]],
            "message.timestamp.before.max.ms": int(fields["before"]),
            "message.timestamp.after.max.ms": int(fields["after"]),
        },
    )
    log = ReplicaLog(BatchStore(), uses_epochs=True, replaces=True, rules=rules)
    records = fields["records"].split("+")
    stamps = [int(record[1:]) * 1_000 for record in records]
    names = tuple("key=value" if record[0] == "k" else "value" for record in records)
    request = ProduceRequest(
        0, "t-0", ALL, 0, "", -1, -1, len(records), 10, names, max(stamps), oldest_us=min(stamps)
    )  # fmt: skip
    return batch_error(profile, log, request, _CLOCK_MS * 1_000).name


def _case(source: random.Random, number: int) -> str:
    before, after = (source.choice((0, 1, 500, 20_000, 100_000, 3_600_000)) for _ in range(2))
    borders = (_CLOCK_MS - before, _CLOCK_MS - before - 1, _CLOCK_MS + after, _CLOCK_MS + after + 1, _CLOCK_MS)
    records = []
    for _ in range(source.choice((1, 1, 2, 3))):
        stamp = max(0, source.choice((*borders, _CLOCK_MS, _CLOCK_MS)))
        records.append(f"{source.choice('kkkn')}{stamp}")
    fields = {
        "compact": source.choice(("yes", "no")),
        "type": source.choice(("CREATE_TIME", "CREATE_TIME", "LOG_APPEND_TIME")),
        "before": str(before),
        "after": str(after),
        "clock": str(_CLOCK_MS),
        "records": "+".join(records),
    }
    return case_text(f"batch/{number}", fields)


BATCH_VALIDATION: Final = Subject(
    "batch_validation",
    "BatchValidation",
    "LogValidator: errors of a batch by its keys and timestamps",
    model_answers,
    SERVER,
    releases_since(3, 9, 0),
    questions=cases,
    stated=(
        Exemption(
            "batch/* compact=yes *records=*+*",
            "the timestamp of another record decides before a missing key; the model knows no record's own",
            answer="INVALID_TIMESTAMP",
        ),
    ),
)
