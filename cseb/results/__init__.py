"""Records, and what is read off them: averages, spreads, tables, comparisons. No torch here."""
