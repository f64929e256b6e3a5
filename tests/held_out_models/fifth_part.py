"""The held-out models that were written before the second change of the rules for operators, and predicted after it.

As in first_half.py, each function builds a model and returns a function that runs one training step. Kinds of programs that the other parts
do not have.
"""

import copy

import torch
import torch.nn.functional as F
from torch import nn


def diffusion_transformer():
    """DiT: adaptive layer norms, EMA of the weights, noise drawn on the GPU, bf16 autocast, fused AdamW."""

    class Block(nn.Module):
        def __init__(self, width=512, heads=8):
            super().__init__()
            self.heads = heads
            self.norms = nn.ModuleList(nn.LayerNorm(width, elementwise_affine=False, eps=1e-6) for _ in range(2))
            self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(approximate="tanh"), nn.Linear(4 * width, width))
            self.modulation = nn.Sequential(nn.SiLU(), nn.Linear(width, 6 * width))

        def forward(self, x, condition):
            shift, scale, gate, shift2, scale2, gate2 = self.modulation(condition).unsqueeze(1).chunk(6, dim=-1)
            h = self.norms[0](x) * (1 + scale) + shift
            q, k, v = self.qkv(h).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
            x = x + gate * self.out(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))
            return x + gate2 * self.mlp(self.norms[1](x) * (1 + scale2) + shift2)

    class Transformer(nn.Module):
        def __init__(self, width=512, patches=256):
            super().__init__()
            self.enter, self.leave = nn.Conv2d(4, width, 2, stride=2), nn.Linear(width, 16)
            self.position = nn.Parameter(torch.randn(1, patches, width) * 0.02)
            self.time, self.label = nn.Sequential(nn.Linear(256, width), nn.SiLU(), nn.Linear(width, width)), nn.Embedding(1001, width)
            self.blocks = nn.ModuleList(Block(width) for _ in range(8))
            self.register_buffer("frequencies", torch.exp(-torch.arange(128) / 128 * 9.2))

        def forward(self, x, times, labels):
            angles = times[:, None] * self.frequencies
            condition = self.time(torch.cat([angles.cos(), angles.sin()], dim=-1)) + self.label(labels)
            h = self.enter(x).flatten(2).transpose(1, 2) + self.position
            for block in self.blocks:
                h = block(h, condition)
            return self.leave(h).view(-1, 16, 16, 2, 2, 4).permute(0, 5, 1, 3, 2, 4).reshape(x.shape)

    model = Transformer().cuda()
    averaged = copy.deepcopy(model).requires_grad_(False)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    latents, labels = torch.randn(64, 4, 32, 32, device="cuda"), torch.randint(0, 1000, (64,), device="cuda")
    kept = torch.linspace(0.999, 0.01, 1000, device="cuda")

    def step():
        times, noise = torch.randint(0, 1000, (64,), device="cuda"), torch.randn_like(latents)
        share = kept[times][:, None, None, None]
        noisy = share.sqrt() * latents + (1 - share).sqrt() * noise
        classes = torch.where(torch.rand(64, device="cuda") < 0.1, 1000, labels)
        with torch.autocast("cuda", dtype=torch.bfloat16):
            predicted = model(noisy, times.float(), classes)
        loss = F.mse_loss(predicted.float(), noise)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            for mean, current in zip(averaged.parameters(), model.parameters()):
                mean.mul_(0.9999).add_(current, alpha=1e-4)

    return step


def rotary_decoder():
    """A decoder as LLaMA's: rotary positions, grouped queries, SwiGLU, RMS norms by hand, bf16 autocast, clipped gradients."""
    width, heads, groups, size = 1024, 16, 4, 64

    class Norm(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(width))

        def forward(self, x):
            h = x.float()
            return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + 1e-6)).type_as(x) * self.weight

    def rotate(x, cos, sin):
        a, b = x.chunk(2, dim=-1)
        return x * cos + torch.cat((-b, a), dim=-1) * sin

    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.norms = nn.ModuleList(Norm() for _ in range(2))
            self.q, self.k, self.v, self.o = (nn.Linear(width, n * size, bias=False) for n in (heads, groups, groups, heads))
            self.gate, self.up, self.down = (nn.Linear(a, b, bias=False) for a, b in ((width, 2816), (width, 2816), (2816, width)))

        def forward(self, x, cos, sin):
            h = self.norms[0](x)
            q, k, v = (f(h).unflatten(-1, (-1, size)).transpose(1, 2) for f in (self.q, self.k, self.v))
            q, k = rotate(q, cos, sin), rotate(k, cos, sin)
            k, v = (t.repeat_interleave(heads // groups, dim=1) for t in (k, v))
            x = x + self.o(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))
            h = self.norms[1](x)
            return x + self.down(F.silu(self.gate(h)) * self.up(h))

    embedding, layers, last = nn.Embedding(32000, width).cuda(), nn.ModuleList(Layer() for _ in range(8)).cuda(), Norm().cuda()
    head = nn.Linear(width, 32000, bias=False).cuda()
    parameters = [p for m in (embedding, layers, last, head) for p in m.parameters()]
    optimizer = torch.optim.AdamW(parameters, lr=3e-4, betas=(0.9, 0.95), weight_decay=0.1)
    tokens = torch.randint(0, 32000, (4, 1025), device="cuda")
    angles = torch.outer(torch.arange(1024.0), 10000 ** (-torch.arange(0, size, 2) / size)).repeat(1, 2).cuda()

    def step():
        with torch.autocast("cuda", dtype=torch.bfloat16):
            x, cos, sin = embedding(tokens[:, :-1]), angles.cos(), angles.sin()
            for layer in layers:
                x = layer(x, cos, sin)
            logits = head(last(x))
            loss = F.cross_entropy(logits.float().view(-1, 32000), tokens[:, 1:].reshape(-1))
        loss.backward()
        nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()
        optimizer.zero_grad()

    return step


def convnext():
    """ConvNeXt: depthwise 7x7 windows, layer norms over channels, layer scale, stochastic depth, channels_last, fp16 with a scaler."""

    class Block(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.mix, self.norm = nn.Conv2d(width, width, 7, padding=3, groups=width), nn.LayerNorm(width, eps=1e-6)
            self.up, self.down, self.scale = nn.Linear(width, 4 * width), nn.Linear(4 * width, width), nn.Parameter(torch.full((width,), 1e-6))

        def forward(self, x):
            h = self.scale * self.down(F.gelu(self.up(self.norm(self.mix(x).permute(0, 2, 3, 1)))))
            kept = torch.empty(len(x), 1, 1, 1, device=x.device, dtype=h.dtype).bernoulli_(0.9).div_(0.9)
            return x + (h * kept).permute(0, 3, 1, 2)

    widths, depths = (96, 192, 384, 768), (2, 2, 4, 2)
    stages = []
    for i, (width, depth) in enumerate(zip(widths, depths)):
        stages.append(nn.Conv2d(widths[i - 1], width, 2, stride=2) if i else nn.Conv2d(3, width, 4, stride=4))
        stages += [Block(width) for _ in range(depth)]
    model = nn.Sequential(*stages, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.LayerNorm(768), nn.Linear(768, 1000))
    model = model.cuda().to(memory_format=torch.channels_last)
    optimizer, scaler = torch.optim.AdamW(model.parameters(), lr=4e-3, weight_decay=0.05), torch.amp.GradScaler("cuda")
    images = torch.rand(64, 3, 224, 224, device="cuda").to(memory_format=torch.channels_last)
    labels = torch.randint(0, 1000, (64,), device="cuda")

    def step():
        share = 0.2 + 0.6 * torch.rand((), device="cuda")
        mixed = share * images + (1 - share) * images.flip(0)
        truth = share * F.one_hot(labels, 1000) + (1 - share) * F.one_hot(labels.flip(0), 1000)
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = F.cross_entropy(model(mixed), truth)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()

    return step


def graph_attention():
    """A graph attention network: softmax over edges by scatter_reduce and index_add, full batch, fp32."""
    nodes, edges, heads = 40000, 600000, 4
    source, target = torch.randint(0, nodes, (2, edges), device="cuda")

    class Layer(nn.Module):
        def __init__(self, a, b):
            super().__init__()
            self.project, self.bias = nn.Linear(a, heads * b, bias=False), nn.Parameter(torch.zeros(heads * b))
            self.left, self.right = (nn.Parameter(torch.randn(heads, b) * 0.1) for _ in range(2))

        def forward(self, x):
            h = self.project(x).unflatten(-1, (heads, -1))
            scores = F.leaky_relu((h * self.left).sum(-1)[source] + (h * self.right).sum(-1)[target], 0.2)
            places = target[:, None].expand(-1, heads)
            largest = scores.new_full((nodes, heads), -1e9).scatter_reduce(0, places, scores.detach(), "amax")
            weights = (scores - largest[target]).exp()
            sums = weights.new_zeros(nodes, heads).index_add(0, target, weights)
            weights = F.dropout(weights / (sums[target] + 1e-9), 0.2)
            return h.new_zeros(h.shape).index_add(0, target, h[source] * weights.unsqueeze(-1)).flatten(1) + self.bias

    layers = nn.ModuleList([Layer(128, 32), Layer(128, 32), Layer(128, 10)]).cuda()
    optimizer = torch.optim.Adam(layers.parameters(), lr=5e-3, weight_decay=5e-4)
    x, labels = torch.randn(nodes, 128, device="cuda"), torch.randint(0, 40, (nodes,), device="cuda")
    known = torch.rand(nodes, device="cuda") < 0.3

    def step():
        h = x
        for i, layer in enumerate(layers):
            h = layer(F.dropout(h, 0.3) if i else h)
            h = F.elu(h) if i + 1 < len(layers) else h
        loss = F.cross_entropy(h[known], labels[known])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


def two_towers():
    """Contrastive pairs of images and texts: two encoders, a learned temperature, a symmetric loss, bf16 autocast."""

    def encoder(width, layers, heads):
        layer = nn.TransformerEncoderLayer(width, heads, 4 * width, dropout=0.0, activation="gelu", batch_first=True, norm_first=True)
        return nn.TransformerEncoder(layer, layers, nn.LayerNorm(width), enable_nested_tensor=False)

    class Towers(nn.Module):
        def __init__(self):
            super().__init__()
            self.patches, self.image, self.text = nn.Conv2d(3, 512, 32, stride=32), encoder(512, 6, 8), encoder(384, 6, 6)
            self.places, self.words = nn.Parameter(torch.randn(1, 49, 512) * 0.02), nn.Embedding(30000, 384)
            self.orders = nn.Parameter(torch.randn(1, 64, 384) * 0.02)
            self.from_image, self.from_text = nn.Linear(512, 256, bias=False), nn.Linear(384, 256, bias=False)
            self.scale = nn.Parameter(torch.tensor(2.66))
            self.register_buffer("mask", torch.full((64, 64), float("-inf")).triu(1))

        def forward(self, images, texts):
            a = self.image(self.patches(images).flatten(2).transpose(1, 2) + self.places).mean(1)
            b = self.text(self.words(texts) + self.orders, mask=self.mask)
            b = b[torch.arange(len(texts), device=texts.device), texts.argmax(dim=-1)]
            a, b = F.normalize(self.from_image(a).float(), dim=-1), F.normalize(self.from_text(b).float(), dim=-1)
            return self.scale.exp() * a @ b.t()

    model = Towers().cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-4, betas=(0.9, 0.98), eps=1e-6, weight_decay=0.2)
    images, texts = torch.rand(256, 3, 224, 224, device="cuda"), torch.randint(0, 30000, (256, 64), device="cuda")
    truth = torch.arange(256, device="cuda")

    def step():
        with torch.autocast("cuda", dtype=torch.bfloat16):
            logits = model(images, texts)
        loss = (F.cross_entropy(logits, truth) + F.cross_entropy(logits.t(), truth)) / 2
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        with torch.no_grad():
            model.scale.clamp_(0, 4.6)

    return step


def text_autoencoder():
    """A variational autoencoder of sentences: GRU encoder, LSTM decoder, words dropped, annealed divergence, fp32."""
    words = nn.Embedding(12000, 256).cuda()
    encoder, decoder = nn.GRU(256, 256, batch_first=True, bidirectional=True).cuda(), nn.LSTM(256 + 32, 512, batch_first=True).cuda()
    to_code, enter, head = nn.Linear(512, 64).cuda(), nn.Linear(32, 512).cuda(), nn.Linear(512, 12000).cuda()
    parameters = [p for m in (words, encoder, decoder, to_code, enter, head) for p in m.parameters()]
    optimizer = torch.optim.Adam(parameters, lr=1e-3)
    texts = torch.randint(2, 12000, (96, 41), device="cuda")
    count = 0

    def step():
        nonlocal count
        count += 1
        before, after = texts[:, :-1], texts[:, 1:]
        last = encoder(words(texts))[1].transpose(0, 1).flatten(1)
        mean, spread = to_code(last).chunk(2, dim=-1)
        code = mean + torch.randn_like(mean) * (0.5 * spread).exp()
        seen = before.masked_fill(torch.rand(before.shape, device="cuda") < 0.25, 1)
        inputs = torch.cat([words(seen), code.unsqueeze(1).expand(-1, seen.shape[1], -1)], dim=-1)
        state = torch.tanh(enter(code)).unsqueeze(0)
        logits = head(decoder(inputs, (state, torch.zeros_like(state)))[0])
        divergence = -0.5 * (1 + spread - mean.pow(2) - spread.exp()).sum(-1).mean()
        loss = F.cross_entropy(logits.transpose(1, 2), after, reduction="sum") / len(texts) + min(1.0, count / 1e4) * divergence
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_value_(parameters, 1.0)
        optimizer.step()

    return step


def soft_actor_critic():
    """Soft actor-critic: a replay buffer on the GPU, twin critics, target networks by loops, three optimizers, many host operators."""

    def network(a, b):
        return nn.Sequential(nn.Linear(a, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, b)).cuda()

    actor, critics = network(24, 12), nn.ModuleList(network(30, 1) for _ in range(2))
    targets, temperature = copy.deepcopy(critics).requires_grad_(False), torch.zeros(1, device="cuda", requires_grad=True)
    for_actor, for_critics = torch.optim.Adam(actor.parameters(), lr=3e-4), torch.optim.Adam(critics.parameters(), lr=3e-4)
    for_temperature = torch.optim.Adam([temperature], lr=3e-4)
    states, following = torch.randn(2, 100000, 24, device="cuda")
    actions, rewards, ends = torch.rand(100000, 6, device="cuda"), torch.randn(100000, device="cuda"), torch.zeros(100000, device="cuda")

    def sample(state):
        mean, spread = actor(state).chunk(2, dim=-1)
        chosen = torch.distributions.Normal(mean, spread.clamp(-20, 2).exp(), validate_args=False)
        raw = chosen.rsample()
        action = torch.tanh(raw)
        return action, (chosen.log_prob(raw) - torch.log(1 - action.pow(2) + 1e-6)).sum(-1)

    def least(networks, state, action):
        joined = torch.cat([state, action], dim=-1)
        return torch.min(*(network(joined).squeeze(-1) for network in networks))

    def step():
        for _ in range(2):
            places = torch.randint(0, 100000, (256,), device="cuda")
            state, after, action = states[places], following[places], actions[places]
            with torch.no_grad():
                nextly, likelihood = sample(after)
                value = least(targets, after, nextly) - temperature.exp() * likelihood
                aim = rewards[places] + 0.99 * (1 - ends[places]) * value
            joined = torch.cat([state, action], dim=-1)
            loss = sum(F.mse_loss(critic(joined).squeeze(-1), aim) for critic in critics)
            for_critics.zero_grad()
            loss.backward()
            for_critics.step()
            new, likelihood = sample(state)
            loss = (temperature.exp().detach() * likelihood - least(critics, state, new)).mean()
            for_actor.zero_grad()
            loss.backward()
            for_actor.step()
            loss = -(temperature.exp() * (likelihood.detach() - 6)).mean()
            for_temperature.zero_grad()
            loss.backward()
            for_temperature.step()
            with torch.no_grad():
                for target, current in zip(targets.parameters(), critics.parameters()):
                    target.data.mul_(0.995).add_(0.005 * current.data)

    return step


MODELS = {"diffusion-transformer": diffusion_transformer, "rotary-decoder": rotary_decoder, "convnext": convnext,
          "graph-attention": graph_attention, "two-towers": two_towers, "text-autoencoder": text_autoencoder,
          "soft-actor-critic": soft_actor_critic}
