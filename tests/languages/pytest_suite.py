# SPDX-License-Identifier: MIT
"""A package's own tests by pytest, counted: "ran N failed N skipped N absent N", and a line "not NAME: last words" for each that fails. Absent are
those that want a library that is not there, by the words of -a.
Usage: pytest_suite.py [-e K] [-f J] [-a WORDS] FILE-OR-FOLDER...        -e: every K-th test only, -f: from the J-th on"""
import os
import re
import signal
import sys

import pytest

every, first, absent = 1, 0, None
args = sys.argv[1:]
while args[0] in ("-e", "-f", "-a"):
    if args[0] == "-e":
        every = int(args[1])
    elif args[0] == "-f":
        first = int(args[1])
    else:
        absent = re.compile(args[1])
    args = args[2:]


class Count:
    def __init__(self):
        self.outcomes = {}

    def pytest_collection_modifyitems(self, items):
        items[:] = items[first::every]

    def pytest_runtest_logreport(self, report):
        if report.when != "call" and report.passed:
            return
        kind = report.outcome
        if report.failed and absent and absent.search(report.longreprtext + report.capstderr):
            kind = "absent"
        elif report.failed:
            print(f"\nnot {report.nodeid}: {' '.join(report.longreprtext.split())[-200:]}", flush=True)
        self.outcomes[report.nodeid] = kind


# whose time is up says how far it came
signal.signal(signal.SIGTERM, signal.default_int_handler)
count = Count()
sys.path.insert(0, os.getcwd())
status = pytest.main(["-q", "--no-header", "--tb=short", "--continue-on-collection-errors", "-p", "no:cacheprovider", "-W", "ignore", "-m", "not slow", *args], plugins=[count])
kinds = list(count.outcomes.values())
failed = kinds.count("failed")
print(f"ran {kinds.count('passed') + failed} failed {failed} skipped {kinds.count('skipped')} absent {kinds.count('absent')}", flush=True)
sys.stderr.flush()
# an interpreter that ends looks at every object once more, which hundreds of megabytes of them make minutes of on a busy machine
os._exit(0 if status in (0, 1) else 2)
