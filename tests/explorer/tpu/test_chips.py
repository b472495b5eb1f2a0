"""Facts of the chips are those of JAX's table, per core, and the names are complete."""

from __future__ import annotations

import pytest
from jax.experimental.pallas import tpu as pltpu

from explorer.tpu import chips


def test_names():
    assert chips.names() == ("v4", "v5e", "v5p", "v6e", "7x")


@pytest.mark.parametrize("name", chips.names())
def test_facts_are_jax_s_own(name):
    info = pltpu.get_tpu_info_for_chip(pltpu.ChipVersion(name), 1)
    chip = chips.chip(name)
    assert chip.name == name
    assert chip.vmem_bytes == info.vmem_capacity_bytes
    assert chip.smem_bytes == info.smem_capacity_bytes
    assert chip.hbm_bytes == info.hbm_capacity_bytes
    assert chip.hbm_bytes_per_second == info.mem_bw_bytes_per_second
    assert chip.bf16_flops_per_second == info.bf16_ops_per_second
    assert chip.mxu_size == info.mxu_column_size
    assert chip.mxu_count == getattr(info, "num_mxus", 0)
    assert "per core" in chip.source


@pytest.mark.parametrize("name", chips.names())
def test_the_scoped_limit_is_within_physical_vmem(name):
    chip = chips.chip(name)
    assert 16 << 20 <= chip.scoped_limit_bytes <= chip.vmem_bytes
    assert "libtpu" in chip.scoped_limit_source


def test_published_numbers_of_v5e():
    """One chip checked against its public specification: 197 TFLOP/s in bf16, 16 GB at 819 GB/s, 128 MiB of VMEM."""
    chip = chips.chip("v5e")
    assert chip.bf16_flops_per_second == pytest.approx(197e12, rel=0.01)
    assert chip.hbm_bytes_per_second == pytest.approx(819e9, rel=0.01)
    assert chip.hbm_bytes == pytest.approx(16 * 2**30, rel=0.01)
    assert chip.vmem_bytes == 128 << 20


@pytest.mark.parametrize("name", ["", "v9", "V5E", "tpu v5e"])
def test_an_unknown_name_lists_those_there_are(name):
    with pytest.raises(chips.UnknownChipError, match="known are v4, v5e, v5p, v6e, 7x"):
        chips.chip(name)
