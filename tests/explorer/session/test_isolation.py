"""What the session loads: neither JAX nor Qt, but what its files need."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import ml_dtypes
import numpy as np
from safetensors.numpy import save_file

_PROGRAM = """
import sys
from explorer.session import session, inputs, problem, cursor
from explorer.session.headless import commands, parser
inputs.load_inputs(inputs.Configuration())
print([name for name in ("jax", "jaxlib", "PySide6", "pyqtgraph") if name in sys.modules])
"""


def test_no_jax_and_no_qt() -> None:
    done = subprocess.run([sys.executable, "-c", _PROGRAM], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_bfloat16_is_read_where_nothing_else_made_it_known(tmp_path: Path) -> None:
    path = tmp_path / "input.safetensors"
    save_file({name: np.full((2, 4), 1.5, ml_dtypes.bfloat16) for name in "qkv"}, path)
    program = f"from explorer.session import files; print(files.load({str(path)!r}).q.sum())"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "12.0"
