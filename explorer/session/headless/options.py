"""The command line's problem options: the same for every command, one for each field of ``Configuration``."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Sequence
from typing import Any

from explorer.session import config
from explorer.session.config import Configuration

_NUMBERS = ("--scale", "--score-scale", "--softcap")


def add_problem_options(parser: argparse.ArgumentParser, scale_taken: bool = False) -> None:
    """Add --config and one option for each setting. An option that is not given leaves the setting alone.

    The factor on the scores is --scale and --score-scale; only the latter where ``scale_taken`` by something else.
    """
    group = parser.add_argument_group("problem")
    add = _Adder(group)
    group.add_argument("--config", metavar="FILE.toml", help="settings to start from; options override them")
    add("--input", metavar="NAME|FILE", help="a built-in input, or a .npz or .safetensors file")
    add("--layout", choices=config.LAYOUTS, help="order of dimensions in a file (default bhnd)")
    add("--q-len", type=_whole, metavar="N", help="queries: as many as the input has, or fewer")
    add("--kv-len", type=_whole, metavar="N", help="keys")
    add("--heads", type=_whole, metavar="N", help="query heads")
    add("--kv-heads", type=_whole, metavar="N", help="key and value heads (fewer than heads: GQA; 1: MQA)")
    add("--head-dim", type=_whole, metavar="D", help="dimensions of a head")
    add("--dtype", choices=config.DTYPES, help="of q, k, v and o; accumulation is always float32")
    add("--mask", choices=config.MASKS, help="which pairs are seen; array and segments come from the input")
    add("--window", type=_window, metavar="LEFT,RIGHT", help="keys seen to each side; '128,' has no bound on the right")
    scale = ("--score-scale",) if scale_taken else ("--scale", "--score-scale")
    add(*scale, dest="scale", type=_number, metavar="X", help="factor on the scores (default head-dim^-0.5)")
    add("--softcap", type=_number, metavar="X", help="scores become X tanh(score / X)")
    add("--empty-rows", choices=config.EMPTY_ROWS, help="what a row that sees no key gives (default zero)")
    add("--seed", type=_whole, metavar="N", help="for generated inputs")
    add("--kernel", metavar="NAME", help="flash, jax-flash, jax-splash, xla, naive, or one of your own (default flash)")
    add("--block-q", type=_whole, metavar="N", help="rows of Q in a tile")
    add("--block-kv", type=_whole, metavar="N", help="rows of K and V in a tile")
    add("--chip", metavar="NAME", help="whose memory and speed the models use: v4, v5e, v5p, v6e, 7x (default v5e)")


def configuration_from(arguments: argparse.Namespace, **defaults: Any) -> Configuration:
    """Settings: the defaults, then the --config file, then the options given. Raises ConfigurationError."""
    base = config.load(arguments.config) if arguments.config else Configuration(**defaults)
    given = {name: getattr(arguments, name) for name in Configuration.__struct_fields__ if hasattr(arguments, name)}
    configuration = base.replace(**given)
    config.check_choices(configuration)
    return configuration


def option_text(configuration: Configuration) -> str:
    """The options that give this configuration: '--input needle --block-q 64'; '' for the defaults."""
    default = Configuration()
    parts = []
    for name in Configuration.__struct_fields__:
        value = getattr(configuration, name)
        if value != getattr(default, name):
            text = config.format_window(value) if name == "window" else str(value)
            separator = "=" if text.startswith("-") else " "
            parts.append(f"--{name.replace('_', '-')}{separator}{shlex.quote(text)}")
    return " ".join(parts)


def joined(argv: Sequence[str]) -> list[str]:
    """The words with '--scale -1e-3' as '--scale=-1e-3': argparse takes such a number for an option."""
    words: list[str] = []
    for word in argv:
        if words and words[-1] in _NUMBERS and word.startswith("-") and not word.startswith("--"):
            words[-1] += f"={word}"
        else:
            words.append(word)
    return words


class _Adder:
    def __init__(self, group: argparse._ArgumentGroup) -> None:
        self._group = group

    def __call__(self, *names: str, **details: Any) -> None:
        # SUPPRESS: what is not given is absent, so that it can be told from what is given as the default
        self._group.add_argument(*names, default=argparse.SUPPRESS, **details)


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number") from None


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number") from None


def _window(text: str) -> tuple[int | None, int | None]:
    try:
        return config.parse_window(text)
    except config.ConfigurationError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
