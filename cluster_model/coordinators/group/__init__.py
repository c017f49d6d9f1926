"""Consumer groups: what a group coordinator keeps and answers, and the messages that it is asked with."""
