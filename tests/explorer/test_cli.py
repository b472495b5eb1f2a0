"""The command line: reports and exit codes, with an engine made for the test."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from explorer import cli

STAGES = ["Partition", "Load", "Score and normalise", "Accumulate", "Schedule"]
Tilescope = Callable[..., int]


def test_run_for_programs(tilescope: Tilescope, capsys: pytest.CaptureFixture[str]) -> None:
    assert tilescope("run", "--json", "--input", "normal", "--q-len", "32", "--seed", "5", "--chip", "v6e") == 0
    said = capsys.readouterr()
    data = json.loads(said.out)
    assert said.err == ""
    assert (data["kernel"], data["ran_on"], data["ok"]) == ("flash", "a test", True)
    assert data["error"]["float64"]["max"] == 3e-7
    assert data["error"]["naive"]["max"] is None
    assert data["error"]["lse"]["max"] == 1e-6
    assert {name: data["timing_ms"][name] for name in ("compile", "median", "p95", "count")} == {
        "compile": 12.0, "median": 3.0, "p95": 4.0, "count": 10,
    }  # fmt: skip
    assert data["naive_timing_ms"] is None
    memory = ("vmem_peak", "vmem_limit", "hbm_moved", "hbm_moved_naive")
    assert [data["memory"][name] for name in memory] == [1 << 20, 16 << 20, 4096, 8192]
    assert (data["seed"], data["configuration"]["q-len"], data["problem"]["q_len"]) == (5, 32, 32)
    assert data["configuration"]["chip"] == "v6e"
    assert data["versions"]["jax"] == "9.9"
    assert data["options"] == "--input normal --q-len 32 --seed 5 --chip v6e"
    assert data["blocks"] == {"block_q": 32, "block_kv": 64}


def test_run_for_people(tilescope: Tilescope, capsys: pytest.CaptureFixture[str]) -> None:
    assert tilescope("run", "--block-kv", "512") == 0
    text = capsys.readouterr().out
    for words in (
        "sentence-en: 4 heads, 96 queries by 96 keys, head dim 32, float32, causal, top-left, scale 0.177",
        "3.0e-07 against float64 (allowed 1.0e-05), 1.0e-06 in LSE",
        "3.00 ms median, 4.00 ms p95 of 10 runs; compiled in 12.0 ms",
        "1.00 MiB of 16.0 MiB scoped limit (v5e)",
        "block-kv 512 is now 96, the whole sequence",
        "bidirectional",
        "right",
    ):
        assert words in text


def test_a_wrong_result_exits_with_1(tilescope: Tilescope, engine: Any, capsys: pytest.CaptureFixture[str]) -> None:
    engine.ok = False
    assert tilescope("run", "--json") == 1
    assert json.loads(capsys.readouterr().out)["error"]["float64"]["max"] == "inf"
    assert tilescope("run") == 1
    assert "WRONG" in capsys.readouterr().out


def test_run_saves_outputs(tilescope: Tilescope, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out.npz"
    assert tilescope("run", "--input", "normal", "--save", str(out)) == 0
    with np.load(out) as saved:
        assert sorted(saved) == ["lse", "o"]
        assert saved["o"].dtype == saved["lse"].dtype == np.float32
        assert saved["o"].shape == (1, 2, 256, 64)
        assert saved["lse"].shape == (1, 2, 256)
    capsys.readouterr()


def test_step_for_programs(tilescope: Tilescope, capsys: pytest.CaptureFixture[str]) -> None:
    assert tilescope("step", "7", "--json") == 0
    data = json.loads(capsys.readouterr().out)
    assert (data["step"], data["coords"]) == (7, [0, 0, 1, 1])
    assert data["transfers"] == [
        {"operand": "k", "block": [0, 0, 1, 0], "direction": "in", "slot": 1, "bytes": 8192, "logical_bytes": 2048}
    ]
    assert data["m"] == data["l"] == data["alpha"] == [1.5, "-inf"]
    assert [float(value) for value in data["m"]] == [1.5, -np.inf]
    assert [stage["name"] for stage in data["stages"]] == STAGES
    assert [stage["holds"] for stage in data["stages"]] == [None, None, True, None, None]


def test_step_for_people(tilescope: Tilescope, capsys: pytest.CaptureFixture[str]) -> None:
    assert tilescope("step", "7") == 0
    text = capsys.readouterr().out
    assert "k[0, 0, 1, 0] into slot 1, 8.00 KiB (2.00 KiB of data)" in text
    assert "queries 16 to 31 meet keys 16 to 31" in text
    assert "1.50 -∞" in text
    assert "Score and normalise: d: holds (execution)" in text


def test_evidence_that_does_not_hold_exits_with_1(
    tilescope: Tilescope, engine: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    engine.holds = False
    assert tilescope("step", "7") == 1
    assert "DOES NOT HOLD" in capsys.readouterr().out


def test_options_override_the_settings_file(
    tilescope: Tilescope, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = tmp_path / "settings.toml"
    settings.write_text('input = "normal"\nq-len = 64\nblock-q = 32\nmask = "window"\nwindow = "8,"\n')
    assert tilescope("run", "--json", "--config", str(settings), "--block-q", "16") == 0
    configuration = json.loads(capsys.readouterr().out)["configuration"]
    expected = {"input": "normal", "q-len": 64, "block-q": 16, "mask": "window", "window": [8, None]}
    assert {name: configuration[name] for name in expected} == expected


def test_a_file_of_ones_own(tilescope: Tilescope, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "heads.npz"
    np.savez(path, **{name: np.ones((5, 3, 8), np.float32) for name in "qkv"})
    assert tilescope("run", "--json", "--input", str(path), "--layout", "bnhd") == 0
    problem = json.loads(capsys.readouterr().out)["problem"]
    assert (problem["heads"], problem["q_len"], problem["head_dim"]) == (3, 5, 8)


def test_the_engine_can_be_elsewhere(tilescope: Tilescope, engine: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert tilescope("run", "--engine", "ssh tpu-vm tilescope engine") == 0
    assert engine.command == ["ssh", "tpu-vm", "tilescope", "engine"]
    capsys.readouterr()


def test_doctor(tilescope: Tilescope, capsys: pytest.CaptureFixture[str]) -> None:
    assert tilescope("doctor", "--json") in (0, 1)  # what this machine has is not the point here
    data = json.loads(capsys.readouterr().out)
    checks = {check["name"]: check for check in data["checks"]}
    assert checks["engine: devices"] == {"name": "engine: devices", "ok": True, "detail": "1 × cpu"}
    assert checks["package kernels"]["ok"]
    assert checks["assets"]["ok"]
    assert data["ok"] == all(check["ok"] for check in data["checks"])


def test_doctor_with_a_failing_engine(tilescope: Tilescope, engine: Any, capsys: pytest.CaptureFixture[str]) -> None:
    engine.ok = False
    assert tilescope("doctor") == 1
    assert "NOT OK  engine: devices" in capsys.readouterr().out


def test_version_and_help(tilescope: Tilescope, capsys: pytest.CaptureFixture[str]) -> None:
    assert tilescope("--version") == 0
    assert capsys.readouterr().out.startswith("tilescope 0.")
    for command in ([], ["run"], ["step"], ["shot"], ["doctor"], ["engine"]):
        assert tilescope(*command, "--help") == 0
        assert "usage: tilescope" in capsys.readouterr().out


def test_every_setting_is_an_option_of_every_command(tilescope: Tilescope, capsys: pytest.CaptureFixture[str]) -> None:
    from explorer.session.config import Configuration

    for command in ([], ["run"], ["step"], ["shot"]):
        tilescope(*command, "--help")
        text = capsys.readouterr().out
        for field in msgspec.structs.fields(Configuration):
            assert f"--{field.encode_name}" in text, (command, field.name)


def test_a_reader_that_leaves_is_no_fault(tilescope: Tilescope, monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(_: str) -> None:
        raise BrokenPipeError

    monkeypatch.setattr(cli, "_print", gone)
    monkeypatch.setattr("os.dup2", lambda *_: None)
    assert tilescope("run") == 2
