"""cseb: which training method gives the best sentence encoder from few sentences, by how much, and is it real?"""

__version__ = "0.1.0"
