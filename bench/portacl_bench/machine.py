"""What the numbers were measured on and with."""

from __future__ import annotations

import datetime
import os
import pathlib
import platform
import re
import subprocess
from typing import Any

CACHE = pathlib.Path("/sys/devices/system/cpu/cpu0/cache")


def describe() -> dict[str, Any]:
    return {
        "cpu": _cpu_model(),
        "cpus": len(os.sched_getaffinity(0)),
        "caches": _caches(),
        "memory_gib": round(_meminfo("MemTotal") / 2**30, 1),
        "system": f"{platform.system()} {platform.release().partition('-')[0]} {platform.machine()}",
        "hypervisor": "hypervisor" in _cpuinfo("flags").split(),
        "transparent_huge_pages": _huge_pages(),
        "python": platform.python_version(),
        "commit": _commit(),
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
    }


def available_memory() -> int:
    return _meminfo("MemAvailable")


def last_level_cache() -> int:
    """Bytes of the largest cache, 0 if the system does not say."""
    units = {"K": 2**10, "M": 2**20}
    sizes = [t.rsplit(" ", 1)[-1] for t in _caches()]
    return max((int(s[:-1]) * units[s[-1]] for s in sizes if s[-1:] in units), default=0)


def load() -> float:
    """Processes that ran or waited over the last minute; more than ours disturb a measurement."""
    return round(os.getloadavg()[0], 2)


def _cpuinfo(key: str) -> str:
    text = pathlib.Path("/proc/cpuinfo").read_text()
    found = re.search(rf"^{key}\s*:\s*(.*)$", text, re.MULTILINE)
    return found.group(1) if found else ""


def _cpu_model() -> str:
    model = _cpuinfo("model name") or platform.processor() or platform.machine()
    numbers = [_cpuinfo("cpu family"), _cpuinfo("model")]
    return f"{model} (family {numbers[0]}, model {numbers[1]})" if all(numbers) else model


def _caches() -> list[str]:
    found = []
    for index in sorted(CACHE.glob("index*")):
        level, kind, size = ((index / n).read_text().strip() for n in ("level", "type", "size"))
        found.append(f"L{level} {kind} {size}")
    return found


def _meminfo(key: str) -> int:
    text = pathlib.Path("/proc/meminfo").read_text()
    found = re.search(rf"^{key}:\s*(\d+) kB", text, re.MULTILINE)
    return int(found.group(1)) * 1024 if found else 0


def _huge_pages() -> str:
    path = pathlib.Path("/sys/kernel/mm/transparent_hugepage/enabled")
    found = re.search(r"\[(\w+)\]", path.read_text()) if path.exists() else None
    return found.group(1) if found else "unknown"


def _commit() -> str:
    command = ["git", "describe", "--always", "--dirty", "--exclude=*"]
    root = pathlib.Path(__file__).resolve().parent
    environment = {**os.environ, "GIT_OPTIONAL_LOCKS": "0"}
    done = subprocess.run(
        command, cwd=root, env=environment, capture_output=True, text=True, check=False
    )
    return done.stdout.strip() or "unknown"
