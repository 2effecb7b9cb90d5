"""The three levels: Graph (tensors), Kernel (loops), Plan (steps), with text and verifier."""
