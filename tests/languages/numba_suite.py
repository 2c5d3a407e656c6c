# SPDX-License-Identifier: MIT
"""numba-cuda's own tests, module by module: "ran N failed N skipped N", and a line "not NAME: last words" for each that fails.
Usage: numba_suite.py [-k WORD] [PACKAGE...]         default: numba.cuda.tests.cudapy and .cudadrv"""
import importlib
import pkgutil
import sys
import unittest
import warnings

warnings.simplefilter("ignore")


class Result(unittest.TestResult):
    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.say(test, err)

    def addError(self, test, err):
        if err[0].__name__ == "Skipped":        # pytest's, in a unittest
            return self.addSkip(test, str(err[1]))
        super().addError(test, err)
        self.say(test, err)

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err:
            self.say(subtest, err)

    def say(self, test, err):
        print(f"not {test.id()}: {err[0].__name__}: {' '.join(str(err[1]).split())[-200:]}", flush=True)


if __name__ == "__main__":      # tests spawn processes, which import this again
    word = ""
    args = sys.argv[1:]
    if args[:1] == ["-k"]:
        word, args = args[1], args[2:]
    suite, unread = unittest.TestSuite(), []
    for package in args or ["numba.cuda.tests.cudapy", "numba.cuda.tests.cudadrv"]:
        p = importlib.import_module(package)
        for m in sorted(x.name for x in pkgutil.iter_modules(p.__path__) if x.name.startswith("test_") and word in x.name):
            try:
                suite.addTests(unittest.defaultTestLoader.loadTestsFromModule(importlib.import_module(f"{package}.{m}")))
            except BaseException as e:      # pytest's Skipped is no Exception
                if isinstance(e, KeyboardInterrupt):
                    raise
                unread.append(f"{package}.{m}: {e}")


    result = Result()
    suite.run(result)
    for line in unread:
        print("module left out,", line)
    bad = len(result.failures) + len(result.errors)
    print(f"ran {result.testsRun} failed {bad} skipped {len(result.skipped)} expected {len(result.expectedFailures)}")
