"""A test file for every module that holds logic: at the mirrored path, or named here with the file that tests it."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TERMS = "parts/terms/test_lowshot.py"  # the terms of low-shot methods, each against its equation
FOLDERS, VECTORS = "test_foreign_folders.py", "test_foreign_vectors.py"
GOLD, CORPUS, WORLD_TASKS = "microworld/test_gold.py", "microworld/test_corpus.py", "microworld/test_tasks.py"

# Tested elsewhere: module to the test file that calls it or runs the commands that do.
ELSEWHERE = {
    "data/checkpoint": FOLDERS,
    "data/external_inputs": "experiment/test_plan.py",
    "data/gzip_files": "data/test_hostile_files.py",
    "data/places": "data/test_fetch.py",
    "data/read_corpus": "data/test_corpus.py",
    "data/shipped": "experiment/test_benchmark.py",
    "data/tensors": FOLDERS,
    "data/weights": "experiment/test_plan.py",
    "data/yaml_files": "data/test_hostile_files.py",
    "embedders/folders": "test_eval.py",
    "embedders/foreign_modules": FOLDERS,
    "embedders/functions": VECTORS,
    "embedders/modules": "test_eval.py",
    "embedders/word_vectors": VECTORS,
    "encoder/architecture": FOLDERS,
    "encoder/autocast": "parts/test_precision.py",
    "encoder/loading": "encoder/test_encoder.py",
    "encoder/mlm_heads": "encoder/test_encoder.py",
    "encoder/tokenizer": FOLDERS,
    "experiment/evaluate": "test_eval.py",
    "experiment/evidence": "test_compare.py",
    "experiment/export": "test_eval.py",
    "experiment/grid": "test_several.py",
    "experiment/job": "experiment/test_plan.py",
    "experiment/plan_file": "test_report.py",
    "experiment/planned_jobs": "test_status.py",
    "experiment/single_job": "api/test_train.py",
    "experiment/train_job": "experiment/test_run_job.py",
    "explain/data_files": "test_cli_data.py",
    "explain/describe": "test_cli.py",
    "explain/provenance": "records/test_method_text.py",
    "launchers/claims": "test_status.py",
    "launchers/devices": "test_launch.py",
    "launchers/error_files": "test_status.py",
    "launchers/heartbeat": "test_status.py",
    "launchers/job_runner": "test_launch.py",
    "launchers/job_states": "test_status.py",
    "launchers/local": "test_launch.py",
    "launchers/pulses": "test_status.py",
    "launchers/rank": "test_several.py",
    "launchers/ray": "test_launch_ray.py",
    "launchers/signals": "test_launch.py",
    "launchers/slurm": "test_launch_slurm.py",
    "launchers/spawn_ranks": "test_several.py",
    "microworld/chance": GOLD,
    "microworld/clauses": CORPUS,
    "microworld/edits": GOLD,
    "microworld/encyclopedia": CORPUS,
    "microworld/inference": CORPUS,
    "microworld/lexicon": GOLD,
    "microworld/registers": CORPUS,
    "microworld/retrieval": WORLD_TASKS,
    "microworld/transfer": WORLD_TASKS,
    "microworld/wording": CORPUS,
    "microworld/world": GOLD,
    "microworld/writer": CORPUS,
    "parts/adversarial": "parts/terms/test_frozen_targets.py",
    "parts/clause_splitting": "parts/test_part_composition.py",
    "parts/contract_checks": "test_plugins.py",
    "parts/mlm_generator": "parts/terms/test_own_networks.py",
    "parts/networks": "parts/terms/test_own_networks.py",
    "parts/terms/angular_margin": TERMS,
    "parts/terms/debiased_contrast": TERMS,
    "parts/terms/distillation": "parts/terms/test_frozen_targets.py",
    "parts/terms/frozen_copy": "parts/terms/test_own_networks.py",
    "parts/terms/local_mutual_information": "parts/terms/test_frozen_targets.py",
    "parts/terms/mixed_negatives": TERMS,
    "parts/terms/peer_networks": TERMS,
    "parts/terms/rank_consistency": "parts/terms/test_released_ranking.py",
    "parts/terms/replaced_token_detection": "parts/terms/test_own_networks.py",
    "parts/terms/similarity_margin": "parts/terms/test_frozen_targets.py",
    "parts/terms/smoothed_contrast": TERMS,
    "parts/terms/virtual_augment": TERMS,
    "registry": "test_plugins.py",
    "regression/bitwise": "regression/test_reference.py",
    "regression/expected": "test_cli_check.py",
    "tasks/column_roles": "tasks/test_own.py",
    "tasks/folder": "tasks/test_senteval.py",
    "tasks/judged": "tasks/test_retrieval.py",
    "tasks/microworld_sts": "tasks/test_microworld_tasks.py",
    "tasks/sts": "tasks/test_senteval.py",
    "tasks/transfer/logistic": "tasks/transfer/test_microworld_transfer.py",
    "tasks/transfer/senteval_reference": "tasks/transfer/test_linear.py",
    "training/batches": "training/test_loop.py",
    "training/objective": "training/test_loop.py",
}

# No logic of their own.
PLAIN = {
    "embedders/interface": "protocols and options",
    "encoder/interface": "protocols and tuples of tensors",
    "microworld/frames": "data classes",
    "microworld/topics": "two constants",
    "tasks/task": "protocols",
    "tasks/transfer/learner": "protocols and data classes",
    "tasks/transfer/recipes": "constants",
    "version": "a constant",
}

# Rooms this list does not cover: their commands are tested by golden output, their methods by tests/test_methods.py.
ROOMS_APART = ("analysis", "api", "cli", "methods", "papers", "plots", "records", "reports", "statistics")


def modules() -> list[str]:
    """Modules of cseb by path, without packages and the rooms apart."""
    found = (path.relative_to(ROOT / "cseb").with_suffix("") for path in sorted((ROOT / "cseb").rglob("*.py")))
    return [one.as_posix() for one in found if not one.name.startswith("__") and one.parts[0] not in ROOMS_APART]


@pytest.mark.parametrize("module", modules())
def test_every_module_with_logic_has_a_test_file(module: str) -> None:
    mirrored = ROOT / "tests" / Path(module).parent / f"test_{Path(module).name}.py"
    if module in PLAIN:
        return
    if module in ELSEWHERE:
        assert not mirrored.exists(), f"{mirrored.name} is there; take {module} out of ELSEWHERE"
        assert (ROOT / "tests" / ELSEWHERE[module]).is_file()
    else:
        assert mirrored.is_file(), f"write {mirrored.relative_to(ROOT)}, or name the file that tests it"


def test_no_entry_outlives_its_module() -> None:
    gone = {*ELSEWHERE, *PLAIN} - {"version"} - set(modules())
    assert not gone
