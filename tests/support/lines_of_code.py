"""Counts lines of code: those with a token that is no comment, and not in a docstring."""

import ast
import io
import tokenize

LAYOUT = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def count_lines(source: str) -> int:
    """Returns how many lines of code a module has. A blank line inside a string that is no docstring counts."""
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    code = {line for token in tokens if token.type not in LAYOUT for line in range(token.start[0], token.end[0] + 1)}
    return len(code - lines_of_docstrings(source))


def lines_of_docstrings(source: str) -> set[int]:
    """Returns the numbers of the lines that hold a docstring of a module, a class or a function."""
    found: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, Documented) and ast.get_docstring(node, clean=False) is not None:
            first = node.body[0]
            found.update(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    return found
