"""The built-in synthetic benchmark: generated English corpus, tasks with gold scores and a tiny encoder, no download.

It is for trying the toolkit, for development and for tests. It says nothing about which method is best on real text.
"""

from pathlib import Path

from cseb.microworld.corpus import general_sentences, sentences
from cseb.microworld.inference import triples
from cseb.microworld.retrieval import RETRIEVAL, Retrieval, queries
from cseb.microworld.tasks import DEV, TASKS, Pairs, pairs
from cseb.microworld.transfer import LABELLED, Labelled, labelled

VERSION = 1  # raised when any of these texts would change: caches and records of the old ones are stale
ENCODER = Path(__file__).with_name("encoder")  # for transformers.AutoModel.from_pretrained

__all__ = [
    "DEV",
    "ENCODER",
    "LABELLED",
    "RETRIEVAL",
    "TASKS",
    "VERSION",
    "Labelled",
    "Pairs",
    "Retrieval",
    "general_sentences",
    "labelled",
    "pairs",
    "queries",
    "sentences",
    "triples",
]
