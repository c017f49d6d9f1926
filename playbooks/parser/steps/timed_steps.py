"""Parser of timed steps: the trigger, the one verb and its keys; also actions typed into a running session."""

from collections.abc import Collection
from collections.abc import Mapping as Values
from dataclasses import replace
from typing import Any, Final, cast

import yaml

from cluster_model.cluster import Cluster
from cluster_model.manual.verbs import MANUAL_VERBS
from cluster_model.protocol.errors import KafkaError
from cluster_model.spec import ClusterSpec
from cluster_model.util.quantities import listed, percent
from faults.catalogue import CATALOGUE, FAULT_ALIASES, OPERATION_ALIASES, canonical_name
from faults.declarations import ACCEPTS, OPERATIONS, OTHER_SIDE, Alias, Param
from playbooks.conditions.condition import Condition, parse
from playbooks.conditions.grammar import ConditionError
from playbooks.errors import PlaybookError, Problem, closest, nearest, shown
from playbooks.model.playbook import Position, Step, StepVerb, Trigger
from playbooks.model.step_text import described
from playbooks.parser.document.context import ErrorNotes, PlaybookNames
from playbooks.parser.document.field_types import (
    BAD,
    DURATION,
    KAFKA,
    BooleanType,
    BrokerId,
    ChoiceType,
    ConditionText,
    Fields,
    FieldSpec,
    FieldType,
    Integer,
    Numbered,
    Quantity,
    Record,
    TextType,
    wrong_names,
)
from playbooks.parser.document.variables import GIVEN, counts
from playbooks.parser.document.yaml_source import Mapping as YamlMapping
from playbooks.parser.document.yaml_source import compose
from playbooks.parser.steps.operations import add_known_names, check_operation, operation_kind
from playbooks.parser.steps.targets import Target, check_sides
from playbooks.units import (
    DURATION_ALLOWED,
    DURATION_PATTERN,
    PERCENT_ALLOWED,
    PERCENT_PATTERN,
    SIZE_ALLOWED,
    SIZE_PATTERN,
    THROUGHPUT_ALLOWED,
    THROUGHPUT_PATTERN,
    duration_text,
    duration_us,
    percent_ppm,
    size_bytes,
    size_text,
    throughput_bps,
    throughput_text,
)

# Aliases: names of other tools for a fault or an operation, and ``broker: 2`` as a target.


def alias_of(name: str) -> Alias | None:
    """Return the alias of a name, None for a name of the catalogue."""
    found = FAULT_ALIASES.get(name) or OPERATION_ALIASES.get(name)
    return found[1] if found else None


def may_name_broker(name: str) -> bool:
    """Return whether a step with this fault name may have ``broker: 2`` instead of a target."""
    alias = alias_of(name)
    return alias is not None and alias.accepts == "brokers"


def target_of(name: str, fields: Fields, notes: ErrorNotes) -> str:
    """Return the target selector of a step, from either key."""
    if not may_name_broker(name):
        return str(fields.get("target", ""))
    if fields.given("target") and fields.given("broker"):
        message = "found target and broker together, expected one of them"
        notes.problem(fields.at("broker"), fields.path("broker"), message)
    elif not fields.given("target") and not fields.given("broker"):
        notes.problem(fields.node, fields.key, "found neither target nor broker, expected one of them")
    broker = fields.get("broker")
    return f"broker({broker})" if broker is not None else str(fields.get("target", ""))


MAX_STEPS: Final = 2_000

IF_ANY: Final = FieldSpec(
    BooleanType(), "Whether the step is skipped, not refused, if its target matches no node at that time."
)

NOTE: Final = FieldSpec(TextType(), "A comment, printed when the step acts.")

REFUSED: Final = FieldSpec(
    ChoiceType(
        ("any", "never", *(error.name for error in KafkaError if error is not KafkaError.NONE)),
        "any, never or a Kafka error such as NOT_LEADER_OR_FOLLOWER",
    ),
    "Expected Kafka error of the step, or any, or never.",
)

NOW: Final = ChoiceType(("now",))
SEED: Final = Integer(0, 1 << 62)

TRIGGERS: Final[dict[str, FieldSpec]] = {
    "at": FieldSpec(DURATION, "Virtual time at which the step acts."),
    "executed": FieldSpec(
        Integer(0, 1 << 62), "With at: the number of events of the run before the step acts; written by export."
    ),
    "after": FieldSpec(DURATION, "Delay after the previous step; default: no delay."),
    "when": FieldSpec(ConditionText(), "Condition; the step acts as soon as it holds."),
    "within": FieldSpec(DURATION, "Maximum wait for when; a longer wait makes the run inconclusive."),
}

TIMED_VERBS: Final[dict[str, FieldSpec]] = {
    "inject": FieldSpec(
        ChoiceType((*CATALOGUE, *FAULT_ALIASES), "a fault that 'floodmark faults' lists"),
        "A fault to inject.",
        required=True,
    ),
    "heal": FieldSpec(
        Numbered(("all", *CATALOGUE, *FAULT_ALIASES), "all, or a fault that 'floodmark faults' lists"),
        "A fault to heal, by name or by its number in the run, or all.",
        required=True,
    ),
    "admin": FieldSpec(
        ChoiceType((*OPERATIONS, *OPERATION_ALIASES), listed(OPERATIONS)),
        "An administrator operation.",
        required=True,
    ),
    "settle": FieldSpec(NOW, "Ends the steps: producers stop, faults heal, and the quiet time begins.", required=True),
    "stop": FieldSpec(NOW, "Ends the session immediately: nothing heals, and there is no quiet time.", required=True),
    "reseed": FieldSpec(SEED, "Seed of all random streams from here on.", required=True),
}
ENDINGS: Final = ("settle", "stop")
"""Verbs after which no step acts."""


def kind_of(param: Param) -> FieldType:
    """Return the type of a parameter of a fault or an operation."""
    if param.type == "duration":
        return Quantity(duration_us, DURATION_PATTERN, DURATION_ALLOWED, param.low, param.high, write=duration_text)
    if param.type == "size":
        return Quantity(size_bytes, SIZE_PATTERN, SIZE_ALLOWED, param.low, param.high, numbers=True, write=size_text)
    if param.type == "throughput":
        return Quantity(
            throughput_bps, THROUGHPUT_PATTERN, THROUGHPUT_ALLOWED, param.low, param.high, write=throughput_text,
        )  # fmt: skip
    if param.type == "percent":
        return Quantity(percent_ppm, PERCENT_PATTERN, PERCENT_ALLOWED, param.low, param.high, write=percent)
    if param.type == "int":
        return Integer(param.low, param.high)
    if param.type == "bool":
        return BooleanType()
    if param.type == "choice":
        return ChoiceType(param.choices)
    return operation_kind(param) or Target("nodes")


def timed_record(verb: str, name: str) -> Record:
    """Return all keys of a timed step with this verb; ``name`` is the fault, the operation, or an alias."""
    keys = {**TRIGGERS, verb: TIMED_VERBS[verb]}
    true, alias = canonical_name(name), alias_of(name)
    if verb == "inject":
        fault = CATALOGUE[true]
        accepts = (alias.accepts if alias else "") or fault.accepts
        by_id = may_name_broker(name)
        keys["target"] = FieldSpec(
            Target(accepts, fault.param(OTHER_SIDE) is not None, fault.at_least),
            f"Target: {ACCEPTS[accepts]}{f'; default {fault.target}' if fault.target else ''}.",
            required=not fault.target and not by_id,
        )
        if by_id:
            keys["broker"] = FieldSpec(BrokerId(), "Target broker, instead of target.")
        if fault.is_lasting:
            keys["for"] = FieldSpec(DURATION, "Duration; default: until it is healed.")
        keys |= {"if_any": IF_ANY, **_parameters(fault.params)}
    elif verb == "admin":
        keys |= {"refused": REFUSED, **_parameters(OPERATIONS[true].params)}
    return Record({**keys, "kafka": KAFKA, "given": GIVEN, "note": NOTE})


def _parameters(params: tuple[Param, ...]) -> dict[str, FieldSpec]:
    return {
        param.name: FieldSpec(kind_of(param), described(param), param.default is None, param.old) for param in params
    }


COMMON: Final = Record({**TRIGGERS, "for": FieldSpec(DURATION, ""), "if_any": IF_ANY, "kafka": KAFKA, "note": NOTE})
"""Keys with the same meaning in every step that has them."""


class TimedSteps:
    """Parser of timed steps in order; ``at`` may not decrease."""

    def __init__(self) -> None:
        self._at_us = [0]
        """Earliest time of the next step, in the session or, in a group, in its round; one for each depth."""
        self._ended = ""

    def begin_round(self) -> None:
        """Begin a round of a group, whose times count from its start."""
        self._at_us.append(0)

    def end_round(self) -> int:
        """End the round; return its minimum duration."""
        return self._at_us.pop()

    def took(self, at_least_us: int) -> None:
        """Note the minimum duration of a group's rounds together."""
        self._at_us[-1] += at_least_us

    def read(self, node: YamlMapping, index: int, key: str, notes: ErrorNotes) -> Step | None:
        """Return the step, or None after adding its errors to the notes."""
        before = len(notes.problems)
        verb = the_verb(node, key, tuple(TIMED_VERBS), MANUAL_VERBS, TIMED_HINT, notes, (*TRIGGERS, "kafka", "given"))
        if verb is None:
            self._others(node, key, notes)
            return None
        if self._ended:
            notes.problem(node, key, f"found a step after '{self._ended}: now', which ends the steps; none is allowed")
            return None
        name = TIMED_VERBS[verb].kind.read(node.entries[verb][1], f"{key}.{verb}", notes)
        if name is BAD:
            self._others(node, key, notes)
            return None
        fields: Fields = timed_record(verb, str(name)).read(node, key, notes)
        target = target_of(name, fields, notes) if verb == "inject" else ""
        name = canonical_name(str(name))
        if verb == "admin":
            check_operation(OPERATIONS[name], fields, notes)
        elif OTHER_SIDE in fields.values:
            check_sides(fields, notes)
        trigger = self.trigger(fields, notes)
        sound = len(notes.problems) == before
        if verb == "admin":
            add_known_names(OPERATIONS[name], fields, notes, sure=sound and counts(fields, notes))
        if not sound or not counts(fields, notes):
            return None
        self._ended = verb if verb in ENDINGS else ""
        used = {*TRIGGERS, verb, "target", "for", "if_any", "refused", "kafka", "given", "note"}
        used |= {"broker"} if verb == "inject" else set()
        return Step(
            index=index,
            where=Position(node.line, node.column),
            trigger=trigger,
            verb=cast("StepVerb", verb),
            name=str(name),
            target=target,
            params={param: value for param, value in fields.values.items() if param not in used},
            for_us=fields.get("for", -1),
            if_any=fields.get("if_any", False),
            refused=fields.get("refused", ""),
            note=fields.get("note", ""),
        )

    def _others(self, node: YamlMapping, key: str, notes: ErrorNotes) -> None:
        """Report errors in the keys that every step has, for a step of unknown kind."""
        fields = Fields(node, key)
        for name in COMMON.keys:
            COMMON.fill(fields, name, notes)
        self.trigger(fields, notes)

    def trigger(self, fields: Fields, notes: ErrorNotes) -> Trigger:
        """Return the trigger of a step or a group."""
        given = [name for name in ("at", "after", "when") if fields.given(name)]
        for name in given[1:]:
            notes.problem(
                fields.at(name), fields.path(name), f"found {listed(given, 'and')} together, expected one of them"
            )
        if fields.given("within") and "when" not in given:
            message = "found a time limit without a condition, allowed beside 'when' only"
            notes.problem(fields.at("within"), fields.path("within"), message)
        if fields.given("executed") and "at" not in given:
            message = "found a number of events without a time, allowed with 'at' only"
            notes.problem(fields.at("executed"), fields.path("executed"), message)
        if "when" in given:
            return Trigger("when", 0, fields.get("when"), fields.get("within", -1))
        if "at" in given:
            floor_us = self._at_us[-1]
            at_us = fields.get("at", floor_us)
            if at_us < floor_us:
                earliest = f"{duration_text(floor_us)} or later, as in the step before"
                message = f"found {duration_text(at_us)}, expected {earliest}"
                notes.problem(fields.at("at"), fields.path("at"), message)
            self._at_us[-1] = max(at_us, floor_us)
            return Trigger("at", at_us, since_round=len(self._at_us) - 1, executed=fields.get("executed", -1))
        return Trigger("after", fields.get("after", 0))


TIMED_HINT: Final = "a manual step, which needs 'stepping: manual'"


def the_verb(
    node: YamlMapping,
    key: str,
    verbs: tuple[str, ...],
    others: Collection[str],
    other_hint: str,
    notes: ErrorNotes,
    other_keys: Collection[str],
) -> str | None:
    """Return the one verb of a step, or None after reporting the error.

    ``others``: verbs of the other kind of stepping.
    """
    given = [name for name in node.entries if name in verbs]
    if len(given) == 1:
        return given[0]
    if given:
        message = f"found the verbs {listed(given, 'and')} together, expected one in a step"
        notes.problem(node.entries[given[1]][0], key, message)
        return None
    unknown = [where for name, (where, _) in node.entries.items() if name not in other_keys and name != "note"]
    elsewhere = [where for where in unknown if where.text in others]
    misspelt = [where for where in unknown if closest(where.text, verbs)]
    for where in elsewhere or misspelt or unknown:
        if elsewhere:
            notes.problem(where, f"{key}.{where.text}", f"found {shown(where.text)}, {other_hint}")
        else:
            hint = nearest(where.text, [*verbs, *other_keys])
            message = f"found an unknown key {shown(where.text)} in a step without a verb"
            notes.problem(where, key, f"{message}, expected one of {listed(verbs)}{hint}")
    if not unknown:
        notes.problem(node, key, f"found no verb, expected one of {listed(verbs)}")
    return None


# Parser of actions typed into a running session, with the same checks and messages as in a playbook.


class StepParser:
    """Parser of actions and conditions for one cluster. Topics that operations create are known afterwards."""

    def __init__(self, spec: ClusterSpec, path: str) -> None:
        """``path`` is the file name in messages."""
        self._path = path
        self._facts = facts_of(spec)

    def step(self, document: Values[str, Any]) -> Step:
        """Parse a step from its keys: a verb, its name, and its parameters, all plain values.

        Raises:
            PlaybookError: with all errors of the step.
        """
        try:
            text = yaml.safe_dump(dict(document), sort_keys=False, allow_unicode=True)
        except yaml.YAMLError as error:
            problem = Problem(self._path, 1, 1, "", f"found no number, string, list or mapping: {error}")
            raise PlaybookError([problem]) from None
        node, problems = compose(text, self._path)
        notes = ErrorNotes(self._path, problems, self._facts)
        verb, name = next(iter(document.items()))
        step = TimedSteps().read(node, 0, f"{verb} {name}", notes) if isinstance(node, YamlMapping) else None
        if notes.problems or step is None:
            raise PlaybookError(notes.problems)
        self._facts = notes.facts
        return step

    def condition(self, text: str) -> Condition:
        """Parse a condition, or any other expression of its language.

        Raises:
            PlaybookError: it is invalid, or uses unknown names.
        """
        try:
            condition = parse(text)
        except ConditionError as error:
            raise PlaybookError([Problem(self._path, 1, error.column, text, error.message)]) from None
        unsupported = [
            Problem(self._path, 1, column, text, message) for column, message in wrong_names(condition, self._facts)
        ]
        if unsupported:
            raise PlaybookError(unsupported)
        return condition


def facts_in(cluster: Cluster) -> PlaybookNames:
    """Return the names of a running cluster, with those of its external clients."""
    outside = cluster.external_clients
    return replace(
        facts_of(cluster.spec),
        outside_groups=outside.groups,
        outside_producers=tuple(outside.settings.transactional_ids),
    )


def facts_of(spec: ClusterSpec) -> PlaybookNames:
    """Return the names of a cluster's parts."""
    racks: dict[str, int] = {}
    for broker in spec.brokers:
        if broker.rack:
            racks[broker.rack] = racks.get(broker.rack, 0) + 1
    return PlaybookNames(
        kafka=spec.kafka,
        brokers=tuple(broker.id for broker in spec.brokers),
        racks=racks,
        topics={topic.name: len(topic.placement) or topic.partitions for topic in spec.topics},
        replication={topic.name: max(map(len, topic.placement), default=topic.replication) for topic in spec.topics},
        replicas={f"{topic.name}-{number}": row for topic in spec.topics for number, row in enumerate(topic.placement)},
        mode=spec.mode,
        voters=spec.voters if spec.mode == "kraft" else (),
        zookeepers=spec.zookeepers,
        producers=tuple(producer.name for producer in spec.producers),
        groups={group.name: group.members for group in spec.groups},
        uncoordinated=tuple(group.name for group in spec.groups if not group.coordinated),
    )
