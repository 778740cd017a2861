"""A test file for every module that holds logic: at the mirrored path, or named here with the file that tests it."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
VECTORS, FOLDERS = "test_foreign_vectors.py", "foreign/test_modules.py"
CONFIGURATION, WEIGHTS = "foreign/test_configuration.py", "foreign/test_weights.py"

# Tested in a file of another name, which imports the module.
ELSEWHERE = {
    "advice/model": "commands/test_recommend.py",
    "data/bidirectional": "encoder/test_bidirectional.py",
    "parts/paraphraser": "parts/test_word_noise.py",
    "parts/terms/masked_next_token": "encoder/test_bidirectional.py",
    "methods/grammar": "methods/test_spec.py",
    "papers/printed": "papers/test_scores.py",
    "analysis/item_scores": "reports/test_impossible.py",
    "analysis/options": "plots/test_plots.py",
    "analysis/query": "reports/test_render.py",
    "analysis/significance": "papers/test_published_comparison.py",
    "analysis/study": "reports/test_tables.py",
    "data/places": "data/test_fetch.py",
    "data/read_corpus": "data/test_corpus.py",
    "data/shipped": "data/test_shipped_encoders.py",
    "data/tensors": WEIGHTS,
    "data/yaml_files": "data/test_hostile_files.py",
    "embedders/foreign_modules": FOLDERS,
    "embedders/onnx_graph": "commands/test_export.py",
    "encoder/loading": "encoder/test_encoder.py",
    "parts/terms/hardest_negative": "parts/test_prefixes.py",
    "parts/decoder_poolers": "encoder/test_decoders.py",
    "experiment/card": "commands/test_card.py",
    "experiment/grid": "test_several.py",
    "experiment/onnx_export": "commands/test_export.py",
    "analysis/planned": "test_report.py",
    "experiment/planned_jobs": "test_status.py",
    "launchers/devices": "launchers/test_local.py",
    "launchers/job_runner": "launchers/test_local.py",
    "launchers/job_states": "test_status.py",
    "methods/recipe": "training/test_schedule.py",
    "parts/adversarial": "parts/terms/test_frozen_targets.py",
    "parts/clause_splitting": "parts/test_part_composition.py",
    "parts/terms/distillation": "parts/terms/test_frozen_targets.py",
    "parts/terms/local_mutual_information": "parts/terms/test_frozen_targets.py",
    "parts/terms/replaced_token_detection": "parts/terms/test_own_networks.py",
    "parts/terms/similarity_margin": "parts/terms/test_frozen_targets.py",
    "parts/terms/virtual_augment": "parts/terms/test_frozen_targets.py",
    "plots/runs": "plots/test_plots.py",
    "plots/scores": "plots/test_plots.py",
    "parts/rated_pairs": "parts/terms/test_rated_similarity.py",
    "plots/style": "plots/test_plots.py",
    "records/record": "test_report.py",
    "regression/bitwise": "regression/test_reference.py",
    "reports/cell_text": "reports/test_render.py",
    "reports/document": "reports/test_render.py",
    "reports/documents": "reports/test_render.py",
    "reports/formats/terminal": "reports/test_render.py",
    "reports/score_grid": "reports/test_render.py",
    "reports/sheet": "reports/test_comparison_report.py",
    "statistics/gain": "statistics/test_ranks.py",
    "statistics/groups": "statistics/test_multiple.py",
    "statistics/power": "statistics/test_paired.py",
    "tasks/folder": "tasks/test_senteval.py",
    "tasks/judged": "tasks/test_retrieval.py",
    "tasks/transfer/senteval_reference": "tasks/transfer/test_linear.py",
    "training/checkpoints": "parts/test_weight_mixing.py",
    "training/live_parts": "training/test_build.py",
    "training/objective": "training/test_schedule.py",
}

# Reached by commands or by functions above it; by coverage or by reading where no test imports the module.
REACHED = {
    "training/compatibility": "training/test_build.py",
    "training/early_stopping": "parts/test_pretrained_stages.py",
    "parts/projection": "parts/test_outside_teacher.py",
    "data/module_folders": FOLDERS,
    "data/checkpoint": WEIGHTS,
    "data/external_inputs": "experiment/test_job.py",
    "data/gzip_files": "data/test_hostile_files.py",
    "embedders/folders": "test_eval.py",
    "embedders/functions": VECTORS,
    "embedders/word_vectors": VECTORS,
    "data/word_vector_files": VECTORS,
    "encoder/architecture": CONFIGURATION,
    "encoder/autocast": "parts/test_precision.py",
    "encoder/mlm_heads": "encoder/test_encoder.py",
    "encoder/side_by_side": "encoder/test_encoder.py",
    "encoder/tokenizer": CONFIGURATION,
    "experiment/evaluate": "test_eval.py",
    "experiment/job_overlap": "experiment/test_run_job.py",
    "experiment/load_item_scores": "test_compare.py",
    "experiment/single_job": "commands/test_train.py",
    "experiment/train_job": "experiment/test_run_job.py",
    "launchers/signals": "launchers/test_local.py",
    "parts/mlm_generator": "parts/terms/test_own_networks.py",
    "parts/networks": "parts/terms/test_own_networks.py",
    "plots/draw": "plots/test_plots.py",
    "regression/expected": "test_cli_check.py",
    "reports/comparison": "reports/test_comparison_report.py",
    "reports/formats/csv": "reports/test_formats.py",
    "reports/formats/html/curves": "reports/test_html.py",
    "reports/formats/html/page": "reports/test_html.py",
    "reports/formats/json": "reports/test_formats.py",
    "reports/formats/latex": "reports/test_render.py",
    "reports/formats/markdown": "reports/test_formats.py",
    "reports/ranking": "reports/test_comparison_report.py",
    "tasks/column_roles": "tasks/test_own.py",
    "tasks/open_retrieval": "tasks/test_open_pairs.py",
    "tasks/transfer/open_intents": "tasks/test_open_pairs.py",
    "tasks/sts": "tasks/test_senteval.py",
}

BY_COMMAND = ("commands", "api", "explain")  # a test file for each command, whatever modules it has

# Functions without logic: protocols and properties.
PLAIN = {
    "encoder/interface": "protocols and tuples of tensors",
    "tasks/task": "protocols",
    "tasks/transfer/learner": "protocols and data classes",
}


@cache
def imported(test: Path) -> set[str]:
    """Modules and names that a test file imports, with dots."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(test.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{one.name}" for one in node.names)}
        elif isinstance(node, ast.Import):
            found |= {one.name for one in node.names}
    return found


def has_functions(module: str) -> bool:
    """Whether there is anything to test: a paper's method or a list of names is data."""
    tree = ast.parse((ROOT / "cseb" / f"{module}.py").read_text("utf-8"))
    return any(isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) for node in ast.walk(tree))


@cache
def modules() -> list[str]:
    """Modules of cseb by path, without packages, and without those that have no function."""
    found = (path.relative_to(ROOT / "cseb").with_suffix("") for path in sorted((ROOT / "cseb").rglob("*.py")))
    return [
        one.as_posix()
        for one in found
        if not one.name.startswith("__") and one.parts[0] not in BY_COMMAND and has_functions(one.as_posix())
    ]


@pytest.mark.parametrize("module", modules())
def test_every_module_with_logic_has_a_test_file(module: str) -> None:
    mirrored = ROOT / "tests" / Path(module).parent / f"test_{Path(module).name}.py"
    if module in PLAIN:
        return
    named = ELSEWHERE.get(module) or REACHED.get(module)
    if named is None:
        assert mirrored.is_file(), f"write {mirrored.relative_to(ROOT)}, or name the file that tests it"
        return
    assert not mirrored.exists(), f"{mirrored.name} is there; take {module} out of the list"
    tester = ROOT / "tests" / named
    assert tester.is_file()
    if module in ELSEWHERE:
        assert f"cseb.{module.replace('/', '.')}" in imported(tester), f"{named} does not import {module}"


def test_no_entry_outlives_its_module_or_stands_twice() -> None:
    listed = [*ELSEWHERE, *REACHED, *PLAIN]
    assert not {*listed} - {*modules()}
    assert len(listed) == len({*listed})


def test_a_file_that_does_not_import_a_module_is_noticed() -> None:
    assert "cseb.records.items" not in imported(ROOT / "tests" / "records" / "test_bookkeeping.py")
    assert "cseb.records.items" in imported(ROOT / "tests" / "records" / "test_items.py")


def test_the_oldest_dependencies_are_tried_on_tests_that_exist() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    core = re.findall(r"tests/[\w/.]+", makefile.partition("CORE :=")[2].partition(".PHONY")[0])
    assert core
    assert not [path for path in core if not (ROOT / path).exists()]
