"""Two recorded sessions side by side: what they are, where they part, and what came of each."""
