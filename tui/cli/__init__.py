"""The ``floodmark`` command line.

main: the entry point; registers every command and loads little, so that ``floodmark --help`` is fast.
commands: options and help of the larger commands, loaded at once.
runs, analysis, clusters, sessions, reference: what the commands do, loaded when one is called.

Only this package starts the TUI, inside functions.
"""
