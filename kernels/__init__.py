"""Attention kernels anyone can import alone: a problem, its references, a Pallas flash kernel and others beside it.

``from kernels import catalog`` is the way in. Importing this package loads no JAX; a kernel loads it when it is taken
from the catalog.
"""
