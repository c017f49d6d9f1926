"""Every configuration that a topic or a broker honours, with its value; choosing one opens a form."""

from collections.abc import Iterable
from functools import partial
from typing import Final, Literal

from cluster_model.broker.topic_configs import TopicSettings
from cluster_model.observation.effective_config import Setting, of_broker, of_topic
from cluster_model.protocol.config_defs import check as check_value
from cluster_model.protocol.config_key import ConfigKey
from cluster_model.protocol.errors import ModelError
from tui.offers import Offer, Offers
from tui.screens.cluster import MainScreen
from tui.screens.fault_forms import Asked, ValueForm
from tui.session.typed_commands import TypedError, read_line
from tui.terminal.config_words import taken

NEVER: Final = "never"
READ_ONLY: Final = "is read when a broker starts, and cannot be altered while it runs: set it in the playbook"


class SettingsProvider(Offers):
    """The topic under the cursor comes first, then the others, then the brokers."""

    def offers(self, main: MainScreen) -> Iterable[Offer]:
        """Of topics by their names; of brokers together where they agree, and one by one where they do not."""
        cluster = main.bridge.session.cluster
        brokers, profile = cluster.brokers, cluster.world.profile
        for topic in topics(main):
            yield from (topic_offer(main, topic, each) for each in of_topic(told_of(main, topic), profile, topic))
        tables = {broker: of_broker(each.settings, profile) for broker, each in brokers.items()}
        for row in zip(*tables.values(), strict=True):
            if len({each.value for each in row}) == 1:
                yield broker_offer(main, -1, row[0])
            else:
                yield from (broker_offer(main, broker, each) for broker, each in zip(tables, row, strict=True))


def topics(main: MainScreen) -> list[str]:
    """Every topic, that under the cursor first."""
    partitions = main.bridge.view.partitions
    found = list(dict.fromkeys(each.name.rpartition("-")[0] for each in partitions))
    chosen = main.partition
    own = chosen.name.rpartition("-")[0] if chosen is not None else ""
    return sorted(found, key=lambda name: name != own)


def told_of(main: MainScreen, topic: str) -> TopicSettings:
    """The settings as the leader of the topic's first partition has them, else any broker."""
    partitions, brokers = main.bridge.view.partitions, main.bridge.session.cluster.brokers
    leaders = [each.leader for each in partitions if each.name.rpartition("-")[0] == topic and each.leader in brokers]
    return brokers[leaders[0] if leaders else next(iter(brokers))].settings


def topic_offer(main: MainScreen, topic: str, setting: Setting) -> Offer:
    """A topic's own configuration."""
    run = partial(ask, main, f"Topic {topic}", setting, f"alter_topic_config {topic}")
    return Offer(_words(f"{topic} ", setting), _about(setting), run)


def broker_offer(main: MainScreen, broker: int, setting: Setting) -> Offer:
    """A broker's, or that of all of them: -1."""
    key = setting.key
    whose = f"broker {broker} " if broker >= 0 else "brokers "
    title, line = ("All brokers", "alter_broker_config") if broker < 0 else (
        f"Broker {broker}", f"alter_broker_config {broker}"
    )  # fmt: skip
    run = partial(main.toast, f"{key.name} {READ_ONLY}") if fixed(key) else partial(ask, main, title, setting, line)
    return Offer(_words(whose, setting), _about(setting), run)


def ask(main: MainScreen, whose: str, setting: Setting, line: str) -> None:
    """A form of one configuration; setting it is the operation of ``line``, which undo takes back."""
    key, now = setting.key, _written(setting)

    def check(text: str) -> str:
        try:
            check_value(_scope_of(line), key.name, int(text) if text.lstrip("-").isdigit() else text)
        except ModelError as error:
            return str(error)
        return ""

    async def use(text: str) -> str:
        try:
            return await main.told(read_line(f"{line} set={{{key.name}: {text}}}", main.place()))
        except TypedError as error:
            return str(error)

    choices = key.choices or (("true", "false") if key.type == "bool" else ())
    asked = Asked(f"{whose}: {key.name}", _about(setting), now, taken(key), check, use, choices)
    main.app.push_screen(ValueForm(main.look, asked))


def _scope_of(line: str) -> Literal["topic", "broker"]:
    return "topic" if line.startswith("alter_topic_config") else "broker"


def fixed(key: ConfigKey) -> bool:
    """Whether it cannot be altered while brokers run."""
    return key.dynamic == "read-only"


def _words(whose: str, setting: Setting) -> str:
    return f"setting {whose}{setting.key.name} = {setting.value or 'its default'}"


def _about(setting: Setting) -> str:
    source = {"own": "its own", "brokers": "as the brokers have it", "start": "as brokers were started with"}
    said = source.get(setting.source, setting.source)
    return f"{setting.key.doc} ({said}{', read-only' if fixed(setting.key) else ''})"


def _written(setting: Setting) -> str:
    return "" if setting.value == NEVER else setting.value
