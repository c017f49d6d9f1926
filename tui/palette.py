"""Entries of the command palette: faults, keys, targets, times, playbooks, Kafka configs and TUI settings."""

import asyncio
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, cast

from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.screen import Screen

from cluster_model.broker import TopicConfigs
from cluster_model.checker.root_cause import Finding
from cluster_model.observation import ConfigEntry, of_broker, of_topic
from cluster_model.protocol.config_defs import MIN_ISR, ConfigKey
from cluster_model.protocol.config_defs import check as check_value
from cluster_model.protocol.errors import ModelError
from cluster_model.util.quantities import clock, few_names
from faults.catalogue import CATALOGUE
from faults.declarations import Action, FaultError
from playbooks.library.index import library_entries
from tui.keybindings.keymap import KeyBinding, mode_of
from tui.keybindings.scopes import all_keys, keys_of, of_main
from tui.screens.base import ModeScreen
from tui.screens.cluster import MainScreen
from tui.screens.fault_forms import SettingPrompt, ValueForm
from tui.screens.fault_sheet import Sheets
from tui.session import settings_changes
from tui.session.background_tasks import findings_so_far
from tui.session.destination_check import DestinationError, playbook_destination
from tui.session.typed_commands import TypedError, read_line
from tui.settings.schema import OPTIONS, Option, Value
from tui.terminal.format import InstantError, allowed_values, instant_us
from tui.viewmodel.finding_page import headline
from tui.viewmodel.partition_matrix import lag_text

if TYPE_CHECKING:
    from tui.app import FloodmarkApp


# Providers of the palette over a list of entries.


MOST_OFFERS: Final = 4_000
"""Maximum number of entries searched with each letter."""
MOST_OFFER_HITS: Final = 40
FIRST: Final = 100.0
"""Score above that of any match."""


@dataclass(frozen=True, slots=True)
class PaletteEntry:
    """Line of the palette: text, description and action."""

    words: str
    about: str
    run: Callable[[], Any]


def main_of(screen: Screen[Any]) -> MainScreen | None:
    """Return the main screen if the palette is over it or over a mode; None over any other page."""
    found = screen.app.screen_stack[0] if isinstance(screen, ModeScreen) else screen
    return found if isinstance(found, MainScreen) and found.session_controller.view.brokers else None


class PaletteProvider(Provider):
    """Provider that searches the entries of :meth:`offers`, the best matches first."""

    WORTH: ClassVar[float] = 0.5
    """Weight of a match compared with one of faults and keys, which are searched most."""

    def offers(self, main: MainScreen) -> Iterable[PaletteEntry]:
        """Return all entries."""
        del main
        return ()

    def answers(self, main: MainScreen, query: str) -> Iterator[PaletteEntry]:
        """Yield entries that are computed from the query."""
        del main, query
        yield from ()

    async def search(self, query: str) -> Hits:
        """Yield the best matches."""
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
READ_ONLY: Final = "is read-only: it is read when a broker starts; set it in the playbook"


class SettingsProvider(PaletteProvider):
    """Kafka configs: those of the topic under the cursor first, then other topics, then brokers."""

    def offers(self, main: MainScreen) -> Iterable[PaletteEntry]:
        """Return configs by topic; of all brokers together if equal, else by broker."""
        cluster = main.session_controller.session.cluster
        brokers, profile = cluster.brokers, cluster.cluster_state.profile
        for topic in topics(main):
            yield from (topic_offer(main, topic, each) for each in of_topic(topic_configs(main, topic), profile, topic))
        tables = {broker: of_broker(each.settings, profile) for broker, each in brokers.items()}
        for row in zip(*tables.values(), strict=True):
            if len({each.value for each in row}) == 1:
                yield broker_offer(main, -1, row[0])
            else:
                yield from (broker_offer(main, broker, each) for broker, each in zip(tables, row, strict=True))


def topics(main: MainScreen) -> list[str]:
    """Return all topics, the one under the cursor first."""
    partitions = main.session_controller.view.partitions
    found = list(dict.fromkeys(each.name.rpartition("-")[0] for each in partitions))
    chosen = main.partition
    own = chosen.name.rpartition("-")[0] if chosen is not None else ""
    return sorted(found, key=lambda name: name != own)


def topic_configs(main: MainScreen, topic: str) -> TopicConfigs:
    """Return the topic's configs from the leader of its first partition, else from any broker."""
    partitions, brokers = main.session_controller.view.partitions, main.session_controller.session.cluster.brokers
    leaders = [each.leader for each in partitions if each.name.rpartition("-")[0] == topic and each.leader in brokers]
    return brokers[leaders[0] if leaders else next(iter(brokers))].settings


def topic_offer(main: MainScreen, topic: str, setting: ConfigEntry) -> PaletteEntry:
    """Return the entry of a topic config."""
    run = partial(ask, main, f"Topic {topic}", setting, f"alter_topic_config {topic}")
    return PaletteEntry(_words(f"{topic} ", setting), _about(setting), run)


def broker_offer(main: MainScreen, broker: int, setting: ConfigEntry) -> PaletteEntry:
    """Return the entry of a config of a broker, -1 for all brokers."""
    key = setting.key
    whose = f"broker {broker} " if broker >= 0 else "brokers "
    title, line = ("All brokers", "alter_broker_config") if broker < 0 else (
        f"Broker {broker}", f"alter_broker_config {broker}"
    )  # fmt: skip
    run = partial(main.toast, f"{key.name} {READ_ONLY}") if fixed(key) else partial(ask, main, title, setting, line)
    return PaletteEntry(_words(whose, setting), _about(setting), run)


def ask(main: MainScreen, whose: str, setting: ConfigEntry, line: str) -> None:
    """Open the form of a config; it is set by the operation of ``line``, which can be undone."""
    key, now = setting.key, _written(setting)

    def check(text: str) -> str:
        try:
            check_value(_scope_of(line), key.name, int(text) if text.lstrip("-").isdigit() else text)
        except ModelError as error:
            return str(error)
        return ""

    async def use(text: str) -> str:
        try:
            return await main.commands.run(read_line(f"{line} set={{{key.name}: {text}}}", main.commands.context()))
        except TypedError as error:
            return str(error)

    choices = key.choices or (("true", "false") if key.type == "bool" else ())
    prompt = SettingPrompt(f"{whose}: {key.name}", _about(setting), now, allowed_values(key), check, use, choices)
    main.app.push_screen(ValueForm(main.appearance, prompt))


def _scope_of(line: str) -> Literal["topic", "broker"]:
    return "topic" if line.startswith("alter_topic_config") else "broker"


def fixed(key: ConfigKey) -> bool:
    """Return whether it cannot be changed while brokers are running."""
    return key.dynamic == "read-only"


def _words(whose: str, setting: ConfigEntry) -> str:
    return f"config {whose}{setting.key.name} = {setting.value or 'default'}"


def _about(setting: ConfigEntry) -> str:
    sources = {"own": "set on it", "brokers": "from the brokers", "start": "from the broker start"}
    source = sources.get(setting.source, setting.source)
    return f"{setting.key.doc} ({source}{', read-only' if fixed(setting.key) else ''})"


def _written(setting: ConfigEntry) -> str:
    return "" if setting.value == NEVER else setting.value


# Faults on every node, and keys of the main screen.


ELSEWHERE: Final = 0.8
"""Weight of a match on a target other than the one under the cursor."""
MOST_FAULT_HITS: Final = 60
"""Maximum number of matches, as there are thousands of faults times targets."""


class FaultProvider(Provider):
    """Faults × targets (brokers, other control-plane nodes, clients); the target under the cursor first."""

    async def search(self, query: str) -> Hits:
        """Yield the best matching faults, with the target's short name."""
        screen = self.screen
        if not isinstance(screen, Sheets):
            return
        matcher = self.matcher(query)
        hits = []
        for words, name, node, summary in self._offers(screen):
            score = matcher.match(words)
            if score > 0:
                hits.append((score if node == screen.target else score * ELSEWHERE, words, name, node, summary))
        hits.sort(key=lambda each: -each[0])
        for score, words, name, node, summary in hits[:MOST_FAULT_HITS]:
            run = lambda name=name, node=node: self._do(name, node)  # noqa: E731
            yield Hit(score, matcher.highlight(words), run, help=summary)

    def _offers(self, screen: Sheets) -> Iterator[tuple[str, str, int, str]]:
        """Yield the faults that apply to each target."""
        if not screen.session_controller.view.brokers or screen.no_target():
            return
        for node, short in sorted(screen.main.operator.targets(), key=lambda each: each[0] != screen.target):
            for name in screen.session_controller.session.board.applicable_faults(node):
                fault = CATALOGUE[name]
                yield f"{fault.title} {short}", name, node, fault.summary

    def _do(self, name: str, node: int) -> None:
        screen = self.screen
        if isinstance(screen, Sheets):
            screen.go_to_selected_time()
            screen.main.operator.inject(name, node)
            screen.action_performed()


class KeyProvider(Provider):
    """Command palette entries of keys, by their descriptions."""

    async def search(self, query: str) -> Hits:
        """Yield the keys whose description matches."""
        matcher = self.matcher(query)
        for key in self._keys():
            score = matcher.match(key.description)
            if score > 0 and key.id != "palette":
                run = lambda key=key: self._press(key)  # noqa: E731
                yield Hit(score, matcher.highlight(key.description), run, help=f"key {key.shown}")

    def _keys(self) -> tuple[KeyBinding, ...]:
        """Return the keys of the main screen and of the current mode."""
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
    """Findings so far, by their sentences."""

    async def startup(self) -> None:
        """Compute the findings when the palette is opened."""
        from tui.session.background_tasks import findings_so_far  # noqa: PLC0415

        screen = main_of(self.screen)
        self._findings = findings_so_far(screen.session_controller) if screen is not None else ()

    async def search(self, query: str) -> Hits:
        """Yield the findings whose sentences match."""
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


# Navigation by name: partitions, their offsets, brokers, groups and producers.


GO_TO_NAME: Final = "go to "
_OFFSET: Final = re.compile(r"(?:go (?:to )?)?([A-Za-z0-9._-]+)[ :@]+([0-9]{1,15})", re.ASCII)


class GoProvider(PaletteProvider):
    """Navigation targets by name; ``orders-3 124`` is an offset."""

    def answers(self, main: MainScreen, query: str) -> Iterator[PaletteEntry]:
        """Yield the typed offset, if the partition's log has it."""
        typed = _OFFSET.fullmatch(query.strip())
        if typed is None:
            return
        offset = int(typed[2])
        for each in main.session_controller.view.partitions:
            if each.name == typed[1] and each.log_start <= offset < max(each.leo, 1):
                yield PaletteEntry(
                    f"{GO_TO_NAME}{each.name} offset {offset}", "in the log microscope",
                    partial(main.navigator.show_offset, each.name, offset),
                )  # fmt: skip

    def offers(self, main: MainScreen) -> Iterable[PaletteEntry]:
        """Return all named targets."""
        view = main.session_controller.view
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


class ViolationProvider(PaletteProvider):
    """Command palette entries of the times of violations."""

    def offers(self, main: MainScreen) -> Iterable[PaletteEntry]:
        """Return the first violation per invariant and partition."""
        session_controller = main.session_controller
        for each in session_controller.chronicle.all_violations(session_controller.session.present_us):
            where = f" of {each.partition}" if each.partition else ""
            yield PaletteEntry(
                f"go {clock(each.at_us)} violation: {each.name}{where}", each.detail,
                partial(main.go_to, each.at_us),
            )  # fmt: skip


# Playbooks of the library, to be started in place of the current session.


class PlaybookProvider(PaletteProvider):
    """Playbooks by name, title and tags, without those with manual steps."""

    async def startup(self) -> None:
        """Read the index, which takes half a second the first time, in a thread."""
        await asyncio.to_thread(library_entries)

    def offers(self, main: MainScreen) -> Iterable[PaletteEntry]:
        """Return all playbooks of the library."""
        for each in library_entries():
            if not each.manual:
                words = f"playbook {each.name} {' '.join(each.tags)}".rstrip()
                yield PaletteEntry(words, each.title, partial(self._start, main, each.name))

    def _start(self, main: MainScreen, name: str) -> None:
        try:
            request = playbook_destination(name)
        except DestinationError as error:
            main.toast(str(error), "warning")
        else:
            cast("FloodmarkApp", self.app).exit_to(request)


# Times: ``go 00:44``, and the bookmarks.


GO_TO_TIME: Final = "go "


class TimeProvider(Provider):
    """Command palette entries of times to go to."""

    async def search(self, query: str) -> Hits:
        """Yield a typed time, and the bookmarks that match."""
        screen = main_of(self.screen)
        if screen is None:
            return
        at_us = self._typed(screen, query)
        if at_us >= 0:
            yield Hit(FIRST, f"{GO_TO_TIME}{clock(at_us)}", lambda: screen.go_to(at_us), help="go to this time")
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
        """Return the time of ``go 00:44``, -1 for any other query."""
        if not query.startswith(GO_TO_TIME):
            return -1
        session = screen.session_controller.session
        try:
            return instant_us(query.removeprefix(GO_TO_TIME).strip(), session.timeline.first_us, session.present_us)
        except InstantError:
            return -1


# The five most useful actions on the target under the cursor, shown before anything is typed.


MOST: Final = 5
USUAL: Final = ("crash", "gc_pause", "isolate", "lag")
"""Faults offered for a running broker, the most instructive first."""


class UsefulProvider(PaletteProvider):
    """Most useful entries before anything is typed; typing finds them by the other providers."""

    async def discover(self) -> Hits:
        """Yield entries for current problems, then faults and modes."""
        main = main_of(self.screen)
        if main is None:
            return
        for number, offer in enumerate(islice(useful(main), MOST), 1):
            yield DiscoveryHit(f"{number} {offer.words}", offer.run, text=offer.words, help=offer.about)


def useful(main: MainScreen) -> Iterator[PaletteEntry]:
    """Yield the entries, the most useful first."""
    yield from _fixes(main)
    yield from _inspections(main)
    name = dict(main.operator.targets())[main.target]
    fitting = () if _is_down(main) else main.fitting()
    for fault in USUAL:
        if fault in fitting:
            about = CATALOGUE[fault].summary
            yield PaletteEntry(
                f"{CATALOGUE[fault].title} {name}", about, partial(main.operator.inject, fault, main.target)
            )
    for mode in ("timeline", "report", "clients"):
        yield PaletteEntry(f"mode {mode}", mode_of(mode).words, partial(main.action_mode, mode))


def _is_down(main: MainScreen) -> bool:
    return any(each.id == main.target and each.state == "down" for each in main.session_controller.view.brokers)


def _fixes(main: MainScreen) -> Iterator[PaletteEntry]:
    target = main.target
    findings = findings_so_far(main.session_controller)
    if findings:
        yield _autopsy(main, findings)
    if _is_down(main):
        about = CATALOGUE["restart"].summary
        yield PaletteEntry(f"restart b{target}", about, partial(main.operator.inject, "restart", target))
    faults = len(main.session_controller.view.faults)
    if faults:
        yield PaletteEntry("heal all faults", f"{faults} active", partial(main.operator.do, Action("heal", "all")))
    partition = main.partition
    if partition is not None and partition.offline:
        try:
            action = main.session_controller.session.board.usual("elect_leaders", partition.name, target)
        except FaultError:
            return
        yield PaletteEntry(
            f"elect a leader of {partition.name}", "unclean if necessary", partial(main.operator.do, action)
        )


def _autopsy(main: MainScreen, findings: tuple[Finding, ...]) -> PaletteEntry:
    last = findings[-1]
    return PaletteEntry(f"autopsy: {headline(last)[0]}", last.sentence, partial(main.open_autopsy, len(findings)))


def _inspections(main: MainScreen) -> Iterator[PaletteEntry]:
    partition = main.partition
    if partition is None:
        return
    yield PaletteEntry(f"log of {partition.name}", "in the log microscope", partial(main.action_mode, "log"))
    topic = partition.name.rpartition("-")[0]
    for each in of_topic(
        topic_configs(main, topic), main.session_controller.session.cluster.cluster_state.profile, topic
    ):
        if each.key.name == MIN_ISR:
            yield topic_offer(main, topic, each)


# The TUI settings by name: a form for each, choices of looks, and undo.


class ViewProvider(PaletteProvider):
    """TUI settings; a choice is applied and written to the user's file at once."""

    def offers(self, main: MainScreen) -> Iterable[PaletteEntry]:
        """Return all settings, choices of looks, and the undo of the last change."""
        app = cast("FloodmarkApp", self.app)
        for option in OPTIONS:
            now = text_of(settings_changes.in_force(app).value(option.name))
            words = f"TUI setting {option.name} = {now}"
            yield PaletteEntry(words, option.words, partial(self._ask, option))
            if option.name in ("theme", "glyphs"):
                for choice in option.choices:
                    yield PaletteEntry(
                        f"view {option.name} {choice}", option.words, partial(self._keep, option, choice)
                    )
        if app.undoable_settings:
            last = app.undoable_settings[-1]
            words = f"undo TUI setting: {last.name} = {text_of(last.before)}"
            yield PaletteEntry(words, "also in the settings file", lambda: main.toast(settings_changes.undo(app)))

    def _keep(self, option: Option, value: Value) -> None:
        app = cast("FloodmarkApp", self.app)
        app.main.toast(settings_changes.keep(app, option.name, value))

    def _ask(self, option: Option) -> None:
        app = cast("FloodmarkApp", self.app)
        now = text_of(settings_changes.in_force(app).value(option.name))

        allowed = option.allowed.replace('"', "")

        def check(text: str) -> str:
            value = value_of(option, text)
            return "" if option.takes(value) else f"found {text or 'nothing'}, expected {allowed}"

        async def use(text: str) -> str:
            self._keep(option, value_of(option, text))
            return ""

        choices = option.choices or (("true", "false") if isinstance(option.default, bool) else ())
        prompt = SettingPrompt(f"TUI setting {option.name}", option.words, now, allowed, check, use, choices)
        app.push_screen(ValueForm(app.appearance, prompt))


def text_of(value: Value) -> str:
    """Return a value as it is typed."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else f"{value:g}"


def value_of(option: Option, text: str) -> Value:
    """Return a typed text in the type of the setting, unchanged if it does not parse."""
    if isinstance(option.default, bool):
        return text == "true" if text in ("true", "false") else text
    if isinstance(option.default, float):
        try:
            return float(text)
        except ValueError:
            return text
    return text
