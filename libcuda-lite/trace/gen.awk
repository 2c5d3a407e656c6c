# SPDX-License-Identifier: MIT
# Writes the traced side of one library: for every exported name its entry point, and for those with a prototype in our
# headers a wrapper that reports the call. Run by build.mk for each library:
#
#   awk -v out=PREFIX -v header=cuda.h -f gen.awk NAMES PREPROCESSED
#
# NAMES: the symbols that the library's objects define and its version script exports, "name" or "name unsupported".
# PREPROCESSED: the header after cpp -P. Writes PREFIX.S (entry points: one jump each, through a table), PREFIX.c (wrappers, descriptions) and
# PREFIX.map (objcopy --redefine-syms: the bodies get another name, so calls inside a library are direct).
#
# A description is text, so that the tables need no relocations: "name(argument:kind,...)result". format.c reads the
# kinds; upper-case letters that are not there belong to a library's own hook (driver/traced.c, runtime/traced.c).

BEGIN {
	split("int:i long:I short:i char:i float:f double:d unsigned:u size_t:U int32_t:i uint32_t:u int64_t:I uint64_t:U", t, " ")
	for (i in t) { split(t[i], kv, ":"); scalar[kv[1]] = kv[2] }
	scalar["unsigned int"] = "u"; scalar["unsigned char"] = "u"; scalar["unsigned short"] = "u"
	scalar["unsigned long"] = "U"; scalar["long long"] = "I"; scalar["unsigned long long"] = "U"
	# addresses print as such
	scalar["CUdeviceptr_v2"] = "p"
	# structures that have a form of their own: by value, or behind a pointer
	byvalue["dim3"] = "D"; byvalue["cudaExtent"] = "T"; byvalue["cudaPitchedPtr"] = "Q"
	byvalue["CUmemLocation"] = "L"; byvalue["cudaMemLocation"] = "L"
	behind["CUlaunchConfig"] = "A"; behind["cudaLaunchConfig_t"] = "B"
	behind["CUDA_MEMCPY2D"] = "G"; behind["CUDA_MEMCPY3D"] = "H"; behind["cudaMemcpy3DParms"] = "J"
	behind["nvtxEventAttributes_t"] = "V"; behind["nvtxResourceAttributes_t"] = "Y"; behind["nvtxSyncUserAttributes_t"] = "Z"
	# who asks counts: a body that a wrapper calls cannot see it
	asked["cudaDeviceGetAttribute"] = "rt_asked(value, attr, r_, __builtin_return_address(0))"
	named["nvtxDomainHandle_t"] = "O"; named["nvtxStringHandle_t"] = "R"
	named["CUfunction"] = "K"; named["CUkernel"] = "M"; named["cudaKernel_t"] = "N"; named["cudaFunction_t"] = "N"
}

FNR == NR { name[n++] = $1; wanted[$1] = 1; if ($2 == "unsupported") answers_no[$1] = 1; next }

{ text = text " " $0 }

function trim(s) { sub(/^[ \t]+/, "", s); sub(/[ \t]+$/, "", s); return s }

function plain(s)
{
	gsub(/(^|[ *])(const|struct|enum|volatile|extern)[ ]/, " ", s)
	gsub(/(^|[ *])(const|struct|enum|volatile|extern)[ ]/, " ", s)
	gsub(/[ ]+/, " ", s)
	return trim(s)
}

# "enum X { A = 1, B }" or "typedef enum { ... } Y"
function take_enum(s,    tag, last, body, parts, i, e, k)
{
	tag = s; sub(/\{.*/, "", tag); sub(/.*enum/, "", tag); tag = trim(tag)
	last = s; sub(/.*\}/, "", last); last = trim(last)
	body = s; sub(/^[^{]*\{/, "", body); sub(/\}[^}]*$/, "", body)
	k = split(body, parts, ",")
	enum_from[enums] = values
	for (i = 1; i <= k; i++) {
		e = parts[i]; sub(/=.*/, "", e); e = trim(e)
		if (e != "")
			value[values++] = e
	}
	if (tag != "") is_enum[tag] = enums + 1
	if (last != "") is_enum[last] = enums + 1
	enums++
}

# What a type comes to: an enum's number as "E3", a scalar's letter, "p" for handles, "" for structures.
function kind_of(type,    i)
{
	for (i = 0; i < 8; i++) {
		if (type in named) return named[type]
		if (type in is_enum) return "E" (is_enum[type] - 1)
		if (type in scalar) return scalar[type]
		if (type in pointer) return "p"
		if (type in byvalue) return byvalue[type]
		if (!(type in alias)) return ""
		type = alias[type]
	}
	return ""
}

function behind_of(type,    i)
{
	for (i = 0; i < 8; i++) {
		if (type in behind) return behind[type]
		if (!(type in alias)) return ""
		type = alias[type]
	}
	return ""
}

function argument_kind(type, var, constant, array,    stars, base, k)
{
	stars = gsub(/\*/, "*", type) + array
	base = type; gsub(/\*/, "", base); base = plain(base)
	if (stars == 0) {
		k = kind_of(base)
		if (k == "u" && var ~ /flags/) k = "x"
		return k
	}
	if (stars == 1) {
		if (base == "char")
			return constant ? (var ~ /^host_/ ? "p" : "s") : var ~ /^(name|bus_id|uuid|version)$/ ? "*s" : "p"
		if (base == "wchar_t")
			return "W"
		if (base == "void")
			return constant && (var == "func" || var == "host_fn") ? "F" : "p"
		if (behind_of(base) != "") return behind_of(base)
		# scalars of a matrix product; matrices are addresses
		if ((base == "float" || base == "double") && (var == "alpha" || var == "beta"))
			return "@" scalar[base]
		if ((base == "float" || base == "double") && var != "ms") return "p"
		if (constant) return "p"
		k = kind_of(base)
		if (k == "K" || k == "M" || k == "N") k = "p"
		return k == "" || k ~ /^[DTQL]$/ ? "p" : "*" k
	}
	if (stars == 2 && base == "void") {
		if (var == "params" || var == "args") return "P"
		if (var ~ /^(ptr|dptr|fn|table)$/) return "*p"
	}
	if (stars == 2 && base == "char" && constant && var ~ /^(name|text)$/) return "*z"
	return "p"
}

function take_function(s,    head, args, fname, ret, parts, k, i, a, var, type, array, constant, kk, cast)
{
	head = s; sub(/\(.*/, "", head); head = trim(head)
	fname = head; sub(/.*[ *]/, "", fname)
	if (!(fname in wanted) || fname in desc)
		return
	ret = trim(substr(head, 1, length(head) - length(fname)))
	args = s; sub(/^[^(]*\(/, "", args); sub(/\)[^)]*$/, "", args); args = trim(args)
	if (args ~ /\(/)
		return
	ret_type[fname] = ret
	params[fname] = args
	kk = ""; names_of[fname] = ""; values_of[fname] = ""
	k = args == "void" || args == "" ? 0 : split(args, parts, ",")
	for (i = 1; i <= k; i++) {
		a = trim(parts[i])
		array = gsub(/\[\]/, "", a)
		var = a; sub(/.*[ *]/, "", var)
		type = trim(substr(a, 1, length(a) - length(var)))
		constant = type ~ /(^|[ *])const( |$)/
		kk = kk (i > 1 ? "," : "") var ":"
		a = argument_kind(type, var, constant, array)
		names_of[fname] = names_of[fname] (i > 1 ? ", " : "") var
		if (a == "") {	# a structure by value that has no form
			a = "o"
			cast = "0"
		} else if (a == "f" || a == "d") {
			cast = "trace_bits(" var ")"
		} else if (a ~ /^[DTQL]$/) {
			cast = "(uint64_t)(uintptr_t)&" var
		} else {
			cast = "(uint64_t)(uintptr_t)" var
		}
		kk = kk a
		values_of[fname] = values_of[fname] (i > 1 ? ", " : "") cast
	}
	type = ret; gsub(/\*/, "", type); type = plain(type)
	if (ret ~ /\*/)
		a = type == "char" ? "s" : "p"
	else if (type == "void")
		a = "v"
	else
		a = kind_of(type)
	if (a == "" || a ~ /^[DTQL]$/)
		return	# a structure: nothing that can fail
	count[fname] = k
	desc[fname] = fname "(" kk ")" a
	result_kind[fname] = a
}

END {
	gsub(/[ \t]+/, " ", text)
	gsub(/extern "C" \{/, "", text)
	# statements: up to a ';' outside braces; a function's body ends its statement too
	len = length(text); depth = 0; start = 1
	m = split(text, piece, ";")
	s = ""
	for (i = 1; i <= m; i++) {
		s = s (s == "" ? "" : ";") piece[i]
		open = gsub(/\{/, "{", piece[i]); shut = gsub(/\}/, "}", piece[i])
		depth += open - shut
		if (depth > 0)
			continue
		st[++nst] = trim(s); s = ""
	}
	# types first: a prototype may use one that stands below it
	for (i = 1; i <= nst; i++) {
		s = st[i]
		if (s ~ /^static inline/ && s !~ /\}[^}]*$/)
			continue
		if (s ~ /^(typedef )?enum[^(]*\{/) {
			take_enum(s)
		} else if (s ~ /^typedef/ && s ~ /\(/) {
			a = s; sub(/^[^(]*\( *\** */, "", a); sub(/ *\).*/, "", a); sub(/.*[ *]/, "", a)
			pointer[a] = 1
		} else if (s ~ /^typedef/ && s !~ /\{/) {
			a = s; sub(/.*[ *]/, "", a)
			b = trim(substr(s, 8, length(s) - 7 - length(a)))
			if (b ~ /\*/)
				pointer[a] = 1
			else
				alias[a] = plain(b)
		}
	}
	for (i = 1; i <= nst; i++) {
		s = st[i]
		# what stood before a prototype on its statement: bodies of inline functions
		sub(/.*\} /, "", s)
		if (s !~ /^typedef/ && s !~ /\{/ && s ~ /\)[^)]*$/)
			take_function(s)
	}

	c = out ".c"; asm = out ".S"; map = out ".map"
	printf "/* SPDX-License-Identifier: MIT */\n/* Written by libcuda-lite/trace/gen.awk. */\n" > c
	printf "#define __CUDA_API_VERSION_INTERNAL\n#include \"%s\"\n#include \"trace.h\"\n\n", header > c
	printf "const char vgpu_trace_enum_names[] =\n" > c
	for (i = 0; i < values; i++)
		printf "\t\"%s\\0\"\n", value[i] > c
	printf "\t;\nconst int vgpu_trace_enum_values[] = {\n" > c
	for (i = 0; i < values; i++)
		printf "\t(int)%s,\n", value[i] > c
	printf "\t0 };\nconst unsigned short vgpu_trace_enum_from[] = { " > c
	for (i = 0; i < enums; i++)
		printf "%d, ", enum_from[i] > c
	printf "%d };\nconst unsigned vgpu_trace_enums = %d;\n\nconst char vgpu_trace_descriptions[] =\n", values, enums > c
	offset = 0
	for (i = 0; i < n; i++) {
		f = name[i]
		# those that look at no argument and answer "not supported" need no prototype
		d = f in desc ? desc[f] : f in answers_no ? f "(...)" unsupported() : f "-"
		at[f] = offset
		offset += length(d) + 1
		printf "\t\"%s\\0\"\n", d > c
	}
	printf "\t;\nconst unsigned vgpu_trace_calls = %d;\n\n", n > c
	for (i = 0; i < n; i++) {
		f = name[i]
		if (!(f in desc) && !(f in answers_no))
			continue
		r = f in desc ? ret_type[f] : "int"
		sub(/^extern /, "", r)
		p = f in desc ? params[f] : "void"
		if (f in desc)
			printf "extern __typeof__(%s) vgpu_impl_%s, vgpu_traced_%s;\n", f, f, f > c
		else
			printf "extern int vgpu_impl_%s(void), vgpu_traced_%s(void);\n", f, f > c
		printf "%s vgpu_traced_%s(%s)\n{\n", r, f, p > c
		if (f in desc && count[f] > 0)
			printf "\tconst uint64_t a_[] = { %s };\n", values_of[f] > c
		printf "\tstruct trace_call c_;\n" > c
		if (result_kind[f] != "v")
			printf "\t%s r_;\n", r > c
		printf "\n\ttrace_enter(&c_, vgpu_trace_descriptions + %d, %s);\n\t", at[f], (f in desc && count[f] ? "a_" : "NULL") > c
		if (result_kind[f] != "v")
			printf "r_ = " > c
		printf "vgpu_impl_%s(%s);\n", f, names_of[f] > c
		if (f in asked)
			printf "\t%s;\n", asked[f] > c
		a = "NULL"
		if (f in desc && count[f] > 0)
			a = "a_"
		b = "(uint64_t)(uintptr_t)r_"
		if (result_kind[f] == "v")
			b = "0"
		printf "\ttrace_leave(&c_, %s, %s);\n", b, a > c
		if (result_kind[f] != "v")
			printf "\treturn r_;\n" > c
		printf "}\n" > c
	}

	printf "/* Written by libcuda-lite/trace/gen.awk: the exported names. */\n\t.text\n" > asm
	for (i = 0; i < n; i++) {
		f = name[i]
		printf "\t.globl %s\n\t.type %s, @function\n\t.balign 16\n%s:\n\tjmp *vgpu_trace_slots+%d(%%rip)\n\t.size %s, .-%s\n",
			f, f, f, 8 * i, f, f > asm
		printf "%s vgpu_impl_%s\n", f, f > map
	}
	printf "\t.section .data.rel.ro, \"aw\"\n\t.balign 8\n\t.globl vgpu_trace_slots\n\t.hidden vgpu_trace_slots\nvgpu_trace_slots:\n" > asm
	for (i = 0; i < n; i++)
		printf "\t.hidden vgpu_impl_%s\n\t.quad vgpu_impl_%s\n", name[i], name[i] > asm
	printf "\t.section .rodata\n\t.balign 4\n\t.globl vgpu_trace_wrappers\n\t.hidden vgpu_trace_wrappers\nvgpu_trace_wrappers:\n" > asm
	for (i = 0; i < n; i++) {
		f = name[i]
		if (!(f in desc) && !(f in answers_no))
			printf "\t.long 0\n" > asm
		else
			printf "\t.hidden vgpu_traced_%s\n\t.long vgpu_traced_%s - .\n", f, f > asm
	}
	printf "\t.globl vgpu_trace_bodies\n\t.hidden vgpu_trace_bodies\nvgpu_trace_bodies:\n" > asm
	for (i = 0; i < n; i++)
		printf "\t.long vgpu_impl_%s - .\n", name[i] > asm
	printf "\t.section .note.GNU-stack, \"\", @progbits\n" > asm
}

# the library's own result type
function unsupported()
{
	if (header ~ /runtime/)
		return kind_of("cudaError_t")
	return kind_of(header ~ /cublas/ ? "cublasStatus_t" : header ~ /nvml/ ? "nvmlReturn_t" : "CUresult")
}
