"""Whether a file can be written where the user wants it, before anything is computed for it."""

from __future__ import annotations

import os
from pathlib import Path

from explorer.session.errors import UserError


class TargetError(UserError):
    """A file cannot be written there; one line that says why."""


def check_target(path: str, suffix: str, option: str = "") -> None:
    """``option``: what the user gave the path to, as in '--save'.

    Raises TargetError where ``path`` does not end in ``suffix``, is a folder, or lies where nothing can be put."""
    folder, said = Path(path).absolute().parent, f"{option} {path}".strip()
    if not path.lower().endswith(suffix):
        raise TargetError(f"{said}: the file must end in {suffix}")
    if Path(path).is_dir():
        raise TargetError(f"{said}: this is a folder")
    if not folder.is_dir():
        raise TargetError(f"{said}: there is no folder {folder}")
    if not os.access(folder, os.W_OK):
        raise TargetError(f"{said}: the folder {folder} cannot be written")
