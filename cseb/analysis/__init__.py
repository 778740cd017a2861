"""Numbers read off records: averages, spreads, paired differences, sources of variance. No torch here."""
