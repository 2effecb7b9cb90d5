"""Sentence embeddings: the MiniLM encoder with its real weights, in plain NumPy under `pyc.jit`."""
