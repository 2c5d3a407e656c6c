# SPDX-License-Identifier: MIT
# Assembly of a library of CUDA 11: each name jumps to the call of 12's library, or to __cuda11_NAME where 12 has changed what the name
# means. In: the names that 12's library exports. -v to=libcudart.so.12, its version node; -v own="NAME ...", what the library has a body for.
BEGIN {
	n = split(own, o, " ")
	for (i = 1; i <= n; i++)
		skip[o[i]] = 1
	print "\t.text"
}
{
	name = $1
	sub(/^__cuda11_/, "", name)
	if (name != $1 || !(name in target))
		target[name] = $1
}
END {
	for (name in target) {
		if (name in skip)
			continue
		printf "\t.globl %s\n\t.type %s, @function\n\t.p2align 4\n%s:\n\tjmp *twelve_%s@GOTPCREL(%%rip)\n\t.size %s, . - %s\n", name, name, name, name, name, name
		printf "\t.symver twelve_%s, %s@%s\n", name, target[name], to
	}
	print "\t.section .note.GNU-stack, \"\", @progbits"
}
