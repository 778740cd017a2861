"""What papers print: their numbers for the methods of cseb. No torch here."""
