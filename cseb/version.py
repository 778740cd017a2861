"""The versions of cseb: of the package, and of what computes the numbers of a record."""

__version__ = "0.2.0"

# Raised by one when the same job would give other numbers, as the version of a part or a task is. Records of another
# version are stale. `cseb check` finds a change of numbers without a new version.
TRAINER_VERSION = 1  # loop, optimiser, schedule, batches and choice of the subset: cseb.training, cseb.data.subset
ENCODER_VERSION = 1  # tokenising, loading, forward pass, dropout and precision: cseb.encoder, cseb.embedders
WORD_VERSIONS = {"tf-idf": 4, "tf-idf-transductive": 4, "random": 3}  # the baselines `words:NAME`: cseb.words
