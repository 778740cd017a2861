"""Write the tables and figures of results folders from the records beside them.

    python -m benchmarks.results_tables              # all folders
    python -m benchmarks.results_tables real written
    python -m benchmarks.results_tables --check      # write nothing; exit code 1 if a table is out of date

Comparisons are for new seeds, whatever task data this machine has. Figures are not checked: their bytes depend on the
version of matplotlib.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

import cseb

ROOT = Path(__file__).parents[1] / "results"
Options = Mapping[str, Any]


def standard(baseline: str, *, last: bool = True, tasks: bool = True) -> dict[str, Options]:
    """Return the tables of most folders: file name to options of `report`, or of `compare` if there is a baseline."""
    tables: dict[str, Options] = {
        "few-shot.md": {},
        "few-shot.csv": {"checkpoint": "both", "format": "csv"},
        "compare.md": {"baseline": baseline},
    }
    tables |= {"few-shot-last.md": {"checkpoint": "last"}} if last else {}
    return tables | ({"tasks.md": {"table": "tasks", "sizes": [1000]}} if tasks else {})


def of_tasks(names: Sequence[str]) -> dict[str, Options]:
    """Return a table of sizes for each of these tasks or groups, named like it."""
    return {f"{name.replace(':', '-')}.md": {"tasks": name} for name in names}


def domain(task: str) -> dict[str, Options]:
    """Return the tables of a domain: scores of its own task and of the STS sets."""
    return {
        "few-shot.md": {"tasks": task},
        "sts.md": {"tasks": "sts"},
        "compare.md": {"tasks": task, "baseline": "mean+own_modules"},
        "compare-mean.md": {"tasks": task, "baseline": "mean"},
        "compare-sts.md": {"tasks": "sts", "baseline": "mean"},
        "curves.svg": {
            "tasks": task,
            "methods": "crops+own_modules,simcse+mean+own_modules,skd+own_teacher+own_modules,mean+own_modules",
        },
    }


TABLES: Mapping[str, Mapping[str, Options]] = {
    "tuned": {
        **standard("simcse"),
        # SimCSE has 20 seeds, the others 5.
        "compare.md": {"baseline": "simcse", "unpaired": True},
        "compare-mean.md": {"baseline": "mean", "unpaired": True},
        "curves.svg": {"methods": "simcse,micse,msse,tsdae,cls,mean,simcse+mean,sif"},
    },
    "tuned/tf-idf": {"tasks.md": {"table": "tasks"}},
    "tuned/transfer": {
        **of_tasks(["transfer"]),
        "tasks.md": {"table": "tasks", "sizes": [1000]},
        "compare.md": {"tasks": "transfer", "baseline": "simcse"},
        "compare-mean.md": {"tasks": "transfer", "baseline": "mean"},
        "compare-cls.md": {"tasks": "transfer", "baseline": "cls"},
    },
    **{
        f"steps/{device}": {
            **standard("mean", tasks=False),
            "tasks.md": {"table": "tasks"},
            "compare-simcse.md": {"baseline": simcse},
        }
        for device, simcse in (("cpu", "simcse+mean"), ("gpu", "simcse"))
    },
    **{
        f"reading/{encoder}": standard("mean", tasks=False)
        for encoder in ("tiny-100", "tiny-300", "tiny-1000", "tiny-2000", "tiny-seed1-2000")
    },
    "real": {
        **standard("simcse"),
        # SimCSE has 20 seeds, the others 5.
        "compare.md": {"baseline": "simcse", "unpaired": True},
        "compare-mean.md": {"baseline": "mean", "unpaired": True},
        "curves.svg": {"methods": "esimcse+mean,simcse+mean,simcse,declutr-sentence,vascl,sncse,cls,mean"},
    },
    "real/matryoshka": of_tasks(("sts", "first64:sts", "first32:sts", "first16:sts")),
    "real-mini": {
        **standard("simcse"),
        "compare-mean.md": {"baseline": "mean"},
        "../../docs/images/mini-curves.svg": {
            "methods": "simcse+mined_negatives+recipe(batch='no_duplicates'),rankcse-released,simcse,micse,msse,"
            "simcse+mean,cls,mean"
        },
    },
    "real-mini/cpu": {**standard("simcse"), "compare-mean.md": {"baseline": "mean"}},
    "triples": {
        **standard("simcse"),
        "curves.svg": {"methods": "rcl,continued,simcse-sup+mean,simcse-sup,simcse+mean,simcse,mean,cls"},
    },
    "written": {
        **standard("simcse"),
        "curves.svg": {"methods": "simcse,syncse,simcse+mean,syncse+mean,simcse-positives,crops,mean,cls"},
    },
    "rated-pairs": {**standard("simcse+mean"), "curves.svg": {}},
    "documents": {**standard("simcse+mean", last=False, tasks=False), "curves.svg": {}},
    "decoder": {
        **standard("mean"),
        "curves.svg": {
            "methods": "mean,mean+weighted_mean,mean+last,mean+end_prompt,simcse+mean+recipe(dropout=0.3),"
            "simcse+last+recipe(dropout=0.3)"
        },
    },
    "decoder-bidirectional": {**standard("mean"), "curves.svg": {}},
    "decoder-bidirectional/after-mntp": standard("mean"),
    "few-labels": {"tasks.md": {"table": "tasks"}},
    "practitioner/banking77": domain("banking77"),
    "practitioner/cr": domain("cr"),
}


def made(folder: str, name: str) -> str:
    """Return the text of one table."""
    options: dict[str, Any] = {"format": "markdown", **TABLES[folder][name]}
    if "baseline" in options:
        text = options.pop("format")
        return cseb.compare(ROOT / folder, **options).text(text)
    return cseb.report(ROOT / folder, detail=True, **options)


def main(words: Sequence[str] | None = None) -> int:
    """Write or check the tables of the named folders; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", help=f"of {', '.join(TABLES)}; by default all")
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args(words)
    if unknown := set(arguments.folders) - set(TABLES):
        parser.error(f"no folder {sorted(unknown)[0]!r}; allowed: {', '.join(TABLES)}")
    changed, written = [], []
    # No task data, which would add intervals.
    with tempfile.TemporaryDirectory() as no_data, patch.dict(os.environ, CSEB_DATA_DIR=no_data):
        for folder in arguments.folders or TABLES:
            for name in TABLES[folder]:
                path = (ROOT / folder / name).resolve()
                if path.suffix == ".svg":
                    if not arguments.check:
                        cseb.plot(ROOT / folder, out=path, **TABLES[folder][name])
                        written.append(path)
                    continue
                text = made(folder, name)
                if not path.is_file() or path.read_text("utf-8") != text:
                    changed.append(path)
                    if not arguments.check:
                        path.write_text(text, "utf-8")
    for path in [*changed, *written]:
        print(f"{'out of date' if arguments.check else 'written'}: {path.relative_to(ROOT.parent)}")
    return int(arguments.check and bool(changed))


if __name__ == "__main__":
    sys.exit(main())
