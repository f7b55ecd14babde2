"""Writes a model of llama's architecture with random weights as a GGUF file.

random_llama.py FILE f32|f16

The format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md. No tokenizer: programs give tokens as numbers.
"""

from __future__ import annotations

import struct
import sys

import numpy as np

EMBEDDING, HEADS, KEY_HEADS, LAYERS, FEED_FORWARD, VOCABULARY = 256, 8, 4, 2, 512, 320
ALIGNMENT = 32
# GGUF's numbers of types.
UINT32, FLOAT32, STRING = 4, 6, 8
TENSOR_TYPES = {np.dtype(np.float32): 0, np.dtype(np.float16): 1}


def text(value: str) -> bytes:
    """A string as GGUF has it."""
    return struct.pack("<Q", len(value)) + value.encode()


def pair(key: str, value) -> bytes:
    """A key and its value."""
    if isinstance(value, str):
        return text(key) + struct.pack("<I", STRING) + text(value)
    if isinstance(value, float):
        return text(key) + struct.pack("<If", FLOAT32, value)
    return text(key) + struct.pack("<II", UINT32, value)


def weights(dtype) -> dict[str, np.ndarray]:
    """Matrices of the dtype, norms in float32."""
    rng = np.random.default_rng(1)
    keys = EMBEDDING // HEADS * KEY_HEADS
    shapes = {"token_embd": (VOCABULARY, EMBEDDING), "output": (VOCABULARY, EMBEDDING)}
    norms = ["output_norm"]
    for layer in range(LAYERS):
        block = f"blk.{layer}."
        norms += [block + "attn_norm", block + "ffn_norm"]
        shapes |= {
            block + "attn_q": (EMBEDDING, EMBEDDING),
            block + "attn_k": (keys, EMBEDDING),
            block + "attn_v": (keys, EMBEDDING),
            block + "attn_output": (EMBEDDING, EMBEDDING),
            block + "ffn_gate": (FEED_FORWARD, EMBEDDING),
            block + "ffn_up": (FEED_FORWARD, EMBEDDING),
            block + "ffn_down": (EMBEDDING, FEED_FORWARD),
        }
    tensors = {
        name: (rng.standard_normal(shape) / np.sqrt(shape[-1])).astype(dtype)
        for name, shape in shapes.items()
    }
    for name in norms:
        tensors[name] = (1 + 0.1 * rng.standard_normal(EMBEDDING)).astype(np.float32)
    return {name + ".weight": tensor for name, tensor in tensors.items()}


def main() -> None:
    """The command line."""
    dtype = np.float16 if sys.argv[2] == "f16" else np.float32
    tensors = weights(dtype)
    pairs = {
        "general.architecture": "llama",
        "general.file_type": int(dtype == np.float16),
        "llama.context_length": 256,
        "llama.embedding_length": EMBEDDING,
        "llama.block_count": LAYERS,
        "llama.feed_forward_length": FEED_FORWARD,
        "llama.attention.head_count": HEADS,
        "llama.attention.head_count_kv": KEY_HEADS,
        "llama.attention.layer_norm_rms_epsilon": 1e-5,
        "llama.rope.dimension_count": EMBEDDING // HEADS,
        "llama.vocab_size": VOCABULARY,
        "tokenizer.ggml.model": "no_vocab",
    }
    head = struct.pack("<4sIQQ", b"GGUF", 3, len(tensors), len(pairs))
    head += b"".join(pair(key, value) for key, value in pairs.items())
    data = b""
    for name, tensor in tensors.items():
        extents = tensor.shape[::-1]
        head += text(name) + struct.pack(f"<I{len(extents)}Q", len(extents), *extents)
        head += struct.pack("<IQ", TENSOR_TYPES[tensor.dtype], len(data))
        data += tensor.tobytes()
        data += bytes(-len(data) % ALIGNMENT)
    with open(sys.argv[1], "wb") as file:
        file.write(head + bytes(-len(head) % ALIGNMENT) + data)


if __name__ == "__main__":
    main()
