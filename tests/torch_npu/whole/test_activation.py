"""When operators are routed: every order of imports, never by force, never on other libraries."""

from __future__ import annotations

import os
import subprocess
import textwrap

import pytest
from child import output_of, run_python

REPORT = """
import sys
package = sys.modules.get("portacl_npu")
print("enabled", package is not None and package.enabled())
"""
USE = "print(torch.ones(2, device='npu').sigmoid().cpu().tolist())\n"

PROGRAMS = {
    "torch alone": "import torch\n",
    "torch, then torch_npu": "import torch\nimport torch_npu\n",
    "torch_npu first": "import torch_npu\nimport torch\n",
    "torch_npu from a thread": """
import threading
def work():
    global torch
    import torch_npu
    import torch
    torch.ones(1).npu()
thread = threading.Thread(target=work)
thread.start()
thread.join()
""",
}


@pytest.mark.parametrize("order", PROGRAMS)
@pytest.mark.parametrize("autoload", ["1", "0"])
def test_orders_of_imports(order, autoload):
    program = PROGRAMS[order]
    if autoload == "0" and order == "torch alone":
        program += "import torch_npu\n"
    output = output_of("-c", program + USE + REPORT, TORCH_DEVICE_BACKEND_AUTOLOAD=autoload)
    assert "0.7310" in output and "enabled True" in output


def test_0_turns_it_off():
    output = output_of("-c", "import torch, torch_npu\ntorch.ones(1).npu()\n" + REPORT,
                       PORTACL_NPU="0")
    assert "enabled False" in output


def test_a_child_of_multiprocessing_has_it_too():
    program = """
import torch, torch_npu, torch.multiprocessing as mp
def work(rank):
    print(torch.ones(2, device="npu").sigmoid().sum().item())
if __name__ == "__main__":
    mp.spawn(work, nprocs=2)
"""
    path = os.path.join(os.environ.get("TMPDIR", "/tmp"), f"spawned-{os.getpid()}.py")
    with open(path, "w") as file:
        file.write(program)
    try:
        assert output_of(path).count("1.46") == 2
    finally:
        os.unlink(path)


def test_a_library_that_is_not_portacl_is_left_alone(tmp_path):
    """With a library of that name without portacl's functions, the package does nothing."""
    source = tmp_path / "stub.c"
    source.write_text("int aclInit(const char* path) { return path != 0; }\n")
    stub = tmp_path / "libascendcl.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-Wl,-soname,libascendcl.so", source, "-o", stub],
                   check=True)
    program = textwrap.dedent(f"""
        import ctypes, sys
        ctypes.CDLL({str(stub)!r}, mode=ctypes.RTLD_GLOBAL)
        import torch
        before = torch._C._dispatch_get_registrations_for_dispatch_key("PrivateUse1")
        sys.modules["torch_npu"] = type(sys)("torch_npu")  # the plugin that loaded that library
        import portacl_npu
        portacl_npu.autoload()
        assert not portacl_npu.runs_on_portacl() and not portacl_npu.enable()
        after = torch._C._dispatch_get_registrations_for_dispatch_key("PrivateUse1")
        assert before == after
        print("nothing taken", portacl_npu.enabled())
        """)
    import portacl_npu

    folder = os.path.dirname(os.path.dirname(portacl_npu.__file__))
    output = output_of("-c", program, PYTHONPATH=folder, TORCH_DEVICE_BACKEND_AUTOLOAD="0")
    assert "nothing taken False" in output


def test_without_a_compiler_a_sentence_says_so(tmp_path):
    done = run_python("-c", "import torch, torch_npu\nx = torch.ones(2).npu()\n" + REPORT,
                      PORTACL_CACHE=str(tmp_path), PATH="/nowhere", without=("CXX",))
    if "enabled True" in done.stdout:
        pytest.skip("the package holds a build for this PyTorch")
    assert done.returncode == 0, done.stderr
    assert "no C++ compiler" in done.stderr and "Only portacl's own operators" in done.stderr


def test_the_list_of_operators():
    import portacl_npu

    listed = portacl_npu.operators()
    assert {"sigmoid", "add.Tensor", "convolution", "native_dropout"} <= set(listed["routed"])
    assert {"grid_sampler_2d", "_upsample_nearest_exact2d"} <= set(listed["portacl"])
    assert not set(listed["portacl"]) & set(listed["routed"])
    output = output_of("-m", "portacl_npu", "--operators",
                       PYTHONPATH=os.path.dirname(os.path.dirname(portacl_npu.__file__)))
    assert "routed    aten::sigmoid\n" in output and "portacl   aten::grid_sampler_2d\n" in output
