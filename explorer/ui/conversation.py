"""What is under way with the engine: at most one request a tag in flight, and the newest wanted one behind it.

The engine would stop a running step for a newer one; while scrubbing over slow steps nothing would then ever be shown.
So the newest wanted request waits here until the one before has been answered.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from explorer.link.messages import AnyRequest, Reply
from explorer.ui.bridge import Client

Make = Callable[[int], AnyRequest]
"""Makes the request once its id is known."""


class Conversation:
    """Requests in flight by tag, of which the newest wanted one follows when the one before is answered."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._in_flight: dict[str, int] = {}
        self._next: dict[str, Make] = {}

    def ask(self, tag: str, make: Make) -> None:
        """Send a request, or have it wait (in place of an older one) while one of its tag is in flight."""
        if tag in self._in_flight:
            self._next[tag] = make
        else:
            self._send(tag, make)

    def settle(self, reply: Reply) -> str:
        """Take note of an answer. Returns the tag it answers, '' for one that nobody waits for (any more)."""
        tag = next((tag for tag, id_ in self._in_flight.items() if id_ == reply.id), "")
        if tag:
            del self._in_flight[tag]
            if tag in self._next:
                self._send(tag, self._next.pop(tag))
        return tag

    def is_current(self, reply: Reply) -> bool:
        """Whether somebody waits for what this belongs to (progress, say)."""
        return reply.id in self._in_flight.values()

    def busy(self, *tags: str) -> bool:
        """Whether a request of one of these tags (of any, without tags) is in flight."""
        return any(tag in self._in_flight for tag in tags) if tags else bool(self._in_flight)

    def cancel(self, *tags: str) -> None:
        """Ask the engine to stop these (all, without tags); what waits behind them is dropped."""
        for tag in tags or tuple(self._in_flight):
            self._next.pop(tag, None)
            if tag in self._in_flight:
                self._client.cancel(self._in_flight[tag])

    def forget(self, *tags: str) -> None:
        """Take no answer to these (to any, without tags): they belong to something that is gone."""
        for tag in tags or (*self._in_flight, *self._next):
            self._in_flight.pop(tag, None)
            self._next.pop(tag, None)

    def _send(self, tag: str, make: Make) -> None:
        request: Any = make(self._client.next_id())
        if self._client.send(request):
            self._in_flight[tag] = request.id
