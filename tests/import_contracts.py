"""A contract for import-linter: zero circles of files, counting imports inside functions too."""

from graphlib import CycleError, TopologicalSorter
from typing import Any

from grimp import ImportGraph
from importlinter import Contract, ContractCheck
from importlinter.application import output


class NoCircles(Contract):
    """No file imports one that imports it, be it through others. Layers forbid circles of rooms only."""

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        """Kept where the files can be put in an order in which each comes after all that it imports."""
        root = self.session_options["root_packages"][0]
        files = {name: graph.find_modules_directly_imported_by(name) for name in graph.modules if _within(name, root)}
        ours = {name: {each for each in imported if each in files} for name, imported in files.items()}
        try:
            TopologicalSorter(ours).prepare()
        except CycleError as error:
            return ContractCheck(kept=False, metadata={"circle": error.args[1]})
        return ContractCheck(kept=True)

    def render_broken_contract(self, check: ContractCheck) -> None:
        """One line for the circle that was found."""
        circle: list[Any] = check.metadata["circle"]
        output.print_error(" <- ".join(circle))


def _within(name: str, root: str) -> bool:
    return name == root or name.startswith(f"{root}.")
