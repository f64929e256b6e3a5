"""Builds calls over lists of tensors: optimizer steps, gradient norms, _foreach_ kernels."""

import torch

from microbench.operands import scratch


def _written(o, detail):
    return [scratch((count,), o.dtype) for count in detail["sizes"]]


def _read(o, detail, operands):
    return [operands.flat(count, o.dtype) for count in detail["sizes"]]


def optimizer(o, detail, operands):
    fn = o["fn"]
    gradients = _read(o, detail, operands)
    if fn == "sgd":
        return _sgd(o, detail, gradients)
    if fn == "adamw_foreach":
        return _adamw_foreach(o, detail, gradients)
    parameters, first, second = (_written(o, detail) for _ in range(3))
    steps = [torch.ones((), device="cuda", dtype=torch.float32) for _ in parameters]
    function = torch._fused_adamw_ if fn == "adamw" else torch._fused_adam_
    return lambda: function(parameters, gradients, first, second, [], steps, lr=1e-4, beta1=0.9,
                            beta2=0.999, weight_decay=0.01, eps=1e-8, amsgrad=False,
                            maximize=False, grad_scale=None, found_inf=None)


def _sgd(o, detail, gradients):
    parameters, momenta = (_written(o, detail) for _ in range(2))
    return lambda: torch._fused_sgd_(parameters, gradients, momenta, weight_decay=1e-4,
                                     momentum=0.9, lr=0.01, dampening=0.0, nesterov=False,
                                     maximize=False, is_first_step=False, grad_scale=None,
                                     found_inf=None)


def _adamw_foreach(o, detail, gradients):
    """Takes the step through the optimizer itself: its sequence of _foreach_ calls is its own."""
    parameters = _written(o, detail)
    for parameter, gradient in zip(parameters, gradients):
        parameter.requires_grad_(True)
        parameter.grad = gradient
    stepper = torch.optim.AdamW(parameters, lr=1e-4, weight_decay=0.01, foreach=True)
    return stepper.step


def gradnorm(o, detail, operands):
    gradients = _read(o, detail, operands)
    return lambda: torch.linalg.vector_norm(torch.stack(torch._foreach_norm(gradients, 2.0)), 2.0)


def foreach(o, detail, operands):
    fn = o["fn"]
    if fn == "norm":
        values = _read(o, detail, operands)
        return lambda: torch._foreach_norm(values, 2.0)
    out = _written(o, detail)
    function = torch._foreach_add_ if fn == "add" else torch._foreach_mul_
    if detail["scalar"]:
        return lambda: function(out, 1.0009765625)
    values = _read(o, detail, operands)
    return lambda: function(out, values)
