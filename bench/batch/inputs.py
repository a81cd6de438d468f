"""Writes inputs for the programs of the bench: FOLDER COUNT PROGRAM...

Those of a program are in FOLDER/PROGRAM, one file each, and FOLDER/PROGRAM.list names them. They are the same each time."""

import json
import random
import sys
from functools import partial
from multiprocessing import Pool
from pathlib import Path

WORDS = """time year people way day man thing woman life child world school state family student group country problem hand
part place case week company system program question work government number night point home water room mother area money
story fact month lot right study book eye job word business issue side kind head house service friend father power hour game
line end member law car city community name president team minute idea kid body information back parent face others level
office door health person art war history party result change morning reason research girl guy moment air teacher force
education""".split()


def text(rng, words):
    """Sentences of so many words."""
    out = []
    for index in range(words):
        out.append(rng.choice(WORDS))
        if rng.random() < 0.1:
            out[-1] += "."
        if index % 12 == 11:
            out[-1] += "\n"
    return " ".join(out) + "\n"


def value(rng, depth):
    """A value of JSON."""
    kind = rng.random()
    if depth > 0 and kind < 0.4:
        return {f"{rng.choice(WORDS)}_{i}": value(rng, depth - 1) for i in range(rng.randint(2, 5))}
    if depth > 0 and kind < 0.6:
        return [value(rng, depth - 1) for _ in range(rng.randint(2, 6))]
    return rng.choice([rng.randint(-100000, 100000), rng.random() * 1e6, rng.choice(WORDS), True, None])


def log(rng, lines):
    """Lines of a log."""
    out = []
    for _ in range(lines):
        line = " ".join(rng.choice(WORDS) for _ in range(rng.randint(4, 12)))
        if rng.random() < 0.2:
            line = f"{rng.randint(10, 23)}:{rng.randint(10, 59)}:{rng.randint(10, 59)} {line}"
        if rng.random() < 0.1:
            line += f" {rng.choice(WORDS)}@{rng.choice(WORDS)}.org"
        if rng.random() < 0.05:
            line += " error"
        out.append(line)
    return "\n".join(out) + "\n"


def markdown(rng):
    """A page."""
    out = [f"# {rng.choice(WORDS)}\n"]
    for _ in range(8):
        out.append(f"## {rng.choice(WORDS)} *{rng.choice(WORDS)}*\n")
        out.append(text(rng, 60).replace("water", "**water**").replace("book", "[book](https://example.org)"))
        out.append("\n".join(f"- `{rng.choice(WORDS)}` {rng.choice(WORDS)}" for _ in range(5)) + "\n")
    return "\n".join(out)


def lz4(rng):
    """A block of LZ4 with its size in front, of literals and matches, made here so that no package is needed."""
    plain, packed = bytearray(), bytearray()

    def length(count):
        while count >= 255:
            packed.append(255)
            count -= 255
        packed.append(count)

    for last in [False] * 60 + [True]:
        literals = text(rng, rng.randint(3, 30)).encode()
        match = 0 if last else rng.randint(4, 120)
        packed.append(min(len(literals), 15) << 4 | (0 if last else min(match - 4, 15)))
        if len(literals) >= 15:
            length(len(literals) - 15)
        packed += literals
        plain += literals
        if last:
            break
        offset = rng.randint(1, min(len(plain), 60000))
        packed += offset.to_bytes(2, "little")
        if match - 4 >= 15:
            length(match - 4 - 15)
        for _ in range(match):
            plain.append(plain[-offset])
    return len(plain).to_bytes(4, "little") + bytes(packed)


MAKERS = {
    "hello": lambda rng: b"",
    "words": lambda rng: text(rng, 400).encode(),
    "json": lambda rng: json.dumps({f"key{i}": value(rng, 3) for i in range(8)}).encode(),
    "search": lambda rng: log(rng, 60).encode(),
    "markdown": lambda rng: markdown(rng).encode(),
    "pbkdf2": lambda rng: f"{rng.choice(WORDS)}{rng.randint(0, 10**9)}".encode(),
    "blur": lambda rng: rng.randbytes(64 * 64),
    "lz4": lz4,
    "quickjs": lambda rng: json.dumps({f"key{i}": value(rng, 3) for i in range(8)}).encode(),
}


def make(program, folder, index):
    """Writes an input, and returns its path."""
    path = folder / f"{index:06}"
    path.write_bytes(MAKERS[program](random.Random(f"{program} {index}")))
    return f"{path}\n"


def main():
    folder, count, programs = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:] or list(MAKERS)
    with Pool() as pool:
        for program in programs:
            (folder / program).mkdir(parents=True, exist_ok=True)
            names = pool.map(partial(make, program, folder / program), range(count), chunksize=100)
            (folder / f"{program}.list").write_text("".join(names))


if __name__ == "__main__":
    main()
