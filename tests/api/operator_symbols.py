"""Prints the functions that the operators in the library's own list ask for, one a line."""

import ctypes
import json
import sys

library = ctypes.CDLL(sys.argv[1])
library.portaclGetInfo.restype = ctypes.c_char_p
for functions in json.loads(library.portaclGetInfo())["functions"].values():
    phases = [name + "GetWorkspaceSize" for name in functions["aclnn"]]
    print(*functions["native"], *functions["aclnn"], *phases, sep="\n")
