"""Reads what a browser's screenshot shows, with nothing beside the standard library."""

import struct
import zlib
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path

Colour = tuple[int, int, int]
_CHANNELS = {2: 3, 6: 4}


@dataclass(frozen=True)
class Picture:
    """Lines of pixels, 8 bits a channel."""

    width: int
    height: int
    channels: int
    lines: list[bytes]

    def at(self, x: int, y: int) -> Colour:
        start = x * self.channels
        red, green, blue = self.lines[y][start : start + 3]
        return red, green, blue

    @cached_property
    def colours(self) -> Counter[Colour]:
        """How many pixels there are of each colour."""
        found: Counter[Colour] = Counter()
        for line in self.lines:
            channels = [line[offset :: self.channels] for offset in range(3)]
            found.update(zip(*channels, strict=True))
        return found


def read_png(path: Path) -> Picture:
    """A picture of a PNG file with 8 bits a channel, RGB or RGBA, not interlaced, as browsers write them."""
    data = path.read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    width, height, depth, kind, _, _, interlaced = struct.unpack(">IIBBBBB", data[16:29])
    assert (depth, interlaced) == (8, 0)
    channels = _CHANNELS[kind]
    raw = zlib.decompress(b"".join(_chunks(data)))
    step = width * channels + 1
    lines = [bytes(step - 1)]
    for start in range(0, height * step, step):
        lines.append(_unfiltered(raw[start], raw[start + 1 : start + step], lines[-1], channels))
    return Picture(width, height, channels, lines[1:])


def _chunks(data: bytes) -> list[bytes]:
    found, at = [], 8
    while at < len(data):
        length, name = struct.unpack(">I4s", data[at : at + 8])
        if name == b"IDAT":
            found.append(data[at + 8 : at + 8 + length])
        at += 12 + length
    return found


def _unfiltered(method: int, line: bytes, above: bytes, channels: int) -> bytes:
    """Takes back the prediction of one line (PNG specification, section 9)."""
    if method == 0:
        return line
    out = bytearray(line)
    for at, value in enumerate(line):
        left = out[at - channels] if at >= channels else 0
        up, corner = above[at], above[at - channels] if at >= channels else 0
        out[at] = value + (left, up, (left + up) // 2, _paeth(left, up, corner))[method - 1] & 0xFF
    return bytes(out)


def _paeth(left: int, up: int, corner: int) -> int:
    guess = left + up - corner
    return min((left, up, corner), key=lambda value: abs(guess - value))


def columns_of(picture: Picture, colour: Colour) -> int:
    """How many separate upright bars of a colour the line of pixels crosses that crosses most."""
    return max(
        sum(before != colour and after == colour for before, after in pairwise([(-1, -1, -1), *_pixels(picture, y)]))
        for y in range(0, picture.height, 4)
    )


def _pixels(picture: Picture, y: int) -> list[Colour]:
    line = picture.lines[y]
    return list(zip(*(line[offset :: picture.channels] for offset in range(3)), strict=True))
