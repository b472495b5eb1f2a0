"""The inputs used last, kept across sessions."""

from __future__ import annotations

from pathlib import Path

import msgspec

from explorer.session.atomic import set_aside, write_atomically
from explorer.session.config import is_file_name
from explorer.session.places import config_directory

LIMIT = 12


class _Content(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    version: int
    recent: list[str]


class RecentInputs:
    """Names and full paths of inputs, newest first, in a small JSON file.

    A file that cannot be read as such is set aside as ``NAME.damaged``, and ``problem`` says so in one line; one that
    cannot be written leaves the list working for this session, and ``problem`` says that.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.path = path or config_directory() / "recent.json"
        self.problem = ""
        self._names: list[str] = self._load()

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._names)

    def add(self, name: str) -> None:
        """Put an input first. Files are kept by their full path."""
        if is_file_name(name):
            name = str(Path(name).absolute())
        self._names = [name, *(other for other in self._names if other != name)][:LIMIT]
        self._save()

    def remove(self, name: str) -> None:
        """Forget an input, for when its file is gone."""
        self._names = [other for other in self._names if other != name]
        self._save()

    def _load(self) -> list[str]:
        try:
            content = msgspec.json.decode(self.path.read_bytes(), type=_Content)
        except FileNotFoundError:
            return []
        except OSError as error:
            self.problem = f"recent inputs not read: {self.path}: {error.strerror}"
            return []
        except (msgspec.MsgspecError, UnicodeDecodeError):
            aside = set_aside(self.path)
            kept = f"kept as {aside}" if aside else "left where it is"
            self.problem = f"the list of recent inputs was damaged and starts anew; the old one is {kept}"
            return []
        return content.recent[:LIMIT]

    def _save(self) -> None:
        try:
            write_atomically(self.path, msgspec.json.encode(_Content(1, self._names)))
        except OSError as error:
            self.problem = f"recent inputs not saved: {self.path}: {error.strerror}"
