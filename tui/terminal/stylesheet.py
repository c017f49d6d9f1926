"""A stylesheet that parses nothing twice. Textual's own parses all again at every start, as its theme is set."""

from textual.css.stylesheet import Stylesheet


class ParsedOnce(Stylesheet):
    """Keeps what is parsed as long as the variables stay the same."""

    def set_variables(self, variables: dict[str, str]) -> None:
        """Other ones mean that everything is parsed anew."""
        if variables != self._variables:
            super().set_variables(variables)

    def reparse(self) -> None:
        """When it is next asked for, from what is kept."""
        self._require_parse = True
        self._rules_map = None
