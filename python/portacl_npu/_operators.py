"""Which operators are taken, computed from PyTorch's dispatcher and the library's names."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field

# Operators that stay the plugin's: memory, views and copies. They need no operator of the library,
# or one that portacl has.
_MEMORY = frozenset(
    """
    _pin_memory _reshape_alias as_strided as_strided_ copy_memory_ _copy_from
    _copy_from_and_resize empty_strided empty_with_format empty_with_format.names is_pinned
    is_set_to new_empty_strided record_stream resize_ resize_as_ set_ set_.source_Storage
    set_.source_Storage_storage_offset set_.source_Tensor squeeze squeeze.dim unfold unsqueeze view
    _lazy_clone flatten_dense_tensors _has_compatible_shallow_copy_type
    _sparse_coo_tensor_with_dims_and_tensors
    """.split()
)

# Kernels that choose by device.
_CHOOSE_BY_DEVICE = ("convolution", "convolution_backward", "_convolution")

# PyTorch's own, in terms of other operators: for memory formats that the plugin refuses, and for an
# operator that leaves its second result on the CPU.
_COMPOSITE = frozenset({"_pack_padded_sequence", "clone", "contiguous", "empty_like"})
_TO_COPY = "_to_copy"
_ALLOCATE = "empty.memory_format"

# Compositions on whole numbers: autograd need not follow their parts, and the kernel takes int32
# even if the parts do not.
_WHOLE_NUMBERS = frozenset({"one_hot"})

# Parts of names: operators without dense tensors, or without tensors of the program.
_OTHER_TENSORS = """
    sparse quantize mkldnn _nested _test_ _csr _coo jagged _dyn_quant q_per_channel q_scale
    q_zero_point int_repr from_file
""".split()

# Parts of names: operators that take CPU tensors (indices, lengths, a number for each tensor)
# beside tensors of the device.
_WITH_HOSTS = """
    index pack lstm gru rnn tensor_split _foreach_copy _foreach_addcmul.Tensor
    _foreach_addcmul_.Tensor _foreach_addcdiv.Tensor _foreach_addcdiv_.Tensor
""".split()

# The plugin's own operators that only touch memory and its descriptions, or are made of PyTorch's:
# they run as they are. Every other one is refused, unless there is a composition for it.
_PLUGINS_OWN = frozenset(
    """
    _amp_foreach_non_finite_check _npu_distribute_barrier _npu_dtype_cast _npu_dtype_cast_backward
    _npu_format_cast _npu_format_cast.aclnn _npu_format_cast.input_dtype copy_memory_
    get_npu_format get_storage_size npu_change_data_ptr npu_dtype_cast npu_dtype_cast_
    npu_dtype_cast_backward npu_format_cast npu_format_cast.Tensor npu_format_cast_
    npu_format_cast_.acl_format npu_prefetch npu_view_copy one_ print_npugraph_tensor
    save_npugraph_tensor save_npugraph_tensor.tensor_list set_op_timeout_ms
    super_kernel_scope_begin super_kernel_scope_end npu_alloc_float_status
    npu_clear_float_status npu_get_float_status npu_roi_align npu_roi_alignbk
    """.split()
)


def _image_operators() -> dict[str, str]:
    """Map operators on images to the aclnn functions that make them portacl's."""
    found = {"affine_grid_generator": "aclnnAffineGrid"}
    for axes in (2, 3):
        found[f"grid_sampler_{axes}d"] = f"aclnnGridSampler{axes}D"
        found[f"grid_sampler_{axes}d_backward"] = f"aclnnGridSampler{axes}DBackward"
    resizes = {
        **{f"_upsample_nearest_exact{axes}d": f"NearestExact{axes}d" for axes in (1, 2, 3)},
        **{f"upsample_nearest{axes}d": f"Nearest{axes}d" for axes in (1, 2, 3)},
        "upsample_linear1d": "Linear1d",
        "upsample_bilinear2d": "Bilinear2d",
        "upsample_trilinear3d": "Trilinear3d",
        "upsample_bicubic2d": "Bicubic2d",
        "_upsample_bilinear2d_aa": "Bilinear2dAA",
        "_upsample_bicubic2d_aa": "Bicubic2dAA",
    }
    for name, function in resizes.items():
        backward = "Grad" if function == "Bicubic2dAA" else "Backward"
        for suffix, gradient in (("", ""), (".out", ".grad_input")):
            found[name + suffix] = f"aclnnUpsample{function}"
            found[f"{name}_backward{gradient}"] = f"aclnnUpsample{function}{backward}"
    return found


@dataclass
class Chosen:
    """Names of operators (without their namespace), by the kernel that they get."""

    routed: list[str] = field(default_factory=list)
    routed_with_hosts: list[str] = field(default_factory=list)
    composite: list[str] = field(default_factory=list)
    to_copy: list[str] = field(default_factory=list)
    allocating: list[str] = field(default_factory=list)
    formulas: list[str] = field(default_factory=list)
    no_formulas: list[str] = field(default_factory=list)
    collectives: list[str] = field(default_factory=list)
    portacl: list[str] = field(default_factory=list)
    refused: dict[str, list[str]] = field(default_factory=dict)

    def preferred(self) -> dict[str, list[str]]:
        """Return portacl's operators by the kernel that they get."""
        double = {name for name in self.portacl if name.startswith("grid_sampler")}
        return {
            "prefer": sorted(set(self.portacl) - double),
            "prefer with double": sorted(double),
        }


def _registered(key: str, space: str = "aten") -> set[str]:
    import torch

    prefix = f"{space}::"
    names = torch._C._dispatch_get_registrations_for_dispatch_key(key)
    return {name[len(prefix) :] for name in names if name.startswith(prefix)}


def _is_plugins(name: str) -> bool:
    return name.startswith(("npu_", "_npu"))


def _has_schema(name: str) -> bool:
    import torch

    base, _, overload = name.partition(".")
    try:
        torch._C._get_schema(base, overload)
    except RuntimeError:
        return False
    return True


def _refused(known: set[str]) -> dict[str, list[str]]:
    """The operators that the plugin registers and nothing in ``known`` runs."""
    found = {}
    for space in ("aten", "npu"):
        found[space] = sorted(
            name
            for name in _registered("PrivateUse1", space)
            if f"{space}::{name}" not in known and _has_schema(f"{space}::{name}")
        )
    return found


def choose(library: ctypes.CDLL | None, composed: list[str]) -> Chosen:
    """Sort the operators of this process.

    ``library``: portacl, which may have some of them; ``composed``: the operators in _compositions.
    """
    import torch

    computed = torch._C._dispatch_has_computed_kernel_for_dispatch_key
    has = torch._C._dispatch_has_kernel_for_dispatch_key
    plugin, cpu = _registered("PrivateUse1"), _registered("CPU")
    portacl = {
        name
        for name, function in _image_operators().items()
        if name in plugin and hasattr(library, function)
    }
    parts = (_COMPOSITE | {_TO_COPY}) & plugin
    keep = _MEMORY | parts | {_ALLOCATE} | portacl
    keep |= {name[len("aten::") :] for name in composed if name.startswith("aten::")}
    taken = {
        name
        for name in plugin | cpu | set(_CHOOSE_BY_DEVICE)
        if name not in keep
        and not _is_plugins(name)
        and not any(part in name for part in _OTHER_TENSORS)
        and computed(f"aten::{name}", "CPU")
    }
    # A kernel for the device hides what autograd would do with the parts of such an operator.
    formulas = {name for name in taken | parts if has(f"aten::{name}", "CompositeImplicitAutograd")}
    formulas |= {
        name
        for name in _registered("AutogradPrivateUse1")
        if name not in keep
        and not _is_plugins(name)
        and (has(f"aten::{name}", "Autograd") or has(f"aten::{name}", "CompositeImplicitAutograd"))
    }
    with_hosts = {
        name for name in taken if name == "copy_" or any(part in name for part in _WITH_HOSTS)
    }
    return Chosen(
        routed=sorted(taken - with_hosts),
        routed_with_hosts=sorted(with_hosts),
        composite=sorted(parts - {_TO_COPY}),
        to_copy=[_TO_COPY],
        allocating=[_ALLOCATE],
        formulas=sorted(formulas - _WHOLE_NUMBERS),
        no_formulas=sorted(formulas & _WHOLE_NUMBERS),
        collectives=sorted(_registered("PrivateUse1", "c10d")),
        portacl=sorted(portacl),
        refused=_refused(
            {*composed, *(f"npu::{name}" for name in _PLUGINS_OWN)}
            | {f"aten::{name}" for name in taken | keep | parts}
        ),
    )
