"""Which texts of tasks stand in training sentences: a benchmark's answers that an encoder may have seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cseb.api.arguments import joined
from cseb.data.overlap import NEAR, Overlap, TaskTexts


@dataclass(frozen=True, slots=True)
class OverlapReport:
    """One entry for each task. corpus: its name; sentences: how many it has; near: which similarity counts."""

    corpus: str
    sentences: int
    near: float
    tasks: tuple[Overlap, ...]

    @property
    def any(self) -> bool:
        """Whether a text of a task was found."""
        return any(one.exact or one.near for one in self.tasks)


def overlap(
    corpus: str | Path | Sequence[str],
    tasks: str | Sequence[str] = "sts",
    data_dir: str | Path = "",
    *,
    column: str = "",
    near: float = NEAR,
    examples: int = 3,
) -> OverlapReport:
    """Count the texts of tasks that stand in a corpus, without case, punctuation, white space and forms of Unicode.

    Args:
        corpus: a file, ``wikipedia``, ``microworld:COUNT``, ``hub:OWNER/NAME/FILE``, or sentences.
        tasks: such as ``sts``, ``["stsb", "sickr"]`` or a file of your own.
        data_dir: folder of task files in SentEval's layout.
        column: the column of a table's sentences, or several and what they are: ``anchor=title,positive=body``.
        near: the Jaccard similarity of two sets of words from which texts are near-duplicates, in (0, 1].
        examples: how many to give of each task, the same ones first.

    Returns:
        For each task, how many distinct texts it has, how many of them stand in the corpus (``exact``), and how many
        of the others nearly so (``near``). Dev sets and training parts of a task are texts of it.

    Raises:
        CsebError: if the corpus or a task cannot be read, or an option is impossible.

    Examples:
        >>> import cseb
        >>> found = cseb.overlap(["A man is cooking.", "Snow!"], tasks="clinc150")
        >>> found.tasks[0].task, found.any
        ('clinc150', False)
    """
    from cseb.data.read_corpus import read_corpus
    from cseb.tasks.evaluate import load_task
    from cseb.tasks.names import parse_tasks

    folder = Path(data_dir) if data_dir else None
    texts = TaskTexts.of({task.name: load_task(task, folder).sentences() for task in parse_tasks(joined(tasks))}, near)
    held = read_corpus(str(corpus), column, str(data_dir)) if isinstance(corpus, str | Path) else corpus
    name = str(corpus) if isinstance(corpus, str | Path) else "the sentences given"
    return OverlapReport(name, len(held), near, tuple(texts.overlap(held, examples)))
