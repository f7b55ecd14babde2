"""``python -m portacl.examples NAME [ARGUMENTS]`` runs an example; without NAME it lists them."""

from __future__ import annotations

import ast
import importlib.util
import runpy
import sys
from pathlib import Path

_FOLDER = Path(__file__).resolve().parent
_NEEDS = {
    "register_photographs": ("torch", "scikit-image", "matplotlib"),
    "register_volumes": ("torch", "matplotlib", "nilearn"),
    "reproducible_gradients": ("torch", "scikit-image"),
    "sampling_points": ("torch", "scikit-image", "matplotlib"),
    "super_resolution": ("torch", "scikit-image", "matplotlib"),
    "train_stn_ddp": ("torch", "scikit-image"),
}
_MODULES = {"scikit-image": "skimage"}  # modules with another name than their package
_MORE = {"register_volumes": "Debian's mricron-data (or --colin FILE)"}  # pip does not have these


def _names() -> list[str]:
    return sorted(path.stem for path in _FOLDER.glob("*.py") if not path.stem.startswith("__"))


def _summary(name: str) -> str:
    text = ast.get_docstring(ast.parse((_FOLDER / f"{name}.py").read_text("utf-8"))) or ""
    return text.partition("\n")[0]


def _needs(name: str) -> str:
    return ", ".join((*_NEEDS[name], *filter(None, [_MORE.get(name)])))


def main() -> int:
    """Run the example that the command line names."""
    names = _names()
    name = sys.argv[1] if len(sys.argv) > 1 else ""
    if name in ("", "-h", "--help"):
        print("usage: python -m portacl.examples NAME [ARGUMENTS]\n")
        for each in names:
            print(f"  {each:24} {_summary(each)}\n  {'':24} needs {_needs(each)}")
        print("\nThe package's extra `volumes` brings register_volumes its packages,")
        print("`examples` the packages of all others.")
        return 0 if name else 2
    if name not in names:
        sys.stderr.write(f"portacl.examples: no example {name!r}; there are: {', '.join(names)}\n")
        return 2
    found = {each: importlib.util.find_spec(_MODULES.get(each, each)) for each in _NEEDS[name]}
    missing = [package for package, spec in found.items() if spec is None]
    if missing:
        sys.stderr.write(
            f"portacl.examples: {name} needs {_needs(name)}; "
            f"missing: pip install {' '.join(missing)}\n"
        )
        return 1
    program = str(_FOLDER / f"{name}.py")
    sys.argv = [program, *sys.argv[2:]]
    runpy.run_path(program, run_name="__main__")
    return 0


if __name__ == "__main__":
    sys.exit(main())
