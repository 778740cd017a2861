"""Source text of modules, found and read without importing them: what a class states of itself, and a hash of code."""

from __future__ import annotations

import ast
import hashlib
import importlib.util
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from typing import Any

OPAQUE = ("torch", "abc", "typing", "builtins", "collections", "dataclasses")  # base classes that state nothing
STATEMENTS = ("body", "orelse", "finalbody")
UNREAD = frozenset(("kind", "type_comment", "type_ignores", "ctx"))  # fields of a tree that no computation depends on


@cache
def place_of(module: str) -> Path | None:
    """The file of a module by its dotted name, None where there is none. No module is imported, no parent of it."""
    found = _spec(module)
    path = Path(found.origin) if found is not None and found.has_location and found.origin else None
    return path if path is not None and path.is_file() else None


@cache
def _spec(module: str) -> ModuleSpec | None:
    parent = module.rpartition(".")[0]
    try:
        if not parent:
            return importlib.util.find_spec(module)
        above = _spec(parent)
        where = None if above is None else above.submodule_search_locations
        return None if where is None else PathFinder.find_spec(module, list(where))
    except (ImportError, ValueError, AttributeError):  # such as a module without a specification
        return None


@cache
def tree_of(module: str) -> ast.Module | None:
    """The syntax tree of a module, None where it has no source text that can be read."""
    path = place_of(module)
    if path is None or path.suffix != ".py":
        return None
    try:
        return ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return None


@cache
def named(module: str, name: str, depth: int = 0) -> tuple[str, ast.ClassDef | ast.expr] | None:
    """What a module calls `name`: (module of the definition, class or assigned value); None if that is not to be seen.

    Names that come from other modules are followed; classes of libraries such as torch are not.
    """
    tree = tree_of(module)
    if tree is None or depth > 20:  # modules may import each other in a circle
        return None
    found: tuple[str, ast.ClassDef | ast.expr] | None = None
    for statement in tree.body:
        match statement:
            case ast.ClassDef(name=defined) if defined == name:
                found = (module, statement)
            case ast.Assign(targets=[ast.Name(id=defined)], value=value) if defined == name:
                found = (module, value)
            case ast.AnnAssign(target=ast.Name(id=defined), value=ast.expr() as value) if defined == name:
                found = (module, value)
            case ast.ImportFrom(names=names):
                for alias in names:
                    if (alias.asname or alias.name) == name:
                        source = _absolute(module, statement)
                        found = None if _root(source) in OPAQUE else named(source, alias.name, depth + 1)
    if found is not None and isinstance(found[1], ast.Name) and found[1].id != name:
        return named(found[0], found[1].id, depth + 1)
    return found


def lineage(module: str, name: str) -> list[tuple[str, ast.ClassDef]] | None:
    """A class and those it inherits from, in the order in which Python looks; None if some of them cannot be seen."""
    found = named(module, name)
    if found is None or not isinstance(found[1], ast.ClassDef):
        return None
    home, definition = found[0], found[1]
    classes: list[tuple[str, ast.ClassDef]] = [(home, definition)]
    for base in definition.bases:
        plain = base.value if isinstance(base, ast.Subscript) else base
        match plain:
            case ast.Attribute(attr="Module") | ast.Name(id="Module" | "object" | "Protocol" | "Generic" | "ABC"):
                continue  # torch.nn.Module and its like state nothing that is asked for here
            case ast.Name(id=inherited):
                above = lineage(home, inherited)
                if above is None:
                    return None
                classes += above
            case _:
                return None
    return classes


def literal(value: ast.expr, module: str) -> Any:
    """The value of an expression made of constants, sets of them and names of constants. Raises: ValueError."""
    match value:
        case ast.Name(id=name):
            found = named(module, name)
            if found is None or isinstance(found[1], ast.ClassDef):
                raise ValueError(name)
            return literal(found[1], found[0])
        case ast.Tuple(elts=elements):
            return tuple(literal(one, module) for one in elements)
        case ast.Call(func=ast.Name(id="frozenset"), args=[]):
            return frozenset()
        case ast.Call(func=ast.Name(id="frozenset"), args=[ast.Set() | ast.Tuple() | ast.List() as held]):
            return frozenset(literal(one, module) for one in held.elts)
    return ast.literal_eval(value)


def _root(module: str) -> str:
    return module.partition(".")[0]


def _absolute(module: str, statement: ast.ImportFrom) -> str:
    """The full name of the module that an import statement inside `module` names."""
    if not statement.level:
        return statement.module or ""
    path = place_of(module)
    parts = module.split(".") if path is not None and path.name == "__init__.py" else module.split(".")[:-1]
    kept = parts[: len(parts) - statement.level + 1]
    return ".".join([*kept, *([statement.module] if statement.module else [])])


@cache
def _imports(module: str) -> tuple[str, ...]:
    """Modules that this one names in its import statements, wherever they stand, those for type checkers left out."""
    tree = tree_of(module)
    found: dict[str, None] = {}
    for node in () if tree is None else _walk(tree):
        if isinstance(node, ast.Import):
            found |= dict.fromkeys(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            source = _absolute(module, node)
            found[source] = None
            found |= dict.fromkeys(f"{source}.{alias.name}" for alias in node.names)
    return tuple(found)


def _walk(node: ast.AST) -> Iterator[ast.AST]:
    yield node
    if isinstance(node, ast.If) and _for_checkers(node):
        return
    for child in ast.iter_child_nodes(node):
        yield from _walk(child)


@cache
def reached(module: str, inside: tuple[str, ...], without: tuple[str, ...] = ()) -> tuple[str, ...]:
    """`module` and all it imports, directly or not, of the packages `inside` and not of the modules `without`."""
    found: set[str] = set()
    waiting = [module]
    while waiting:
        one = waiting.pop()
        if one in found or one in without or place_of(one) is None:
            continue
        found.add(one)
        waiting += [name for name in _imports(one) if any(f"{name}.".startswith(f"{root}.") for root in inside)]
    return tuple(sorted(found))


def fingerprint(modules: Iterable[str]) -> str:
    """Sixteen hex digits of what these modules compute, by their names; "" where there are none.

    Comments, docstrings, layout, imports for type checkers and the texts of errors do not count. The same in every
    version of Python.
    """
    held = [f"{module} {_digest(module)}" for module in sorted(modules)]
    return hashlib.sha256("\n".join(held).encode()).hexdigest()[:16] if held else ""


@cache
def _digest(module: str) -> str:
    path, tree = place_of(module), tree_of(module)
    if tree is not None:
        return hashlib.sha256(_text(tree).encode()).hexdigest()
    content = b"" if path is None else path.read_bytes()  # compiled, or no Python at all: then every byte counts
    return hashlib.sha256(content).hexdigest()


def _text(node: Any, silent: bool = False) -> str:
    """A syntax tree as text that tells two computations apart. silent: words are left out, as in an error's message."""
    if isinstance(node, list):
        return f"[{','.join(_text(one, silent) for one in node)}]"
    if not isinstance(node, ast.AST):
        return repr(node)
    if isinstance(node, ast.Constant):
        return "word" if silent and isinstance(node.value, str) else repr(node.value)
    if isinstance(node, ast.JoinedStr) and silent:
        return "word"
    text = [type(node).__name__]
    for field, value in ast.iter_fields(node):
        if field in UNREAD or value is None or value == []:
            continue
        if field in STATEMENTS and isinstance(value, list):
            text.append(f"{field}={_text([one for one in value if _counts(one)])}")
        elif isinstance(node, ast.Assert) and field == "msg":
            continue
        else:
            text.append(f"{field}={_text(value, silent or isinstance(node, ast.Raise))}")
    return f"({' '.join(text)})"


def _counts(statement: ast.stmt) -> bool:
    """Whether a statement does anything: docstrings, `pass` and imports for type checkers do not."""
    match statement:
        case ast.Pass() | ast.Expr(value=ast.Constant()) | ast.ImportFrom(module="__future__"):
            return False
        case ast.If():
            return not _for_checkers(statement)
    return True


def _for_checkers(statement: ast.If) -> bool:
    match statement.test:
        case ast.Name(id="TYPE_CHECKING") | ast.Attribute(attr="TYPE_CHECKING"):
            return not statement.orelse
    return False
