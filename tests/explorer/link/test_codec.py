"""Every message crosses the link unchanged; what is no message is refused."""

from __future__ import annotations

import dataclasses
import io
import types
import typing

import ml_dtypes
import msgspec
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from hypothesis.extra import numpy as hnp

from explorer.link import codec, messages as m
from kernels.flash.block_sizes import BlockSizes
from kernels.problem import AttentionProblem

REQUESTS = typing.get_args(m.AnyRequest)
REPLIES = typing.get_args(m.AnyReply)
ARRAYS = hnp.arrays(
    st.one_of(hnp.boolean_dtypes(), hnp.integer_dtypes(), hnp.floating_dtypes(), hnp.complex_number_dtypes()),
    hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4),
)
PROBLEM = AttentionProblem(
    q_len=3,
    kv_len=5,
    head_dim=4,
    window=(2, None),
    mask=np.tri(3, 5, dtype=bool)[None, None],
    bias=np.full((1, 1, 3, 5), -np.inf, np.float32),
)


def strategy(kind: typing.Any) -> st.SearchStrategy[typing.Any]:
    """Any value of a type that occurs in a message."""
    if kind is np.ndarray:
        return ARRAYS
    if kind is AttentionProblem:
        return st.just(PROBLEM)
    if typing.get_origin(kind) is typing.Literal:
        return st.sampled_from(typing.get_args(kind))
    if typing.get_origin(kind) in (typing.Union, types.UnionType):
        return st.one_of([strategy(one) for one in typing.get_args(kind)])
    if typing.get_origin(kind) is tuple:
        kinds = typing.get_args(kind)
        if kinds[-1] is Ellipsis:
            return st.lists(strategy(kinds[0]), max_size=2).map(tuple)
        return st.tuples(*[strategy(one) for one in kinds])
    if kind is BlockSizes:
        return st.builds(BlockSizes, st.integers(1, 4096), st.integers(1, 4096))
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return st.builds(kind, **{name: strategy(one) for name, one in typing.get_type_hints(kind).items()})
    if kind is int:
        return st.integers(-(2**63), 2**63 - 1)
    return st.from_type(kind)


def assert_same(left: typing.Any, right: typing.Any) -> None:
    """Equal in type, dtype, shape and bits, NaN included."""
    assert type(left) is type(right)
    if isinstance(left, np.ndarray):
        assert left.dtype == right.dtype
        assert left.shape == right.shape
        assert left.tobytes() == right.tobytes()
    elif isinstance(left, msgspec.Struct):
        for name in left.__struct_fields__:
            assert_same(getattr(left, name), getattr(right, name))
    elif dataclasses.is_dataclass(left):
        for field in dataclasses.fields(left):
            assert_same(getattr(left, field.name), getattr(right, field.name))
    elif isinstance(left, tuple):
        assert len(left) == len(right)
        for pair in zip(left, right, strict=True):
            assert_same(*pair)
    elif left == left:
        assert left == right
    else:
        assert right != right


def there_and_back(message: typing.Any) -> typing.Any:
    stream = io.BytesIO()
    codec.write(stream, message)
    stream.seek(0)
    read = codec.read_request if isinstance(message, REQUESTS) else codec.read_reply
    result = read(stream)
    assert stream.read() == b""
    return result


@pytest.mark.parametrize("kind", [*REQUESTS, *REPLIES], ids=lambda kind: kind.__name__)
@settings(max_examples=5, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_every_message_crosses_unchanged(kind, data):
    message = data.draw(strategy(kind))
    assert_same(there_and_back(message), message)


def strips(q: np.ndarray) -> m.Strips:
    return m.Strips(id=1, batch=0, head=0, q=q, k=np.zeros(0), v=np.zeros(()))


@settings(max_examples=60, deadline=None)
@given(ARRAYS)
def test_arrays_of_any_dtype_and_shape(array):
    assert_same(there_and_back(strips(array)).q, array)


@pytest.mark.parametrize(
    "array",
    [
        np.arange(24).reshape(2, 3, 4).transpose(2, 0, 1),
        np.arange(24.0)[::-3],
        np.asfortranarray(np.eye(3, dtype=np.float16)),
        np.broadcast_to(np.float32(7), (3, 4)),
        np.array(3.5),
        np.zeros((0, 5), bool),
        np.array([1, 2], ">i4"),
        np.array([np.nan, -np.inf, -0.0]),
    ],
)
def test_arrays_of_any_layout(array):
    result = there_and_back(strips(array)).q
    assert result.dtype == array.dtype
    np.testing.assert_array_equal(result, array)


def test_numpy_scalars_go_as_plain_numbers():
    assert there_and_back(m.GoTo(id=np.int64(3), step=np.int32(4))) == m.GoTo(id=3, step=4)


def test_a_problem_is_checked_again_on_arrival():
    request = there_and_back(m.ListKernels(id=1, problem=PROBLEM, blocks=BlockSizes(16, 32)))
    assert request.problem.scale_in_force == 0.5
    assert request.blocks == BlockSizes(16, 32)
    np.testing.assert_array_equal(request.problem.mask, PROBLEM.mask)


def test_a_problem_that_would_be_refused_here_is_refused_there():
    body = codec.encode(m.ListKernels(id=4, problem=PROBLEM, blocks=BlockSizes()))
    value = msgspec.msgpack.decode(body)
    value["problem"]["q_len"] = 0
    with pytest.raises(codec.NotUnderstoodError, match="q_len is 0") as caught:
        codec.read_request(framed(msgspec.msgpack.encode(value)))
    assert caught.value.id == 4


@pytest.mark.parametrize("array", [np.array([object()]), np.zeros(2, "i4,f4"), np.zeros(2, ml_dtypes.bfloat16)])
def test_arrays_without_a_portable_dtype_are_refused(array):
    stream = io.BytesIO()
    with pytest.raises(TypeError, match="do not cross the link; send float32"):
        codec.write(stream, strips(array))
    assert stream.getvalue() == b""


def framed(body: bytes) -> io.BytesIO:
    return io.BytesIO(len(body).to_bytes(8, "little") + body)


@pytest.mark.parametrize("cut", [0, 3, 8, 9, -1])
def test_a_truncated_stream_is_closed(cut):
    whole = io.BytesIO()
    codec.write(whole, strips(np.arange(10)))
    with pytest.raises(codec.ClosedError):
        codec.read_reply(io.BytesIO(whole.getvalue()[:cut]))


def test_a_greeting_of_a_shell_is_shown():
    with pytest.raises(codec.LinkError, match="no Tilescope message: 'Last log'"):
        codec.read_reply(io.BytesIO(b"Last login: Tue"))


@pytest.mark.parametrize(
    "value",
    [
        {"type": "Unheard", "id": 9},
        {"type": "GoTo", "id": 9, "step": "four"},
        {"type": "Strips", "id": 9, "batch": 0, "head": 0, "q": ["|O", [1], b"12345678"], "k": None, "v": None},
        {"type": "Strips", "id": 9, "batch": 0, "head": 0, "q": ["<f4", [3], b"1234"], "k": None, "v": None},
        {"type": "Strips", "id": 9, "batch": 0, "head": 0, "q": ["no dtype", [1], b"1"], "k": None, "v": None},
        {"type": "Strips", "id": 9, "batch": 0, "head": 0, "q": 5, "k": None, "v": None},
    ],
)
def test_a_message_of_another_version_is_named_and_skipped(value):
    stream = framed(msgspec.msgpack.encode(value))
    stream.seek(0, io.SEEK_END)
    codec.write(stream, m.Dropped(id=10))
    stream.seek(0)
    with pytest.raises(codec.NotUnderstoodError) as caught:
        codec.read_reply(stream)
    assert caught.value.id == 9
    assert codec.read_reply(stream) == m.Dropped(id=10)


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=60))
def test_garbage_in_a_frame_is_not_understood(body):
    with pytest.raises(codec.NotUnderstoodError):
        codec.read_request(framed(body))


def test_deep_nesting_is_not_understood():
    with pytest.raises(codec.NotUnderstoodError):
        codec.read_request(framed(b"\x81\xa4type" + b"\x91" * 200_000 + b"\x00"))


def test_a_huge_announced_size_reserves_no_memory():
    """A header that announces 16 GiB, and 3 bytes: an end, not a MemoryError."""
    with pytest.raises(codec.ClosedError):
        codec.read_reply(io.BytesIO((1 << 34).to_bytes(8, "little") + b"abc"))
