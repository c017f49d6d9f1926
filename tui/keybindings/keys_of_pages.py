"""The keys that each page over the screen has for itself alone."""

from typing import Final

from tui.keybindings.scoped import Own, Page

_CLOSE: Final = "app.pop_screen"
_LIST: Final = (
    Own("up", "up,k", "choose(-1)", "line above"),
    Own("down", "down,j", "choose(1)", "line below"),
)

AUTOPSY: Final = (
    Own("out", "escape", "leave", "close"),
    Own("left", "left,h", "frame(-1)", "the frame before"),
    Own("right", "right,l", "frame(1)", "the next frame"),
    *(Own(f"frame_{number}", str(number), f"go({number})", f"to frame {number}") for number in range(1, 6)),
    Own("up", "up,k", "scroll(-1)", "a line up"),
    Own("down", "down,j", "scroll(1)", "a line down"),
    Own("page_up", "pageup", "scroll(-10)", "ten lines up"),
    Own("page_down", "pagedown", "scroll(10)", "ten lines down"),
    Own("finding", "n", "finding(1)", "the next finding"),
    Own("finding_before", "N", "finding(-1)", "the finding before"),
    Own("what_if", "w", "what_if", "a branch from the marked frame on"),
    Own("saves", "s", "why", "what would have saved it"),
    Own("next_change", "tab", "mark(1)", "mark the next change"),
    Own("change_before", "shift+tab", "mark(-1)", "mark the change before"),
    Own("take", "enter", "take", "run the marked change as a branch"),
    Own("playbook", "c", "copy_playbook", "copy the session so far as a playbook"),
    Own("copy", "y", "copy", "copy the sentence"),
    Own("export", "e", "app.export", "a playbook of the session so far"),
)

PAGES: Final = (
    Page("autopsy", "In an autopsy", AUTOPSY),
    Page(
        "record", "In a record",
        (
            Own("out", "escape,p,q", _CLOSE, "close"),
            Own("left", "left,h", "move(-1)", "one offset back"),
            Own("right", "right,l", "move(1)", "one offset on"),
            Own("back", "shift+left", "move(-10)", "ten offsets back"),
            Own("on", "shift+right", "move(10)", "ten offsets on"),
            Own("copy", "y", "copy", "copy it"),
        ),
    ),
    Page(
        "branch", "In the list of branches",
        (
            Own("out", "escape,q,b", "leave", "close"),
            *_LIST,
            Own("take", "enter", "take", "change over to it"),
            Own("compare", "c", "compare", "compare it with the one on the screen"),
        ),
    ),
    Page(
        "marks", "In the list of bookmarks",
        (
            Own("out", "escape,q,ctrl+b", "leave", "close"),
            *_LIST,
            Own("take", "enter", "take", "go there"),
            Own("forget", "d,delete", "forget", "forget it"),
        ),
    ),
    Page(
        "setting", "In the settings",
        (
            Own("out", "escape,S,q", _CLOSE, "close"),
            Own("up", "up,k", "mark(-1)", "the one above"),
            Own("down", "down,j", "mark(1)", "the one below"),
            Own("left", "left,h", "change(-1)", "the value before"),
            Own("right", "right,l", "change(1)", "the next value"),
            Own("write", "w", "write", "write the file"),
            Own("undo", "u", "undo", "undo what was set last, in the file too"),
        ),
    ),
    Page(
        "help", "In this help",
        (
            Own("out", "escape,question_mark,q", _CLOSE, "close"),
            Own("glossary", "g", "glossary", "all words"),
        ),
    ),
    Page("growing", "While a branch is on its way", (Own("out", "escape", "give_up", "never mind"),)),
    Page("label", "While there are letters over the screen", (Own("out", "escape", _CLOSE, "never mind"),)),
    Page(
        "word", "In the glossary",
        (
            Own("out", "escape", _CLOSE, "close"),
            Own("up", "up", "scroll(-1)", "a line up"),
            Own("down", "down", "scroll(1)", "a line down"),
            Own("page_up", "pageup", "scroll(-10)", "ten lines up"),
            Own("page_down", "pagedown", "scroll(10)", "ten lines down"),
        ),
    ),
    Page(
        "form", "In the form of a fault",
        (
            Own("out", "escape", _CLOSE, "back"),
            Own("up", "up", "app.focus_previous", "the field above"),
            Own("down", "down", "app.focus_next", "the field below"),
            Own("queue", "ctrl+n", "queue", "queue it while time stands still"),
        ),
    ),
    Page(
        "value", "In the form of a setting",
        (
            Own("out", "escape", _CLOSE, "back"),
            Own("up", "up", "step(-1)", "the value before, where they can be counted"),
            Own("down", "down", "step(1)", "the next value"),
        ),
    ),
    Page(
        "to_time", "Where a time is asked for",
        (
            Own("out", "escape,ctrl+g", "leave", "close"),
            Own("up", "up", "choose(-1)", "the bookmark above"),
            Own("down", "down", "choose(1)", "the bookmark below"),
        ),
    ),
    Page(
        "line", "In the line of commands",
        (
            Own("out", "escape", _CLOSE, "close"),
            Own("complete", "tab", "complete", "complete the word"),
            Own("up", "up", "before(-1)", "the line before"),
            Own("down", "down", "before(1)", "the next line"),
        ),
    ),
    Page("question", "In a question about the future", (Own("out", "escape", "leave", "never mind, then close"),)),
    Page(
        "words", "In the line of a filter",
        (
            Own("out", "escape", "leave(False)", "drop the filter"),
            Own("keep", "enter", "leave(True)", "keep the filter"),
            Own("up", "up", "step(-1)", "a line up"),
            Own("down", "down", "step(1)", "a line down"),
        ),
    ),
)  # fmt: skip

BARE: Final = ("growing", "label", "words")
"""Names of those in which nothing else can be done."""
TYPED: Final = ("word", "form", "value", "to_time", "line", "question", "words")
"""Names of those in which something is typed."""
