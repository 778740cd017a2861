"""Do reproduced numbers still come back? Expected records, drift within repeatability, and equality bit by bit."""
