#!/usr/bin/env python3
"""Runs one step of plan.py. gpu_check.py starts this program, and ends it when the step's time is up.

    run_step.py NAME --options JSON --entries FILE
"""
import argparse
import importlib
import json
import os
import pathlib
import sys

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TRANSFORMERS_VERBOSITY"] = "error"

import plan
from context import Context
from limited import end_with_parent
from results import Results, Skipped


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=plan.BY_NAME)
    parser.add_argument("--options", type=json.loads, required=True, help="the fields of Context")
    parser.add_argument("--entries", type=pathlib.Path, required=True, help="the file of Results")
    args = parser.parse_args()
    end_with_parent()
    results = Results(args.entries)
    module, function = plan.BY_NAME[args.step].run.split(":")
    context = Context(**args.options)
    context.clear_runs()  # a run of an earlier call would only be continued, and so encode nothing
    try:
        getattr(importlib.import_module(module), function)(context, results)
    except Skipped as reason:
        results.skipped(str(reason))


if __name__ == "__main__":
    main()
