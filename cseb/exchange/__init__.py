"""Records in the formats of other tools."""
