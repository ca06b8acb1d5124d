"""The options of SGLang's server, read from the syntax trees of a released wheel without running it.

Two forms are read: `parser.add_argument(...)` in `ServerArgs.add_cli_args`, and annotated fields,
`name: A[type, "help"]` or `name: A[type, Arg(...)]`, which SGLang turns into arguments since 0.5.12.
"""

from __future__ import annotations

import ast
import contextlib
import zipfile
from typing import TYPE_CHECKING, Any, Final

from tables import Option, UnknownError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

ROOT: Final = "sglang/srt/server_args.py"
FIELDS: Final = "sglang/srt/arg_groups/fields/"
KINDS: Final = {"int": "integer", "float": "number", "json.loads": "json", "human_readable_int": "size"}
LISTS: Final = {"List", "list"}
PARSER: Final = "argparse"
METHOD: Final = "--speculative-algorithm"
METHODS: Final = "sglang/srt/speculative/spec_info.py"
ALIAS: Final = "NEXTN"
"""What every release takes for EAGLE."""
PAIR: Final = "argparse.BooleanOptionalAction"


class Source:
    """The modules of a wheel, parsed when they are needed."""

    def __init__(self, path: Path) -> None:
        """Open a wheel."""
        self.wheel = zipfile.ZipFile(path)
        self.names = set(self.wheel.namelist())
        self.trees: dict[str, ast.Module] = {}

    def tree(self, path: str) -> ast.Module:
        """Parse a module."""
        if path not in self.trees:
            self.trees[path] = ast.parse(self.wheel.read(path))
        return self.trees[path]

    def find(self, name: str, scope: list[ast.stmt], depth: int = 0) -> tuple[ast.expr | ast.stmt, list[ast.stmt]]:
        """Return the value assigned to a name in a list of statements, and the statements around it."""
        for statement in scope:
            match statement:
                case ast.Assign(targets=[ast.Name(id=each)], value=value) if each == name:
                    return value, scope
                case ast.AnnAssign(target=ast.Name(id=each), value=ast.expr() as value) if each == name:
                    return value, scope
                case ast.ClassDef(name=each) | ast.FunctionDef(name=each) if each == name:
                    return statement, scope
                case ast.ImportFrom(module=str(module), names=imported):
                    wanted = next((each.name for each in imported if name == (each.asname or each.name)), None)
                    path = self.path(module)
                    if wanted is not None and path is not None and depth < len(self.names):
                        return self.find(wanted, self.tree(path).body, depth + 1)
        raise UnknownError(name)

    def path(self, module: str) -> str | None:
        """Return the file of a module."""
        stem = module.replace(".", "/")
        return next((each for each in (f"{stem}.py", f"{stem}/__init__.py") if each in self.names), None)

    def value(self, node: ast.expr, scope: list[ast.stmt]) -> Any:
        """Return the value of an expression. Raises UnknownError if it contains more than constants, lists and keys."""
        match node:
            case ast.Constant(value=value):
                return value
            case ast.List(elts=each) | ast.Tuple(elts=each) | ast.Set(elts=each) | ast.Dict(keys=each):
                return [self.value(item, scope) for item in each if item is not None]
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return [*self.value(left, scope), *self.value(right, scope)]
            case ast.Call(func=ast.Name(id="list" | "set" | "sorted" | "tuple" | "frozenset"), args=[inside]):
                return self.value(inside, scope)
            case ast.Call(func=ast.Attribute(value=inside, attr="keys"), args=[]):
                return self.value(inside, scope)
            case _:
                return self.value(*self.meant(node, scope))

    def meant(self, node: ast.expr, scope: list[ast.stmt]) -> tuple[ast.expr, list[ast.stmt]]:
        """Return the expression that a name, a class attribute or a function call stands for, with its scope."""
        found: ast.expr | ast.stmt = node
        match node:
            case ast.Name(id=name):
                found, scope = self.find(name, scope)
            case ast.Attribute(value=ast.Name(id=name), attr=attribute):
                owner, _ = self.find(name, scope)
                found, scope = self.find(attribute, owner.body if isinstance(owner, ast.ClassDef) else [])
            case ast.Call(func=ast.Name(id=name), args=[]):
                function, around = self.find(name, scope)
                last = function.body[-1] if isinstance(function, ast.FunctionDef) else None
                if isinstance(function, ast.FunctionDef) and isinstance(last, ast.Return) and last.value:
                    found, scope = last.value, [*function.body, *around]
        if found is node or not isinstance(found, ast.expr):
            raise UnknownError(ast.unparse(node))
        return found, scope


def read(path: Path) -> dict[str, Option]:
    """Return every option spelling that the server in a wheel accepts."""
    source = Source(path)
    found: dict[str, Option] = {}
    for names, given, scope in declared(source):
        option = described(source, given, scope)
        found |= {name: option._replace(alias=names[0] if name != names[0] else None) for name in names}
    if not found[METHOD].choices:
        found[METHOD] = found[METHOD]._replace(choices=methods(source))
    return found


def methods(source: Source) -> tuple[str, ...]:
    """Return the built-in speculative methods of a release whose parser accepts any text and looks it up later."""
    owner, _ = source.find("SpeculativeAlgorithm", source.tree(METHODS).body)
    body = owner.body if isinstance(owner, ast.ClassDef) else []
    names = {ast.unparse(each.targets[0]) for each in body if isinstance(each, ast.Assign)}
    return tuple(sorted((names - {"NONE"}) | {ALIAS}))


def declared(source: Source) -> Iterator[tuple[list[str], dict[str, ast.expr], list[ast.stmt]]]:
    """Return the spellings and keywords of every argument, with the statements around it."""
    root = source.tree(ROOT)
    fields = sorted(name for name in source.names if name.startswith(FIELDS) and name.endswith(".py"))
    for path in (ROOT, *fields):
        tree = source.tree(path)
        for owner in tree.body:
            if isinstance(owner, ast.ClassDef) and (path != ROOT or owner.name == "ServerArgs"):
                for field in owner.body:
                    if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
                        yield from annotated(source, field.target.id, field.annotation, tree.body)
    for function in ast.walk(root):
        if isinstance(function, ast.FunctionDef) and function.name == "add_cli_args":
            for call in ast.walk(function):
                if isinstance(call, ast.Call) and ast.unparse(call.func).endswith(".add_argument"):
                    names = [source.value(each, root.body) for each in call.args]
                    given = {each.arg: each.value for each in call.keywords if each.arg is not None}
                    yield names, given, [*function.body, *root.body]


def annotated(
    source: Source, name: str, annotation: ast.expr, scope: list[ast.stmt]
) -> Iterator[tuple[list[str], dict[str, ast.expr], list[ast.stmt]]]:
    """Return the argument that a field declares, or None."""
    match annotation:
        case ast.Subscript(value=ast.Name(id="A"), slice=ast.Tuple(elts=[kind, *rest])):
            about = next((each for each in rest if ast.unparse(each).startswith("Arg(")), None)
            given = {each.arg: each.value for each in about.keywords if each.arg} if isinstance(about, ast.Call) else {}
            text = next((each for each in rest if isinstance(each, ast.Constant | ast.JoinedStr)), None)
            if about is None and text is None:
                return
            given = given or {"help": text or ast.Constant("")}
            if "no_cli" in given and source.value(given["no_cli"], scope):
                return
            first = given["cli_name"] if "cli_name" in given else ast.Constant(f"--{name.replace('_', '-')}")
            aliases = source.value(given["aliases"], scope) if "aliases" in given else []
            names = [source.value(first, scope), *(aliases or [])]
            yield names, typed(kind) | given, scope


def typed(kind: ast.expr) -> dict[str, ast.expr]:
    """Convert a field's type to the keywords of an argument."""
    match kind:
        case (
            ast.Subscript(value=ast.Name(id="Optional"), slice=inside)
            | ast.BinOp(left=inside, op=ast.BitOr(), right=ast.Constant(value=None))
            | ast.Subscript(value=ast.Name(id="Union"), slice=ast.Tuple(elts=[inside, ast.Constant(value=None)]))
        ):
            return typed(inside)
        case ast.Subscript(value=ast.Name(id="Literal"), slice=words):
            return {"choices": words if isinstance(words, ast.Tuple) else ast.Tuple([words])}
        case ast.Subscript(value=ast.Name(id=name)) if name in LISTS:
            return {"nargs": ast.Constant("+")}
        case ast.Name(id="bool"):
            return {"action": ast.Constant("store_true")}
    return {"type": kind}


def described(source: Source, given: Mapping[str, ast.expr], scope: list[ast.stmt]) -> Option:
    """Return the kind of value that an argument accepts."""
    match given.get("action_kwargs"):
        case ast.Dict(keys=keys, values=values):
            pairs = zip(keys, values, strict=True)
            given = {**given, **{source.value(key, scope): value for key, value in pairs if key}}
    action = ast.unparse(given["action"]).strip("'") if "action" in given else ""
    reader = ast.unparse(given["type_parser"] if "type_parser" in given else given.get("type", ast.Constant("str")))
    if action == PAIR:
        return Option("pair")
    if "error_message" in given:
        return Option("removed")
    if action in {"store_true", "store_false"} or (action.startswith("Deprecated") and retired(source, given, scope)):
        return Option("removed" if raises(source, action, scope) else "switch")
    arity = source.value(given["nargs"], scope) if "nargs" in given else None
    if arity in {"+", "*"} and "type_parser" not in given:
        return Option("words" if arity == "+" else "many")
    if arity == "?":
        return Option("optional")
    words: list[object] = []
    with contextlib.suppress(UnknownError):
        words = source.value(given["choices"], scope) if "choices" in given else []
    kind = KINDS.get(reader, "json" if "json" in ast.unparse(given.get("help", ast.Constant(""))).lower() else "text")
    return Option(
        "text" if words and kind == "json" else kind, tuple(sorted(str(word) for word in words if word is not None))
    )


def retired(source: Source, given: Mapping[str, ast.expr], scope: list[ast.stmt]) -> bool:
    """Return whether a retired argument takes no value."""
    if "nargs" in given:
        return bool(source.value(given["nargs"], scope) == 0)
    return "Alias" not in ast.unparse(given["action"])


def raises(source: Source, action: str, scope: list[ast.stmt]) -> bool:
    """Return whether an action only raises."""
    with contextlib.suppress(UnknownError):
        owner, _ = source.find(action, scope)
        for method in owner.body if isinstance(owner, ast.ClassDef) else ():
            if isinstance(method, ast.FunctionDef) and method.name == "__call__":
                return isinstance(method.body[0], ast.Raise)
    return False
