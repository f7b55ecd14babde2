"""Detectors of torchvision and transformers with random weights, small enough for a test."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import torch

Loss = Callable[[], torch.Tensor]
SIDE = 96


def _targets(**more: Any) -> list[dict[str, torch.Tensor]]:
    boxes = torch.tensor([[8.0, 10.0, 60.0, 70.0], [30.0, 5.0, 90.0, 50.0]])
    return [{"boxes": boxes + shift, "labels": torch.tensor([1, 2]), **more} for shift in (0, 3)]


def _torchvision(name: str, **more: Any) -> tuple[torch.nn.Module, Loss]:
    from torchvision.models import detection
    from torchvision.models.detection.backbone_utils import resnet_fpn_backbone

    backbone = resnet_fpn_backbone(backbone_name="resnet18", weights=None, trainable_layers=5)
    model = getattr(detection, name)(
        backbone,
        num_classes=3,
        min_size=SIDE,
        max_size=SIDE,
        rpn_post_nms_top_n_train=40,
        box_batch_size_per_image=16,
    )
    images, targets = list(torch.rand(2, 3, SIDE, SIDE)), _targets(**more)
    return model, lambda: sum(model(images, targets).values())


def faster_rcnn() -> tuple[torch.nn.Module, Loss]:
    return _torchvision("FasterRCNN")


def mask_rcnn() -> tuple[torch.nn.Module, Loss]:
    return _torchvision("MaskRCNN", masks=(torch.rand(2, SIDE, SIDE) > 0.5).byte())


def keypoint_rcnn() -> tuple[torch.nn.Module, Loss]:
    keypoints = torch.cat([20 + 20 * torch.rand(2, 17, 2), torch.ones(2, 17, 1)], 2)
    return _torchvision("KeypointRCNN", keypoints=keypoints)


def _transformers(model: torch.nn.Module) -> tuple[torch.nn.Module, Loss]:
    images = torch.rand(2, 3, SIDE, SIDE)
    boxes = torch.tensor([[0.4, 0.4, 0.5, 0.6], [0.6, 0.3, 0.6, 0.45]])
    labels = [{"class_labels": torch.tensor([0, 1]), "boxes": boxes + s} for s in (0, 0.02)]
    return model, lambda: model(pixel_values=images, labels=labels).loss


def rt_detr() -> tuple[torch.nn.Module, Loss]:
    from transformers import RTDetrConfig, RTDetrForObjectDetection, RTDetrResNetConfig

    backbone = RTDetrResNetConfig(
        embedding_size=16,
        hidden_sizes=[16, 32, 64, 64],
        depths=[1, 1, 1, 1],
        layer_type="basic",
        out_features=["stage2", "stage3", "stage4"],
    )
    config = RTDetrConfig(
        backbone_config=backbone,
        encoder_in_channels=[32, 64, 64],
        encoder_hidden_dim=64,
        encoder_ffn_dim=64,
        d_model=64,
        decoder_in_channels=[64, 64, 64],
        decoder_ffn_dim=64,
        decoder_layers=2,
        decoder_attention_heads=4,
        num_queries=30,
        num_denoising=4,
        num_labels=3,
    )
    return _transformers(RTDetrForObjectDetection(config))


def deformable_detr() -> tuple[torch.nn.Module, Loss]:
    from transformers import DeformableDetrConfig, DeformableDetrForObjectDetection, ResNetConfig

    backbone = ResNetConfig(
        embedding_size=16,
        hidden_sizes=[16, 32, 64, 64],
        depths=[1, 1, 1, 1],
        layer_type="basic",
        out_features=["stage2", "stage3", "stage4"],
    )
    config = DeformableDetrConfig(
        backbone_config=backbone,
        d_model=64,
        encoder_layers=2,
        decoder_layers=2,
        encoder_ffn_dim=64,
        decoder_ffn_dim=64,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        num_queries=20,
        num_feature_levels=4,
        num_labels=3,
    )
    return _transformers(DeformableDetrForObjectDetection(config))


MODELS = {f.__name__: f for f in (faster_rcnn, mask_rcnn, keypoint_rcnn, rt_detr, deformable_detr)}


def train(name: str, steps: int = 2, seed: int = 7) -> tuple[list[float], str]:
    """The losses of a detector's first steps, and a hash of its weights behind them."""
    torch.manual_seed(seed)
    model, loss_of = MODELS[name]()
    model.train()
    optimiser = torch.optim.SGD(model.parameters(), lr=1e-3)
    losses = []
    for _ in range(steps):
        optimiser.zero_grad()
        loss = loss_of()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    digest = hashlib.sha256()
    for tensor in model.state_dict().values():
        digest.update(tensor.contiguous().numpy().tobytes())
    return losses, digest.hexdigest()
