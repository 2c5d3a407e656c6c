# SPDX-License-Identifier: MIT
"""vgpu run --torch: what torch has fused for CUDA only, out of operators that are here: the cells of LSTM and GRU, rms_norm.

Without cuDNN torch's recurrent layers call a fused cell for each step; the forms of its arguments are those of its derivatives.yaml.
"""
import math
import torch


def _gates(x, h, bias_x, bias_h):
    return x + h if bias_x is None else x + h + bias_x + bias_h


def lstm_cell(x, h, c, bias_x=None, bias_h=None):
    i, f, g, o = _gates(x, h, bias_x, bias_h).chunk(4, 1)
    i, f, g, o = i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()
    next_c = f * c + i * g
    return o * next_c.tanh(), next_c, torch.cat([i, f, g, o], 1)


def lstm_cell_backward(grad_h, grad_c, c, next_c, workspace, has_bias):
    i, f, g, o = workspace.chunk(4, 1)
    t = next_c.tanh()
    d = torch.zeros_like(c) if grad_c is None else grad_c
    if grad_h is not None:
        d = d + grad_h * o * (1 - t * t)
    d_o = torch.zeros_like(o) if grad_h is None else grad_h * t * o * (1 - o)
    gates = torch.cat([d * g * i * (1 - i), d * c * f * (1 - f), d * i * (1 - g * g), d_o], 1)
    return gates, d * f, gates.sum(0) if has_bias else None


def gru_cell(x, h, state, bias_x=None, bias_h=None):
    if bias_x is not None:
        x, h = x + bias_x, h + bias_h
    (xr, xz, xn), (hr, hz, hn) = x.chunk(3, 1), h.chunk(3, 1)
    r, z = (xr + hr).sigmoid(), (xz + hz).sigmoid()
    n = (xn + r * hn).tanh()
    return n + z * (state - n), torch.cat([r, z, n, state, hn], 1)


def gru_cell_backward(grad, workspace, has_bias):
    r, z, n, state, hn = workspace.chunk(5, 1)
    d_n = grad * (1 - z) * (1 - n * n)
    d_z = grad * (state - n) * z * (1 - z)
    d_r = d_n * hn * r * (1 - r)
    x, h = torch.cat([d_r, d_z, d_n], 1), torch.cat([d_r, d_z, d_n * r], 1)
    return x, h, grad * z, x.sum(0) if has_bias else None, h.sum(0) if has_bias else None


def _rows(x, shape):
    wide = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
    return wide.reshape(*x.shape[:x.dim() - len(shape)], math.prod(shape))


def rms_norm(x, shape, weight=None, eps=None):
    rows = _rows(x, shape)
    r = ((rows * rows).mean(-1, keepdim=True) + (torch.finfo(rows.dtype).eps if eps is None else eps)).rsqrt()
    out = (rows * r).reshape(x.shape)
    return (out if weight is None else out * weight).to(x.dtype), r.reshape(*x.shape[:x.dim() - len(shape)], *[1 for _ in shape])


def rms_norm_backward(grad, x, shape, r, weight, mask):
    rows, g, r = _rows(x, shape), _rows(grad, shape), r.reshape(*x.shape[:x.dim() - len(shape)], 1)
    unit = rows * r
    d = g if weight is None else g * weight.reshape(-1)
    d_x = r * (d - unit * (d * unit).mean(-1, keepdim=True))
    d_weight = (g * unit).reshape(-1, math.prod(shape)).sum(0).reshape(shape).to(weight.dtype) if mask[1] and weight is not None else None
    return d_x.reshape(x.shape).to(x.dtype) if mask[0] else None, d_weight


def register():
    library = torch.library.Library("aten", "IMPL")
    for name, f in (("_thnn_fused_lstm_cell", lstm_cell), ("_thnn_fused_lstm_cell_backward_impl", lstm_cell_backward),
                    ("_thnn_fused_gru_cell", gru_cell), ("_thnn_fused_gru_cell_backward", gru_cell_backward), ("_fused_rms_norm", rms_norm),
                    ("_fused_rms_norm_backward", rms_norm_backward)):
        library.impl(name, f, "CUDA")
    return library
