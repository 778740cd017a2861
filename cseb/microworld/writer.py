"""From a frame to a finished sentence of a register."""

from zlib import crc32

from cseb.microworld.frames import Frame
from cseb.microworld.registers import REGISTERS
from cseb.microworld.wording import Wording

WORDS = (5, 25)  # shortest and longest sentence
_SHARES = 8  # sentences fall into this many splits by checksum
RESERVED = {"test": 0, "dev": 1}  # splits kept out of every corpus


def share_of(sentence: str) -> int:
    """The fixed split, 0 to 7, of a sentence by its checksum; test, dev and corpus have no sentence in common."""
    return crc32(sentence.encode()) % _SHARES


def fits(sentence: str) -> bool:
    """Whether the sentence has 5 to 25 words."""
    return WORDS[0] <= sentence.count(" ") + 1 <= WORDS[1]


def write(register: str, frame: Frame, wording: Wording, shape: str = "", wrapped: float = 0.0) -> str:
    """The frame in words; an opening and a closing that add no meaning come each with probability `wrapped`."""
    way = REGISTERS[register]
    text = way.write(frame, wording, shape)
    chance = wording.chance
    before = chance.pick(wording.words.before[register]) + " " if chance.flip(wrapped) else ""
    after = chance.pick(wording.words.after[register]) if chance.flip(wrapped) else ""
    if register == "question" and not after:
        after = "?"
    if after:
        after = after if after[0] in ",?" else " " + after
    text = f"{before}{text}{after}"
    return text[0].upper() + text[1:] + ("." if way.full_stop else "")
