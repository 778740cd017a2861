"""Records of finished jobs on disk, and the only reader of the method text in them. No torch here."""
