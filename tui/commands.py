"""What the command palette offers: every fault on every node, and every key of the main screen."""

from collections.abc import Iterator
from typing import Final

from textual.command import Hit, Hits, Provider

from cluster_model.checker.root_cause.findings import Finding
from faults.catalogue import CATALOGUE
from tui.keybindings.keymap import Key
from tui.keybindings.scopes import all_keys, keys_of, of_main
from tui.offers import main_of
from tui.screens.base import ModeScreen
from tui.screens.fault_sheet import Sheets
from tui.viewmodel.autopsy_page import headline

ELSEWHERE: Final = 0.8
"""What a match on another target than the one under the cursor is worth."""
MOST_HITS: Final = 60
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
        for score, words, name, node, summary in found[:MOST_HITS]:
            run = lambda name=name, node=node: self._do(name, node)  # noqa: E731
            yield Hit(score, matcher.highlight(words), run, help=summary)

    def _offers(self, screen: Sheets) -> Iterator[tuple[str, str, int, str]]:
        """Only what can be done to each."""
        if not screen.bridge.view.brokers or screen.nothing():
            return
        for node, short in sorted(screen.desk.targets(), key=lambda each: each[0] != screen.target):
            for name in screen.bridge.session.board.fitting(node):
                fault = CATALOGUE[name]
                yield f"{fault.title} {short}", name, node, fault.summary

    def _do(self, name: str, node: int) -> None:
        screen = self.screen
        if isinstance(screen, Sheets):
            screen.arrive()
            screen.desk.inject(name, node)
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

    def _keys(self) -> tuple[Key, ...]:
        """Of the main screen, and of the mode that is looked at."""
        main, scope = main_of(self.screen), getattr(self.screen, "SCOPE", "")
        keys = all_keys() if main is None else main.keys
        return (*of_main(keys), *(keys_of(scope, keys) if scope else ()))

    def _press(self, key: Key) -> None:
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
