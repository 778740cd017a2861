"""One classifier: the same start, steps and end as a plain PyTorch loop."""

import numpy as np
import pytest
import torch
from torch import nn

from cseb.tasks.transfer import linear
from cseb.tasks.transfer.linear import FAST, TEST, Batched, Problem, Settings, initial
from cseb.tasks.transfer.schemes import L2

from .conftest import noisy

HALF = np.arange(150), np.arange(150, 240)


@pytest.mark.parametrize(("width", "classes"), [(3, 2), (16, 6), (384, 2), (768, 2), (1536, 5)])
def test_the_start_is_that_of_torch(width: int, classes: int) -> None:
    with torch.random.fork_rng():
        torch.manual_seed(1111)
        layer = nn.Linear(width, classes)
    weights, biases = initial(width, classes)
    assert np.array_equal(weights, layer.weight.detach().numpy())
    assert np.array_equal(biases, layer.bias.detach().numpy())


def plain_loop(settings: Settings, x: np.ndarray, y: np.ndarray, decay: float) -> tuple[nn.Linear, int, int]:
    """The protocol written out: the kept layer, its right answers on the held rows, and how many rounds there were."""
    torch.manual_seed(1111)
    np.random.seed(1111)
    layer, best = nn.Linear(x.shape[1], int(y.max()) + 1), None
    make = torch.optim.Adam if settings.optimiser == "adam" else torch.optim.RMSprop
    optimiser = make(layer.parameters(), lr=settings.learning_rate, weight_decay=decay)
    rows, result = HALF
    most, failures, passes, rounds, stop = -1, 0, 0, 0, False
    while not stop and passes <= 200:
        rounds += 1
        for _ in range(settings.passes):
            order = rows[np.random.permutation(len(rows))]
            for i in range(0, len(order), settings.batch):
                batch = order[i : i + settings.batch]
                loss = nn.CrossEntropyLoss()(layer(torch.from_numpy(x[batch])), torch.from_numpy(y[batch]))
                optimiser.zero_grad()
                loss.backward()
                optimiser.step()
        passes += settings.passes
        right = int((layer(torch.from_numpy(x[result])).argmax(1).numpy() == y[result]).sum())
        if right > most:
            most, best = right, [each.detach().clone() for each in (layer.weight, layer.bias)]
        else:
            stop = failures >= settings.tenacity
            failures += 1
    with torch.no_grad():
        layer.weight.copy_(best[0])
        layer.bias.copy_(best[1])
    return layer, most, rounds


@pytest.mark.parametrize("settings", [TEST, FAST], ids=["test", "fast"])
@pytest.mark.parametrize("classes", [2, 3])
def test_training_ends_with_the_classifiers_of_a_plain_loop(settings: Settings, classes: int) -> None:
    x, y = noisy(240, 8, classes)
    [together] = Batched(settings, x, y, classes).fit_all([Problem(*HALF, L2)])
    rows = np.arange(240)
    for decay, batched in zip(L2, together, strict=True):
        with torch.random.fork_rng():
            layer, most, _ = plain_loop(settings, x, y, decay)
        expected = layer(torch.from_numpy(x)).argmax(dim=1).numpy()
        assert batched.accuracy == most / 90
        assert np.array_equal(batched.predict(rows), expected)


@pytest.mark.parametrize("settings", [TEST, FAST], ids=["test", "fast"])
def test_training_ends_one_failure_after_the_tenacity(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = noisy(240, 8, 2)
    seen: dict[int, list[int]] = {value: [] for value in range(4)}
    look = linear._Training.evaluate

    def spy(self: linear._Training) -> bool:
        for value, weights in enumerate(self.weights[0]):
            if self.failures[0, value] <= settings.tenacity:
                seen[value].append(int(((self.held_out[0] @ weights.T).argmax(1) == self.right[0]).sum()))
        return look(self)

    monkeypatch.setattr(linear._Training, "evaluate", spy)
    [result] = Batched(settings, x, y, 2).fit_all([Problem(*HALF, L2)])
    for value, decay in enumerate(L2):
        counts = seen[value]
        gains = [count > max(counts[:i], default=-1) for i, count in enumerate(counts)]
        assert result[value].accuracy == max(counts) / 90
        assert gains.count(False) == settings.tenacity + 1
        assert not gains[-1]
        with torch.random.fork_rng():
            assert plain_loop(settings, x, y, decay)[2] == len(counts)
    assert any(gains[3:] for gains in seen.values())


def test_no_round_begins_after_200_passes() -> None:
    """SentEval: `while not stop_train and self.nepoch <= self.max_epoch`."""
    assert (linear.rounds(TEST), linear.rounds(FAST)) == (51, 101)


def test_without_held_rows_the_first_twentieth_of_a_permutation_is_set_aside() -> None:
    stream = np.random.RandomState(1111)
    rows = np.arange(1000, 1150)
    train, result = linear.set_aside(rows, stream)
    order = np.random.RandomState(1111).permutation(150)
    assert result.tolist() == (1000 + order[:7]).tolist()  # 7.5 rounds down
    assert train.tolist() == (1000 + order[7:]).tolist()


def test_one_thread_trains_however_many_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    from threadpoolctl import threadpool_info, threadpool_limits

    x, y = noisy(240, 8, 2)
    seen: list[int] = []

    def fit(self: Batched, problems: list[Problem]) -> list[list[object]]:
        seen.extend(library["num_threads"] for library in threadpool_info())
        return [[] for _ in problems]

    monkeypatch.setattr(Batched, "fit", fit)
    with threadpool_limits(2):
        Batched(FAST, x, y, 2).fit_all([Problem(HALF[0], HALF[1], L2)])
        assert {library["num_threads"] for library in threadpool_info()} == {2}
    assert seen and set(seen) == {1}


def test_problems_trained_together_end_as_each_alone() -> None:
    x, y = noisy(240, 8, 2)
    rng = np.random.default_rng(0)
    draws = [rng.permutation(240) for _ in range(linear.GROUP + 2)]
    problems = [Problem(rows[: 150 - place % 2], rows[150:], L2) for place, rows in enumerate(draws)]
    problems += [Problem(rows[:200], None, (decay,)) for rows, decay in zip(draws, (*L2, *L2), strict=False)]
    learner = Batched(TEST, x, y, 2)
    rows = np.arange(240)
    for problem, each in zip(problems, learner.fit_all(problems), strict=True):
        [alone] = learner.fit([problem])
        for grouped, single in zip(each, alone, strict=True):
            assert grouped.accuracy == single.accuracy
            assert np.array_equal(grouped.predict(rows), single.predict(rows))
