"""The session behind the screen: what moves it, and what is asked of it.

session_controller: the only place that moves the model, a slice of work a frame;
  branches, companion, scrubbing.
background_tasks: questions, explanations and exports in processes of their own; evidence for a finding's page.
settings_changes: a setting changed at once, kept in the user's file, and undone.
destination: what is to be opened next (welcome page, playbook or session), and how a session was left.
playbook_choice: from what was typed to a playbook, a recorded session, or a live session that is recorded.
destination_check: whether a destination can be opened.
typed_commands: the language of typed commands, used by the screen and by ``floodmark live`` and ``serve``.

It knows no widget and no screen.
"""

__all__ = [
    "background_tasks",
    "destination",
    "destination_check",
    "playbook_choice",
    "session_controller",
    "settings_changes",
    "typed_commands",
]
