#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""kernel.py PROGRAM SEED: a program of csmith's (--lang-cpp --cpp11 --no-argc, no volatiles, no packed structures) as kernels, on standard output.

Its variables and functions become members of a structure, so that each thread has a program of its own; a few variables begin otherwise in each thread,
by SEED, so threads part at most of its branches. kernel.h makes three kernels of it, and, by a compiler for the host, a program that
prints what each thread has."""
import random
import re
import sys

GLOBALS, PROTOTYPES, MAIN = "/* --- GLOBAL VARIABLES --- */", "/* --- FORWARD DECLARATIONS --- */", "int main (void)"


def pieces(text):
    """Types, variables, functions, and what main does."""
    g, p, m = text.index(GLOBALS), text.index(PROTOTYPES), text.index(MAIN)
    types = text[text.index("static long __undefined;"):g].replace("static long __undefined;", "")
    functions = re.sub(r"^static [^;{]*\);\n", "", text[p:m], flags=re.M)
    main = text[m:]
    return types, text[g:p], functions, main[main.index("{") + 1:main.rindex("}")]


def kernel(text, seed):
    types, variables, functions, main = pieces(text)
    types = re.sub(r"^(\s*)((?:volatile )?(?:union|struct) \w+& operator=)", r"\1DEVICE \2", types, flags=re.M)
    variables = re.sub(r"^static ", "", variables, flags=re.M)
    functions = re.sub(r"^static ", "DEVICE ", functions, flags=re.M)
    main = re.sub(r".*(printf|print_hash_value = |platform_main_begin|platform_main_end|crc32_gentab|return).*\n", lambda m: "" if "transparent_crc" not in m[0] else m[0], main)
    main = re.sub(r'transparent_crc\((.*), "[^"]*", print_hash_value\);', r"put((uint64_t)(\1));", main)
    rng = random.Random(seed)
    numbers = re.findall(r"^(u?int(?:8|16|32|64)_t) (g_\d+) = ", variables, flags=re.M)
    rng.shuffle(numbers)
    apart = "".join("\t\t%s ^= (%s)((thread * %uu >> %d) & %d);\n" % (n, t, rng.getrandbits(31) | 1, rng.randrange(8, 28), rng.choice([1, 1, 3, 7, 255]))
                    for t, n in numbers[:8])
    return """#include "kernel.h"
%s
struct program {
	uint64_t hash;
	DEVICE void put(uint64_t v) { hash = (hash ^ v) * 0x100000001b3ull; hash ^= hash >> 29; }
%s
%s
	DEVICE uint64_t run(uint32_t thread)
	{
		hash = 0xcbf29ce484222325ull;
%s%s
		return hash;
	}
};
KERNELS(program)
""" % (types, variables, functions, apart, main)


with open(sys.argv[1], encoding="ascii") as f:
    sys.stdout.write(kernel(f.read(), int(sys.argv[2])))
