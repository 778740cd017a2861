"""Figures of a study for papers: each reads in grey print, and the same records give the same file."""
