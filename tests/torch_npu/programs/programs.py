"""Whole programs as people write them; each returns the numbers that it would print."""

from __future__ import annotations

import io

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def _blobs(count: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Pictures of 28x28, each with a spot whose place is its label."""
    labels = torch.arange(count) % 10
    y, x = torch.meshgrid(torch.linspace(-1, 1, 28), torch.linspace(-1, 1, 28), indexing="ij")
    angle = labels.float()[:, None, None] * 0.628
    spots = torch.exp(-((x - 0.5 * angle.cos()) ** 2 + (y - 0.5 * angle.sin()) ** 2) * 12)
    return spots[:, None] + 0.1 * torch.randn(count, 1, 28, 28), labels


class SpatialTransformer(nn.Module):
    """Classifies pictures that it turns and scales first."""

    def __init__(self) -> None:
        super().__init__()
        self.look = nn.Sequential(
            nn.Conv2d(1, 8, 7), nn.MaxPool2d(2), nn.ReLU(True),
            nn.Conv2d(8, 10, 5), nn.MaxPool2d(2), nn.ReLU(True), nn.Flatten(),
            nn.Linear(90, 32), nn.ReLU(True), nn.Linear(32, 6),
        )  # fmt: skip
        self.look[-1].weight.data.zero_()
        self.look[-1].bias.data.copy_(torch.tensor([1.0, 0, 0, 0, 1, 0]))
        self.classify = nn.Sequential(
            nn.Conv2d(1, 10, 5), nn.MaxPool2d(2), nn.ReLU(),
            nn.Conv2d(10, 20, 5), nn.Dropout2d(), nn.MaxPool2d(2), nn.ReLU(), nn.Flatten(),
            nn.Linear(320, 50), nn.ReLU(), nn.Dropout(), nn.Linear(50, 10),
        )  # fmt: skip

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        grid = F.affine_grid(self.look(x).view(-1, 2, 3), list(x.shape), align_corners=False)
        return F.log_softmax(self.classify(F.grid_sample(x, grid, align_corners=False)), dim=1)


def spatial_transformer(device: str, optimizer: str = "SGD", steps: int = 8) -> list[float]:
    """Train on batches of a DataLoader with pinned memory; then count the right answers."""
    torch.manual_seed(0)
    images, labels = _blobs(256)
    loader = DataLoader(
        TensorDataset(images, labels),
        batch_size=32,
        shuffle=True,
        generator=torch.Generator().manual_seed(1),
        pin_memory=device == "npu",
    )
    model = SpatialTransformer().to(device)
    step = getattr(torch.optim, optimizer)(model.parameters(), lr=0.01 if optimizer == "SGD" else 1e-3)
    losses: list[float] = []
    while len(losses) < steps:
        for data, target in loader:
            data, target = (t.to(device, non_blocking=True) for t in (data, target))
            step.zero_grad()
            loss = F.nll_loss(model(data), target)
            loss.backward()
            step.step()
            losses.append(loss.item())
    model.eval()
    with torch.no_grad():
        output = model(images.to(device))
        right = output.max(1, keepdim=True)[1].eq(labels.to(device).view(-1, 1)).sum().item()
    return [*losses[:steps], right / len(labels)]


def _double(entry: int, out: int) -> nn.Sequential:
    layers: list[nn.Module] = []
    for channels in (entry, out):
        layers += [nn.Conv2d(channels, out, 3, padding=1, bias=False)]
        layers += [nn.BatchNorm2d(out), nn.ReLU(inplace=True)]
    return nn.Sequential(*layers)


class UNet(nn.Module):
    """Two levels, bilinear up."""

    def __init__(self, width: int = 8) -> None:
        super().__init__()
        self.entry, self.down = _double(3, width), _double(width, 2 * width)
        self.deep = _double(2 * width, 2 * width)
        self.up, self.top = _double(4 * width, width), _double(2 * width, width)
        self.out = nn.Conv2d(width, 1, 1)

    def _join(self, x: torch.Tensor, skip: torch.Tensor) -> torch.Tensor:
        x = F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=True)
        high, wide = (skip.size(axis) - x.size(axis) for axis in (2, 3))
        x = F.pad(x, [wide // 2, wide - wide // 2, high // 2, high - high // 2])
        return torch.cat([skip, x], dim=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        first = self.entry(x)
        second = self.down(F.max_pool2d(first, 2))
        third = self.deep(F.max_pool2d(second, 2))
        return self.out(self.top(self._join(self.up(self._join(third, second)), first)))


def unet(device: str, steps: int = 6) -> list[float]:
    """Segment with BCE and Dice, clipped gradients and a schedule; save, load, compare."""
    torch.manual_seed(0)
    x = torch.rand(4, 3, 36, 34)
    mask = (x.mean(1, keepdim=True) > 0.5).float()
    x, mask = x.to(device), mask.to(device)
    model = UNet().to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad(set_to_none=True)
        logits = model(x)
        likely = logits.sigmoid()
        dice = 1 - (2 * (likely * mask).sum() + 1) / (likely.sum() + mask.sum() + 1)
        loss = F.binary_cross_entropy_with_logits(logits, mask) + dice
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
    file = io.BytesIO()
    torch.save(model.state_dict(), file)
    file.seek(0)
    other = UNet().to(device)
    other.load_state_dict(torch.load(file, map_location=device))
    model.eval()
    other.eval()
    with torch.no_grad():
        assert torch.equal(model(x), other(x))
    return losses


class Attention(nn.Module):
    """Self-attention, by PyTorch's function or by products."""

    def __init__(self, width: int, heads: int, fused: bool) -> None:
        super().__init__()
        self.heads, self.fused = heads, fused
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        parts = self.qkv(x).reshape(batch, length, 3, self.heads, width // self.heads)
        q, k, v = parts.permute(2, 0, 3, 1, 4).unbind(0)
        if self.fused:
            x = F.scaled_dot_product_attention(q, k, v)
        else:
            x = (q @ k.transpose(-2, -1) * q.size(-1) ** -0.5).softmax(-1) @ v
        return self.out(x.transpose(1, 2).reshape(batch, length, width))


class Block(nn.Module):
    """A transformer's block."""

    def __init__(self, width: int, heads: int, fused: bool) -> None:
        super().__init__()
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, heads, fused)
        self.mlp = nn.Sequential(
            nn.Linear(width, 2 * width), nn.GELU(),
            nn.Dropout(0.1), nn.Linear(2 * width, width),
        )  # fmt: skip

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attention(self.first(x))
        return x + self.mlp(self.second(x))


class VisionTransformer(nn.Module):
    """Patches of 4x4, two blocks, a class token."""

    def __init__(self, width: int = 32, heads: int = 4) -> None:
        super().__init__()
        self.patch = nn.Conv2d(3, width, 4, 4)
        self.token = nn.Parameter(torch.zeros(1, 1, width))
        self.place = nn.Parameter(torch.randn(1, 17, width) * 0.02)
        self.blocks = nn.Sequential(Block(width, heads, True), Block(width, heads, False))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.patch(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(x.size(0), -1, -1), x], 1) + self.place
        return self.head(self.norm(self.blocks(x))[:, 0])


def vision_transformer(device: str, steps: int = 6) -> list[float]:
    """Train with AdamW, dropout and smoothed labels."""
    torch.manual_seed(0)
    x, y = torch.randn(16, 3, 16, 16).to(device), (torch.arange(16) % 10).to(device)
    model = VisionTransformer().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.05)
    torch.manual_seed(1)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y, label_smoothing=0.1)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def mixed_precision(device: str, dtype: str, steps: int = 6) -> list[float]:
    """Train under autocast, with a gradient scaler for float16."""
    torch.manual_seed(0)
    half = getattr(torch, dtype)
    model = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(8, 16, 3, padding=1), nn.GELU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
        nn.LayerNorm(16), nn.Linear(16, 10),
    ).to(device)  # fmt: skip
    x, y = torch.randn(16, 3, 16, 16).to(device), (torch.arange(16) % 10).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    settings = {"enabled": half == torch.float16, "init_scale": 1024.0}
    if device == "npu":
        scaler = torch.npu.amp.GradScaler(**settings)
    else:
        scaler = torch.amp.GradScaler(device, **settings)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        with torch.autocast(device, dtype=half):
            loss = F.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
    return [*losses, scaler.get_scale()]


def recurrent(device: str, steps: int = 5) -> list[float]:
    """Tag sequences of several lengths with an LSTM and a GRU."""
    torch.manual_seed(0)
    words, tags = torch.randint(0, 20, (4, 7)), torch.randint(0, 5, (4, 7))
    lengths = [7, 5, 4, 2]
    embed, lstm = nn.Embedding(20, 8).to(device), nn.LSTM(8, 6, 2, bidirectional=True).to(device)
    gru, out = nn.GRU(12, 6).to(device), nn.Linear(6, 5).to(device)
    weights = [p for m in (embed, lstm, gru, out) for p in m.parameters()]
    optimizer = torch.optim.RMSprop(weights, lr=1e-2)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        packed = nn.utils.rnn.pack_padded_sequence(embed(words.t().to(device)), lengths)
        hidden, _ = nn.utils.rnn.pad_packed_sequence(lstm(packed)[0])
        scores = out(gru(hidden)[0])
        loss = F.cross_entropy(scores.flatten(0, 1), tags.t().flatten().to(device))
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


PROGRAMS = {
    "spatial transformer, SGD": spatial_transformer,
    "spatial transformer, Adam": lambda device: spatial_transformer(device, "Adam"),
    "U-Net": unet,
    "vision transformer": vision_transformer,
    "autocast, float16": lambda device: mixed_precision(device, "float16"),
    "autocast, bfloat16": lambda device: mixed_precision(device, "bfloat16"),
    "LSTM and GRU": recurrent,
}
