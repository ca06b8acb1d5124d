"""Why something upstream could not be resolved. It names hosts and references, and never a credential."""

from __future__ import annotations


class Refusal(Exception):  # noqa: N818  the word that the exit code and the guides use
    """What was asked for could not be had; the text says why, with the numbers, and `hint` what to do."""

    def __init__(self, code: str, message: str, hint: str = "") -> None:
        """Take the finding's code, such as LCK003, and its words."""
        super().__init__(message)
        self.code = code
        self.hint = hint
