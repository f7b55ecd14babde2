"""Prints the functions that a table such as src/aten/functions.txt asks for, one a line."""

import pathlib
import re
import sys

for line in pathlib.Path(sys.argv[1]).read_text().splitlines():
    if row := re.match(r"[A-Z]\w*(?= )", line):
        print(f"aclnn{row[0]}", f"aclnn{row[0]}GetWorkspaceSize", sep="\n")
    elif one := re.match(r"\+ .* (aclnn\w+)\(", line):
        print(one[1])
