"""Write and read a restart point: a run's weights in half precision, small enough to be committed.

    python -m benchmarks.pretrain.stage RUN benchmarks/pretrain/stages/tiny

The optimizer's moments are not stored. A run that starts from a restart point raises its learning rate from zero again,
and the moments are rebuilt in that time. This costs about two million tokens (TRIALS.md).
"""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from transformers import PreTrainedTokenizerFast

from benchmarks.pretrain.checkpoints import OtherRun, State, refuse_other, state_of
from benchmarks.pretrain.sizes import SIZES
from benchmarks.pretrain.sources import in_one_line

FILE = "stage.json"
PER_MACHINE = ("compile", "threads", "look_every")  # options that may differ after a restart


def write(run: Path, to: Path) -> None:
    """Write weights, tokenizer and progress of the newest checkpoint of a run.

    Raises: OtherRun if the run has no checkpoint, or its learning rate has decayed.
    """
    if not (run / "checkpoint.pt").is_file():
        raise OtherRun(f"{run} has no checkpoint. Give the --out of benchmarks.pretrain.train.")
    checkpoint = torch.load(run / "checkpoint.pt", map_location="cpu", weights_only=True)
    if checkpoint["state"]["decay_from"]:
        raise OtherRun(f"The learning rate of {run} has decayed. Give the run with the constant rate.")
    identity = json.loads(checkpoint["identity"])
    tokenizer = PreTrainedTokenizerFast.from_pretrained(run / "tokenizer")
    model = SIZES[identity["size"]].model(argparse.Namespace(**identity), len(tokenizer))
    model.load_state_dict(checkpoint["model"])
    model.half().save_pretrained(to)
    tokenizer.save_pretrained(to)
    facts = json.dumps({"identity": identity, "state": checkpoint["state"]}, indent=1)
    (to / FILE).write_text(facts + "\n", encoding="utf-8")


def read(folder: Path, identity: dict[str, Any], model: Any) -> State:
    """Load the weights of a restart point into a model, and return the progress.

    Raises: OtherRun if there is no restart point, or it was made with other options or another text.
    """
    if not (folder / FILE).is_file():
        raise OtherRun(f"{folder} has no {FILE}. Make a restart point with python -m benchmarks.pretrain.stage.")
    facts = json.loads((folder / FILE).read_text("utf-8"))
    ours, theirs = ({k: v for k, v in it.items() if k not in PER_MACHINE} for it in (identity, facts["identity"]))
    refuse_other(folder, json.dumps(theirs), json.dumps(ours))
    model.load_state_dict(type(model).from_pretrained(folder, dtype=torch.float32).state_dict())
    state = state_of(facts["state"])
    return replace(state, warmed_from=state.step)


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("run", type=Path, help="folder of a run")
    parser.add_argument("to", type=Path, help="folder of the restart point; its files are replaced")
    options = parser.parse_args()
    with in_one_line(OtherRun):
        write(options.run, options.to)


if __name__ == "__main__":
    main()
