"""Filters that people type: words that have to be there, and words that must not."""

INVERSE = "!"


def fits(words: str, said: str) -> bool:
    """Whether each of the words is part of what is said, and none of those that begin with ``!`` is."""
    said = said.lower()
    return all(_word_fits(word, said) for word in words.lower().split())


def _word_fits(word: str, said: str) -> bool:
    if not word.startswith(INVERSE):
        return word in said
    return word == INVERSE or word[1:] not in said
