"""What a person did or met, said in one line: no fault of the program's."""

from __future__ import annotations


class UserError(Exception):
    """Base of errors whose message is for a person, as it is."""
