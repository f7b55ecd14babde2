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


def _transformers(model: torch.nn.Module, **more: Any) -> tuple[torch.nn.Module, Loss]:
    images = torch.rand(2, 3, SIDE, SIDE)
    boxes = torch.tensor([[0.4, 0.4, 0.5, 0.6], [0.6, 0.3, 0.6, 0.45]])
    labels = [{"class_labels": torch.tensor([0, 1]), "boxes": boxes + s} for s in (0, 0.02)]
    return model, lambda: model(pixel_values=images, labels=labels, **more).loss


def _resnet(kind: str = "ResNet", first: int = 2) -> Any:
    """The configuration of a small backbone that gives its stages from `first` on."""
    import transformers

    return getattr(transformers, f"{kind}Config")(
        embedding_size=16,
        hidden_sizes=[16, 32, 64, 64],
        depths=[1, 1, 1, 1],
        layer_type="basic",
        out_features=[f"stage{i}" for i in range(first, 5)],
    )


def _rt_detr(family: str, **more: Any) -> tuple[torch.nn.Module, Loss]:
    import transformers

    config = getattr(transformers, f"{family}Config")(
        backbone_config=_resnet("RTDetrResNet"),
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
        **more,
    )
    return _transformers(getattr(transformers, f"{family}ForObjectDetection")(config))


def rt_detr() -> tuple[torch.nn.Module, Loss]:
    return _rt_detr("RTDetr")


def rt_detr_v2() -> tuple[torch.nn.Module, Loss]:
    return _rt_detr("RTDetrV2")


def d_fine() -> tuple[torch.nn.Module, Loss]:
    return _rt_detr("DFine", decoder_n_points=[3, 6, 3])


def deformable_detr() -> tuple[torch.nn.Module, Loss]:
    from transformers import DeformableDetrConfig, DeformableDetrForObjectDetection

    config = DeformableDetrConfig(
        backbone_config=_resnet(),
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


def grounding_dino() -> tuple[torch.nn.Module, Loss]:
    from transformers import BertConfig, GroundingDinoConfig, GroundingDinoForObjectDetection

    text = BertConfig(
        vocab_size=1100,
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=4,
        intermediate_size=64,
        max_position_embeddings=32,
    )
    config = GroundingDinoConfig(
        backbone_config=_resnet(),
        text_config=text,
        d_model=64,
        encoder_layers=1,
        decoder_layers=2,
        encoder_ffn_dim=64,
        decoder_ffn_dim=64,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        num_queries=20,
        max_text_len=8,
    )
    model = GroundingDinoForObjectDetection(config)
    words = torch.tensor([[101, 5, 1012, 7, 1012, 102]] * 2)  # [CLS] a . b . [SEP]
    return _transformers(model, input_ids=words)


def _segments() -> dict[str, Any]:
    masks = (torch.rand(2, 2, SIDE, SIDE) > 0.5).float()
    return {"mask_labels": list(masks), "class_labels": [torch.tensor([0, 1])] * 2}


def _segmenter(model: torch.nn.Module, **more: Any) -> tuple[torch.nn.Module, Loss]:
    images, labels = torch.rand(2, 3, SIDE, SIDE), _segments()
    return model, lambda: model(pixel_values=images, **labels, **more).loss.sum()


def mask2former() -> tuple[torch.nn.Module, Loss]:
    from transformers import Mask2FormerConfig, Mask2FormerForUniversalSegmentation

    config = Mask2FormerConfig(
        backbone_config=_resnet(first=1),
        feature_size=32,
        mask_feature_size=32,
        hidden_dim=32,
        encoder_feedforward_dim=64,
        dim_feedforward=64,
        encoder_layers=2,
        decoder_layers=3,
        num_attention_heads=4,
        num_queries=10,
        train_num_points=256,
        num_labels=3,
    )
    return _segmenter(Mask2FormerForUniversalSegmentation(config))


def oneformer() -> tuple[torch.nn.Module, Loss]:
    from transformers import OneFormerConfig, OneFormerForUniversalSegmentation

    words, texts = 99, 6
    config = OneFormerConfig(
        backbone_config=_resnet(first=1),
        is_training=True,
        conv_dim=64,
        mask_dim=64,
        hidden_dim=64,
        encoder_feedforward_dim=64,
        dim_feedforward=64,
        encoder_layers=2,
        decoder_layers=3,
        num_attention_heads=4,
        num_queries=10,
        text_encoder_n_ctx=10 - texts,
        text_encoder_width=64,
        text_encoder_num_layers=1,
        text_encoder_vocab_size=words,
        train_num_points=256,
        num_labels=3,
    )
    model = OneFormerForUniversalSegmentation(config)
    length = config.text_encoder_context_length
    return _segmenter(
        model,
        task_inputs=torch.randint(words, (2, config.task_seq_len)).float(),
        text_inputs=torch.randint(words, (2, texts, length)),
    )


MODELS = {
    build.__name__: build
    for build in (
        faster_rcnn,
        mask_rcnn,
        keypoint_rcnn,
        rt_detr,
        rt_detr_v2,
        d_fine,
        deformable_detr,
        grounding_dino,
        mask2former,
        oneformer,
    )
}

# With random weights one step of 1e-3 takes Grounding DINO's loss from 412 to 50: another order of
# sums then chooses other queries of its encoder.
LEARNING_RATES = {"grounding_dino": 1e-5}


def train(name: str, steps: int = 2, seed: int = 7) -> tuple[list[float], str]:
    """The losses of a detector's first steps, and a hash of its weights behind them."""
    torch.manual_seed(seed)
    model, loss_of = MODELS[name]()
    model.train()
    optimiser = torch.optim.SGD(model.parameters(), lr=LEARNING_RATES.get(name, 1e-3))
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
