"""Memory figures against hand counts and the system's own."""

from __future__ import annotations

import resource

import jax.numpy as jnp
import numpy as np

from explorer.engine import memory


def test_vmem_buffers_of_a_program(zoo):
    buffers = memory.vmem_buffers(zoo["scratch_matmul"]().capture())
    tile = 8 * 128 * 4
    assert [(b.name, b.kind, b.shape, b.slots, b.bytes, b.bytes_padded) for b in buffers] == [
        ("x_ref", "block", (8, 128), 2, 2 * tile, 2 * tile),
        ("y_ref", "block", (1, 8, 128), 2, 2 * tile, 2 * tile),
        ("o_ref", "block", (8, 8), 2, 2 * 8 * 8 * 4, 2 * tile),
        ("acc_ref", "scratch", (8, 8), 1, 8 * 8 * 4, tile),
    ]


def test_what_is_not_in_vmem_is_not_counted(zoo):
    names = [buffer.name for buffer in memory.vmem_buffers(zoo["memory_spaces"]().capture())]
    assert names == ["row_ref", "o_ref"]


def test_half_precision_is_padded_to_16_rows(zoo):
    buffer = memory.vmem_buffers(zoo["half_precision"]().capture())[0]
    assert buffer.dtype == jnp.bfloat16
    assert buffer.bytes_padded == buffer.bytes == 2 * 16 * 128 * 2


def test_resident_memory_grows_with_what_is_held():
    before = memory.process_rss()
    held = np.ones(64 << 20, np.uint8)
    grown = memory.process_rss() - before
    assert 48 << 20 < grown < 96 << 20
    assert held[-1] == 1
    assert memory.process_rss() <= resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 + (1 << 20)


def test_the_cpu_reports_no_device_memory():
    assert memory.device_bytes() is None
