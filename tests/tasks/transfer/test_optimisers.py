"""Adam and RMSprop on arrays against PyTorch's, step by step."""

import numpy as np
import pytest
import torch

from cseb.tasks.transfer.linear import Adam, RMSprop

START = np.random.default_rng(0).normal(size=(3, 4)).astype(np.float32)


@pytest.mark.parametrize(("ours", "theirs"), [(Adam, torch.optim.Adam), (RMSprop, torch.optim.RMSprop)])
def test_ten_steps_are_those_of_pytorch(ours: type, theirs: type) -> None:
    weights, rng = START.copy(), np.random.default_rng(1)
    twin = torch.nn.Parameter(torch.from_numpy(START.copy()))
    optimiser, reference = ours(0.01, weights), theirs([twin], lr=0.01)
    for _ in range(10):
        slope = rng.normal(size=START.shape).astype(np.float32)
        twin.grad = torch.from_numpy(slope.copy())
        reference.step()
        optimiser.move(weights, slope.copy())
    np.testing.assert_allclose(weights, twin.detach().numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kind", [Adam, RMSprop])
def test_what_is_kept_goes_on_as_if_alone(kind: type) -> None:
    slope = np.ones_like(START)
    all_of_them, alone = START.copy(), START[1:2].copy()
    together, single = kind(0.01, all_of_them), kind(0.01, alone)
    together.move(all_of_them, slope.copy())
    single.move(alone, slope[1:2].copy())
    which = np.array([False, True, False])
    kept = all_of_them[which]
    together.keep(which)
    together.move(kept, slope[1:2].copy())
    single.move(alone, slope[1:2].copy())
    np.testing.assert_array_equal(kept, alone)
