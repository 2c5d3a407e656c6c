#!/bin/bash
# SPDX-License-Identifier: MIT
# Every instruction of the op table, as vgpu check --ops prints it, has a form in forms.txt, which optest or a case tests.
# Usage: tests/ptx/ops.sh BUILD
set -u
here=$(dirname "$0")
rows=0 bad=0
# shellcheck disable=SC2016 # the backquotes are Markdown
while read -r name; do
	rows=$((rows + 1))
	grep -qE "^$name([.[:space:]]|$)" "$here/forms.txt" || { echo "no form of '$name' in forms.txt"; bad=1; }
done < <("$1/bin/vgpu" check --ops | sed -n 's/^| `\([a-z0-9._]*\)` .*/\1/p')
[ "$rows" -ge 80 ] || { echo "only $rows instructions listed"; bad=1; }
[ "$bad" = 0 ] && echo "$rows instructions, each with a form"
exit $bad
