"""Settings to TOML and back, and what is said about a file that cannot be used."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from explorer.session import config
from explorer.session.config import Configuration, ConfigurationError

_side = st.none() | st.integers(0, 10_000)
_size = st.none() | st.integers(1, 1 << 40)
configurations = st.builds(
    Configuration,
    input=st.sampled_from(["normal", "sentence-en", 'case with "quotes" and \\ and ünï']),
    layout=st.sampled_from(config.LAYOUTS),
    q_len=_size,
    kv_heads=_size,
    dtype=st.none() | st.sampled_from(config.DTYPES),
    mask=st.none() | st.sampled_from(config.MASKS),
    window=st.none() | st.tuples(_side, _side),
    scale=st.none() | st.floats(allow_nan=False),
    softcap=st.none() | st.floats(allow_nan=False, allow_infinity=False),
    empty_rows=st.sampled_from(config.EMPTY_ROWS),
    seed=st.integers(-5, 1 << 40),
    block_kv=_size,
)


@given(configurations)
def test_toml_round_trip(configuration: Configuration) -> None:
    assert config.loads(config.dumps(configuration)) == configuration


def test_keys_are_the_option_names() -> None:
    text = config.dumps(Configuration(q_len=64, window=(128, None), mask="window"))
    assert 'input = "sentence-en"' in text
    assert "q-len = 64" in text
    assert 'window = "128,"' in text
    assert "block-q" not in text


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("q_len = 3", ["unknown key 'q_len'", "q-len"]),
        ("q-len = 'many'", ["q-len", "int"]),
        ("q-len = 1.5", ["q-len", "int"]),
        ("mask = 'diagonal'", ["mask 'diagonal'", "causal-bottom-right"]),
        ("dtype = 'float16'", ["dtype 'float16'", "bfloat16"]),
        ("window = '1,2,3'", ["window '1,2,3'", "128,0"]),
        ("window = [1, 2, 3]", ["window", "length 2"]),
        ("q-len = \n", ["not valid TOML", "line 1"]),
    ],
)
def test_bad_settings_are_named(text: str, words: list[str]) -> None:
    with pytest.raises(ConfigurationError) as caught:
        config.loads(text)
    assert "\n" not in str(caught.value)
    for word in words:
        assert word in str(caught.value)


def test_window_takes_lists_too() -> None:
    assert config.loads("window = [128, 0]").window == (128, 0)


@pytest.mark.parametrize(
    ("text", "window"), [("128,0", (128, 0)), ("128,", (128, None)), (",0", (None, 0)), (" 1 , 2 ", (1, 2))]
)
def test_window_text(text: str, window: tuple[int | None, int | None]) -> None:
    assert config.parse_window(text) == window
    assert config.parse_window(config.format_window(window)) == window


@pytest.mark.parametrize("text", ["", "128", "a,b", "-1,0", "1.5,2", "1,2,3", "²,1"])
def test_bad_window_text(text: str) -> None:
    with pytest.raises(ConfigurationError, match="LEFT,RIGHT"):
        config.parse_window(text)


def test_a_file_is_saved_and_loaded(tmp_path: Path) -> None:
    path = tmp_path / "new folder" / "settings.toml"
    configuration = Configuration(input="needle", block_q=64, scale=0.5)
    config.save(configuration, path)
    assert config.load(path) == configuration


def test_an_input_file_is_found_beside_its_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "heads.npz").touch()
    (tmp_path / "settings.toml").write_text('input = "heads.npz"\n')
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert config.load("../settings.toml").input == str(Path("..") / "heads.npz")
    config.save(Configuration(input="../heads.npz"), tmp_path / "saved.toml")
    assert config.load(tmp_path / "saved.toml").input == str(tmp_path / "heads.npz")


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"mask = 3", b"[[["])
def test_a_bad_file_is_named(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "settings.toml"
    path.write_bytes(content)
    with pytest.raises(ConfigurationError, match=r"settings\.toml: "):
        config.load(path)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="No such file"):
        config.load(tmp_path / "none.toml")
    with pytest.raises(ConfigurationError, match="directory"):
        config.load(tmp_path)
    large = tmp_path / "large.toml"
    large.write_bytes(b"#" * (2 << 20))
    with pytest.raises(ConfigurationError, match="too large"):
        config.load(large)


def test_a_full_disk_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "settings.toml"
    config.save(Configuration(seed=1), path)

    def no_space(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", no_space)
    with pytest.raises(ConfigurationError, match=r"settings.toml: not saved: No space left"):
        config.save(Configuration(seed=2), path)
    assert config.load(path).seed == 1
    assert [entry.name for entry in tmp_path.iterdir()] == ["settings.toml"]
