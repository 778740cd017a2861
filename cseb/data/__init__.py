"""Sentences to train on: read from any usual file, named by a hash, and sampled in nested subsets."""
