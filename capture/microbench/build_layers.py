"""Builds calls of layers and over lists of tensors: norms, softmax, losses, embeddings, pooling, optimizer steps."""

import torch
import torch.nn.functional as F

from microbench.operands import DTYPES, indices, scratch, zipf_counts

aten = torch.ops.aten
_MEAN = 1  # at::Reduction::Mean
_IGNORE = -100


def _matrix(o, operands):
    return operands.get((o["rows"], o["cols"]), o.dtype)


def layernorm(o, detail, operands):
    cols = o["cols"]
    x = _matrix(o, operands)
    weight, bias = (operands.get((cols,), o.dtype) for _ in range(2))
    if not o.is_backward:
        return lambda: aten.native_layer_norm.default(x, [cols], weight, bias, 1e-5)
    gradient = _matrix(o, operands)
    _, mean, rstd = aten.native_layer_norm.default(x, [cols], weight, bias, 1e-5)
    return lambda: aten.native_layer_norm_backward.default(
        gradient, x, [cols], mean, rstd, weight, bias, [True, True, True])


def rmsnorm(o, detail, operands):
    cols = o["cols"]
    x = _matrix(o, operands)
    weight = operands.get((cols,), o.dtype)
    if not o.is_backward:
        return lambda: torch.rms_norm(x, [cols], weight, 1e-5)
    gradient = _matrix(o, operands)
    if not hasattr(aten, "_fused_rms_norm_backward"):
        return _gradients(lambda a, w: torch.rms_norm(a, [cols], w, 1e-5), [x, weight], gradient)
    _, rstd = aten._fused_rms_norm.default(x, [cols], weight, 1e-5)
    return lambda: aten._fused_rms_norm_backward.default(gradient, x, [cols], rstd, weight,
                                                         [True, True])


def _gradients(function, inputs, gradient):
    """Returns the call of the backward of `function`, through a graph that is kept."""
    leaves = [x.detach().requires_grad_(True) for x in inputs]
    with torch.enable_grad():
        out = function(*leaves)
    return lambda: torch.autograd.grad(out, leaves, gradient, retain_graph=True)


def batchnorm(o, detail, operands):
    edge = round(o["hw"] ** 0.5)
    shape = (o["b"], o["c"], edge, edge)
    x = operands.image(shape, o.dtype, o["nhwc"])
    # Mixed-precision training keeps weights and statistics in fp32.
    weight, bias = (operands.get((o["c"],), "fp32") for _ in range(2))
    mean, variance = scratch((o["c"],), "fp32"), scratch((o["c"],), "fp32")

    def forward(a, w, b):
        return F.batch_norm(a, mean, variance, w, b, True, 0.1, 1e-5)

    if not o.is_backward:
        return lambda: forward(x, weight, bias)
    return _gradients(forward, [x, weight, bias], operands.image(shape, o.dtype, o["nhwc"]))


def groupnorm(o, detail, operands):
    edge = round(o["hw"] ** 0.5)
    shape = (o["b"], o["c"], edge, edge)
    x = operands.get(shape, o.dtype)  # on a GPU the operator refuses channels-last images
    weight, bias = (operands.get((o["c"],), o.dtype) for _ in range(2))
    sizes = (o["b"], o["c"], o["hw"], o["groups"])
    forward = lambda: aten.native_group_norm.default(x, weight, bias, *sizes, 1e-5)
    if not o.is_backward:
        return forward
    _, mean, rstd = forward()
    gradient = operands.get(shape, o.dtype)
    return lambda: aten.native_group_norm_backward.default(gradient, x, mean, rstd, weight, *sizes,
                                                           [True, True, True])


def rnn(o, detail, operands):
    layer = {"lstm": torch.nn.LSTM, "gru": torch.nn.GRU}.get(o["fn"], torch.nn.RNN)
    options = {"nonlinearity": o["fn"]} if layer is torch.nn.RNN else {}
    module = layer(o["input"], o["hidden"], o["layers"], bidirectional=bool(o["bi"]), device="cuda",
                   dtype=DTYPES[o.dtype], **options)
    x = operands.get((o["s"], o["b"], o["input"]), o.dtype)
    if not o.is_backward:
        return lambda: module(x)  # in training mode, which keeps what the backward pass needs
    gradient = operands.get((o["s"], o["b"], o["hidden"] * (1 + o["bi"])), o.dtype)
    leaf = x.detach().requires_grad_(True)
    with torch.enable_grad():
        out = module(leaf)[0]
    inputs = [leaf, *module.parameters()]
    return lambda: torch.autograd.grad(out, inputs, gradient, retain_graph=True)


_LOSSES = {"mse": F.mse_loss, "l1": F.l1_loss, "smooth_l1": F.smooth_l1_loss, "huber": F.huber_loss,
           "bce": F.binary_cross_entropy, "bce_logits": F.binary_cross_entropy_with_logits,
           "kl": F.kl_div}


def loss(o, detail, operands):
    x, target = (operands.get((o["n"],), o.dtype) for _ in range(2))
    if o["fn"] in ("bce", "bce_logits", "kl"):
        target = target.sigmoid()
    if o["fn"] == "bce":
        x = x.sigmoid()  # probabilities, or the kernel stops the GPU
    function = lambda a: _LOSSES[o["fn"]](a, target, reduction=o["reduction"])
    if not o.is_backward:
        return lambda: function(x)
    shape = (o["n"],) if o["reduction"] == "none" else ()
    return _gradients(function, [x], torch.ones(shape, device="cuda", dtype=DTYPES[o.dtype]))


def softmax(o, detail, operands):
    x = _matrix(o, operands)
    forward = aten._log_softmax.default if o["log"] else aten._softmax.default
    if not o.is_backward:
        return lambda: forward(x, 1, False)
    backward = aten._log_softmax_backward_data if o["log"] else aten._softmax_backward_data
    gradient = _matrix(o, operands)
    dtype = DTYPES[o.dtype]
    # Any values of the right shape do for the saved output; random ones save a forward pass.
    return lambda: backward.default(gradient, x, 1, dtype)


def nll(o, detail, operands):
    x = _matrix(o, operands)
    target = indices(o["cols"], o["rows"])
    if not o.is_backward:
        return lambda: aten.nll_loss_forward.default(x, target, None, _MEAN, _IGNORE)
    _, total = aten.nll_loss_forward.default(x, target, None, _MEAN, _IGNORE)
    gradient = torch.ones((), device="cuda", dtype=DTYPES[o.dtype])
    return lambda: aten.nll_loss_backward.default(gradient, x, target, None, _MEAN, _IGNORE, total)


def crossentropy(o, detail, operands):
    x = _matrix(o, operands)
    target = indices(o["cols"], o["rows"])
    if not o.is_backward:
        return lambda: F.cross_entropy(x, target)
    gradient = torch.ones((), device="cuda", dtype=DTYPES[o.dtype])
    return _gradients(lambda a: F.cross_entropy(a, target), [x], gradient)


def dropout(o, detail, operands):
    x = operands.get((o["n"],), o.dtype)
    if not o.is_backward:
        return lambda: aten.native_dropout.default(x, 0.1, True)
    mask = operands.get((o["n"],), "bool")
    return lambda: aten.native_dropout_backward.default(x, mask, 1.0 / 0.9)


def embedding(o, detail, operands):
    chosen = indices(o["rows"], o["lookups"], o["zipf"])
    if not o.is_backward:
        table = operands.get((o["rows"], o["dim"]), o.dtype)
        return lambda: aten.embedding.default(table, chosen)
    gradient = operands.get((o["lookups"], o["dim"]), o.dtype)
    return lambda: aten.embedding_dense_backward.default(gradient, chosen, o["rows"], -1, False)


def embeddingbag(o, detail, operands):
    table = operands.get((o["rows"], o["dim"]), o.dtype)
    chosen = indices(o["rows"], o["bags"] * o["pool"], o["zipf"])
    offsets = torch.arange(0, o["bags"] * o["pool"], o["pool"], device="cuda")
    # The last arguments: no scaling by frequency, mode 0 (sum), dense, no weights.
    forward = lambda: aten._embedding_bag.default(table, chosen, offsets, False, 0, False, None)
    if not o.is_backward:
        return forward
    _, bag_of_index, bag_size, largest = forward()
    gradient = operands.get((o["bags"], o["dim"]), o.dtype)
    return lambda: aten._embedding_bag_backward.default(
        gradient, chosen, offsets, bag_of_index, bag_size, largest, o["rows"], False, 0, False,
        None)


def rope(o, detail, operands):
    b, s, h, d = o["b"], o["s"], o["h"], o["d"]
    x = operands.get((b, s, h, d), o.dtype).transpose(1, 2)
    cos, sin = (operands.get((1, 1, s, d), o.dtype) for _ in range(2))

    def forward(a):
        half = d // 2
        rotated = torch.cat((-a[..., half:], a[..., :half]), dim=-1)
        return a * cos + rotated * sin

    if not o.is_backward:
        return lambda: forward(x)
    return _gradients(forward, [x], operands.get((b, h, s, d), o.dtype))


def _expert_order(o):
    """Draws for each of tokens·k rows the token it comes from, sorted by expert."""
    count = o["tokens"] * o["k"]
    sizes = zipf_counts(count, o["experts"], o["skew"])
    expert = torch.repeat_interleave(torch.arange(o["experts"]), torch.tensor(sizes))
    # A token's k rows go to experts at random: shuffle, then sort by expert.
    expert = expert[torch.randperm(count)].cuda()
    return torch.argsort(expert, stable=True) // o["k"]


def moepermute(o, detail, operands):
    source = _expert_order(o)
    if not o.is_backward:
        x = operands.get((o["tokens"], o["hidden"]), o.dtype)
        return lambda: torch.index_select(x, 0, source)
    gradient = operands.get((source.numel(), o["hidden"]), o.dtype)
    out = scratch((o["tokens"], o["hidden"]), o.dtype)
    return lambda: out.index_add_(0, source, gradient)


def _image(o, operands):
    return operands.image((o["b"], o["c"], o["h"], o["w"]), o.dtype, o["nhwc"])


def _like(operands, out, o):
    return operands.image(tuple(out.shape), o.dtype, o["nhwc"])


def maxpool(o, detail, operands):
    x = _image(o, operands)
    window = ([o["kernel"]] * 2, [o["stride"]] * 2, [o["pad"]] * 2, [1, 1], False)
    forward = lambda: aten.max_pool2d_with_indices.default(x, *window)
    if not o.is_backward:
        return forward
    out, chosen = forward()
    gradient = _like(operands, out, o)
    return lambda: aten.max_pool2d_with_indices_backward.default(gradient, x, *window, chosen)


def avgpool(o, detail, operands):
    x = _image(o, operands)
    window = ([o["kernel"]] * 2, [o["stride"]] * 2, [o["pad"]] * 2, False, True, None)
    forward = lambda: aten.avg_pool2d.default(x, *window)
    if not o.is_backward:
        return forward
    gradient = _like(operands, forward(), o)
    return lambda: aten.avg_pool2d_backward.default(gradient, x, *window)


def upsample(o, detail, operands):
    x = _image(o, operands)
    size = [o["h"] * o["scale"], o["w"] * o["scale"]]
    scale = float(o["scale"])
    forward = lambda: aten.upsample_nearest2d.default(x, size, scale, scale)
    if not o.is_backward:
        return forward
    gradient = _like(operands, forward(), o)
    shape = list(x.shape)
    return lambda: aten.upsample_nearest2d_backward.default(gradient, size, shape, scale, scale)


def quantize(o, detail, operands):
    x = _matrix(o, operands)

    def call():
        scale = 448.0 / x.abs().amax().float().clamp(min=1e-12)
        return (x * scale).to(torch.float8_e4m3fn)

    return call


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
