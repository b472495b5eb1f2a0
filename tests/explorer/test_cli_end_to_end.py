"""The command line with its real engine process: right numbers, against float64 computed here."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import explorer
from explorer.session.config import Configuration
from explorer.session.inputs import load_inputs
from explorer.session.problem import build_problem
from kernels import reference

COMMAND = [sys.executable, "-m", "explorer.cli"]


def tilescope(*argv: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    done = subprocess.run([*COMMAND, *argv], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    return done


def test_run_saves_what_float64_says(tmp_path: Path) -> None:
    out = tmp_path / "out.npz"
    argv = ("--input", "short-id", "--mask", "causal-bottom-right", "--q-len", "9", "--heads", "2")
    data = json.loads(tilescope("run", "--json", "--save", str(out), *argv).stdout)
    configuration = Configuration(input="short-id", mask="causal-bottom-right", q_len=9, heads=2)
    problem, _, q, k, v = build_problem(configuration, load_inputs(configuration))
    oracle = reference.oracle(problem, q, k, v)
    with np.load(out) as saved:
        error = np.abs(saved["o"] - oracle.o).max()
        np.testing.assert_allclose(saved["lse"], oracle.lse, atol=1e-4)
    assert error < 1e-5
    assert data["error"]["float64"]["max"] == pytest.approx(error, rel=1e-3)
    assert data["ok"] is True
    assert "CPU" in data["ran_on"]
    assert data["memory"]["vmem_peak"] < data["memory"]["vmem_limit"]


def test_step_gives_the_running_max_and_sum() -> None:
    data = json.loads(tilescope("step", "7", "--json").stdout)
    configuration = Configuration()
    problem, blocks, q, k, v = build_problem(configuration, load_inputs(configuration))
    assert data["coords"] == [0, 0, 1, 1]
    rows = slice(blocks.block_q, 2 * blocks.block_q)
    expected = reference.oracle_rows(problem, q, k, v, 0, 0, rows, keys=2 * blocks.block_kv)
    np.testing.assert_allclose(data["m"], expected.m, rtol=1e-5)
    np.testing.assert_allclose(data["l"], expected.l, rtol=1e-5)
    assert {transfer["operand"] for transfer in data["transfers"]} == {"k", "v"}
    assert [stage["holds"] for stage in data["stages"][:4]] == [True] * 4


def test_a_refusal_is_one_line() -> None:
    said = tilescope("run", "--kernel", "none-such", code=2).stderr
    assert said.count("\n") == 1
    assert "none-such" in said


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="looks for the engine under /proc")
def test_ctrl_c_is_clean_and_takes_the_engine_along() -> None:
    process = subprocess.Popen(
        [*COMMAND, "run", "--input", "normal", "--q-len", "4096", "--kv-len", "4096", "--block-q", "8"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    deadline = time.monotonic() + 30
    while not (found := children.read_text().split()) and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(0.5)
    os.kill(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert (out, err) == ("", "tilescope: interrupted\n")
    assert found
    assert not any(Path(f"/proc/{child}").exists() for child in found)


def test_a_wrong_package_named_kernels_is_said_in_words(tmp_path: Path) -> None:
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels" / "__init__.py").touch()
    root = Path(explorer.__file__).parent.parent
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), str(root)])}
    done = subprocess.run(
        [sys.executable, "-P", "-m", "explorer.cli", "run"], capture_output=True, text=True, env=environment,
        timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert f"another package named kernels comes before Tilescope's: {tmp_path / 'kernels'}" in done.stderr
    assert "pipx install tilescope" in done.stderr


def test_tiles_that_a_tpu_refuses_make_no_result_wrong() -> None:
    """The schedule's evidence fails, and says so; what ran is right, and so is the exit code."""
    options = "--input normal --q-len 8 --kv-len 8 --heads 1 --head-dim 4 --block-q 2 --block-kv 4 --mask none"
    done = tilescope("step", "3", "--json", *options.split(), code=0)
    stages = {stage["name"]: stage["holds"] for stage in json.loads(done.stdout)["stages"]}
    assert stages["Schedule"] is False
    assert stages["Accumulate"] is True
