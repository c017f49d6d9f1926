"""Settings page: changes apply at once, and are written to the user's file on request."""

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar, Final, cast

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.style import Style
from textual.widgets import Static

from tui.keybindings.keymap import KeyBinding, with_keys
from tui.keybindings.scopes import bindings_of
from tui.screens.base import OverlayPage
from tui.session import settings_changes
from tui.session.session_controller import SessionController
from tui.session.settings_changes import SettingsHolder
from tui.settings.schema import OPTIONS, Option, Settings, Value
from tui.settings.settings_file import SettingsFile, SettingsWriteError, read_settings, write
from tui.terminal import glyphs
from tui.terminal.format import speed, wrap
from tui.terminal.frame_clock import faster, slower
from tui.terminal.theme import Appearance
from tui.viewmodel.row import LabelPosition

# The lines of the page: current and possible values, and the settings file.


KEYS_WORDS: Final = (
    f"{{setting_up}} {{setting_down}} select {glyphs.NOTHING} {{setting_left}} {{setting_right}} change"
    f" {glyphs.NOTHING} {{setting_write}} write the file {glyphs.NOTHING} esc"
)
LABEL: Final = 11
MOST_PROBLEMS: Final = 4
"""Maximum number of problems of the file shown; more are counted."""

Piece = tuple[str, str]
"""Text, role."""


def stepped(settings: Settings, name: str, by: int) -> Settings:
    """Return the settings with the next or previous value of one of them."""
    option = next(each for each in OPTIONS if each.name == name)
    value = settings.value(name)
    if option.choices:
        at = option.choices.index(str(value))
        return replace(settings, **{name: option.choices[(at + by) % len(option.choices)]})  # type: ignore[arg-type]
    if isinstance(option.default, bool):
        return replace(settings, **{name: not value})  # type: ignore[arg-type]
    return replace(settings, speed=faster(settings.speed) if by > 0 else slower(settings.speed))


def lines(
    settings: Settings, marked: int, settings_file: SettingsFile, keys: Sequence[KeyBinding], message: Piece, width: int
) -> list[tuple[Piece, ...]]:
    """Return the page as lines of pieces; ``keys`` are the current keys, ``message`` is the last result."""
    rows: list[tuple[Piece, ...]] = []
    for number, option in enumerate(OPTIONS):
        here = number == marked
        mark = (f"{glyphs.MARKER if here else ' '}{option.name:<{LABEL}}", "key" if here else "quiet")
        rows.append((mark, *_values(option, settings.value(option.name))))
    rows += [(("", "text"),), *(((line, "text"),) for line in wrap(OPTIONS[marked].words, width)), (("", "text"),)]
    kept = f"{settings_file.path}{'' if settings_file.exists else ' (does not exist yet)'}"
    rows.append((("file".ljust(LABEL + 1), "quiet"), (kept, "text")))
    own_keys = (
        ", ".join(f"{key.id} {key.shown}" for key in keys if key.id in settings.keys)
        or "none; the file can remap any key, see: floodmark settings --example"
    )
    rows += _labelled("own keys", own_keys, "text", width)
    for problem in settings_file.problems[:MOST_PROBLEMS]:
        rows += _labelled("problem", problem, "warning", width)
    for note in settings_file.notes[:MOST_PROBLEMS]:
        rows += _labelled("note", note, "text", width)
    if len(settings_file.problems) > MOST_PROBLEMS:
        rows += _labelled(
            "", f"and {len(settings_file.problems) - MOST_PROBLEMS} more: floodmark settings", "warning", width
        )
    return [*rows, (("", "text"),), (message,), ((with_keys(KEYS_WORDS, keys), "quiet"),)]


def _values(option: Option, value: Value) -> list[Piece]:
    if not option.choices:
        text = "yes" if value is True else "no" if value is False else f"{glyphs.TIMES}{speed(float(value))}"
        return [(text, "strong")]
    return [
        (f"[{choice}] " if choice == value else f" {choice}  ", "strong" if choice == value else "quiet")
        for choice in option.choices
    ]


def _labelled(label: str, text: str, role: str, width: int) -> list[tuple[Piece, ...]]:
    wrapped = wrap(text, max(20, width - LABEL - 1))
    return [((f"{label if not at else '':<{LABEL + 1}}", "quiet"), (line, role)) for at, line in enumerate(wrapped)]


class SettingsScreen(ModalScreen[None], OverlayPage):
    """Settings page with one setting marked; the session continues."""

    SCOPE = "setting"
    BINDINGS: ClassVar[list[BindingType]] = bindings_of("setting")

    def __init__(self, appearance: Appearance, session_controller: SessionController) -> None:
        super().__init__()
        self._appearance = appearance
        self._session_controller = session_controller
        self._settings_file = read_settings()
        self._page = Static()
        self._message: Piece = ("", "text")
        self.marked = 0
        """Index of the marked option."""

    def compose(self) -> ComposeResult:
        """Yield the page."""
        with VerticalScroll(id="settings"):
            yield self._page

    def on_mount(self) -> None:
        """Present once the size is known."""
        self.call_after_refresh(self.present)

    def on_resize(self, _event: events.Resize) -> None:
        """Present for the new size."""
        self.call_after_refresh(self.present)

    @property
    def chosen(self) -> Settings:
        """Current settings."""
        return settings_changes.in_force(self._floodmark)

    def present(self) -> None:
        """Show the page."""
        if not self._page.is_attached:
            return
        rows = lines(
            self.chosen,
            self.marked,
            self._settings_file,
            self.keys_in_force,
            self._message,
            max(20, self._page.size.width),
        )
        self._page.update(Content("\n").join([self._line(row) for row in rows]))

    def action_mark(self, step: int) -> None:
        """Mark another setting."""
        self.marked = (self.marked + step) % len(OPTIONS)
        self.present()

    def spots(self) -> list[LabelPosition]:
        """Return the settings as jump targets."""
        left, top = self._page.region.offset
        return [LabelPosition(left, top + at, "setting", str(at)) for at in range(len(OPTIONS))]

    def go_to_spot(self, position: LabelPosition) -> None:
        """Mark that setting."""
        self.marked = int(position.key)
        self.present()

    def action_change(self, step: int) -> None:
        """Change the value of the marked setting."""
        wanted = stepped(self.chosen, OPTIONS[self.marked].name, step)
        settings_changes.apply(self._floodmark, wanted)
        self._appearance = self._floodmark.appearance
        self._message = ("", "text")
        self.present()

    def action_undo(self) -> None:
        """Undo the last change that was made by name, here and in the file."""
        self._message = (settings_changes.undo(self._floodmark), "calm")
        self._appearance, self._settings_file = self._floodmark.appearance, read_settings(self._settings_file.path)
        self.present()

    def action_write(self) -> None:
        """Write the current settings to the file."""
        self._settings_file = read_settings(self._settings_file.path)
        values = {
            each.name: self.chosen.value(each.name)
            for each in OPTIONS
            if self.chosen.value(each.name) != self._settings_file.settings.value(each.name)
        }
        try:
            write(self._settings_file.path, values)
        except SettingsWriteError as error:
            self._message = (str(error), "warning")
        else:
            changes = ", ".join(f"{name} {_word(value)}" for name, value in values.items())
            self._message = (f"written: {changes}" if changes else "no changes to write", "calm")
            self._settings_file = read_settings(self._settings_file.path)
        self.present()

    @property
    def _floodmark(self) -> SettingsHolder:
        return cast("SettingsHolder", self.app)

    def _line(self, row: tuple[Piece, ...]) -> Content:
        return Content.assemble(
            *(
                Content.styled(self._appearance.text(text), Style.from_rich_style(self._appearance.style(role)))
                for text, role in row
            )
        )


def _word(value: object) -> str:
    return (
        ("yes" if value else "no")
        if isinstance(value, bool)
        else f"{value:g}"
        if isinstance(value, float)
        else str(value)
    )
