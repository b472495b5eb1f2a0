"""Which kernels and chips the window can offer for a problem."""

from __future__ import annotations

import jax

from explorer.link.messages import KernelChoice, KernelList, ListKernels
from explorer.tpu import chips
from kernels import catalog


def kernel_list(request: ListKernels) -> KernelList:
    """Every kernel of the catalog with its refusal ('' where it can take the problem), and the chips known."""
    platform = jax.default_backend()
    choices = tuple(
        KernelChoice(
            name=kernel.name, title=kernel.title, refusal=kernel.refusal(request.problem, request.blocks, platform)
        )
        for kernel in catalog.all_kernels()
    )
    return KernelList(id=request.id, kernels=choices, chips=tuple(chips.names()))
