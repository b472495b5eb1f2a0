"""Pictures without a screen, opened again by another library than the one that wrote them."""

from __future__ import annotations

import struct
import zlib

import pytest

from explorer.session.config import Configuration, loads
from explorer.session.errors import UserError
from explorer.ui.shot import VIEWS, shoot

SMALL = Configuration(input="normal", q_len=40, kv_len=32, heads=1, head_dim=8, block_q=16, block_kv=8, mask="causal")


def chunks(content: bytes) -> list[tuple[str, bytes]]:
    """(type, data) of a PNG's chunks, each checked against its CRC."""
    assert content[:8] == b"\x89PNG\r\n\x1a\n"
    found, place = [], 8
    while place < len(content):
        (length,) = struct.unpack(">I", content[place : place + 4])
        kind, data = content[place + 4 : place + 8], content[place + 8 : place + 8 + length]
        (crc,) = struct.unpack(">I", content[place + 8 + length : place + 12 + length])
        assert crc == zlib.crc32(kind + data)
        found.append((kind.decode(), data))
        place += 12 + length
    return found


def texts(content: bytes) -> dict[str, str]:
    """Key to text of a PNG's text chunks, compressed or not."""
    found = {}
    for kind, data in chunks(content):
        key, _, rest = data.partition(b"\0")
        if kind == "tEXt":
            found[key.decode()] = rest.decode("latin-1")
        elif kind == "zTXt":
            found[key.decode()] = zlib.decompress(rest[1:]).decode("latin-1")
        elif kind == "iTXt":
            compressed, _, _, text = rest[0], *rest[2:].split(b"\0", 2)
            found[key.decode()] = (zlib.decompress(text) if compressed else text).decode()
    return found


def size(content: bytes) -> tuple[int, int]:
    return struct.unpack(">II", chunks(content)[0][1][:8])


def test_a_picture_of_the_window_says_what_it_shows(tmp_path, prompt_engine):
    out = tmp_path / "window.png"
    shoot(SMALL, 7, "window", "light", (1280, 800), 2.0, str(out), factory=prompt_engine)
    content = out.read_bytes()
    assert size(content) == (2560, 1600)
    said = texts(content)
    assert said["Step"] == "7"
    assert loads(said["Settings"]) == SMALL
    assert "tilescope" in said["Software"]
    assert "jax 0.0.0" in said["Software"]


@pytest.mark.parametrize("view", ["matrix", "memory"])
def test_one_view_has_the_size_asked_for(tmp_path, prompt_engine, view):
    out = tmp_path / f"{view}.png"
    shoot(SMALL, None, view, "dark", (640, 480), 1.0, str(out), factory=prompt_engine)
    assert size(out.read_bytes()) == (640, 480)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"view": "nosuch"}, ", ".join(VIEWS)),
        ({"theme": "pink"}, "light, dark"),
        ({"step": 999}, "steps 0 to 11"),
        ({"configuration": SMALL.replace(input="nosuch")}, "nosuch"),
        ({"configuration": SMALL.replace(kernel="naive"), "step": 1}, "no Pallas kernel"),
        ({"out": "/nowhere/at/all.png"}, "/nowhere/at/all.png"),
    ],
)
def test_what_cannot_be_shown_is_said_in_one_line(tmp_path, prompt_engine, changes, words):
    asked = {"configuration": SMALL, "step": None, "view": "window", "theme": "light", "out": str(tmp_path / "a.png")}
    asked |= changes
    with pytest.raises(UserError) as caught:
        shoot(**asked, size=(1280, 800), scale=1.0, factory=prompt_engine)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "a.png").exists()
