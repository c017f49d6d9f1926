"""Changes of TUI settings: apply at once, keep in the user's file, and undo."""

from dataclasses import replace
from typing import NamedTuple, Protocol, cast

from tui.session.session_controller import READ_ONLY, SessionController
from tui.settings.schema import Settings, Value, written
from tui.settings.settings_file import SettingsWriteError, read_settings, write
from tui.terminal.frame_clock import frame_s
from tui.terminal.glyphs import choose
from tui.terminal.theme import Appearance, ThemeName


class SettingUndo(NamedTuple):
    """Changed setting and its previous value."""

    name: str
    before: Value


class SettingsHolder(Protocol):
    """Part of the app that a change of settings needs."""

    session_controller: SessionController
    appearance: Appearance
    settings: Settings
    undoable_settings: list[SettingUndo]

    def set_look(self, appearance: Appearance) -> None:
        """Redraw everything with another appearance."""


def in_force(app: SettingsHolder) -> Settings:
    """Return the current settings."""
    return replace(
        app.settings, theme=app.appearance.theme, speed=app.session_controller.speed,
        autopause=app.session_controller.stops_at_loss,
    )  # fmt: skip


def apply(app: SettingsHolder, wanted: Settings) -> None:
    """Apply settings to the running app."""
    app.session_controller.set_speed(wanted.speed)
    app.session_controller.stops_at_loss = wanted.autopause
    app.session_controller.frame_s = frame_s(wanted.fps)
    app.settings = wanted
    app.set_look(
        Appearance(colour=app.appearance.colour, glyphs=choose(wanted.glyphs), theme=cast("ThemeName", wanted.theme))
    )


def keep(app: SettingsHolder, name: str, value: Value) -> str:
    """Change a setting and write it to the file; return a message."""
    if app.session_controller.read_only:
        return READ_ONLY
    app.undoable_settings.append(SettingUndo(name, in_force(app).value(name)))
    return _set(app, name, value)


def undo(app: SettingsHolder) -> str:
    """Undo the last change, also in the file; return a message."""
    if not app.undoable_settings:
        return "no setting to undo"
    last = app.undoable_settings.pop()
    return _set(app, last.name, last.before)


def _set(app: SettingsHolder, name: str, value: Value) -> str:
    changed: dict[str, object] = {name: value}
    apply(app, replace(in_force(app), **changed))  # type: ignore[arg-type]
    path = read_settings().path
    assignment = f"{name} = {written(value)}"
    try:
        write(path, {name: value})
    except SettingsWriteError as error:
        return f"{assignment} until you quit: {error}"
    return f"{assignment}, written to {path}"
