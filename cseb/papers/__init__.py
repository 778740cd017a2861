"""What papers print: their numbers and claims, audited, and held against ours. No torch here."""
