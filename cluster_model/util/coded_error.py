"""What errors have in common that say why something cannot be done."""

from typing import Any


class CodedError(Exception):
    """Something that cannot be done; the message tells a person why, ``code`` tells a program the same.

    A code names the reason in a word or two, such as ``no_partition``: the same one wherever the reason is the same,
    and it stays what it is when the message is put in other words.
    """

    def __init__(self, message: str, *, code: str) -> None:
        super().__init__(message)
        self.code = code

    def __reduce__(self) -> tuple[Any, ...]:
        # As it is, without calling __init__ again: that would want the code, which is not among the arguments.
        return BaseException.__new__, (type(self), *self.args), self.__dict__
