"""The immutable snapshot that every view of the Step page gets: no Qt, no JAX."""

from __future__ import annotations

from dataclasses import dataclass, field

from explorer.link.messages import (
    Configured,
    KernelList,
    Matrix,
    MatrixKind,
    Measured,
    Snapshot,
    Strips,
)
from explorer.session.config import Configuration
from explorer.session.cursor import Cursor
from explorer.session.inputs import AttentionInputs


@dataclass(frozen=True)
class Selection:
    """What the user picked: an absolute query row and key column of the shown head, or nothing."""

    row: int | None = None
    column: int | None = None


@dataclass(frozen=True)
class StepState:
    """All that the Step page shows. A field is None until the engine has answered; views draw themselves empty then.

    ``matrix`` and ``strips`` belong to the head of ``snapshot`` or are None. ``message`` is one line for a person and
    ``message_kind`` says how it is shown: '' nothing, 'busy', 'info', 'error'.
    """

    configuration: Configuration = field(default_factory=Configuration)
    inputs: AttentionInputs | None = None
    configured: Configured | None = None
    snapshot: Snapshot | None = None
    matrix: Matrix | None = None
    matrix_kind: MatrixKind = "naive-probabilities"
    strips: Strips | None = None
    measured: Measured | None = None
    kernels: KernelList | None = None
    cursor: Cursor = field(default_factory=Cursor)
    selection: Selection = field(default_factory=Selection)
    playing: bool = False
    steps_per_second: float = 4.0
    engine: str = ""
    """'local · JAX 0.10.2 · cpu', or what the engine is doing instead."""
    message: str = ""
    message_kind: str = ""
