"""The sentence encoder with its real weights, against NumPy in float64 and published similarities.

Skipped where the model is not installed; `.ci/run` installs it.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pyc

for needed in ("safetensors", "tokenizers", "scipy"):
    pytest.importorskip(needed, reason=f"{needed} is not there: pip install -e '.[examples]'")

from examples.sentences import __main__ as command  # noqa: E402 - they import what is asked for
from examples.sentences import install  # noqa: E402
from examples.sentences.batches import LENGTHS, TOKENS, batches  # noqa: E402
from examples.sentences.embedder import Embedder  # noqa: E402
from examples.sentences.model import embed, load  # noqa: E402

try:
    MODEL = install.folder()
except install.ModelMissing as missing:
    pytest.skip(str(missing), allow_module_level=True)

RNG = np.random.default_rng(11)
SENTENCES = command.lines(command.SENTENCES)


@pytest.fixture(scope="module")
def embedder() -> Embedder:
    return Embedder(MODEL)


def sample(rows: int, length: int) -> tuple[Any, Any]:
    """Tokens and a mask with sentences of 1 to `length` tokens, of which one is that long."""
    lengths = RNG.integers(1, length + 1, rows)
    lengths[RNG.integers(rows)] = length
    tokens = RNG.integers(1000, 30000, (rows, length)).astype(np.int32)
    return tokens, np.arange(length) < lengths[:, None]


@pytest.mark.parametrize(("rows", "length"), [(1, 8), (5, 24), (3, 96), (1, 256)])
def test_float32_differs_from_numpy_in_float64_by_less_than_1e_5(
    rows: int, length: int, embedder: Embedder
) -> None:
    tokens, mask = sample(rows, length)
    found = embedder.embed(embedder.encoder, tokens, mask)
    assert found.dtype == np.float32 and found.shape == (rows, 384)
    exact = embed(load(MODEL, np.float64), tokens, mask)
    assert exact.dtype == np.float64
    assert np.abs(found - exact).max() < 1e-5


def test_similarities_are_those_that_the_model_is_known_for(embedder: Embedder) -> None:
    """The example of the model's page at its publisher."""
    others = ("That is a happy dog", "That is a very happy person", "Today is a sunny day")
    first, *rest = embedder.vectors(["That is a happy person", *others])
    np.testing.assert_allclose(np.array(rest) @ first, [0.6946, 0.9429, 0.2569], atol=1e-4)


def test_what_else_is_in_the_batch_does_not_change_a_vector(embedder: Embedder) -> None:
    """Padding of all lengths is masked, and rows are given back in the order of the texts."""
    together = embedder.vectors(SENTENCES)
    for n in (0, 17, len(SENTENCES) - 1):
        assert np.abs(embedder.vectors([SENTENCES[n]])[0] - together[n]).max() < 1e-6
    assert embedder.vectors([]).shape == (0, 384)


def test_a_text_that_is_too_long_is_cut_off(embedder: Embedder) -> None:
    (found,) = embedder.tokens(["word " * 1000])
    assert len(found) == LENGTHS[-1]


@pytest.mark.parametrize("count", [1, 2, 3, 7, 100, 1000])
def test_batches_hold_each_sentence_once_in_few_shapes(count: int) -> None:
    sentences = [list(range(1, n + 1)) for n in RNG.integers(1, 257, count)]
    made = list(batches(sentences))
    assert sorted(n for batch in made for n in batch.numbers) == list(range(count))
    for batch in made:
        rows, length = batch.tokens.shape
        assert batch.mask.shape == (rows, length) and batch.mask[:, 0].all()
        assert rows * length <= TOKENS and length in LENGTHS
        for row, number in enumerate(batch.numbers):
            assert batch.tokens[row][batch.mask[row]].tolist() == sentences[number]
    shapes = {batch.tokens.shape for batch in made}
    whole = {(TOKENS // length, length) for length in LENGTHS}
    assert all(rows.bit_count() == 1 for rows, _ in shapes - whole)
    padded = sum(batch.mask.size for batch in made)
    assert count < 100 or padded < 1.5 * sum(map(len, sentences))


def test_sentences_of_one_shape_are_one_program(embedder: Embedder) -> None:
    embedder.vectors(SENTENCES)
    before = len(embedder.embed.signatures())
    embedder.vectors([text.replace("the", "a") for text in SENTENCES])
    embedder.vectors(SENTENCES[::-1])
    assert len(embedder.embed.signatures()) == before


def test_weights_are_arguments_also_where_they_are_captured(embedder: Embedder) -> None:
    """A program has no weights in it: new ones need no new program."""
    encoder = load(MODEL)
    tokens, mask = sample(1, 8)
    captured = pyc.jit(lambda tokens, mask: embed(encoder, tokens, mask))
    first = captured(tokens, mask)
    assert np.array_equal(first, embedder.embed(embedder.encoder, tokens, mask))
    encoder.layers[3].up.bias[:] += 0.5
    second = captured(tokens, mask)
    assert np.array_equal(second, embedder.embed(encoder, tokens, mask))
    assert np.abs(second - first).max() > 1e-3
    assert len(captured.signatures()) == 1
    compiled = embedder.embed.compile(encoder, tokens, mask)
    assert compiled.memory_analysis().constants < 1000


def test_the_command_ranks(capsys: Any, tmp_path: Path) -> None:
    assert command.main(["rank", "How do I cook rice?", "--top", "2"]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert "Rinse the rice" in first and float(first.split()[0]) > float(second.split()[0])
    among = tmp_path / "among.txt"
    among.write_text("The cat sat.\n\nShares fell sharply.\n")
    assert command.main(["rank", "stock market", "--among", str(among)]) == 0
    assert [line[8:] for line in capsys.readouterr().out.splitlines()] == [
        "Shares fell sharply.",
        "The cat sat.",
    ]


def test_the_command_encodes(capsys: Any, tmp_path: Path, embedder: Embedder) -> None:
    out = tmp_path / "vectors.npy"
    assert command.main(["encode", str(command.SENTENCES), "--out", str(out)]) == 0
    assert f"{len(SENTENCES)} sentences" in capsys.readouterr().out
    assert np.array_equal(np.load(out), embedder.vectors(SENTENCES))


def test_an_installed_model_is_checked_and_not_installed_again(
    monkeypatch: Any, capsys: Any, tmp_path: Path
) -> None:
    monkeypatch.setattr(subprocess, "run", None)
    assert install.main() == 0
    assert str(MODEL) in capsys.readouterr().out
    for name in install.FILES:
        (tmp_path / name).write_bytes((MODEL / name).read_bytes())
    install.check(tmp_path)
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(install.ModelMissing, match=r"config\.json has the SHA-256 sum"):
        install.check(tmp_path)


def test_without_the_model_the_command_says_what_to_do(monkeypatch: Any, capsys: Any) -> None:
    monkeypatch.setattr(install, "MODULE", "no_such_module")
    assert command.main(["rank", "anything"]) == 1
    assert "run python -m examples.sentences.install" in capsys.readouterr().err


def test_another_version_is_refused(monkeypatch: Any) -> None:
    monkeypatch.setattr(install, "VERSION", "9.9")
    with pytest.raises(install.ModelMissing, match=r"this example is for 9\.9"):
        install.folder()
