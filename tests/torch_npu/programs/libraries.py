"""Small models of other libraries: libraries.py DEVICE NAME; prints a list of numbers.

torchvision's models, transformers' models by their Trainer, and accelerate's loop.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import warnings

warnings.filterwarnings("ignore")
os.environ["HF_HUB_OFFLINE"] = "1"

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset, TensorDataset

device, name = sys.argv[1:3]


def vision(model: str) -> list[float]:
    """Train one of torchvision's models for some steps."""
    import torchvision

    torch.manual_seed(0)
    net = getattr(torchvision.models, model)(num_classes=10).to(device)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
    x, y = torch.randn(4, 3, 64, 64).to(device), torch.arange(4).to(device)
    losses = []
    for _ in range(3):
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


class Sentences(Dataset):
    """Random words; the label is a word, or one of two classes."""

    def __init__(self, classes: bool) -> None:
        self.words = torch.randint(0, 100, (64, 16), generator=torch.Generator().manual_seed(0))
        self.classes = classes

    def __len__(self) -> int:
        return len(self.words)

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        words = self.words[index]
        return {"input_ids": words, "labels": words[0] % 2 if self.classes else words}


def language(kind: str) -> list[float]:
    """Fine-tune a small model by transformers' Trainer; then generate."""
    import transformers as hf

    torch.manual_seed(0)
    if kind == "gpt2":
        settings = {"n_positions": 32, "n_embd": 32, "n_layer": 2, "n_head": 2}
        model = hf.GPT2LMHeadModel(hf.GPT2Config(vocab_size=100, **settings))
    elif kind == "llama":
        settings = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2}
        settings |= {"num_attention_heads": 4, "num_key_value_heads": 2}
        model = hf.LlamaForCausalLM(hf.LlamaConfig(vocab_size=100, **settings))
    else:
        settings = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}
        settings |= {"intermediate_size": 64}
        model = hf.BertForSequenceClassification(hf.BertConfig(vocab_size=100, **settings))
    with tempfile.TemporaryDirectory() as folder:
        arguments = hf.TrainingArguments(
            folder, max_steps=4, per_device_train_batch_size=8, logging_steps=1, report_to=[],
            use_cpu=device == "cpu", save_steps=2, learning_rate=1e-3, disable_tqdm=True,
        )  # fmt: skip
        trainer = hf.Trainer(model, arguments, train_dataset=Sentences(kind == "bert"))
        trainer.train()
    assert arguments.device.type == device, arguments.device
    losses = [float(each["loss"]) for each in trainer.state.log_history if "loss" in each]
    if kind == "bert":
        return losses
    model.eval()
    start = torch.tensor([[1, 2, 3]]).to(arguments.device)
    tokens = model.generate(start, max_new_tokens=5, do_sample=False)
    return [*losses, *map(float, tokens.flatten().tolist())]


def accelerated(precision: str) -> list[float]:
    """Hugging Face accelerate's loop, with accumulated gradients."""
    from accelerate import Accelerator
    from accelerate.state import AcceleratorState
    from accelerate.utils import set_seed

    AcceleratorState._reset_state(reset_partial_state=True)  # one precision a process otherwise
    accelerator = Accelerator(
        cpu=device == "cpu", mixed_precision=precision, gradient_accumulation_steps=2
    )
    assert accelerator.device.type == device, accelerator.device
    set_seed(0)
    x = torch.randn(128, 16)
    loader = DataLoader(TensorDataset(x, x[:, :4].argmax(1)), batch_size=16, shuffle=True)
    model = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.LayerNorm(64), nn.Linear(64, 4))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    losses = []
    for inputs, targets in loader:
        with accelerator.accumulate(model):
            loss = F.cross_entropy(model(inputs), targets)
            accelerator.backward(loss)
            if accelerator.sync_gradients:
                accelerator.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
        losses.append(accelerator.gather(loss.detach()).mean().item())
    return losses


WORK = {
    "resnet18": lambda: vision("resnet18"),
    "mobilenet_v3_small": lambda: vision("mobilenet_v3_small"),
    "gpt2": lambda: language("gpt2"),
    "llama": lambda: language("llama"),
    "bert": lambda: language("bert"),
    "accelerate, float32": lambda: accelerated("no"),
    "accelerate, bfloat16": lambda: accelerated("bf16"),
}

if __name__ == "__main__":
    chosen = WORK if name == "all" else {name: WORK[name]}
    for each, work in chosen.items():
        try:
            numbers = work()
        except Exception as error:
            numbers = f"{type(error).__name__}: {error}".replace("\n", " ")[:400]
        print("NUMBERS", json.dumps([each, numbers]), flush=True)
