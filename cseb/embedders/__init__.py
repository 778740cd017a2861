"""Embedders: everything that `cseb eval` can score, behind one interface. Weights are loaded by `Embedder.open`."""

from __future__ import annotations

from cseb.data.bounded import is_file
from cseb.embedders.interface import Embedder, EncoderOptions
from cseb.errors import BadSpec


def find(name: str, how: EncoderOptions) -> Embedder:
    """Return the embedder of this name; its files are hashed, its weights are not loaded yet.

    name, in the order of preference: `st:FOLDER` (sentence-transformers), `glove:FILE` (word vectors),
    `words:tf-idf` or `words:random`, `module:function`, the key of a record
    whose model was saved, a file of sentence or of word vectors, a folder or hub name. Raises: CsebError.
    """
    from cseb.embedders import folders, functions, word_vectors

    kind, colon, rest = name.partition(":")
    if kind == "st" and colon:
        from cseb.embedders import modules

        return modules.find(rest, how)
    embedder: Embedder | None = None
    if kind == "glove" and colon:
        embedder = word_vectors.find(rest)
    elif kind == "words" and colon:
        embedder = word_vectors.baseline(rest, how.data_dir)
    elif functions.NAME.fullmatch(name):
        embedder = functions.find(name)
    elif name.endswith(functions.SUFFIX) and is_file(name):
        embedder = functions.find_vectors(name)
    elif name.endswith(word_vectors.SUFFIXES) and is_file(name):
        embedder = word_vectors.find(name)
    if embedder is None:
        return folders.find(name, how)
    if how.pooler or how.dtype != "fp32":
        option = f"`pooler` {how.pooler}" if how.pooler else f"`dtype` {how.dtype}"
        raise BadSpec(f"{name} returns sentence vectors itself, so {option} does not apply; leave it out")
    return embedder
