"""pyc: a tracing JIT for NumPy-style array code, on x86 and NVIDIA GPUs."""
