"""The views of the Step page. Each takes a ``StepState``, paints it, says it in a sentence and emits intents."""

from explorer.ui.views.base import View
from explorer.ui.views.matrix import MatrixView
from explorer.ui.views.memory import MemoryView
from explorer.ui.views.softmax import SoftmaxView
from explorer.ui.views.stages import StagesView
from explorer.ui.views.timeline import TimelineView
from explorer.ui.views.values import ValuesView

__all__ = ["MatrixView", "MemoryView", "SoftmaxView", "StagesView", "TimelineView", "ValuesView", "View"]
