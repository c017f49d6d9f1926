"""The ``floodmark`` command line: one file per command."""
