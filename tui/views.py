"""The settings of the screen by name: a form for each, its choices one by one, and undoing the last one."""

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, cast

from tui.offers import Offer, Offers
from tui.screens.cluster import MainScreen
from tui.screens.fault_forms import Asked, ValueForm
from tui.session import settings_changes
from tui.settings.schema import OPTIONS, Option, Value

if TYPE_CHECKING:
    from tui.app import FloodmarkApp


class ViewProvider(Offers):
    """What is chosen is in force at once, and written into the user's file at once."""

    def offers(self, main: MainScreen) -> Iterable[Offer]:
        """Every setting, every choice of looks, and the way back."""
        app = cast("FloodmarkApp", self.app)
        for option in OPTIONS:
            now = text_of(settings_changes.in_force(app).value(option.name))
            words = f"setting of the screen {option.name} = {now}"
            yield Offer(words, option.words, partial(self._ask, option))
            if option.name in ("theme", "glyphs"):
                for choice in option.choices:
                    yield Offer(f"view {option.name} {choice}", option.words, partial(self._keep, option, choice))
        if app.kept:
            last = app.kept[-1]
            words = f"undo setting of the screen: {last.name} = {text_of(last.before)} again"
            yield Offer(words, "in the file too", lambda: main.toast(settings_changes.undo(app)))

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
        asked = Asked(f"The screen's {option.name}", option.words, now, allowed, check, use, choices)
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
