"""Is it safe? A question, its place and its answer, with everything that has been chosen on the way."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from cluster_model.protocol.configs import BrokerConfig
from faults.declarations.target_language import NobodyFoundError, SelectorError
from faults.declarations.targets import resolve
from playbooks.engine.session import Session
from playbooks.errors import PlaybookError
from playbooks.model.playbook import Playbook, Step
from playbooks.parser.document.context import Facts
from playbooks.parser.steps.live import facts_of
from playbooks.safety_check.check import STALL_US, Answer, effect
from playbooks.safety_check.errand import put
from playbooks.safety_check.futures import FIRST, Plan
from playbooks.safety_check.question import read_list, read_question
from playbooks.safety_check.start_point import Standing, StandingError

SEEDS: Final = 20
HORIZON_US: Final = 60_000_000
"""How long is watched after the last action, at least."""
_ROUND_US: Final = 10_000_000
REST: Final = ""
"""The question of what the playbook would still do."""


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, ready to be put."""

    text: str
    """As it was typed; empty for what the playbook would still do."""
    plan: Plan
    horizon_words: str
    """How long is watched, and why so long."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with its answer."""

    standing: Standing
    question: Question
    answer: Answer


def prepare(
    standing: Standing, text: str = REST, *, steps: tuple[str, str] | None = None, horizon_us: int = -1
) -> Question:
    """Read a question about a session where it stands. ``steps`` are text and path of a file that has them instead.

    Raises:
        PlaybookError: with what is wrong with the question.
        StandingError: there is nothing to ask about.
    """
    session = standing.session()
    facts = _facts(session)
    if steps is not None:
        found = read_list(*steps, facts, FIRST + 1)
    elif text:
        found = read_question(text, facts, lambda target: _is_down(session, target), FIRST + 1)
    else:
        found = standing.rest()
        if not found:
            raise StandingError(
                f"{standing.path}: nothing is still to be done; ask about an action, as in 'restart broker(2)'"
            )
    lasting_us, why = _horizon(session, horizon_us)
    return Question(text, Plan(tuple([_limited(step, lasting_us) for step in found]), lasting_us), why)


def check_wording(playbook: Playbook, text: str, steps: tuple[str, str] | None = None) -> None:
    """Refuse at once what cannot be meant at any instant: going there takes time. Topics may yet come, states change.

    Raises:
        PlaybookError: with what is wrong with the question.
    """
    facts = replace(facts_of(playbook.spec), topics=None)
    if steps is not None:
        read_list(*steps, facts)
    elif text:
        try:
            read_question(text, facts)
        except PlaybookError as error:
            try:
                read_question(text, facts, lambda target: True)
            except PlaybookError:
                raise error from None


def ask(
    standing: Standing,
    question: Question,
    *,
    seeds: Sequence[int],
    stall_us: int = STALL_US,
    workers: int = 0,
    tell: Callable[[str], None] = lambda text: None,
) -> Asked:
    """Put a question to every seed; the answer does not depend on how many processes do it.

    Raises:
        AskingError: it cannot be answered.
    """
    pairs = put(standing, question.plan, seeds, workers=workers, tell=tell)
    return Asked(standing, question, Answer(tuple(map(effect, pairs)), stall_us))


def _limited(step: Step, limit_us: int) -> Step:
    """A condition without a limit of its own is waited for as long as is watched."""
    trigger = step.trigger
    if trigger.kind != "when" or trigger.within_us >= 0:
        return step
    return replace(step, trigger=replace(trigger, within_us=limit_us))


def _horizon(session: Session, chosen_us: int) -> tuple[int, str]:
    """As it was asked for; else long enough for a broker to be missed and for a replica to be taken out of its ISR.

    The latter is looked for every half of ``replica.lag.time.max.ms`` (``ReplicaManager``, ``isr-expiration``).
    """
    if chosen_us >= 0:
        return chosen_us, "as asked for"
    spec = session.playbook.spec
    config = BrokerConfig.of(spec.profile, spec.config)
    needed_us = config.session_us + config.lag_time_us * 3 // 2
    rounded_us = -(-needed_us // _ROUND_US) * _ROUND_US
    key = "broker.session.timeout.ms" if spec.mode == "kraft" else "zookeeper.session.timeout.ms"
    if rounded_us <= HORIZON_US:
        return HORIZON_US, f"longer than {key} and one and a half replica.lag.time.max.ms"
    return rounded_us, f"{key} and one and a half replica.lag.time.max.ms"


def _facts(session: Session) -> Facts:
    """Names of the cluster as it stands, topics that came later among them."""
    facts = facts_of(session.playbook.spec)
    counts: dict[str, int | None] = dict(facts.topics or {})
    for each in session.cluster.view().partitions:
        topic = each.name.rpartition("-")[0]
        if not each.internal and facts.topics is not None and topic not in facts.topics:
            counts[topic] = (counts.get(topic) or 0) + 1
    return replace(facts, topics=counts)


def _is_down(session: Session, target: str) -> bool:
    """Whether all that a target means now is down; what draws, or means nobody, is not."""
    stream = session.cluster.stream("targets")
    position = stream.position
    try:
        nodes = resolve(target, session.cluster)
    except (NobodyFoundError, SelectorError):
        return False
    finally:
        stream.position = position
    return bool(nodes) and not any(session.cluster.is_up(node) for node in nodes)
