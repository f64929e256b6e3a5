"""Shapes of public transformers, by the keys of their Hugging Face configurations."""

from .description import Defaults

_NO_DROPOUT = {"resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0}


def _gpt2(layers, hidden, heads, batch):
    config = {"model_type": "gpt2", "n_layer": layers, "n_embd": hidden, "n_head": heads, **_NO_DROPOUT}
    return config, Defaults(batch=batch, sequence=1024)


def _llama(layers, hidden, ffn, heads, batch, sequence=2048):
    # Embedding and head are two matrices here, as in the measured rows; those of Llama 3.2 are one.
    config = {"model_type": "llama", "num_hidden_layers": layers, "hidden_size": hidden, "intermediate_size": ffn,
              "num_attention_heads": heads, "num_key_value_heads": 8, "vocab_size": 128256,
              "max_position_embeddings": 8192, "tie_word_embeddings": False}
    return config, Defaults(batch=batch, sequence=sequence)


def _bert(layers, hidden, heads, dropout, batch):
    config = {"model_type": "bert", "num_hidden_layers": layers, "hidden_size": hidden, "num_attention_heads": heads,
              "intermediate_size": 4 * hidden, "hidden_dropout_prob": dropout,
              "attention_probs_dropout_prob": dropout}
    return config, Defaults(batch=batch, sequence=512)


def _opt_350m():
    config = {"model_type": "opt", "num_hidden_layers": 24, "hidden_size": 1024, "num_attention_heads": 16,
              "ffn_dim": 4096, "vocab_size": 50272, "max_position_embeddings": 2048, "word_embed_proj_dim": 512,
              "do_layer_norm_before": False, "dropout": 0.0, "attention_dropout": 0.0}
    return config, Defaults(batch=8, sequence=1024)


def _mixtral_small():
    config = {"model_type": "mixtral", "num_hidden_layers": 8, "hidden_size": 1024, "intermediate_size": 3584,
              "num_attention_heads": 16, "num_key_value_heads": 8, "vocab_size": 32000, "num_local_experts": 8,
              "num_experts_per_tok": 2, "max_position_embeddings": 4096, "tie_word_embeddings": False}
    return config, Defaults(batch=4, sequence=2048)


SHAPES = {
    "gpt2": _gpt2(12, 768, 12, batch=4),
    "gpt2-medium": _gpt2(24, 1024, 16, batch=8),
    "gpt2-large": _gpt2(36, 1280, 20, batch=4),
    "gpt2-xl": _gpt2(48, 1600, 25, batch=8),
    "llama-1b": _llama(16, 2048, 8192, 32, batch=4),
    "llama-3b": _llama(28, 3072, 8192, 24, batch=2),
    "llama-8b": _llama(32, 4096, 14336, 32, batch=1),
    "llama-8b-slice": _llama(8, 4096, 14336, 32, batch=2),
    "bert-base": _bert(12, 768, 12, dropout=0.0, batch=32),
    "bert-large": _bert(24, 1024, 16, dropout=0.1, batch=16),
    "opt-350m": _opt_350m(),
    "mixtral-small": _mixtral_small(),
}
