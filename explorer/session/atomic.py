"""Writing files so that a crash or a full disk leaves either the old content or the new, never a torn file."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path


def write_atomically(path: str | os.PathLike[str], data: bytes) -> None:
    """Replace ``path`` by ``data`` in one move, through a temporary file beside it.

    Raises OSError where it cannot; what was at ``path`` before is then untouched. Missing folders are made. A
    symbolic link is followed, and the permissions of a file that is replaced are kept.
    """
    target = Path(os.path.realpath(path))
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(temporary, _mode_for(target))
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def set_aside(path: Path) -> Path | None:
    """Move a damaged file out of the way, keeping it as ``NAME.damaged``. None where that is not possible."""
    aside = path.with_name(path.name + ".damaged")
    try:
        os.replace(path, aside)
    except OSError:
        return None
    return aside


def _mode_for(target: Path) -> int:
    """Permission bits: those of the file that is replaced, else what the process's umask gives a new file."""
    try:
        return target.stat().st_mode & 0o777
    except OSError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask
