"""The engine process: requests in on standard input, replies out on standard output, one worker that does them.

A reader thread queues the requests and answers what needs no work (replaced, cancelled while waiting); the main thread
works. The process lives as long as its standard input: when that ends the reader ends the process, also while a kernel
loops for ever. JAX is imported only once the streams are ready.
"""

from __future__ import annotations

import faulthandler
import logging
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from typing import BinaryIO, NoReturn, Protocol, cast

import msgspec

from explorer.attention.errors import Cancelled, WorkbenchError
from explorer.engine import exact_bits
from explorer.link import codec
from explorer.link.inbox import Inbox
from explorer.link.messages import (
    PROTOCOL_VERSION,
    AnyReply,
    Cancel,
    Configure,
    Diagnose,
    Dropped,
    Failed,
    GetMatrix,
    GetStrips,
    GoTo,
    Hello,
    ListKernels,
    Measure,
    Progress,
    Reply,
    Request,
    Run,
)

log = logging.getLogger(__name__)

PROGRESS_SECONDS = 0.05
"""Least time between two Progress messages of a request."""
MAX_LINE = 300
"""Longest message for a person, in characters."""

ProgressCallback = Callable[[str, int, int], None]


class Workbench(Protocol):
    """What does the work. A method returns its reply, calls ``progress(text, done, total)`` now and then, and lets the
    ``Cancelled`` that this may raise go through. ``WorkbenchError`` is for what a person should read."""

    def configure(self, request: Configure, progress: ProgressCallback) -> Reply: ...
    def goto(self, request: GoTo, progress: ProgressCallback) -> Reply: ...
    def matrix(self, request: GetMatrix, progress: ProgressCallback) -> Reply: ...
    def strips(self, request: GetStrips, progress: ProgressCallback) -> Reply: ...
    def measure(self, request: Measure, progress: ProgressCallback) -> Reply: ...
    def run(self, request: Run, progress: ProgressCallback) -> Reply: ...
    def kernels(self, request: ListKernels, progress: ProgressCallback) -> Reply: ...
    def diagnose(self, request: Diagnose, progress: ProgressCallback) -> Reply: ...


_METHODS: dict[type[Request], str] = {
    Configure: "configure",
    GoTo: "goto",
    GetMatrix: "matrix",
    GetStrips: "strips",
    Measure: "measure",
    Run: "run",
    ListKernels: "kernels",
    Diagnose: "diagnose",
}


class _Server:
    """One conversation over two streams."""

    def __init__(self, stdin: BinaryIO, stdout: BinaryIO) -> None:
        self._stdin = stdin
        self._stdout = stdout
        self._writing = threading.Lock()
        self._inbox = Inbox()

    def send(self, message: AnyReply) -> None:
        """Send a reply whole, from any thread."""
        body = codec.encode(message)
        with self._writing:
            codec.write_body(self._stdout, body)

    def read_until_end(self) -> NoReturn:
        """The reader thread: queue requests until the stream ends, then end the process, whatever the worker does."""
        code = 0
        try:
            while True:
                self._read_one()
        except codec.ClosedError:
            log.debug("standard input ended")
        except BaseException as error:
            code = 1
            log.error("the engine stops: %s", error)
        finally:
            # Not sys.exit: the worker may be inside a kernel that never returns.
            os._exit(code)

    def _read_one(self) -> None:
        try:
            request = codec.read_request(self._stdin)
        except codec.NotUnderstoodError as error:
            message = one_line(f"The engine does not understand this request: {error}")
            self.send(Failed(id=error.id, message=message, kind="input"))
            return
        if not isinstance(request, Cancel):
            for replaced in self._inbox.put(request):
                self.send(Dropped(id=replaced.id))
        elif (dropped := self._inbox.cancel(request.target)) is not None:
            self.send(_cancelled(dropped))

    def work(self, workbench: Workbench) -> NoReturn:
        """The worker: answer requests one by one, for ever (the reader ends the process)."""
        while True:
            request = self._inbox.take()
            answer = self._answer(workbench, request)
            self._inbox.done()
            self._send_answer(request, answer)
            # Arrays in these would otherwise live until the next request.
            del request, answer

    def _answer(self, workbench: Workbench, request: Request) -> AnyReply:
        try:
            method = getattr(workbench, _METHODS[type(request)])
            reply = method(request, self._reporter(request.id))
            return reply if reply.id == request.id else msgspec.structs.replace(reply, id=request.id)
        except Cancelled:
            return Dropped(id=request.id) if self._inbox.superseded else _cancelled(request)
        except BaseException as error:
            return failure(request.id, error)

    def _send_answer(self, request: Request, answer: AnyReply) -> None:
        try:
            self.send(answer)
        except OSError:
            raise
        except Exception as error:  # an answer that cannot be encoded
            self.send(failure(request.id, error))

    def _reporter(self, request_id: int) -> ProgressCallback:
        last = float("-inf")

        def report(text: str, done: int, total: int) -> None:
            nonlocal last
            if self._inbox.stop_asked:
                raise Cancelled
            now = time.monotonic()
            if now - last >= PROGRESS_SECONDS:
                last = now
                self.send(Progress(id=request_id, text=text, done=int(done), total=int(total)))

        return report


def failure(request_id: int, error: BaseException) -> Failed:
    """What went wrong, as one line for a person; the traceback goes into the details, for the log."""
    details = "".join(traceback.format_exception(error))
    if isinstance(error, WorkbenchError):
        return Failed(id=request_id, message=one_line(error.message), details=details, kind=error.kind)
    text = f"{type(error).__name__}: {_text(error)}".removesuffix(": ")
    if isinstance(error, MemoryError) or "RESOURCE_EXHAUSTED" in text:
        message = one_line(f"Not enough memory. Shorter lengths or fewer heads need less. ({text})")
        return Failed(id=request_id, message=message, details=details, kind="memory")
    return Failed(id=request_id, message=one_line(text), details=details, kind="internal")


def one_line(text: str) -> str:
    """First non-empty line of a text, at most ``MAX_LINE`` characters."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return line if len(line) <= MAX_LINE else line[: MAX_LINE - 1] + "…"


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:
        return "(its message cannot be shown)"


def _cancelled(request: Request) -> Failed:
    return Failed(id=request.id, message="Stopped.", kind="cancelled")


def serve(
    stdin: BinaryIO,
    stdout: BinaryIO,
    open_workbench: Callable[[], Workbench] | None = None,
    hello: Callable[[], Hello] | None = None,
) -> int:
    """Serve one window. Call from the main thread; ends the process (code 0) when ``stdin`` ends.

    Args:
        stdin, stdout: binary streams that nothing else reads or writes.
        open_workbench: makes the object that does the work; the real one by default.
        hello: makes the first message; from JAX's default backend by default.

    Returns:
        1 where the workbench could not be opened or ``stdout`` is gone. Why is sent as ``Failed`` with id 0.
    """
    server = _Server(stdin, stdout)
    threading.Thread(target=server.read_until_end, name="requests", daemon=True).start()
    try:
        greeting = (hello or jax_hello)()
        workbench = (open_workbench or _open_workbench)()
        server.send(greeting)
    except Exception as error:
        log.exception("the engine cannot start")
        server.send(failure(0, error))
        return 1
    try:
        server.work(workbench)
    except OSError as error:
        log.error("the window is gone: %s", error)
    return 1


def jax_hello() -> Hello:
    """The first message: which JAX, on what. Imports JAX and starts its backend (JAX_PLATFORMS is the user's)."""
    exact_bits.ask_for_exact_bits(os.environ)
    import jax

    device = jax.devices()[0]
    return Hello(
        protocol=PROTOCOL_VERSION,
        jax_version=jax.__version__,
        platform=jax.default_backend(),
        device=device.device_kind,
        pid=os.getpid(),
    )


def _open_workbench() -> Workbench:
    from explorer.attention.workbench import Workbench as AttentionWorkbench

    return cast(Workbench, AttentionWorkbench())


def protected_streams() -> tuple[BinaryIO, BinaryIO]:
    """Private duplicates of standard input and output for the protocol.

    File descriptor 1 then goes to standard error and 0 to the null device, so that a ``print`` or ``input`` in a
    kernel, or a write in a C library, cannot corrupt the stream.
    """
    stdin, stdout = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    sys.stdout = sys.stderr
    return stdin, stdout


def engine_main(argv: Sequence[str] = ()) -> int:
    """Entry of ``tilescope engine``: speak to a window over standard input and output. Returns the exit code."""
    if argv:
        print("tilescope engine takes no arguments", file=sys.stderr)
        return 2
    if sys.stdin is None or sys.stdin.isatty():
        print("tilescope engine speaks to Tilescope's window over a pipe: start tilescope instead", file=sys.stderr)
        return 2
    logging.basicConfig(level=logging.INFO, stream=sys.stderr, format="%(levelname)s %(name)s: %(message)s")
    faulthandler.enable(sys.stderr)
    # Ctrl+C in the terminal of the window is the window's business; this process ends with its standard input.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    code = serve(*protected_streams())
    logging.shutdown()
    os._exit(code)


if __name__ == "__main__":
    sys.exit(engine_main(sys.argv[1:]))
