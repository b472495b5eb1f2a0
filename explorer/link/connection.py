"""One engine process and the three threads that serve its streams. ``EngineClient`` makes one for each start."""

from __future__ import annotations

import contextlib
import logging
import queue
import subprocess
import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import BinaryIO, cast

from explorer.link import codec, process
from explorer.link.messages import PROTOCOL_VERSION, AnyReply, AnyRequest, Failed, Hello

log = logging.getLogger(__name__)

KEPT_LINES = 30
"""Lines of the engine's standard error kept to explain its end."""


class Connection:
    """A started engine. Reads, writes and drains on daemon threads, so that nobody else waits for the process.

    Args:
        command: as for ``EngineClient``.
        received: called with (self, message) for each message, on the reader thread; on the writer thread with the
            ``Failed`` of a request that cannot be encoded.
        ended: called once with (self, reason in plain words) when all is over, on the reader thread.
    """

    def __init__(
        self,
        command: Sequence[str] | None,
        received: Callable[[Connection, AnyReply], None],
        ended: Callable[[Connection, str], None],
    ) -> None:
        self._command = command
        self._received = received
        self._ended = ended
        self._outgoing: queue.SimpleQueue[AnyRequest | None] = queue.SimpleQueue()
        self._last_lines: deque[str] = deque(maxlen=KEPT_LINES)
        self._reason = ""
        self._greeted = False
        self._process: subprocess.Popen[bytes] | None = None
        self._reader = threading.Thread(target=self._read, name="engine-reader", daemon=True)
        self._writer = threading.Thread(target=self._write, name="engine-writer", daemon=True)
        self._drain = threading.Thread(target=self._read_errors, name="engine-stderr", daemon=True)

    def open(self) -> None:
        """Start the process and the threads. A failure to start is reported through ``ended``."""
        try:
            self._process = process.start(self._command)
        except OSError as error:
            self._reason = process.explain_start(self._command, error)
        else:
            self._writer.start()
            self._drain.start()
        self._reader.start()

    def in_callback(self) -> bool:
        """Whether the caller is in one of the callbacks."""
        return threading.current_thread() in (self._reader, self._writer)

    def send(self, request: AnyRequest) -> None:
        """Queue a request for the writer thread."""
        self._outgoing.put(request)

    def stop(self, reason: str) -> None:
        """End the process, whatever it does; ``reason`` is what will be said of it. Returns at once."""
        self._reason = self._reason or reason
        if self._process is not None:
            process.stop(self._process)

    def end(self) -> None:
        """Close the engine's standard input, at which it ends; kill it where it does not. Waits until it is gone."""
        self._outgoing.put(None)
        if self._process is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(process.KILL_AFTER_SECONDS)
            process.kill(self._process)
        if not self.in_callback():
            self._reader.join(2 * process.KILL_AFTER_SECONDS)

    # ------------------------------------------------------------ threads

    def _write(self) -> None:
        stream = self._stream("stdin")
        with contextlib.suppress(OSError, ValueError):  # a dead engine: the reader thread says so
            while (request := self._outgoing.get()) is not None:
                self._write_one(stream, request)
        with contextlib.suppress(OSError):
            stream.close()

    def _write_one(self, stream: BinaryIO, request: AnyRequest) -> None:
        try:
            body = codec.encode(request)
        except Exception as error:  # what cannot be encoded fails alone
            log.exception("a request could not be sent")
            self._deliver(Failed(id=request.id, message=f"This request cannot be sent: {error}", kind="input"))
            return
        codec.write_body(stream, body)

    def _read_errors(self) -> None:
        # closed here, by the one thread that reads it: a grandchild may keep it open for longer than anybody waits
        with contextlib.suppress(OSError, ValueError), self._stream("stderr") as stream:
            for line in stream:
                text = line.decode("utf-8", "replace").rstrip()
                self._last_lines.append(text)
                log.info("%s", text)

    def _read(self) -> None:
        child = self._process
        if child is not None:
            with contextlib.suppress(OSError, ValueError):  # as good as the end of the stream
                self._read_replies()
            self._outgoing.put(None)
            self._reason = self._reason or self._explain(child)
            self._clear_away(child)
        try:
            self._ended(self, self._reason)
        except Exception:
            log.exception("the on_exit callback failed")

    def _read_replies(self) -> None:
        stream = self._stream("stdout")
        while not self._reason:
            try:
                message = codec.read_reply(stream)
            except codec.ClosedError:
                return
            except codec.NotUnderstoodError as error:
                self._not_understood(error)
            except codec.LinkError as error:
                self.stop(f"The engine's output is not readable: {error}")
            else:
                self._check_hello(message)
                if not self._reason:
                    self._deliver(message)

    def _not_understood(self, error: codec.NotUnderstoodError) -> None:
        if not self._greeted:
            self.stop(
                f"The engine does not speak this version's protocol ({PROTOCOL_VERSION}): "
                "install the same Tilescope on both sides."
            )
            return
        log.error("a reply is not understood: %s", error)
        if error.id:
            self._deliver(Failed(id=error.id, message="The engine's answer is not understood.", details=str(error)))

    def _check_hello(self, message: AnyReply) -> None:
        if isinstance(message, Hello):
            self._greeted = True
            if message.protocol != PROTOCOL_VERSION:
                self.stop(
                    f"The engine speaks protocol {message.protocol}, this window {PROTOCOL_VERSION}: "
                    "install the same Tilescope on both sides."
                )
        elif isinstance(message, Failed) and message.id == 0 and not self._greeted:
            self.stop(f"The engine could not start: {message.message}")

    def _deliver(self, message: AnyReply) -> None:
        try:
            self._received(self, message)
        except Exception:
            log.exception("the on_message callback failed")

    def _explain(self, child: subprocess.Popen[bytes]) -> str:
        """Wait for the end of a process that has closed its output, and say why it ended."""
        try:
            child.wait(process.KILL_AFTER_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill(child)
        code = child.wait()
        self._drain.join(0.5)  # the last lines may still be on their way; a grandchild may hold the stream open
        return process.explain_exit(code, tuple(self._last_lines))

    def _clear_away(self, child: subprocess.Popen[bytes]) -> None:
        """Wait for the process and for the other threads, then close the stream that was read here."""
        child.wait()
        self._writer.join(process.KILL_AFTER_SECONDS)
        self._drain.join(0.5)
        self._stream("stdout").close()

    def _stream(self, name: str) -> BinaryIO:
        return cast(BinaryIO, getattr(self._process, name))
