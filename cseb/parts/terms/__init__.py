"""The summands of a loss. Each is a plain function of tensors and a class that keeps its options."""
