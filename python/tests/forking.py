"""Programs that fork while portacl and PyTorch run: ``forking.py loader fork|spawn`` or ``busy``.

They need a process of their own. PyTorch refuses gradients in a child if autograd has threads for
another device than the CPU. That depends on the machine and on the tests that ran before.
"""

from __future__ import annotations

import os
import signal
import sys
import threading

import torch
from test_torch_override import aten, gradients, make

import portacl
import portacl.torch as pt
from child import PATIENCE


class Warped(torch.utils.data.Dataset):
    """Computes gradients in the worker process."""

    def __len__(self):
        return 6

    def __getitem__(self, index):
        return (*gradients(*make(seed=index)), torch.tensor(portacl.get_num_threads()))


def loader(context):
    """Gradients in the two worker processes of a DataLoader equal this process's."""
    big = torch.randn(1, 4, 256, 256)
    gradients(big, torch.rand(1, 256, 256, 2) * 2 - 1)  # the thread arena is in use before the fork
    batches = torch.utils.data.DataLoader(
        Warped(), batch_size=None, num_workers=2, multiprocessing_context=context
    )
    for index, (x_grad, grid_grad, threads) in enumerate(batches):
        wanted = gradients(*make(seed=index))
        if context == "fork":  # a spawned worker starts with stock PyTorch
            assert int(threads) == 1
            assert torch.equal(x_grad, wanted[0]) and torch.equal(grid_grad, wanted[1])
        else:
            torch.testing.assert_close(x_grad, wanted[0])
    assert index == len(Warped()) - 1


def busy():
    """fork() while other threads compute: the child neither hangs nor differs."""
    x, grid = torch.randn(2, 8, 128, 128), torch.rand(2, 128, 128, 2) * 2 - 1
    wanted = [t.numpy().tobytes() for t in gradients(x, grid)]
    ones = torch.ones_like(x)
    stop = threading.Event()

    def work():
        while not stop.is_set():
            gradients(x, grid)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        for _ in range(5):
            child = os.fork()
            if child == 0:
                # Kernels only: autograd and PyTorch's own thread pool do not survive a fork.
                signal.alarm(PATIENCE)
                got = aten.grid_sampler_2d_backward(ones, x, grid, 0, 0, False, (True, True))
                os._exit(0 if [t.numpy().tobytes() for t in got] == wanted else 3)
            _, status = os.waitpid(child, 0)
            assert status == 0
    finally:
        stop.set()
        thread.join()


if __name__ == "__main__":
    pt.enable()
    portacl.set_num_threads(2)
    if sys.argv[1] == "loader":
        loader(sys.argv[2])
    else:
        busy()
    print("done")
