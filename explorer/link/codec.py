"""Messages to bytes and back: MessagePack through msgspec, arrays as (dtype, shape, raw bytes), length-prefixed."""

from __future__ import annotations

import struct
from typing import Any, BinaryIO, cast

import msgspec
import numpy as np

from explorer.link.messages import AnyReply, AnyRequest

_HEADER = struct.Struct("<Q")
MAX_MESSAGE_BYTES = 1 << 34
_READ_BYTES = 1 << 24
"""Most to ask of a stream at once: a wrong length must not reserve memory for what never comes."""


class LinkError(Exception):
    """The other side closed the stream or spoke something that is no message."""


class ClosedError(LinkError):
    """The stream ended, between messages or within one."""


class NotUnderstoodError(LinkError):
    """A whole message came that is none of this version's. The stream is still in step: reading may go on.

    ``id`` is that of the message where it could be made out, else 0.
    """

    def __init__(self, message: str, id: int = 0) -> None:
        super().__init__(message)
        self.id = id


def _encode_array(value: object) -> object:
    if isinstance(value, np.ndarray):
        if value.dtype.hasobject or value.dtype.kind == "V":
            # Extension types (bfloat16) and records have no portable name in NumPy alone.
            raise TypeError(f"arrays of {value.dtype} do not cross the link; send float32")
        return (value.dtype.str, value.shape, np.ascontiguousarray(value).reshape(-1).view(np.uint8).data)
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} does not cross the link")


def _decode_array(kind: type, value: Any) -> object:
    if kind is np.ndarray:
        name, shape, data = value
        dtype = np.dtype(name)
        if dtype.hasobject or dtype.kind == "V":
            raise ValueError(f"arrays of {dtype} do not cross the link")
        return np.frombuffer(data, dtype=dtype).reshape(shape)
    raise TypeError(f"{kind} does not cross the link")


class _Identified(msgspec.Struct):
    id: int = 0


_encoder = msgspec.msgpack.Encoder(enc_hook=_encode_array)
_requests = msgspec.msgpack.Decoder(AnyRequest, dec_hook=_decode_array)
_replies = msgspec.msgpack.Decoder(AnyReply, dec_hook=_decode_array)
_identified = msgspec.msgpack.Decoder(_Identified)


def encode(message: AnyRequest | AnyReply) -> bytes:
    """A message as MessagePack. Raises TypeError for values and OverflowError for sizes (4 GiB) that cannot go."""
    return _encoder.encode(message)


def write_body(stream: BinaryIO, body: bytes) -> None:
    """Send an encoded message. Raises OSError or ValueError where the stream is closed."""
    stream.write(_HEADER.pack(len(body)))
    stream.write(body)
    stream.flush()


def write(stream: BinaryIO, message: AnyRequest | AnyReply) -> None:
    """Encode and send one message. Raises as ``encode`` and ``write_body`` do; what cannot be encoded sends nothing."""
    write_body(stream, encode(message))


def read_request(stream: BinaryIO) -> AnyRequest:
    """Next request. Raises ClosedError at the end of the stream, else LinkError for what is no request."""
    return cast(AnyRequest, _decode(_requests, _read_body(stream)))


def read_reply(stream: BinaryIO) -> AnyReply:
    """Next reply. Raises ClosedError at the end of the stream, else LinkError for what is no reply."""
    return cast(AnyReply, _decode(_replies, _read_body(stream)))


def _read_body(stream: BinaryIO) -> bytes:
    header = _read_exactly(stream, _HEADER.size)
    (size,) = _HEADER.unpack(header)
    if size > MAX_MESSAGE_BYTES:
        # A shell's greeting, a warning on standard output: show how it begins.
        raise LinkError(f"it holds something that is no Tilescope message: {_printable(header)}")
    return _read_exactly(stream, size)


def _read_exactly(stream: BinaryIO, size: int) -> bytes:
    chunks, missing = [], size
    while missing:
        chunk = stream.read(min(missing, _READ_BYTES))
        if not chunk:
            raise ClosedError("the other side closed the stream")
        chunks.append(chunk)
        missing -= len(chunk)
    return b"".join(chunks)


def _decode(decoder: msgspec.msgpack.Decoder, body: bytes) -> object:
    try:
        return decoder.decode(body)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise NotUnderstoodError(str(error), _id_of(body)) from error


def _id_of(body: bytes) -> int:
    """Only the id of a message that is otherwise not understood; 0 where there is none."""
    try:
        return _identified.decode(body).id
    except (msgspec.MsgspecError, RecursionError):
        return 0


def _printable(data: bytes) -> str:
    return repr(data.decode("ascii", "replace"))
