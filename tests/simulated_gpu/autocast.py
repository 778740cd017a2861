"""CUDA's autocast rules for the simulated device.

Source: PyTorch's documentation, "Automatic Mixed Precision package", CUDA op-specific behaviour.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch.library import Library, fallthrough_kernel
from torch.utils._pytree import tree_leaves, tree_map

from tests.simulated_gpu.device import NAME, SimulatedTensor

HALF = (
    "linear", "matmul", "mm", "mv", "addmm", "bmm", "baddbmm", "addbmm", "chain_matmul", "conv1d", "conv2d", "addmv",
    "scaled_dot_product_attention", "prelu", "linalg_multi_dot", "_convolution",
)  # fmt: skip
FULL = (
    "acos", "asin", "cosh", "erfinv", "exp", "expm1", "log", "log10", "log2", "log1p", "reciprocal", "rsqrt", "sinh",
    "tan", "pow.Tensor_Scalar", "pow.Tensor_Tensor", "pow.Scalar", "softplus", "layer_norm", "native_layer_norm",
    "group_norm", "frobenius_norm.dim", "nuclear_norm", "cosine_similarity", "poisson_nll_loss", "nll_loss",
    "cosine_embedding_loss", "hinge_embedding_loss", "kl_div", "l1_loss", "smooth_l1_loss", "huber_loss", "mse_loss",
    "margin_ranking_loss", "multilabel_margin_loss", "soft_margin_loss", "triplet_margin_loss", "multi_margin_loss",
    "binary_cross_entropy_with_logits", "dist", "pdist", "cdist", "renorm", "logsumexp", "nll_loss2d",
)  # fmt: skip
FULL_UNLESS_TYPED = (
    "prod", "prod.dim_int", "softmax.int", "log_softmax.int", "cumprod", "cumsum", "linalg_vector_norm",
    "linalg_matrix_norm", "sum", "sum.dim_IntList",
)  # fmt: skip
WIDEST = (
    "addcdiv", "addcmul", "atan2", "bilinear", "cross", "dot", "grid_sampler", "index_put", "scatter_add", "tensordot",
    "vdot",
)  # fmt: skip

KEY = torch._C.DispatchKey.AutocastPrivateUse1
_rules = Library("aten", "IMPL", "AutocastPrivateUse1")
_others = Library("_", "IMPL", "AutocastPrivateUse1")
_others.fallback(fallthrough_kernel)


def _cast(leaf: Any, dtype: torch.dtype) -> Any:
    floating = isinstance(leaf, torch.Tensor) and leaf.is_floating_point() and leaf.dtype != torch.float64
    return leaf.to(dtype) if floating and leaf.device.type == NAME else leaf


def _half(args: Any, kwargs: Any) -> torch.dtype | None:
    return torch.get_autocast_dtype(NAME)


def _full(args: Any, kwargs: Any) -> torch.dtype | None:
    return torch.float32


def _full_unless_typed(args: Any, kwargs: Any) -> torch.dtype | None:
    half = isinstance(args[0], torch.Tensor) and args[0].dtype in (torch.float16, torch.bfloat16)
    return torch.float32 if half and not kwargs.get("dtype") else None


def _widest(args: Any, kwargs: Any) -> torch.dtype | None:
    types = {leaf.dtype for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, SimulatedTensor)}
    return torch.float32 if torch.float32 in types else None


def _register(name: str, rule: Callable[[Any, Any], torch.dtype | None]) -> None:
    base, _, overload = name.partition(".")
    operation = getattr(getattr(torch.ops.aten, base), overload or "default")

    def kernel(*args: Any, **kwargs: Any) -> Any:
        with torch._C._ExcludeDispatchKeyGuard(torch._C.DispatchKeySet(KEY)):
            dtype = rule(args, kwargs)
            if dtype is not None:
                args, kwargs = tree_map(lambda leaf: _cast(leaf, dtype), (args, kwargs))
            return operation(*args, **kwargs)

    _rules.impl(name, kernel)


def _unsafe(*args: Any, **kwargs: Any) -> Any:
    raise RuntimeError("torch.nn.functional.binary_cross_entropy and torch.nn.BCELoss are unsafe to autocast.")


for _names, _rule in ((HALF, _half), (FULL, _full), (FULL_UNLESS_TYPED, _full_unless_typed), (WIDEST, _widest)):
    for _name in _names:
        _register(_name, _rule)
_rules.impl("binary_cross_entropy", _unsafe)
