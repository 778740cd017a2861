"""Tasks: rated pairs or labelled sentences, and how an encoder is scored on them. They see vectors, never a model."""
