"""The fused cells of LSTM and GRU: PyTorch wants them from every device except the CPU."""

from __future__ import annotations

from typing import Any


def _lstm(
    igates: Any, hgates: Any, cx: Any, input_bias: Any = None, hidden_bias: Any = None
) -> Any:
    import torch

    gates = igates + hgates
    if input_bias is not None:
        gates = gates + (input_bias + hidden_bias)
    entry, forget, cell, out = gates.chunk(4, 1)
    entry, forget, cell, out = entry.sigmoid(), forget.sigmoid(), cell.tanh(), out.sigmoid()
    cy = forget * cx + entry * cell
    return out * cy.tanh(), cy, torch.cat((entry, forget, cell, out), 1)


def _lstm_backward(
    grad_hy: Any, grad_cy: Any, cx: Any, cy: Any, workspace: Any, has_bias: bool
) -> Any:
    import torch

    entry, forget, cell, out = workspace.chunk(4, 1)
    tanh = cy.tanh()
    grad = torch.zeros_like(cy) if grad_cy is None else grad_cy
    grad_out = torch.zeros_like(out)
    if grad_hy is not None:
        grad = grad + grad_hy * out * (1 - tanh * tanh)
        grad_out = grad_hy * tanh * out * (1 - out)
    gates = torch.cat(
        (
            grad * cell * entry * (1 - entry),
            grad * cx * forget * (1 - forget),
            grad * entry * (1 - cell * cell),
            grad_out,
        ),
        1,
    )
    return gates, grad * forget, gates.sum(0) if has_bias else None


def _gru(igates: Any, hgates: Any, hx: Any, input_bias: Any = None, hidden_bias: Any = None) -> Any:
    import torch

    if input_bias is not None:
        igates, hgates = igates + input_bias, hgates + hidden_bias
    (input_reset, input_update, new), (hidden_reset, hidden_update, hidden_new) = (
        igates.chunk(3, 1),
        hgates.chunk(3, 1),
    )
    reset = (input_reset + hidden_reset).sigmoid()
    update = (input_update + hidden_update).sigmoid()
    new = (new + reset * hidden_new).tanh()
    return new + update * (hx - new), torch.cat((reset, update, new, hx, hidden_new), 1)


def _gru_backward(grad: Any, workspace: Any, has_bias: bool) -> Any:
    import torch

    reset, update, new, hx, hidden_new = workspace.chunk(5, 1)
    grad_update = grad * (hx - new) * update * (1 - update)
    grad_new = grad * (1 - update) * (1 - new * new)
    grad_reset = grad_new * hidden_new * reset * (1 - reset)
    inner = torch.cat((grad_reset, grad_update, grad_new), 1)
    hidden = torch.cat((grad_reset, grad_update, grad_new * reset), 1)
    biases = (inner.sum(0), hidden.sum(0)) if has_bias else (None, None)
    return (inner, hidden, grad * update, *biases)


OPERATORS = {
    "_thnn_fused_lstm_cell": _lstm,
    "_thnn_fused_lstm_cell_backward_impl": _lstm_backward,
    "_thnn_fused_gru_cell": _gru,
    "_thnn_fused_gru_cell_backward": _gru_backward,
}
