"""The log holds what the one line leaves out, and never is a fault itself."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from explorer.session import logs, places


def test_a_fault_is_written_in_full() -> None:
    try:
        raise ValueError("deep")
    except ValueError as error:
        said = logs.log_fault("short", "many\nlines", error)
    text = places.log_file().read_text(encoding="utf-8")
    assert said == f"details in {places.log_file()}"
    for part in ("short", "many\nlines", "Traceback", "ValueError: deep", "tilescope 0."):
        assert part in text


def test_records_of_a_session_are_kept() -> None:
    handlers = list(logging.getLogger().handlers)
    with logs.logging_to_file():
        logging.getLogger("explorer.link").warning("engine restarted")
        logs.log_fault("inside")
    assert "engine restarted" in places.log_file().read_text(encoding="utf-8")
    assert logging.getLogger().handlers == handlers


def test_a_folder_that_cannot_be_made_is_harmless(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    assert "tilescope.log" in logs.log_fault("unheard")
