"""Which topics the two kinds of text are about: the domain gap between pre-training and the low-shot corpus."""

from collections.abc import Mapping
from types import MappingProxyType

_EVERYDAY = ("food", "farming", "animals", "home", "travel", "school")
_PUBLIC = ("law", "politics", "art", "sport", "science", "health")

# weight of the predicates of each topic
GENERAL: Mapping[str, int] = MappingProxyType(dict.fromkeys(_EVERYDAY, 10) | dict.fromkeys(_PUBLIC, 6))
NEW: Mapping[str, int] = MappingProxyType(dict.fromkeys(_PUBLIC, 10))
