"""What every test runs under: no screen, JAX on the CPU, one hypothesis seed, none of the user's own settings."""

from __future__ import annotations

import os
import tempfile

import pytest
from hypothesis import settings

os.environ["QT_QPA_PLATFORM"] = "offscreen"
os.environ["JAX_PLATFORMS"] = "cpu"
# One small program is compiled in many tests: compile it once a run.
_cache = tempfile.TemporaryDirectory(prefix="tilescope-tests-")
os.environ["JAX_COMPILATION_CACHE_DIR"] = _cache.name
os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
os.environ["JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES"] = "0"

# Kernels compile once a shape: a deadline would measure the compiler. Derandomized, so that a failure is repeatable.
settings.register_profile("suite", deadline=None, derandomize=True, max_examples=25)
settings.load_profile("suite")


@pytest.fixture(autouse=True)
def own_places(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings, recent inputs and logs of a test go to a folder of its own."""
    home = tmp_path_factory.mktemp("home")
    for variable in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(variable, str(home / variable.lower()))
