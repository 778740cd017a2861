"""Records and comparisons in words and tables, one module for each output format. No torch here."""
