"""Advice on one's own sentences: which method, how much does it help, and the trained model."""
