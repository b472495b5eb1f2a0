"""Options become settings; what is not given leaves the settings file alone."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from explorer.session.config import MASKS, Configuration, ConfigurationError
from explorer.session.headless.options import add_problem_options, configuration_from, joined, option_text


def parsed(*argv: str, **defaults: Any) -> Configuration:
    parser = argparse.ArgumentParser()
    add_problem_options(parser)
    return configuration_from(parser.parse_args(joined(argv)), **defaults)


def test_nothing_given_is_the_default() -> None:
    assert parsed() == Configuration()


def test_every_option() -> None:
    options = (
        "--input needle --layout bnhd --q-len 3 --kv-len 4 --heads 6 --kv-heads 2 --head-dim 64 --dtype bfloat16 "
        "--mask window --window 128, --scale -0.5 --softcap 30 --empty-rows nan --seed 9 --kernel xla --block-q 16 "
        "--block-kv 32 --chip v6e"
    )
    assert parsed(*options.split()) == Configuration(
        input="needle", layout="bnhd", q_len=3, kv_len=4, heads=6, kv_heads=2, head_dim=64, dtype="bfloat16",
        mask="window", window=(128, None), scale=-0.5, softcap=30.0, empty_rows="nan", seed=9, kernel="xla",
        block_q=16, block_kv=32, chip="v6e",
    )  # fmt: skip


def test_a_default_that_is_given_overrides_the_file(tmp_path: Path) -> None:
    path = tmp_path / "settings.toml"
    path.write_text("seed = 3\nblock-q = 8\n")
    assert parsed("--config", str(path), "--seed", "0") == Configuration(block_q=8)


def test_a_bad_settings_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "settings.toml"
    path.write_text("colour = 'red'")
    with pytest.raises(ConfigurationError, match=r"settings.toml: unknown key 'colour'"):
        parsed("--config", str(path))


@given(
    st.builds(
        Configuration,
        input=st.sampled_from(["normal", "a file.npz", "it's.npz"]),
        q_len=st.none() | st.integers(1, 99),
        mask=st.none() | st.sampled_from(MASKS),
        window=st.none() | st.tuples(st.none() | st.integers(0, 9), st.none() | st.integers(0, 9)),
        scale=st.none() | st.floats(allow_nan=False),
        seed=st.integers(0, 99),
    )
)
def test_option_text_gives_the_same_settings(configuration: Configuration) -> None:
    assert parsed(*shlex.split(option_text(configuration))) == configuration


def test_negative_numbers_are_no_options() -> None:
    assert parsed("--scale", "-1e-3").scale == -1e-3
    assert joined(["--input", "-x", "--softcap", "-2", "--scale", "--json"]) == [
        "--input", "-x", "--softcap=-2", "--scale", "--json",
    ]  # fmt: skip
