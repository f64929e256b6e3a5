#!/usr/bin/env python3
"""Runs a named model a few times, forward or forward and backward: the program of the memory recordings.

  one_pass.py bert                                  inference, one pass
  one_pass.py gpt2 --training --passes 20 --times times.json
  orrery capture --accesses --out gpt2.orrs -- one_pass.py gpt2 --training

Weights are random, data is synthetic, numbers are fp32 as PyTorch computes with them by itself; the block of Llama is
bf16. Batches are those of the PASTA paper's inference and training tables (arXiv 2602.22103).
"""

import argparse
import contextlib
import json
import pathlib
import sys
import time

try:
    import orrery
except ImportError:  # without `orrery capture`: nothing listens
    orrery = None


def alexnet(batch=128):
    return _vision("alexnet", batch, size=512)


def resnet18(batch=32):
    return _vision("resnet18", batch, size=224)


def resnet34(batch=32):
    return _vision("resnet34", batch, size=224)


def bert(batch=16):
    import transformers
    model = transformers.BertModel(transformers.BertConfig())
    return model, {"input_ids": _tokens(batch, 512, 30522)}


def gpt2(batch=8):
    import transformers
    model = transformers.GPT2LMHeadModel(transformers.GPT2Config())
    tokens = _tokens(batch, 1024, 50257)
    return model, {"input_ids": tokens, "labels": tokens}


def whisper(batch=16):
    import torch
    import transformers
    config = transformers.WhisperConfig(
        d_model=768, encoder_layers=12, decoder_layers=12, encoder_attention_heads=12, decoder_attention_heads=12,
        encoder_ffn_dim=3072, decoder_ffn_dim=3072)
    model = transformers.WhisperForConditionalGeneration(config)
    sound = torch.randn(batch, config.num_mel_bins, 3000, generator=torch.Generator().manual_seed(1))
    return model, {"input_features": sound, "labels": _tokens(batch, 128, config.vocab_size)}


def llama_block(batch=2):
    """One layer of Llama 3 8B, whose products and attention go through tensor maps on Hopper."""
    import torch
    import transformers
    config = transformers.LlamaConfig(hidden_size=4096, intermediate_size=14336, num_hidden_layers=1,
                                      num_attention_heads=32, num_key_value_heads=8, vocab_size=32000)
    model = transformers.LlamaModel(config).to(torch.bfloat16)
    return model, {"input_ids": _tokens(batch, 2048, 32000)}


MODELS = {"alexnet": alexnet, "resnet18": resnet18, "resnet34": resnet34, "bert": bert, "gpt2": gpt2,
          "whisper": whisper, "llama-block": llama_block}


def _vision(name, batch, size):
    import torch
    import torchvision
    generator = torch.Generator().manual_seed(1)
    images = torch.randn(batch, 3, size, size, generator=generator)
    return torchvision.models.get_model(name, weights=None), {"images": images}


def _tokens(batch, length, words):
    import torch
    return torch.randint(0, words, (batch, length), generator=torch.Generator().manual_seed(1))


def _number(outputs):
    """The loss where the model has one, else the sum of what it says."""
    if getattr(outputs, "loss", None) is not None:
        return outputs.loss
    return (outputs if not hasattr(outputs, "last_hidden_state") else outputs.last_hidden_state).float().mean()


def _call(model, fields):
    return model(fields["images"]) if "images" in fields else model(**fields)


def _region(name):
    return orrery.region(name) if orrery else contextlib.nullcontext()


def one_pass(model, fields, optimizer):
    """Returns the loss, which is waited for."""
    import torch
    if optimizer is None:
        with torch.no_grad(), _region("forward"):
            outputs = _call(model, fields)
        torch.cuda.synchronize()
        return _number(outputs).item()
    with _region("forward"):
        value = _number(_call(model, fields))
    with _region("backward"):
        value.backward()
    with _region("optimizer"):
        optimizer.step()
        optimizer.zero_grad()
    return value.item()


def refusal():
    """Why nothing can run here; "" where it can."""
    try:
        import torch
    except ImportError as error:
        return f"PyTorch is needed ({error})"
    return "" if torch.cuda.is_available() else "PyTorch finds no GPU here; `orrery doctor` says what is missing"


def run(options):
    """Returns the milliseconds and the losses of all passes."""
    import torch
    torch.manual_seed(0)
    if options.plain_kernels:
        torch.backends.cudnn.enabled = False
        torch.backends.cuda.enable_flash_sdp(False)
        torch.backends.cuda.enable_mem_efficient_sdp(False)
    model, fields = MODELS[options.model](**({"batch": options.batch} if options.batch else {}))
    model = model.cuda().train(options.training)
    fields = {name: value.cuda() for name, value in fields.items()}
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3) if options.training else None
    torch.cuda.synchronize()
    milliseconds, losses = [], []
    for number in range(options.passes):
        if orrery:
            orrery.step(number)
        begin = time.perf_counter()
        losses.append(one_pass(model, fields, optimizer))
        torch.cuda.synchronize()
        milliseconds.append(1e3 * (time.perf_counter() - begin))
    return milliseconds, losses


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", choices=MODELS)
    parser.add_argument("--training", action="store_true", help="backward pass and optimizer too")
    parser.add_argument("--batch", type=int, help="another size of the batch")
    parser.add_argument("--plain-kernels", action="store_true", help="without cuDNN and fused attention")
    parser.add_argument("--passes", type=int, default=1)
    parser.add_argument("--times", type=pathlib.Path, help="write the times of the passes into this file (JSON)")
    options = parser.parse_args()
    why = refusal()
    if why:
        print(f"one_pass.py: {why}", file=sys.stderr)
        return 2
    milliseconds, losses = run(options)
    text = json.dumps({"model": options.model, "training": options.training, "milliseconds": milliseconds,
                       "losses": losses})
    if options.times:
        options.times.write_text(text + "\n", encoding="utf-8")
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
