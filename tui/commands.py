"""What the command palette offers: every fault on every node, and every key of the main screen."""

from collections.abc import Iterator

from textual.command import DiscoveryHit, Hit, Hits, Provider

from faults.catalogue import CATALOGUE
from tui.keymap import KEYS
from tui.screens.main import MainScreen


class FaultProvider(Provider):
    """Verb × broker or node of the control plane, the broker under the cursor first."""

    async def discover(self) -> Hits:
        """The faults on the broker under the cursor."""
        for words, name, broker, summary in self._offers(only_target=True):
            yield DiscoveryHit(words, lambda name=name, broker=broker: self._do(name, broker), help=summary)

    async def search(self, query: str) -> Hits:
        """Faults whose words match, with the broker's number."""
        matcher = self.matcher(query)
        for words, name, broker, summary in self._offers(only_target=False):
            score = matcher.match(words)
            if score > 0:
                run = lambda name=name, broker=broker: self._do(name, broker)  # noqa: E731
                yield Hit(score, matcher.highlight(words), run, help=summary)

    def _offers(self, *, only_target: bool) -> Iterator[tuple[str, str, int, str]]:
        screen = self.screen
        if not isinstance(screen, MainScreen) or not screen.bridge.view.brokers:
            return
        nodes = sorted(screen.targets(), key=lambda each: each[0] != screen.target)
        for node, short in nodes[:1] if only_target else nodes:
            for fault in CATALOGUE.values():
                yield f"{fault.title} {short}", fault.name, node, fault.summary

    def _do(self, name: str, broker: int) -> None:
        if isinstance(self.screen, MainScreen):
            self.screen.inject(name, broker)


class KeyProvider(Provider):
    """The keys by what they do."""

    async def discover(self) -> Hits:
        """Those on the bar."""
        for key in KEYS:
            if key.bar and key.id != "palette":
                yield DiscoveryHit(key.words, lambda action=key.action: self._press(action), help=f"key {key.shown}")

    async def search(self, query: str) -> Hits:
        """Keys whose words match."""
        matcher = self.matcher(query)
        for key in KEYS:
            score = matcher.match(key.words)
            if score > 0 and key.id != "palette":
                run = lambda action=key.action: self._press(action)  # noqa: E731
                yield Hit(score, matcher.highlight(key.words), run, help=f"key {key.shown}")

    def _press(self, action: str) -> None:
        screen = self.screen
        screen.call_later(screen.run_action, action)
