"""What a process without JAX may import stays without it."""

import subprocess
import sys

import pytest

LIGHT = [
    "kernels", "kernels.problem", "kernels.masks", "kernels.flash", "kernels.flash.block_sizes",
    "kernels.flash.tiles", "kernels.flash.limits", "kernels.catalog", "kernels.cases",
]  # fmt: skip


@pytest.mark.parametrize("forbidden", ["jax", "PySide6", "explorer"])
def test_light_modules_load_nothing_heavy(forbidden):
    code = f"import sys, {', '.join(LIGHT)}; sys.exit({forbidden!r} in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_kernels_load_without_the_explorer():
    code = "import sys; from kernels import catalog; catalog.names(); sys.exit('explorer' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
