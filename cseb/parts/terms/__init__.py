"""Loss terms. Each is a plain function of tensors and a class with its options."""
