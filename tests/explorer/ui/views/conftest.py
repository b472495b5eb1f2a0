"""Step states of a small attention computed in float64 NumPy, and checks that hold for every painting of a view."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import msgspec
import numpy as np
import pytest
from PySide6.QtCore import QSize
from PySide6.QtGui import QImage, QPainter

from explorer.link import messages as m
from explorer.session.cursor import Cursor
from explorer.session.inputs import AttentionInputs
from explorer.session.state import Selection, StepState
from explorer.ui.theme import THEMES
from kernels.flash.block_sizes import BlockSizes
from kernels.problem import AttentionProblem

WORDS = ["[CLS]", "kucing", "itu", "duduk", "di", "atas", "tikar", "yang", "hangat", "memandang", "burung", "."]
STAGES = (
    ("Partition", "Q[1], K[1], V[1]", "tile (1, 1)", "3 of 4 tiles", "every unmasked pair is covered once", True),
    ("Load", "K[1], V[1]", "slot 1 of K and V", "16.0 KiB", "bytes equal those of the blocks named", True),
    ("Score and normalise", "Q[1], K[1]", "m rose in 4 of 16 rows", "65 kFLOP", "m, l match float64 to 6e-07", True),
    ("Accumulate", "P, V[1]", "acc rescaled, P·V added", "65 kFLOP", "acc / l matches float64 to 4e-07", True),
    ("Schedule", "the step", "nothing stored", "0.02 µs", "a model: no compiler was asked", None),
)


CHIP = m.ChipInfo(
    name="v5e", vmem_bytes=128 << 20, scoped_limit_bytes=16 << 20, scoped_limit_source="test", smem_bytes=1 << 20,
    hbm_bytes=16 << 30, hbm_bytes_per_second=8.19e11, bf16_flops_per_second=1.97e14, mxu_count=4, mxu_size=128,
    source="test",
)  # fmt: skip


def buffer(name: str, role: m.Role, kind: str, shape: tuple[int, ...], slots: int) -> m.BufferInfo:
    size = int(np.prod(shape)) * 4 * slots
    sizes = {"bytes": size, "bytes_padded": max(size, 4096 * slots)}
    return m.BufferInfo(name=name, role=role, kind=kind, shape=shape, dtype="float32", slots=slots, **sizes)


@dataclass
class Scene:
    """A causal attention head of ``q_len`` x ``kv_len`` and the states of its grid steps."""

    q_len: int = 32
    kv_len: int = 32
    head_dim: int = 8
    block_q: int = 16
    block_kv: int = 16
    causal: bool = True
    tokens: bool = True
    q: np.ndarray = field(init=False)
    k: np.ndarray = field(init=False)
    v: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        rng = np.random.default_rng(7)
        shapes = ((self.q_len, self.head_dim), (self.kv_len, self.head_dim), (self.kv_len, self.head_dim))
        self.q, self.k, self.v = (rng.normal(size=shape).astype(np.float32) for shape in shapes)
        pairs = np.ones((self.q_len, self.kv_len), bool)
        self.allowed = np.tril(pairs) if self.causal else pairs
        self.scores = np.where(self.allowed, self.q.astype(np.float64) @ self.k.T * self.head_dim**-0.5, -np.inf)
        weights = np.exp(self.scores - self.scores.max(axis=1, keepdims=True))
        self.probabilities = weights / weights.sum(axis=1, keepdims=True)
        self.grid = -(-self.q_len // self.block_q), -(-self.kv_len // self.block_kv)
        self.order = np.array([(0, 0, i, j) for i in range(self.grid[0]) for j in range(self.grid[1])], np.int32)
        self.tile_states = np.reshape([self._tile_state(i, j) for _, _, i, j in self.order], self.grid)
        self.configured = self._configured()

    def rows(self, i: int) -> slice:
        return slice(i * self.block_q, min((i + 1) * self.block_q, self.q_len))

    def keys(self, j: int) -> slice:
        return slice(j * self.block_kv, min((j + 1) * self.block_kv, self.kv_len))

    def _tile_state(self, i: int, j: int) -> int:
        tile = self.allowed[self.rows(i), self.keys(j)]
        return 2 if tile.all() else int(tile.any())

    def _timeline(self) -> m.Timeline:
        i, j = self.order[:, 2], self.order[:, 3]
        computed = self.tile_states[i, j] > 0
        new, last = j == 0, j == self.grid[1] - 1
        load = np.stack([new * self.block_q * 512, computed * self.block_kv * 512, computed * self.block_kv * 512], 1)
        store = (last * self.block_q * 512)[:, None]
        moved = {"load_bytes": load.astype(np.int64), "store_bytes": store.astype(np.int64), "computed": computed}
        times = {
            "load_us": load.sum(1) / 8e5,
            "compute_us": np.where(computed, 0.05, 0.01),
            "store_us": store[:, 0] / 8e5,
        }
        row_block = i.astype(np.int32)
        return m.Timeline(
            inputs=("q", "k", "v"), outputs=("o",), row_block=row_block, model="a model", **moved, **times
        )

    def _operand(self, name: str, role: m.Role, direction: str, length: int, block: int, dim: int) -> m.OperandInfo:
        shapes = {"shape": (1, 1, length, dim), "block_shape": (1, 1, block, dim)}
        blocks = {"block_grid": (1, 1, -(-length // block), 1), "block_bytes": block * dim * 4}
        where = {"memory": "hbm+vmem", "bytes": length * dim * 4, "block_bytes_padded": block * 512}
        return m.OperandInfo(name=name, role=role, direction=direction, dtype="float32", **shapes, **blocks, **where)

    def _operands(self) -> tuple[m.OperandInfo, ...]:
        q, kv, d = (self.q_len, self.block_q), (self.kv_len, self.block_kv), self.head_dim
        return (
            self._operand("q", "q", "in", *q, d),
            self._operand("k", "k", "in", *kv, d),
            self._operand("v", "v", "in", *kv, d),
            self._operand("o", "output", "out", *q, d),
            self._operand("lse", "softmax", "out", *q, 1),
        )

    def _memory(self) -> m.MemoryInfo:
        buffers = [buffer(item.name, item.role, "block", item.block_shape[-2:], 2) for item in self._operands()]
        for name, role, width in (("m", "softmax", 128), ("l", "softmax", 128), ("acc", "acc", self.head_dim)):
            buffers.append(buffer(name, role, "scratch", (self.block_q, width), 1))
        buffers += [buffer(name, "scores", "temporary", (self.block_q, self.block_kv), 1) for name in ("S", "P")]
        vmem = {"vmem_peak": sum(item.bytes_padded for item in buffers), "vmem_limit": 16 << 20}
        moved = {"hbm_moved": 65536, "hbm_moved_logical": 4096, "hbm_moved_naive": 98304}
        naive = 2 * 4 * self.q_len * self.kv_len
        return m.MemoryInfo(buffers=tuple(buffers), vmem_physical=128 << 20, naive_matrix_bytes=naive, **vmem, **moved)

    def _configured(self) -> m.Configured:
        sizes = {"q_len": self.q_len, "kv_len": self.kv_len, "head_dim": self.head_dim}
        words = {"kernel": "flash", "kernel_title": "Flash", "lens": "named", "ran_on": "test"}
        grid = {"grid": (1, 1, *self.grid), "grid_names": ("batch", "head", "q block", "kv block")}
        run = {"driven": True, "steps": len(self.order), "order": self.order, "compile_ms": 340.0}
        states = self.tile_states[None, None].astype(np.int8)
        parts = {"operands": self._operands(), "timeline": self._timeline(), "memory": self._memory(), "chip": CHIP}
        return m.Configured(
            id=1,
            problem=AttentionProblem(causal=self.causal, **sizes),
            blocks=BlockSizes(self.block_q, self.block_kv),
            tile_states=states,
            **words, **grid, **run, **parts,
        )  # fmt: skip

    # ------------------------------------------------------------ one step

    def running(self, i: int, keys: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """m, l, acc of a row block over its first ``keys`` keys, in float64."""
        scores = self.scores[self.rows(i), :keys]
        largest = scores.max(axis=1, initial=-np.inf)
        with np.errstate(invalid="ignore"):
            weights = np.where(np.isneginf(scores), 0.0, np.exp(scores - largest[:, None]))
        return largest, weights.sum(axis=1), weights @ self.v[:keys].astype(np.float64)

    def softmax(self, i: int, j: int) -> m.SoftmaxState:
        m0, l0, _ = self.running(i, self.keys(j).start)
        m1, l1, _ = self.running(i, self.keys(j).stop)
        alpha = np.where(np.isneginf(m0), np.where(np.isneginf(m1), 1.0, 0.0), np.exp(m0 - m1))
        tile = self.scores[self.rows(i), self.keys(j)].max(axis=1)
        parts = (m0, m1, alpha, l0, l1, l1 - alpha * l0, tile)
        names = ("m_before", "m_after", "alpha", "l_before", "l_after", "new_sum", "tile_max")
        return m.SoftmaxState(**{name: part.astype(np.float32) for name, part in zip(names, parts, strict=True)})

    def snapshot(self, step: int) -> m.Snapshot:
        _, _, i, j = (int(part) for part in self.order[step])
        rows, keys = self.rows(i), self.keys(j)
        timeline = self.configured.timeline
        output = np.full((self.q_len, self.head_dim), np.nan, np.float32)
        output[: rows.start] = self.probabilities[: rows.start] @ self.v
        _, sums, acc = self.running(i, keys.stop)
        output[rows] = acc / sums[:, None]
        done = np.zeros(self.q_len, np.int8)
        done[: rows.start], done[rows] = 2, 2 if j == self.grid[1] - 1 else 1
        error = np.where(done > 0, 2e-7, np.nan)
        place = {"coords": (0, 0, i, j), "batch": 0, "head": 0, "kv_head": 0, "q_block": i, "kv_block": j}
        ranges = {"q_range": (rows.start, rows.stop), "kv_range": (keys.start, keys.stop)}
        tiles = {"tiles_done": int(timeline.computed[: step + 1].sum()), "tiles_total": int(timeline.computed.sum())}
        tile = {"scores": self.scores[rows, keys].astype(np.float32), "allowed": self.allowed[rows, keys]}
        before = self.running(i, keys.start)[2].astype(np.float32)
        acc_parts = {"acc_before": before, "acc_after": acc.astype(np.float32), "probabilities": None}
        written = {"output": output, "output_done": done, "error_float64": error, "error_naive": error}
        lists = {"transfers": self.transfers(step), "buffers": self.buffers(i, j), "stages": self.stages()}
        sizes = {"vmem_live": 40960, "hbm_moved": 32768, "rss_bytes": 1 << 28, "device_bytes": None, "timing": None}
        return m.Snapshot(
            id=2, step=step, steps=len(self.order), computed=bool(timeline.computed[step]), values=self.values(),
            tiles_skipped=int((~timeline.computed).sum()), softmax=self.softmax(i, j),
            **place, **ranges, **tiles, **tile, **acc_parts, **written, **lists, **sizes,
        )  # fmt: skip

    def transfers(self, step: int) -> tuple[m.Transfer, ...]:
        _, _, i, j = (int(part) for part in self.order[step])
        load, store = (getattr(self.configured.timeline, name)[step].tolist() for name in ("load_bytes", "store_bytes"))
        logical = 16 * self.head_dim * 4
        return tuple(
            m.Transfer(
                operand=name, role=role, block=(0, 0, place, 0), direction=way, slot=place % 2, bytes=size,
                logical_bytes=logical,
            )
            for name, role, place, way, size in (
                ("q", "q", i, "in", load[0]), ("k", "k", j, "in", load[1]), ("v", "v", j, "in", load[2]),
                ("o", "output", i, "out", store[0]),
            )
            if size
        )  # fmt: skip

    def buffers(self, i: int, j: int) -> tuple[m.BufferState, ...]:
        states = []
        for name, role, place in (("q", "q", i), ("k", "k", j), ("v", "v", j), ("o", "output", i)):
            loading = name in "kv" and j + 1 < self.grid[1]
            other = ((0, 0, j + 1, 0), "loading") if loading else (None, "empty")
            for slot, (block, state) in ((place % 2, ((0, 0, place, 0), "in use")), (1 - place % 2, other)):
                states.append(m.BufferState(operand=name, role=role, slot=slot, block=block, state=state))
        return tuple(states)

    def stages(self) -> tuple[m.StageEvidence, ...]:
        names = ("name", "consumed", "changed", "cost", "evidence", "holds")
        return tuple(
            m.StageEvidence(number=number, source="execution", **dict(zip(names, texts, strict=True)))
            for number, texts in enumerate(STAGES, 1)
        )

    def values(self) -> tuple[m.ProbedValue, ...]:
        where = {"primitive": "exp", "file": "kernels/flash/kernel.py", "function": "body", "stage": 3}
        what = {"shape": (self.block_q, self.block_kv), "dtype": "float32", "minimum": -1.25, "maximum": 2.5}
        return tuple(
            m.ProbedValue(name=name, line=80 + at, scope=f"3/{name}", executed=at != 2, nonfinite=0, **where, **what)
            for at, name in enumerate(("S", "P", "correction"))
        )

    def matrix(self, kind: m.MatrixKind = "naive-probabilities", step: int = -1) -> m.Matrix:
        scores = kind == "naive-scores"
        values = self.scores if scores else self.probabilities
        if kind in ("flash-probabilities", "difference"):
            known = np.zeros_like(self.allowed)
            for _, _, i, j in self.order[: step + 1]:
                known[self.rows(i), self.keys(j)] = True
            values = np.where(known, values if kind == "flash-probabilities" else 0.0, np.nan)
        low, high = {"naive-scores": (-4.0, 4.0), "difference": (-1e-6, 1e-6)}.get(kind, (1e-4, 1.0))
        scale = {"naive-scores": "linear", "difference": "diverging"}.get(kind, "log")
        levels = {"low": low, "high": high, "scale": scale, "title": kind.replace("-", " ")}
        cells = {"values": values.astype(np.float32), "allowed": self.allowed, "pool": 1}
        return m.Matrix(id=3, kind=kind, batch=0, head=0, source="execution", step=step, **cells, **levels)

    def state(
        self, step: int, *, stage: int = 5, grain: str = "step", kind: m.MatrixKind = "naive-probabilities",
        row: int | None = None, column: int | None = None, **snapshot_changes: object,
    ) -> StepState:  # fmt: skip
        """The state at a grid step; ``snapshot_changes`` replace fields of its snapshot."""
        tokens = [tuple((WORDS * 99)[:n]) if self.tokens else () for n in (self.q_len, self.kv_len)]
        flash = kind in ("flash-probabilities", "difference")
        return StepState(
            inputs=AttentionInputs("t", "test", self.q, self.k, self.v, *tokens),
            configured=self.configured,
            snapshot=msgspec.structs.replace(self.snapshot(step), **snapshot_changes),
            matrix=self.matrix(kind, step if flash else -1),
            matrix_kind=kind,
            strips=m.Strips(id=4, batch=0, head=0, q=self.q, k=self.k, v=self.v),
            cursor=Cursor(step=step, stage=stage, grain=grain),
            selection=Selection(row, column),
        )


@pytest.fixture(scope="session")
def scene() -> Scene:
    """2 x 2 tiles of 16 x 16, the upper right one skipped."""
    return Scene()


@pytest.fixture(scope="session")
def scenes() -> type[Scene]:
    """To make other scenes."""
    return Scene


@pytest.fixture
def not_driven(scene: Scene) -> StepState:
    """A kernel that is no Pallas kernel."""
    changed = msgspec.structs.replace(
        scene.configured, driven=False, reason_not_driven="Naive attention is no Pallas kernel: run or measure it."
    )
    return replace(StepState(), configured=changed)


def painted(view, size: tuple[int, int] | None = None, ratio: float = 1.0, on_screen: bool = False):
    """(image, texts as placed) of a view at its size or another."""
    area = QSize(*size) if size else view.size()
    image = QImage(round(area.width() * ratio), round(area.height() * ratio), QImage.Format.Format_RGB32)
    image.setDevicePixelRatio(ratio)
    image.fill(0)
    painter = QPainter(image)
    texts = view.draw_on(painter, area, ratio, on_screen)
    painter.end()
    return image, texts


@pytest.fixture(scope="session")
def paint():
    return painted


@pytest.fixture(params=sorted(THEMES))
def theme(request):
    return THEMES[request.param]
