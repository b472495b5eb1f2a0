"""How much memory a problem takes, and when it is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from explorer.session import estimate
from explorer.session.estimate import Sizes
from kernels.problem import ProblemError

lengths = st.integers(1, 10**7)


def sizes(q_len: int, kv_len: int, block: int = 128, **changes: object) -> Sizes:
    return Sizes((1, 2, q_len, 64), (1, 2, kv_len, 64), block, block, **changes)  # type: ignore[arg-type]


def test_the_parts() -> None:
    needed = estimate.estimate(sizes(1024, 2048))
    assert needed.inputs == 2 * (1024 + 2048) * 2 * 64 * 4 * 6
    assert needed.steps == 2 * 8 * 16 * 256
    assert needed.pairs == 1024 * 2048 * 8 + 2048 * 512 * 8 * 3
    assert needed.total == needed.inputs + needed.steps + needed.pairs


def test_kernels_that_materialise_hold_all_heads() -> None:
    by_head = estimate.estimate(sizes(4096, 4096)).pairs
    assert estimate.estimate(sizes(4096, 4096, kernel="naive")).pairs - by_head == 4096 * 4096 * 8


def test_a_mask_of_the_input_counts() -> None:
    extra = estimate.estimate(sizes(64, 64, pair_bytes=5)).pairs - estimate.estimate(sizes(64, 64)).pairs
    assert extra == 5 * 64 * 64


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (sizes(10**7, 10**7), ["10 000 000", "with 2 heads", "for the grid steps of 128 × 128 tiles", "up to"]),
        (sizes(10**6, 10**6, kernel="xla"), ["14.6 TiB", "for S and P"]),
        (Sizes((1, 1, 1, 10**9), (1, 1, 1, 10**9), 1, 1), ["for q, k, v and o", "smaller head-dim"]),
    ],
)
def test_refusals_have_numbers_and_a_way_out(asked: Sizes, words: list[str]) -> None:
    with pytest.raises(ProblemError) as caught:
        estimate.check_sizes(asked, budget=8 << 30)
    message = str(caught.value).replace("\N{NARROW NO-BREAK SPACE}", " ")
    assert "8.00 GiB may be taken" in message
    for word in words:
        assert word in message


@given(q_len=lengths, kv_len=lengths, budget=st.integers(1 << 24, 1 << 34))
def test_the_length_offered_fits(q_len: int, kv_len: int, budget: int) -> None:
    asked = sizes(q_len, kv_len)
    try:
        assert estimate.check_sizes(asked, budget).total <= budget
    except ProblemError as error:
        text = str(error).replace("\N{NARROW NO-BREAK SPACE}", "")
        offered = int(text.rpartition("lengths up to ")[2].partition(",")[0])
        estimate.check_sizes(sizes(min(q_len, offered), min(kv_len, offered)), budget)


def test_a_control_group_limits_memory(tmp_path: Path) -> None:
    assert estimate._control_group(tmp_path) is None
    (tmp_path / "memory.max").write_text("max\n")
    (tmp_path / "memory.current").write_text("100\n")
    assert estimate._control_group(tmp_path) is None
    (tmp_path / "memory.max").write_text("1000\n")
    (tmp_path / "memory.stat").write_text("anon 60\nfile 40\ninactive_file 30\n")
    assert estimate._control_group(tmp_path) == 930


def test_available_memory_is_read(tmp_path: Path) -> None:
    meminfo = tmp_path / "meminfo"
    meminfo.write_text("MemTotal: 10 kB\nMemAvailable:   4 kB\n")
    assert estimate._meminfo(meminfo) == 4096
    assert estimate._meminfo(tmp_path / "none") is None
    assert estimate.available_memory() > 1 << 20
