"""The log file: what a one-line message leaves out."""

from __future__ import annotations

import contextlib
import logging
import logging.handlers
import platform
from collections.abc import Iterator

from explorer.session.places import log_file
from explorer.session.versions import own_version

_MAX_BYTES = 1 << 20


@contextlib.contextmanager
def logging_to_file() -> Iterator[None]:
    """While it lasts, the process's log records go to the log file, made with the first of them. Never raises."""
    root = logging.getLogger()
    handler: logging.Handler | None = None
    if not any(isinstance(other, _QuietFile) for other in root.handlers):
        with contextlib.suppress(OSError):
            log_file().parent.mkdir(parents=True, exist_ok=True)
            handler = _QuietFile(log_file(), maxBytes=_MAX_BYTES, backupCount=1, delay=True, encoding="utf-8")
            handler.setFormatter(logging.Formatter("%(asctime)s %(process)d %(levelname)s %(name)s: %(message)s"))
            root.addHandler(handler)
    try:
        yield
    finally:
        if handler is not None:
            root.removeHandler(handler)
            handler.close()


def log_fault(message: str, details: str = "", error: BaseException | None = None) -> str:
    """Log a fault in full. Returns where to read it, for the end of a message: 'details in FILE'."""
    where = f"tilescope {own_version()}, Python {platform.python_version()}, {platform.platform()}"
    text = "\n".join(part for part in (message, where, details) if part)
    with logging_to_file():
        logging.getLogger("tilescope").error(text, exc_info=error)
    return f"details in {log_file()}"


class _QuietFile(logging.handlers.RotatingFileHandler):
    """A full disk or a folder that cannot be written must not become a second fault."""

    def handleError(self, record: logging.LogRecord) -> None:
        del record
