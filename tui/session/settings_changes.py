"""A setting of the screen that is changed: in force at once, kept in the user's file at once, and undone by a word."""

from dataclasses import replace
from typing import NamedTuple, Protocol, cast

from tui.session.session_controller import SimBridge
from tui.settings.schema import Settings, Value, written
from tui.settings.settings_file import SettingsWriteError, read_settings, write
from tui.terminal.frame_clock import frame_s
from tui.terminal.glyphs import choose
from tui.terminal.theme import Look, ThemeName


class SettingUndo(NamedTuple):
    """What was set, and what it was before."""

    name: str
    before: Value


class SettingsHolder(Protocol):
    """What a change of settings needs of the app."""

    bridge: SimBridge
    look: Look
    settings: Settings
    kept: list[SettingUndo]

    def set_look(self, look: Look) -> None:
        """Draw everything in another look from now on."""


def in_force(app: SettingsHolder) -> Settings:
    """What holds now, whatever it was at the start."""
    return replace(
        app.settings, theme=app.look.theme, speed=app.bridge.speed, autopause=app.bridge.stops_at_loss
    )  # fmt: skip


def apply(app: SettingsHolder, wanted: Settings) -> None:
    """Have those hold."""
    app.bridge.set_speed(wanted.speed)
    app.bridge.stops_at_loss = wanted.autopause
    app.bridge.frame_s = frame_s(wanted.fps)
    app.settings = wanted
    app.set_look(Look(colour=app.look.colour, glyphs=choose(wanted.glyphs), theme=cast("ThemeName", wanted.theme)))


def keep(app: SettingsHolder, name: str, value: Value) -> str:
    """Set one and write it down; a sentence of what came of it."""
    app.kept.append(SettingUndo(name, in_force(app).value(name)))
    return _set(app, name, value)


def undo(app: SettingsHolder) -> str:
    """Set the last one back, in the file too; a sentence of what came of it."""
    if not app.kept:
        return "no setting was changed since the start"
    last = app.kept.pop()
    return _set(app, last.name, last.before)


def _set(app: SettingsHolder, name: str, value: Value) -> str:
    changed: dict[str, object] = {name: value}
    apply(app, replace(in_force(app), **changed))  # type: ignore[arg-type]
    path = read_settings().path
    told = f"{name} = {written(value)}"
    try:
        write(path, {name: value})
    except SettingsWriteError as error:
        return f"{told} until you quit: {error}"
    return f"{told}, kept in {path}"
