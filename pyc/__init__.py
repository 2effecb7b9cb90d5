"""pyc: a tracing JIT for NumPy-style array code, on x86 and NVIDIA GPUs."""

__version__ = "0.1.0"
