"""The keys that each mode has for itself alone."""

from typing import Final

from tui.keybindings.scoped import Own

_LIST: Final = (
    Own("up", "up,k", "move(-1)", "a line up"),
    Own("down", "down,j", "move(1)", "a line down"),
    Own("page_up", "pageup", "move(-10)", "ten lines up"),
    Own("page_down", "pagedown", "move(10)", "ten lines down"),
)

LOG: Final = (
    Own("left", "left,h", "offset(-1)", "a cell back"),
    Own("right", "right,l", "offset(1)", "a cell on"),
    Own("back", "shift+left", "offset(-10)", "ten cells back"),
    Own("on", "shift+right", "offset(10)", "ten cells on"),
    Own("page_up", "pageup", "window(-1)", "a window back"),
    Own("page_down", "pagedown", "window(1)", "a window on"),
    Own("up", "up,k", "replica(-1)", "replica above"),
    Own("down", "down,j", "replica(1)", "replica below"),
    Own("next_partition", "tab", "partition(1)", "next partition"),
    Own("partition_before", "shift+tab", "partition(-1)", "partition before"),
    Own("more", "plus,equals_sign", "zoom(1)", "more offsets to a cell"),
    Own("fewer", "minus", "zoom(-1)", "fewer offsets to a cell"),
    Own("hw", "t", "high_watermark", "around the high watermark"),
    Own("fork", "F", "fork", "where the logs part"),
    Own("start", "g", "log_start", "where the log begins"),
    Own("tail", "end", "tail", "follow the end of the log"),
    Own("written", "enter", "written", "back to the moment at which the record was written"),
    Own("peek", "p", "peek", "the record whole"),
    Own("internal", "i", "internal", "show or hide Kafka's own topics"),
)
CLIENTS: Final = (
    Own("close", "c,q", "main(\"mode('cluster')\")", "back to the cluster"),
    Own("up", "up,k", "move(-1)", "the client above; a group is all its members"),
    Own("down", "down,j", "move(1)", "the client below"),
    Own("page_up", "pageup", "move(-10)", "ten clients up"),
    Own("page_down", "pagedown", "move(10)", "ten clients down"),
)
LANES: Final = {"faults": "t", "cluster": "c", "clients": "i", "safety": "x", "load": "o"}
"""Lane of the timeline → the key that shows and hides it; none of them is a key that acts."""
TIMELINE: Final = (
    Own("left", "left,h", "mark(-1)", "the mark before"),
    Own("right", "right,l", "mark(1)", "the next mark"),
    Own("up", "up,k", "across(-1)", "the nearest mark of the lane above"),
    Own("down", "down,j", "across(1)", "the nearest mark of the lane below; below them, the branches"),
    Own("go", "enter", "go", "go to that instant; again: back to the present; over to a branch"),
    Own("nearer", "plus,equals_sign", "zoom(1)", "zoom: nearer"),
    Own("farther", "minus", "zoom(-1)", "zoom: farther"),
    Own("whole", "z", "whole", "the whole session"),
    Own("page_up", "pageup", "scroll(-1)", "back by half a window"),
    Own("page_down", "pagedown", "scroll(1)", "on by half a window"),
    Own("follow", "end", "follow", "let go of the mark, follow time"),
    Own("back", "shift+left", "nudge(-1)", "one second back; the end of a span one column"),
    Own("on", "shift+right", "nudge(1)", "one second on; the end of a span one column"),
    Own("span", "v", "span", "begin a span here, whose end the arrows move; or let go of it"),
    Own("export", "e", "export_span", "write the events of the span beside the recording"),
    *(
        Own(f"lane_{lane}", each, f"lane({lane!r})", f"hide the lane {lane}, or show it")
        for lane, each in LANES.items()
    ),
)
PLAYBOOKS: Final = (
    Own("close", "P", "main(\"mode('cluster')\")", "back to the cluster"),
    *_LIST,
    Own("text_down", "J", "text(5)", "the text: five lines down"),
    Own("text_up", "K", "text(-5)", "the text: five lines up"),
    Own("other", "tab", "other", "playbooks, or sessions"),
    Own("filter", "slash", "filter", "choose by words; ! before a word: without it"),
    Own("open", "o", "open", "open a file, a name or a session"),
    Own("start", "enter", "start", "start the playbook, or open the session; that on the screen is sealed first"),
    Own("back", "b", "back", "back to what was on the screen before"),
)
REPORT: Final = (
    *_LIST,
    Own("left", "left,h", "choose(-1)", "the finding before"),
    Own("right", "right,l", "choose(1)", "the next finding"),
    Own("open", "enter", "open", "the autopsy of the finding"),
    Own("export", "e", "app.export", "a playbook of the session so far"),
)
COMPARE: Final = (
    Own("close", "q", "main(\"mode('cluster')\")", "back to the cluster"),
    Own("up", "up,k", "partition(-1)", "partition above"),
    Own("down", "down,j", "partition(1)", "partition below"),
)
