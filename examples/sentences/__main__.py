"""Ranks sentences by how near they are in meaning, and turns files of sentences into vectors.

python -m examples.sentences rank "How do I cook rice?"            among sentences.txt beside this
python -m examples.sentences rank "wet weather" --among FILE --top 3
python -m examples.sentences encode FILE --out vectors.npy         one sentence a line
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter

import numpy as np

import pyc
from examples.sentences.embedder import Embedder
from examples.sentences.install import ModelMissing, folder

SENTENCES = Path(__file__).with_name("sentences.txt")


def lines(path: Path) -> list[str]:
    """The lines of a file that are not blank."""
    return [line.strip() for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def rank(embedder: Embedder, given: argparse.Namespace) -> None:
    for score, text in embedder.ranked(given.query, lines(given.among))[: given.top]:
        print(f"{score:6.3f}  {text}")


def encode(embedder: Embedder, given: argparse.Namespace) -> None:
    """Vectors of a file's lines, and how long they took without compiling."""
    texts = lines(given.file)
    vectors = embedder.vectors(texts)  # compiles what is not in the cache
    start = perf_counter()
    again = embedder.vectors(texts)
    seconds = perf_counter() - start
    assert np.array_equal(vectors, again)
    tokens = sum(len(sentence) for sentence in embedder.tokens(texts))
    programs = len(embedder.embed.signatures())
    print(
        f"{len(texts)} sentences, {tokens} tokens in {seconds:.3f} s: {len(texts) / seconds:.0f} "
        f"sentences, {tokens / seconds:.0f} tokens a second; {programs} programs"
    )
    if given.out is not None:
        np.save(given.out, vectors)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m examples.sentences", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--device", default="cpu", help="cpu or cuda")
    parser.add_argument("--threads", type=int, help="threads on the CPU (all)")
    commands = parser.add_subparsers(required=True)
    one = commands.add_parser("rank", help="sentences, the nearest to a query first")
    one.add_argument("query")
    one.add_argument("--among", type=Path, default=SENTENCES, help="a file, one sentence a line")
    one.add_argument("--top", type=int, default=5)
    one.set_defaults(run=rank)
    two = commands.add_parser("encode", help="vectors of a file's sentences, and their throughput")
    two.add_argument("file", type=Path, nargs="?", default=SENTENCES)
    two.add_argument("--out", type=Path, help="where to save them, as .npy")
    two.set_defaults(run=encode)
    given = parser.parse_args(arguments)
    if given.threads is not None:
        pyc.set_num_threads(given.threads)
    try:
        model = folder()
    except ModelMissing as missing:
        print(missing, file=sys.stderr)
        return 1
    given.run(Embedder(model, given.device), given)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
