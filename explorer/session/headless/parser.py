"""The command line's words: commands and their options."""

from __future__ import annotations

import argparse
import shlex
from typing import NoReturn

from explorer.session.headless.options import add_problem_options, joined
from explorer.session.versions import own_version

COMMANDS = ("run", "step", "shot", "doctor", "engine")
THEMES = ("light", "dark")
_EPILOG = """commands:
  tilescope run            run a kernel whole and judge it against float64 and naive
  tilescope step N         drive to grid step N and say what happened in it
  tilescope shot OUT.png   a picture of the window
  tilescope doctor         is everything here that is needed
  tilescope engine         serve a window over standard input and output (used through ssh)
'tilescope COMMAND --help' has a command's own options. None of the commands needs a display.
Exit codes: 0 done, 1 wrong result, 2 could not be done (one line says why)."""


class UsageError(Exception):
    """The command line cannot be understood; one line."""


class Parser(argparse.ArgumentParser):
    """Raises ``UsageError`` where argparse would print its usage and exit."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message} (see '{self.prog} --help')")


def parse(argv: list[str]) -> argparse.Namespace:
    """Arguments with ``command``: one of ``COMMANDS``, or 'window'. Raises UsageError; --help and --version exit."""
    command = argv[0] if argv and argv[0] in COMMANDS else "window"
    parser = _PARSERS[command]()
    arguments = parser.parse_args(joined(argv if command == "window" else argv[1:]))
    arguments.command = command
    return arguments


def _window() -> Parser:
    parser = Parser(
        prog="tilescope", description="Drive Pallas kernels tile by tile. Without a command: open the window.",
        epilog=_EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False,
    )  # fmt: skip
    parser.add_argument("file", nargs="?", metavar="FILE", help="a .npz or .safetensors input, or .toml settings")
    parser.add_argument("--version", action="version", version=f"tilescope {own_version()}")
    _add_engine(parser)
    add_problem_options(parser)
    return parser


def _run() -> Parser:
    parser = _command("run", "Run a kernel whole; judge it against float64 and naive; time it.")
    parser.add_argument("--json", action="store_true", help="a report for programs; 'inf' and 'nan' are texts in it")
    parser.add_argument("--save", metavar="OUT.npz", help="write o and lse, float32")
    _add_engine(parser)
    add_problem_options(parser)
    return parser


def _step() -> Parser:
    parser = _command("step", "Drive to just after one grid step, and say what it moved and computed.")
    parser.add_argument("step", type=_step_number, metavar="N", help="grid step, from 0")
    parser.add_argument("--json", action="store_true", help="a report for programs; '-inf' and 'nan' are texts in it")
    _add_engine(parser)
    add_problem_options(parser)
    return parser


def _shot() -> Parser:
    parser = _command("shot", "Write a picture of the window, or of one view of it, at a grid step.")
    parser.add_argument("out", metavar="OUT.png")
    parser.add_argument("--step", type=_step_number, metavar="N", help="grid step, from 0 (default: one in the middle)")
    parser.add_argument("--view", metavar="NAME", default="window", help="window (default) or one of its views")
    parser.add_argument("--theme", choices=THEMES, default="light")
    parser.add_argument("--size", type=_size, metavar="WxH", default=(1440, 900), help="default 1440x900")
    parser.add_argument(
        "--scale", type=_picture_scale, metavar="X", default=1.0, dest="picture_scale",
        help="pixels for each point, mostly 1 or 2; the factor on the scores is --score-scale here",
    )  # fmt: skip
    add_problem_options(parser, scale_taken=True)
    return parser


def _doctor() -> Parser:
    parser = _command("doctor", "Check this installation: releases, packages, display, Qt, and the engine.")
    parser.add_argument("--json", action="store_true", help="checks[] with name, ok, detail")
    _add_engine(parser)
    return parser


def _engine() -> Parser:
    return _command("engine", "Serve a window over standard input and output, for example through ssh.")


_PARSERS = {"window": _window, "run": _run, "step": _step, "shot": _shot, "doctor": _doctor, "engine": _engine}


def _command(name: str, description: str) -> Parser:
    return Parser(prog=f"tilescope {name}", description=description, allow_abbrev=False)


def _add_engine(parser: Parser) -> None:
    parser.add_argument(
        "--engine", type=_words, metavar="COMMAND",
        help="what starts the engine, for example 'ssh tpu-vm tilescope engine' (default: this installation's)",
    )  # fmt: skip


def _words(text: str) -> list[str]:
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"'{text}': {error}") from None
    if not words:
        raise argparse.ArgumentTypeError("it is empty")
    return words


def _step_number(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise argparse.ArgumentTypeError(f"'{text}' is not a grid step: use a whole number from 0")
    return int(text)


def _size(text: str) -> tuple[int, int]:
    width, _, height = text.lower().partition("x")
    if not (width.isascii() and width.isdigit() and height.isascii() and height.isdigit()):
        raise argparse.ArgumentTypeError(f"'{text}' is not WIDTHxHEIGHT: use for example 1440x900")
    size = int(width), int(height)
    if not all(100 <= side <= 10_000 for side in size):
        raise argparse.ArgumentTypeError(f"'{text}': each side may be 100 to 10000")
    return size


def _picture_scale(text: str) -> float:
    try:
        scale = float(text)
    except ValueError:
        scale = 0.0
    if not 0.5 <= scale <= 4:
        raise argparse.ArgumentTypeError(f"'{text}' is not a picture scale: use 0.5 to 4")
    return scale
