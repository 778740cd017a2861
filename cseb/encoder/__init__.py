"""The encoder: its interface to parts, backbone, pooler and head, loading, precision and distributed training."""
