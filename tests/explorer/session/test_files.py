"""Input files: what is read out of them, and one clear line for everything that is wrong with them."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from safetensors.numpy import save_file

from explorer.session import array_files, files
from explorer.session.attention_inputs import InputError

Write = Callable[..., str]


def refused(path: str, *words: str, layout: str = "bhnd") -> None:
    """Loading fails with one line that has the file's name and all words."""
    with pytest.raises(InputError) as caught:
        files.load(path, layout)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert "\n" not in message
    for word in words:
        assert word in message


def test_three_dimensions(npz: Write, arrays: dict[str, Any]) -> None:
    inputs = files.load(npz(**arrays))
    np.testing.assert_array_equal(inputs.q[0], arrays["q"])
    assert inputs.k.shape == (1, 2, 6, 4)
    assert inputs.v.dtype == np.float32
    assert inputs.title == "input.npz"


def test_two_dimensions(npz: Write, arrays: dict[str, Any]) -> None:
    inputs = files.load(npz(**{name: array[0] for name, array in arrays.items()}))
    assert inputs.q.shape == (1, 1, 6, 4)


@pytest.mark.parametrize("dimensions", [3, 4])
def test_heads_after_the_length(npz: Write, arrays: dict[str, Any], dimensions: int) -> None:
    swapped = {name: array.transpose(1, 0, 2) for name, array in arrays.items()}
    if dimensions == 4:
        swapped = {name: np.stack([array, 2 * array]) for name, array in swapped.items()}
    inputs = files.load(npz(**swapped), layout="bnhd")
    assert inputs.q.shape == (dimensions - 2, 2, 6, 4)
    np.testing.assert_array_equal(inputs.q[0], arrays["q"])
    assert inputs.q.flags.c_contiguous


def test_grouped_heads_and_other_lengths(npz: Write) -> None:
    q, kv = np.ones((4, 3, 8), np.float32), np.ones((2, 5, 8), np.float32)
    inputs = files.load(npz(q=q, k=kv, v=kv))
    assert (inputs.q.shape, inputs.k.shape) == ((1, 4, 3, 8), (1, 2, 5, 8))


def test_everything_else(npz: Write, arrays: dict[str, Any]) -> None:
    mask, bias = np.eye(6, dtype=bool), np.full((2, 6, 6), -np.inf, np.float32)
    inputs = files.load(
        npz(
            **arrays, mask=mask, bias=bias, q_segment_ids=np.arange(6), kv_segment_ids=np.zeros((1, 6), np.int8),
            kv_lengths=np.array([4]), padding_id=np.array(-1), tokens=np.array(list("abcdeä")),
        )
    )  # fmt: skip
    assert inputs.mask is not None
    np.testing.assert_array_equal(inputs.mask, mask[None, None])
    assert inputs.bias is not None
    assert inputs.bias.shape == (1, 2, 6, 6)
    assert inputs.q_segment_ids is not None
    np.testing.assert_array_equal(inputs.q_segment_ids, [[0, 1, 2, 3, 4, 5]])
    assert inputs.q_segment_ids.dtype == np.int32
    assert inputs.kv_lengths is not None
    assert inputs.kv_lengths.tolist() == [4]
    assert inputs.padding_id == -1
    assert inputs.q_tokens == inputs.kv_tokens == tuple("abcdeä")


def test_tokens_label_the_axis_that_they_fit(npz: Write, arrays: dict[str, Any]) -> None:
    one_query = {**arrays, "q": arrays["q"][:, :1]}
    inputs = files.load(npz(**one_query, tokens=np.array(list("abcdef"))))
    assert (inputs.q_tokens, inputs.kv_tokens) == ((), tuple("abcdef"))
    inputs = files.load(npz(**one_query, tokens=np.array(["z"]), kv_tokens=np.array(list("abcdef"))))
    assert (inputs.q_tokens, inputs.kv_tokens) == (("z",), tuple("abcdef"))


@pytest.mark.parametrize("dtype", [np.float16, np.float64, np.dtype(">f4")])
def test_other_floats_become_float32(npz: Write, arrays: dict[str, Any], dtype: Any) -> None:
    inputs = files.load(npz(**{name: array.astype(dtype) for name, array in arrays.items()}))
    assert inputs.q.dtype == np.float32
    np.testing.assert_allclose(inputs.q[0], arrays["q"], rtol=1e-3, atol=1e-3)


def test_safetensors_with_bfloat16_and_tokens(tmp_path: Path, arrays: dict[str, Any]) -> None:
    path = tmp_path / "input.safetensors"
    half = {name: array.astype(ml_dtypes.bfloat16) for name, array in arrays.items()}
    save_file(half, path, metadata={"tokens": json.dumps(list("abcdeä"))})
    inputs = files.load(str(path))
    np.testing.assert_array_equal(inputs.q[0], half["q"].astype(np.float32))
    assert inputs.defaults["dtype"] == "bfloat16"
    assert inputs.kv_tokens == tuple("abcdeä")


def test_missing_arrays_are_named_with_those_found(npz: Write, arrays: dict[str, Any]) -> None:
    refused(npz(q=arrays["q"], keys=arrays["k"]), "no k and no v", "found q, keys")
    refused(npz(), "found nothing")


def test_empty_arrays(npz: Write) -> None:
    refused(npz(q=np.ones((0, 4)), k=np.ones((3, 4)), v=np.ones((3, 4))), "q is empty", "(1, 1, 0, 4)")


@pytest.mark.parametrize(("value", "text"), [(np.nan, "NaN"), (np.inf, "∞"), (-np.inf, "-∞")])
def test_the_first_number_that_is_not_finite_is_shown(
    npz: Write, arrays: dict[str, Any], value: float, text: str
) -> None:
    arrays["k"][1, 2, 3] = arrays["k"][1, 4, 0] = value
    refused(npz(**arrays), f"k holds {text} at", "(0, 1, 2, 3)", "2 of 48")


def test_too_large_for_float32(npz: Write, arrays: dict[str, Any]) -> None:
    arrays["v"] = arrays["v"].astype(np.float64)
    arrays["v"][0, 0, 0] = 1e300
    refused(npz(**arrays), "v holds 1e+300, too large for float32")


@pytest.mark.parametrize(
    ("q", "k", "v", "words"),
    [
        ((2, 6, 4), (2, 6, 4), (2, 5, 4), ["k and v must have the same shape", "(1, 2, 5, 4)"]),
        ((2, 6, 4), (2, 6, 8), (2, 6, 8), ["different head dims"]),
        ((3, 6, 4), (2, 6, 4), (2, 6, 4), ["3 heads of q", "2 of k"]),
        ((6, 4), (2, 6, 4), (2, 6, 4), ["different numbers of dimensions"]),
        ((1, 2, 6, 4), (2, 2, 6, 4), (2, 2, 6, 4), ["different batch sizes"]),
        ((4,), (4,), (4,), ["q has 1 dimensions"]),
    ],
)
def test_shapes_that_do_not_fit(npz: Write, q: Any, k: Any, v: Any, words: list[str]) -> None:
    refused(npz(q=np.ones(q), k=np.ones(k), v=np.ones(v)), *words)


@pytest.mark.parametrize(
    ("extra", "words"),
    [
        ({"mask": np.ones((6, 5), bool)}, ["mask", "(6, 5)", "(1, 2, 6, 6)"]),
        ({"mask": np.ones((6, 6))}, ["mask", "float64", "bias"]),
        ({"mask": np.full((6, 6), 2)}, ["mask", "bool"]),
        ({"bias": np.full((6, 6), np.nan)}, ["bias holds NaN"]),
        ({"bias": np.ones((6, 6), int)}, ["bias has dtype int64"]),
        ({"q_segment_ids": np.zeros(6, int)}, ["go together"]),
        ({"q_segment_ids": np.zeros(5, int), "kv_segment_ids": np.zeros(6, int)}, ["q_segment_ids", "(5,)"]),
        ({"q_segment_ids": np.zeros(6), "kv_segment_ids": np.zeros(6)}, ["whole numbers"]),
        ({"q_segment_ids": np.full(6, 1 << 40), "kv_segment_ids": np.zeros(6, int)}, ["32 bits"]),
        ({"kv_lengths": np.array([7])}, ["kv_lengths", "6"]),
        ({"kv_lengths": np.array([[1]])}, ["kv_lengths", "(1,)"]),
        ({"padding_id": np.array(0.5)}, ["padding_id"]),
        ({"tokens": np.array(["a", "b"])}, ["tokens has 2 entries", "6 queries"]),
        ({"kv_tokens": np.array(["a"])}, ["kv_tokens has 1 entries"]),
        ({"tokens": np.arange(6)}, ["tokens must be", "text"]),
        ({"q": np.ones((2, 6, 4), complex)}, ["complex128"]),
        ({"q": np.ones((2, 6, 4), int)}, ["q has dtype int64"]),
        ({"q": np.ones((2, 6, 4), ml_dtypes.bfloat16)}, ["cannot hold bfloat16", ".safetensors"]),
        ({"q": np.array([[[None]]])}, ["pickle", "never loaded"]),
        ({"tokens": np.array(["a", None])}, ["pickle", "never loaded"]),
    ],
)
def test_what_goes_with_them_is_checked(npz: Write, arrays: dict[str, Any], extra: Any, words: list[str]) -> None:
    refused(npz(**{**arrays, **extra}), *words)


def test_wrong_layout_is_hinted_at(npz: Write) -> None:
    q, kv = np.ones((5, 4, 8)), np.ones((3, 4, 8))
    refused(npz(q=q, k=kv, v=kv), "layout bnhd")


def test_paths_that_are_no_input(tmp_path: Path) -> None:
    refused(str(tmp_path / "none.npz"), "no such file")
    refused(str(tmp_path / "input.pickle"), ".npz or .safetensors")
    folder = tmp_path / "folder.npz"
    folder.mkdir()
    refused(str(folder), "folder")


def test_bad_token_metadata(tmp_path: Path, arrays: dict[str, Any]) -> None:
    path = tmp_path / "input.safetensors"
    for text in ("[1, 2]", "{", '"abcdef"'):
        save_file(arrays, path, metadata={"tokens": text})
        refused(str(path), "JSON list of texts")


def test_integers_in_safetensors(tmp_path: Path, arrays: dict[str, Any]) -> None:
    path = tmp_path / "input.safetensors"
    save_file({**arrays, "q": arrays["q"].astype(np.int32)}, path)
    refused(str(path), "q has dtype int32")


def test_a_huge_array_is_refused_by_its_header(tmp_path: Path) -> None:
    path = tmp_path / "huge.npz"
    with zipfile.ZipFile(path, "w") as archive, archive.open("q.npy", "w") as stream:
        header = {"descr": "<f4", "fortran_order": False, "shape": (1 << 20, 1 << 20)}
        np.lib.format.write_array_header_1_0(stream, header)
    refused(str(path), "q of shape (1048576, 1048576) needs 4.00 TiB")


def test_the_budget_is_kept(npz: Write, arrays: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=r"q of shape \(2, 6, 4\) needs 192 B, more than the 100 B"):
        array_files.read_npz(Path(npz(**arrays)), budget=100)


def test_a_file_is_read_again_only_when_it_changed(npz: Write, arrays: dict[str, Any]) -> None:
    path = npz(**arrays)
    first = files.load(path)
    assert files.load(path) is first
    npz(**{name: np.ones((2, 7, 4), np.float32) for name in "qkv"})
    assert files.load(path).q.shape == (1, 2, 7, 4)


@pytest.mark.parametrize("suffix", [".npz", ".safetensors"])
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_damaged_files_give_one_line(tmp_path: Path, arrays: dict[str, Any], suffix: str, data: st.DataObject) -> None:
    path = tmp_path / f"input{suffix}"
    if suffix == ".npz":
        np.savez_compressed(path, **arrays)
    else:
        save_file(arrays, path)
    content = bytearray(path.read_bytes())
    if data.draw(st.booleans()):
        content = content[: data.draw(st.integers(0, len(content) - 1))]
    else:
        for _ in range(data.draw(st.integers(1, 4))):
            content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(content)
    message = ""
    try:
        files.load(str(path))
    except InputError as error:
        message = str(error)
    assert "\n" not in message
