"""Lines of code in a source: no blank line, comment, include or import, and no line of brackets and punctuation alone."""

import io
import re
import tokenize

TEST = re.compile(r"_(test|fuzz)\.\w+$|(^|/)(tests|testing)/|/(test|mock)_\w+\.\w+$")
PUNCTUATION = re.compile(r"[\s{}()\[\];,]*")
NOT_CODE = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)


def is_test(path):
    """Tests are *_test.*, *_fuzz.cc, what lies under tests/ or a testing/ folder, and what tests alone use (test_*, mock_*)."""
    return TEST.search(str(path)) is not None


def code_lines(path, text):
    """Counts the lines of code of C++, CUDA or, for any other path, Python."""
    is_cpp = re.search(r"\.(cc|h|cu|cuh)$", str(path))
    return cpp_lines(text) if is_cpp else python_lines(text)


def cpp_lines(text):
    count = 0
    in_comment = False
    for line in map(str.strip, text.split("\n")):
        in_comment = in_comment or line.startswith("/*")
        if in_comment:
            in_comment = "*/" not in line
        elif not line.startswith(("//", "#include")) and not PUNCTUATION.fullmatch(line):
            count += 1
    return count


def python_lines(text):
    lines = set()
    statement = []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.NEWLINE:
            lines |= lines_of(statement)
            statement = []
        elif token.type not in NOT_CODE:
            statement.append(token)
    return len(lines)


def lines_of(statement):
    """The lines of a Python statement; none of an import or a docstring."""
    is_docstring = all(token.type == tokenize.STRING for token in statement)
    if is_docstring or statement[0].string in ("import", "from"):
        return set()
    return {line for token in statement if not PUNCTUATION.fullmatch(token.string)
            for line in range(token.start[0], token.end[0] + 1)}
