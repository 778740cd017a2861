"""Methods as data: which parts, with which options, from which source. No torch here."""
