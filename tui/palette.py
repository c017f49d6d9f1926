"""What the command palette offers: faults, keys, places, times, playbooks, configurations and settings."""

import asyncio
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, cast

from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.screen import Screen

from cluster_model.broker import TopicSettings
from cluster_model.checker.root_cause import Finding
from cluster_model.observation import ConfigEntry, of_broker, of_topic
from cluster_model.protocol.config_defs import MIN_ISR, ConfigKey
from cluster_model.protocol.config_defs import check as check_value
from cluster_model.protocol.errors import ModelError
from cluster_model.util.quantities import clock, few_names
from faults.catalogue import CATALOGUE
from faults.declarations import Action, FaultError
from playbooks.library.index import shelf
from tui.keybindings.keymap import KeyBinding, mode_of
from tui.keybindings.scopes import all_keys, keys_of, of_main
from tui.screens.base import ModeScreen
from tui.screens.cluster import MainScreen
from tui.screens.fault_forms import SettingPrompt, ValueForm
from tui.screens.fault_sheet import Sheets
from tui.session import settings_changes
from tui.session.background_tasks import findings_so_far
from tui.session.destination_check import DestinationError, playbook_wish
from tui.session.typed_commands import TypedError, read_line
from tui.settings.schema import OPTIONS, Option, Value
from tui.terminal.format import InstantError, instant_us, taken
from tui.viewmodel.finding_page import headline
from tui.viewmodel.partition_matrix import lag_text

if TYPE_CHECKING:
    from tui.app import FloodmarkApp


# A provider of the palette over a list of offers: words, what they mean, and what is done.


MOST_OFFERS: Final = 4_000
"""More are not looked through with every letter."""
MOST_OFFER_HITS: Final = 40
FIRST: Final = 100.0
"""What is worth more than any match."""


@dataclass(frozen=True, slots=True)
class PaletteEntry:
    """One line of the palette."""

    words: str
    about: str
    run: Callable[[], Any]


def main_of(screen: Screen[Any]) -> MainScreen | None:
    """The main screen, where the palette stands over it or over a mode; None over any other page."""
    found = screen.app.screen_stack[0] if isinstance(screen, ModeScreen) else screen
    return found if isinstance(found, MainScreen) and found.bridge.view.brokers else None


class Offers(Provider):
    """Those whose words match, the best first; a provider of these adds :meth:`offers`."""

    WORTH: ClassVar[float] = 0.5
    """What a match is worth beside one among faults and keys, which are what people look for most."""

    def offers(self, main: MainScreen) -> Iterable[PaletteEntry]:
        """Everything that there is."""
        del main
        return ()

    def answers(self, main: MainScreen, query: str) -> Iterator[PaletteEntry]:
        """What is meant by the query and stands in no list."""
        del main, query
        yield from ()

    async def search(self, query: str) -> Hits:
        """The best."""
        main = main_of(self.screen)
        if main is None:
            return
        for offer in self.answers(main, query):
            yield Hit(FIRST, offer.words, offer.run, help=offer.about)
        matcher = self.matcher(query)
        found = [(matcher.match(each.words), each) for each in islice(self.offers(main), MOST_OFFERS)]
        found = sorted([pair for pair in found if pair[0] > 0], key=lambda pair: -pair[0])
        for score, offer in found[:MOST_OFFER_HITS]:
            yield Hit(score * self.WORTH, matcher.highlight(offer.words), offer.run, help=offer.about)


NEVER: Final = "never"
READ_ONLY: Final = "is read when a broker starts, and cannot be altered while it runs: set it in the playbook"


class SettingsProvider(Offers):
    """The topic under the cursor comes first, then the others, then the brokers."""

    def offers(self, main: MainScreen) -> Iterable[PaletteEntry]:
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


def topic_offer(main: MainScreen, topic: str, setting: ConfigEntry) -> PaletteEntry:
    """A topic's own configuration."""
    run = partial(ask, main, f"Topic {topic}", setting, f"alter_topic_config {topic}")
    return PaletteEntry(_words(f"{topic} ", setting), _about(setting), run)


def broker_offer(main: MainScreen, broker: int, setting: ConfigEntry) -> PaletteEntry:
    """A broker's, or that of all of them: -1."""
    key = setting.key
    whose = f"broker {broker} " if broker >= 0 else "brokers "
    title, line = ("All brokers", "alter_broker_config") if broker < 0 else (
        f"Broker {broker}", f"alter_broker_config {broker}"
    )  # fmt: skip
    run = partial(main.toast, f"{key.name} {READ_ONLY}") if fixed(key) else partial(ask, main, title, setting, line)
    return PaletteEntry(_words(whose, setting), _about(setting), run)


def ask(main: MainScreen, whose: str, setting: ConfigEntry, line: str) -> None:
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
            return await main.commands.run(read_line(f"{line} set={{{key.name}: {text}}}", main.commands.place()))
        except TypedError as error:
            return str(error)

    choices = key.choices or (("true", "false") if key.type == "bool" else ())
    asked = SettingPrompt(f"{whose}: {key.name}", _about(setting), now, taken(key), check, use, choices)
    main.app.push_screen(ValueForm(main.look, asked))


def _scope_of(line: str) -> Literal["topic", "broker"]:
    return "topic" if line.startswith("alter_topic_config") else "broker"


def fixed(key: ConfigKey) -> bool:
    """Whether it cannot be altered while brokers run."""
    return key.dynamic == "read-only"


def _words(whose: str, setting: ConfigEntry) -> str:
    return f"setting {whose}{setting.key.name} = {setting.value or 'its default'}"


def _about(setting: ConfigEntry) -> str:
    source = {"own": "its own", "brokers": "as the brokers have it", "start": "as brokers were started with"}
    said = source.get(setting.source, setting.source)
    return f"{setting.key.doc} ({said}{', read-only' if fixed(setting.key) else ''})"


def _written(setting: ConfigEntry) -> str:
    return "" if setting.value == NEVER else setting.value


# What the command palette offers: every fault on every node, and every key of the main screen.


ELSEWHERE: Final = 0.8
"""What a match on another target than the one under the cursor is worth."""
MOST_FAULT_HITS: Final = 60
"""Faults times targets are thousands: more than these are not offered."""


class FaultProvider(Provider):
    """Verb × target: brokers, other nodes of the control plane, clients; the one under the cursor first."""

    async def search(self, query: str) -> Hits:
        """The best of the faults whose words match, with the target's short name."""
        screen = self.screen
        if not isinstance(screen, Sheets):
            return
        matcher = self.matcher(query)
        found = []
        for words, name, node, summary in self._offers(screen):
            score = matcher.match(words)
            if score > 0:
                found.append((score if node == screen.target else score * ELSEWHERE, words, name, node, summary))
        found.sort(key=lambda each: -each[0])
        for score, words, name, node, summary in found[:MOST_FAULT_HITS]:
            run = lambda name=name, node=node: self._do(name, node)  # noqa: E731
            yield Hit(score, matcher.highlight(words), run, help=summary)

    def _offers(self, screen: Sheets) -> Iterator[tuple[str, str, int, str]]:
        """Only what can be done to each."""
        if not screen.bridge.view.brokers or screen.nothing():
            return
        for node, short in sorted(screen.main.operator.targets(), key=lambda each: each[0] != screen.target):
            for name in screen.bridge.session.board.fitting(node):
                fault = CATALOGUE[name]
                yield f"{fault.title} {short}", name, node, fault.summary

    def _do(self, name: str, node: int) -> None:
        screen = self.screen
        if isinstance(screen, Sheets):
            screen.arrive()
            screen.main.operator.inject(name, node)
            screen.done()


class KeyProvider(Provider):
    """The keys by what they do."""

    async def search(self, query: str) -> Hits:
        """Keys whose words match."""
        matcher = self.matcher(query)
        for key in self._keys():
            score = matcher.match(key.words)
            if score > 0 and key.id != "palette":
                run = lambda key=key: self._press(key)  # noqa: E731
                yield Hit(score, matcher.highlight(key.words), run, help=f"key {key.shown}")

    def _keys(self) -> tuple[KeyBinding, ...]:
        """Of the main screen, and of the mode that is looked at."""
        main, scope = main_of(self.screen), getattr(self.screen, "SCOPE", "")
        keys = all_keys() if main is None else main.keys
        return (*of_main(keys), *(keys_of(scope, keys) if scope else ()))

    def _press(self, key: KeyBinding) -> None:
        screen = self.screen
        if isinstance(screen, ModeScreen):
            screen.call_later(screen.press, key.id)
        else:
            screen.call_later(screen.run_action, key.action)


class FindingProvider(Provider):
    """What went wrong with records so far, by its sentence."""

    async def startup(self) -> None:
        """The findings as the palette is opened."""
        from tui.session.background_tasks import findings_so_far  # noqa: PLC0415

        screen = main_of(self.screen)
        self._findings = findings_so_far(screen.bridge) if screen is not None else ()

    async def search(self, query: str) -> Hits:
        """Those whose sentences match."""
        matcher = self.matcher(query)
        for number, finding in enumerate(self._findings, 1):
            words = f"{_named(finding)}: {finding.sentence}"
            score = matcher.match(words)
            if score > 0:
                run = lambda number=number: self._open(number)  # noqa: E731
                yield Hit(score, matcher.highlight(words), run, text=words)

    def _open(self, number: int) -> None:
        screen = main_of(self.screen)
        if screen is not None and number <= len(self._findings):
            screen.call_later(screen.open_autopsy, number)


def _named(finding: Finding) -> str:
    return f"autopsy {finding.kind}: {headline(finding)[0]}"


# Going to things by their names: partitions, offsets of theirs, brokers, groups and producers.


GO_TO_NAME: Final = "go to "
_OFFSET: Final = re.compile(r"(?:go (?:to )?)?([A-Za-z0-9._-]+)[ :@]+([0-9]{1,15})", re.ASCII)


class GoProvider(Offers):
    """By name; ``orders-3 124`` is an offset."""

    def answers(self, main: MainScreen, query: str) -> Iterator[PaletteEntry]:
        """The offset that was typed, as long as the partition's log has it."""
        typed = _OFFSET.fullmatch(query.strip())
        if typed is None:
            return
        offset = int(typed[2])
        for each in main.bridge.view.partitions:
            if each.name == typed[1] and each.log_start <= offset < max(each.leo, 1):
                yield PaletteEntry(
                    f"{GO_TO_NAME}{each.name} offset {offset}", "in the log, under the microscope",
                    partial(main.navigator.show_offset, each.name, offset),
                )  # fmt: skip

    def offers(self, main: MainScreen) -> Iterable[PaletteEntry]:
        """Everything that has a name."""
        view = main.bridge.view
        for each in view.brokers:
            yield PaletteEntry(
                f"{GO_TO_NAME}b{each.id}",
                f"broker {each.id}, {each.state}",
                partial(main.navigator.show_broker, each.id),
            )
        for one in view.groups:
            read = f"group of {few_names(one.topics, 3)}, {lag_text(one)}"
            yield PaletteEntry(f"{GO_TO_NAME}{one.name}", read, partial(main.navigator.show_client, one.name))
        for producer in view.producers:
            about = f"producer of {producer.topic}"
            yield PaletteEntry(
                f"{GO_TO_NAME}{producer.name}", about, partial(main.navigator.show_client, producer.name)
            )
        for partition in view.partitions:
            leader = f"leader b{partition.leader}" if partition.leader >= 0 else "no leader"
            about = f"partition, {leader}, ISR {list(partition.isr)}"
            yield PaletteEntry(
                f"{GO_TO_NAME}{partition.name}", about, partial(main.navigator.show_partition, partition.name)
            )


class ViolationProvider(Offers):
    """The instants at which a rule was found broken."""

    def offers(self, main: MainScreen) -> Iterable[PaletteEntry]:
        """Each rule and partition, the first time."""
        bridge = main.bridge
        for each in bridge.chronicle.all_broken(bridge.session.present_us):
            where = f" of {each.partition}" if each.partition else ""
            yield PaletteEntry(
                f"go {clock(each.at_us)} violation: {each.name}{where}", each.detail,
                partial(main.go_to, each.at_us),
            )  # fmt: skip


# Playbooks of the library, to be started in place of the session on the screen.


class PlaybookProvider(Offers):
    """By name, title and tags; those that are stepped by hand have no time to play."""

    async def startup(self) -> None:
        """Read their heads, which takes half a second the first time, while somebody types."""
        await asyncio.to_thread(shelf)

    def offers(self, main: MainScreen) -> Iterable[PaletteEntry]:
        """The whole shelf."""
        for each in shelf():
            if not each.manual:
                words = f"playbook {each.name} {' '.join(each.tags)}".rstrip()
                yield PaletteEntry(words, each.title, partial(self._start, main, each.name))

    def _start(self, main: MainScreen, name: str) -> None:
        try:
            wish = playbook_wish(name)
        except DestinationError as error:
            main.toast(str(error), "warning")
        else:
            cast("FloodmarkApp", self.app).leave_for(wish)


# What the command palette offers of time: ``go 00:44`` to any instant, and the bookmarks.


GO_TO_TIME: Final = "go "


class TimeProvider(Provider):
    """Instants to go to."""

    async def search(self, query: str) -> Hits:
        """A time that was typed, and the bookmarks whose words match."""
        screen = main_of(self.screen)
        if screen is None:
            return
        at_us = self._typed(screen, query)
        if at_us >= 0:
            yield Hit(FIRST, f"{GO_TO_TIME}{clock(at_us)}", lambda: screen.go_to(at_us), help="show this instant")
        matcher = self.matcher(query)
        for mark in screen.branches.bookmarks:
            words = f"{GO_TO_TIME}{mark.words}"
            score = matcher.match(words)
            if score > 0:
                yield Hit(
                    score, matcher.highlight(words), partial(screen.branches.go_to_bookmark, mark), help="bookmark"
                )

    @staticmethod
    def _typed(screen: MainScreen, query: str) -> int:
        """The instant that ``go 00:44`` names, -1 for anything else."""
        if not query.startswith(GO_TO_TIME):
            return -1
        session = screen.bridge.session
        try:
            return instant_us(query.removeprefix(GO_TO_TIME).strip(), session.timeline.first_us, session.present_us)
        except InstantError:
            return -1


# The five most useful actions on what is under the cursor, shown before anything is typed.


MOST: Final = 5
USUAL: Final = ("crash", "gc_pause", "isolate", "lag")
"""Faults of a broker that runs, the most instructive first."""


class UsefulProvider(Offers):
    """Nothing of this is found by typing: the other providers have it all."""

    async def discover(self) -> Hits:
        """By what is wrong with it, else what could be done to it."""
        main = main_of(self.screen)
        if main is None:
            return
        for number, offer in enumerate(islice(useful(main), MOST), 1):
            yield DiscoveryHit(f"{number} {offer.words}", offer.run, text=offer.words, help=offer.about)


def useful(main: MainScreen) -> Iterator[PaletteEntry]:
    """The most useful first."""
    yield from _mending(main)
    yield from _looking(main)
    name = dict(main.operator.targets())[main.target]
    fitting = () if _is_down(main) else main.fitting()
    for fault in USUAL:
        if fault in fitting:
            about = CATALOGUE[fault].summary
            yield PaletteEntry(
                f"{CATALOGUE[fault].title} {name}", about, partial(main.operator.inject, fault, main.target)
            )
    for mode in ("timeline", "report", "clients"):
        yield PaletteEntry(f"the {mode}", mode_of(mode).words, partial(main.action_mode, mode))


def _is_down(main: MainScreen) -> bool:
    return any(each.id == main.target and each.state == "down" for each in main.bridge.view.brokers)


def _mending(main: MainScreen) -> Iterator[PaletteEntry]:
    target = main.target
    findings = findings_so_far(main.bridge)
    if findings:
        yield _autopsy(main, findings)
    if _is_down(main):
        about = CATALOGUE["restart"].summary
        yield PaletteEntry(f"restart b{target}", about, partial(main.operator.inject, "restart", target))
    faults = len(main.bridge.view.faults)
    if faults:
        yield PaletteEntry("heal all faults", f"{faults} active", partial(main.operator.do, Action("heal", "all")))
    partition = main.partition
    if partition is not None and partition.offline:
        try:
            action = main.bridge.session.board.usual("elect_leaders", partition.name, target)
        except FaultError:
            return
        yield PaletteEntry(
            f"elect a leader of {partition.name}", "unclean where need be", partial(main.operator.do, action)
        )


def _autopsy(main: MainScreen, findings: tuple[Finding, ...]) -> PaletteEntry:
    last = findings[-1]
    return PaletteEntry(f"autopsy: {headline(last)[0]}", last.sentence, partial(main.open_autopsy, len(findings)))


def _looking(main: MainScreen) -> Iterator[PaletteEntry]:
    partition = main.partition
    if partition is None:
        return
    yield PaletteEntry(f"the log of {partition.name}", "under the microscope", partial(main.action_mode, "log"))
    topic = partition.name.rpartition("-")[0]
    for each in of_topic(told_of(main, topic), main.bridge.session.cluster.world.profile, topic):
        if each.key.name == MIN_ISR:
            yield topic_offer(main, topic, each)


# The settings of the screen by name: a form for each, its choices one by one, and undoing the last one.


class ViewProvider(Offers):
    """What is chosen is in force at once, and written into the user's file at once."""

    def offers(self, main: MainScreen) -> Iterable[PaletteEntry]:
        """Every setting, every choice of looks, and the way back."""
        app = cast("FloodmarkApp", self.app)
        for option in OPTIONS:
            now = text_of(settings_changes.in_force(app).value(option.name))
            words = f"setting of the screen {option.name} = {now}"
            yield PaletteEntry(words, option.words, partial(self._ask, option))
            if option.name in ("theme", "glyphs"):
                for choice in option.choices:
                    yield PaletteEntry(
                        f"view {option.name} {choice}", option.words, partial(self._keep, option, choice)
                    )
        if app.kept:
            last = app.kept[-1]
            words = f"undo setting of the screen: {last.name} = {text_of(last.before)} again"
            yield PaletteEntry(words, "in the file too", lambda: main.toast(settings_changes.undo(app)))

    def _keep(self, option: Option, value: Value) -> None:
        app = cast("FloodmarkApp", self.app)
        app.main.toast(settings_changes.keep(app, option.name, value))

    def _ask(self, option: Option) -> None:
        app = cast("FloodmarkApp", self.app)
        now = text_of(settings_changes.in_force(app).value(option.name))

        allowed = option.allowed.replace('"', "")

        def check(text: str) -> str:
            value = value_of(option, text)
            return "" if option.takes(value) else f"found {text or 'nothing'}, allowed is {allowed}"

        async def use(text: str) -> str:
            self._keep(option, value_of(option, text))
            return ""

        choices = option.choices or (("true", "false") if isinstance(option.default, bool) else ())
        asked = SettingPrompt(f"The screen's {option.name}", option.words, now, allowed, check, use, choices)
        app.push_screen(ValueForm(app.look, asked))


def text_of(value: Value) -> str:
    """As it is typed."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else f"{value:g}"


def value_of(option: Option, text: str) -> Value:
    """What was typed, in the setting's own type where it can be read so."""
    if isinstance(option.default, bool):
        return text == "true" if text in ("true", "false") else text
    if isinstance(option.default, float):
        try:
            return float(text)
        except ValueError:
            return text
    return text
