"""The session behind the TUI: running it, and questions, exports and commands about it.

session_controller: the only module that advances the model, a slice of work per frame;
  branches, companion, scrubbing.
background_tasks: questions, explanations and exports in processes of their own; evidence for a finding's page.
settings_changes: apply a setting, keep it in the user's file, and undo it.
destination: the next page to open (welcome page, playbook or session), and how a session was left.
playbook_choice: from a typed name or path to a playbook, a recorded session, or a recorded live session.
destination_check: whether a destination can be opened.
typed_commands: the language of typed commands, used by the TUI and by ``floodmark live`` and ``serve``.

It uses no widget and no screen.
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
