#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Fetches the npm packages (fetch.sh) and builds llm and mkgguf beside them. Once; again when a source is newer.
#   build.sh BUILD          exit 0: BUILD/llm/llm is there; 77: the packages cannot be had (the last line says why)
set -u
here=$(cd "$(dirname "$0")" && pwd)
L=$(cd "$1" && pwd)/llm
"$here/fetch.sh" "$L" || exit
exec 7>"$L/lock"
flock 7
[ "$L/llm" -nt "$L/include/llama.h" ] && [ -z "$(find "$here" -maxdepth 1 \( -name '*.[ch]' -o -name build.sh \) -newer "$L/llm")" ] && exit 0
flags="-O2 -std=gnu11 -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes"
cd "$here" || exit 1
# shellcheck disable=SC2086
gcc $flags -o "$L/mkgguf" mkgguf.c quant.c -lm || exit 1
# versioned file names: libllama.vX.so; llama's own libraries want a newer C++ runtime than the build does
# shellcheck disable=SC2086
gcc $flags -isystem "$L/include" -o "$L/llm" llm.c lm.c ops.c logits.c speed.c demo.c checks.c quant.c proc.c \
	"$L"/lib/libllama.v*.so "$L"/lib/libggml.v*.so "$L/lib/libggml-base.so" -Wl,--allow-shlib-undefined -lm -ldl
