"""Hand-made kernels for particular shapes of work, and the registry that chooses among them."""
