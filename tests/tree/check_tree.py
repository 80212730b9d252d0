#!/usr/bin/env python3
"""check_tree.py: the rules of the tree that no compiler checks. usage: check_tree.py CHECK [TILEC]

Prints one line a fault, FILE:LINE: what is wrong, and fails if there are any.
"""
import os
import re
import subprocess
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
FILE_LINES, FUNCTION_LINES, TEST_LINES = 700, 60, 80  # tests hold tables of cases
faults = []


def fault(path, line, text):
    faults.append(f"{path}:{line}: {text}")


def files(*tops, suffixes):
    for top in tops:
        for folder, subfolders, names in os.walk(top):
            subfolders.sort()
            for name in sorted(names):
                if name.endswith(suffixes):
                    yield os.path.join(folder, name)


def text_of(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


SOURCES = (".c", ".h", ".def", ".l", ".y")


def functions(lines):
    """(first line, last line) of each function: a body that begins at the margin."""
    begin = None
    for i, line in enumerate(lines):
        opens = line == "{" or (line[:1] not in " \t#/}" and line.endswith(") {"))
        if begin is None and opens and not re.match(r"(struct|enum|union|static const|const|extern)\b[^(]*$", line):
            begin = i
            while begin > 0 and line == "{" and not lines[begin - 1].endswith((";", "}", "*/")) and lines[begin - 1]:
                begin -= 1
        elif begin is not None and line.startswith("}"):
            yield begin, i
            begin = None


def check_sizes():
    for path in files("src", "tests", "tools", suffixes=(".c", ".h", ".l", ".y", ".py", ".sh")):
        lines = text_of(path).split("\n")
        if len(lines) > FILE_LINES + 1:
            fault(path, 1, f"{len(lines) - 1} lines, at most {FILE_LINES}")
        if not path.endswith(".c"):
            continue
        for begin, end in functions(lines):
            limit = TEST_LINES if path.startswith("tests") else FUNCTION_LINES
            if end - begin + 1 > limit:
                fault(path, begin + 1, f"a function of {end - begin + 1} lines, at most {limit}")


def check_heads():
    for path in files("src", "tests", suffixes=SOURCES):
        head = text_of(path)[:400]
        name = os.path.basename(path)
        if not re.match(r"(%\{\n)?(%option[^\n]*\n)*\s*/\* " + re.escape(name) + r": \S", head):
            fault(path, 1, f"does not begin with '/* {name}: what it is'")
    for path in files("examples", suffixes=(".tile",)):
        if not text_of(path).startswith("# "):
            fault(path, 1, "does not begin with a comment that says what is new")


def check_words():
    """Nothing names a machine, its paths, or work that is left."""
    words = re.compile(r"/work/|/home/|/root/|/tmp/b-|\bTODO\b|\bFIXME\b|\bXXX\b(?!XXX)")
    try:
        listed = subprocess.run(["git", "ls-files"], capture_output=True, text=True, check=True).stdout.split("\n")
    except (OSError, subprocess.CalledProcessError):  # an unpacked archive
        listed = files("src", "lang", "man", "examples", "tests", "tools", suffixes=("",))
    for path in [p for p in listed if p and os.path.isfile(p) and not p.endswith("check_tree.py")]:
        try:
            lines = text_of(path).split("\n")
        except UnicodeDecodeError:
            continue
        for i, line in enumerate(lines):
            found = words.search(line)
            if found and not (found.group() == "XXX" and "XXXX" in line):
                fault(path, i + 1, f"'{found.group()}'")


def check_codes():
    """Each error that a user can meet has a case."""
    cases = ""
    for path in files("tests/errors", "tests/sema", "tests/schedule", "tests/emit", "tests/place", "tests/lower", "tests/parser",
                      suffixes=(".tile", ".out", ".tir")):
        cases += text_of(path)
    internal = {"E0701"}
    for i, line in enumerate(text_of("src/base/diagnostics.def").split("\n")):
        m = re.match(r"DIAG\((E\d+|W_\w+), SEVERITY_\w+, \"([\w-]+)\"", line)
        if not m or m.group(1) in internal:
            continue
        shown = m.group(1) if m.group(1)[0] == "E" else "-W" + m.group(2)
        if shown not in cases and "[" + m.group(2) + "]" not in cases:
            fault("src/base/diagnostics.def", i + 1, f"{shown} ({m.group(2)}) has no case under tests/")


def check_targets():
    """Passes learn of the target by asking their module, which keeps the answers (target.h)."""
    read = re.compile(r"\btarget_has\(|\bmma_find\(|\b(target|t)->(capability|features|shared_|registers_|threads_sm|blocks_sm|sm_count)")
    for path in files("src/sema", "src/layout", "src/schedule", "src/lower", suffixes=(".c", ".h")):
        for i, line in enumerate(text_of(path).split("\n")):
            if read.search(line):
                fault(path, i + 1, "reads the target; module_has and its like keep the answer")


def check_tables():
    """Each .def has a reader, and ends by undefining its macro."""
    code = "".join(text_of(p) for p in files("src", suffixes=(".c", ".h", ".l", ".y")))
    for path in files("src", suffixes=(".def",)):
        text, name = text_of(path), os.path.basename(path)
        if not re.search(r'#include "(\S*/)?' + re.escape(name) + '"', code):
            fault(path, 1, "nothing includes this table")
        for macro in set(re.findall(r"^([A-Z_0-9]+)\(", text, re.M)):
            if not re.search(r"^#undef " + macro + r"$", text, re.M):
                fault(path, 1, f"does not end with '#undef {macro}'")


def printed(tilec, what):
    return subprocess.run([tilec, what], capture_output=True, text=True, check=True).stdout


def check_documents(tilec):
    if printed(tilec, "--print=builtins") != text_of("lang/builtins.md"):
        fault("lang/builtins.md", 1, "differs from 'tilec --print=builtins'; write that to it")
    if printed(tilec, "--print=man") not in text_of("man/tilec.1"):
        fault("man/tilec.1", 1, "the options differ from 'tilec --print=man'")
    passes = [line.split()[0] for line in printed(tilec, "--list-passes").split("\n") if line]
    table = text_of("ARCHITECTURE.md").split("\n## ")[0]  # the page of passes
    rows = re.findall(r"^\| ([a-z, ]+) \|", table, re.M)
    named = [name for row in rows[1:] for name in row.split(", ")]
    if named != passes:
        fault("ARCHITECTURE.md", 1, f"the table of passes has {named}, the compiler {passes}")
    reference = text_of("lang/reference.md")
    for arch in [line.split()[0] for line in printed(tilec, "--print=archs").split("\n") if line]:
        if arch not in reference:
            fault("lang/reference.md", 1, f"does not name the architecture {arch}")


def check_snippets(tilec):
    """The programs in the documents compile."""
    for path in ("README.md", "lang/reference.md"):
        text = text_of(path)
        for block in re.finditer(r"^```python\n(.*?)^```$", text, re.M | re.S):
            run = subprocess.run([tilec, "--emit=none", "--arch=all", "-o", "x.cu", "-"], input=block.group(1),
                                 capture_output=True, text=True)
            if run.returncode:
                fault(path, text[:block.start()].count("\n") + 2, run.stderr.strip())


def main():
    tilec = os.path.abspath(sys.argv[2]) if len(sys.argv) > 2 else ""
    os.chdir(ROOT)
    checks = {"sizes": check_sizes, "heads": check_heads, "words": check_words, "codes": check_codes,
              "tables": check_tables, "documents": lambda: check_documents(tilec),
              "snippets": lambda: check_snippets(tilec), "targets": check_targets}
    checks[sys.argv[1]]()
    print("\n".join(faults) if faults else "no faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
