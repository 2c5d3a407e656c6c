/* SPDX-License-Identifier: MIT */
/*
 * See clang_options.h. What is about speed, messages, registers or precompiled headers is taken and changes nothing; divisions and roots are
 * exact whatever is said. What would change a result, or what is asked for, is refused: LTO-IR and OptiX-IR are NVIDIA's own.
 */
#define _GNU_SOURCE
#include "clang_options.h"
#include "front.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum how { ARCH, HAND_ON, STANDARD, WORD, FLAG, DROP, DROP_VALUE, DROP_NUMBER, DROP_TRUTH, DROP_ON, DROP_WORD, DEVICE, RELOCATABLE, FLUSH, CONTRACT, FAST, LESS, REFUSE };

static const struct option {
	const char *name, *brief;
	enum how how;
	const char *to;         /* HAND_ON: what its value stands behind; WORD: the word before it; FLAG: the word; LESS: the word where it is false */
} known[] = {
	{ "--gpu-architecture", "-arch", ARCH, NULL },
	{ "--define-macro", "-D", HAND_ON, "-D" },
	{ "--undefine-macro", "-U", HAND_ON, "-U" },
	{ "--include-path", "-I", HAND_ON, "-I" },
	{ "--pre-include", "-include", WORD, "-include" },
	{ "--std", "-std", STANDARD, "-std=" },
	{ "--device-c", "-dc", FLAG, "-fgpu-rdc" },
	{ "--relocatable-device-code", "-rdc", RELOCATABLE, "-fgpu-rdc" },
	{ "--generate-line-info", "-lineinfo", FLAG, "-lineinfo" },
	{ "--device-debug", "-G", FLAG, "-lineinfo" },
	{ "--disable-warnings", "-w", FLAG, "-w" },
	{ "--warning-as-error", "-Werror", DROP, NULL },        /* nvcc's warnings are not clang's */
	{ "--device-as-default-execution-space", "-default-device", DEVICE, NULL },
	{ "--use_fast_math", "-use_fast_math", FAST, NULL },
	{ "--ftz", "-ftz", FLUSH, NULL },
	{ "--fmad", "-fmad", CONTRACT, NULL },
	{ "--prec-sqrt", "-prec-sqrt", DROP_TRUTH, NULL },
	{ "--prec-div", "-prec-div", DROP_TRUTH, NULL },
	{ "--maxrregcount", "-maxrregcount", DROP_NUMBER, NULL },
	{ "--ptxas-options", "-Xptxas", DROP_WORD, NULL },
	{ "--dopt", "-dopt", DROP_ON, NULL },
	{ "--Ofast-compile", "-Ofc", DROP_VALUE, NULL },
	{ "--jump-table-density", "-jtd", DROP_VALUE, NULL },
	{ "--split-compile", "-split-compile", DROP_VALUE, NULL },
	{ "--builtin-move-forward", "-builtin-move-forward", LESS, "-DCUDA_LITE_RTC_NO_MOVE" },
	{ "--builtin-initializer-list", "-builtin-initializer-list", LESS, "-DCUDA_LITE_RTC_NO_LIST" },
	{ "--modify-stack-limit", "-modify-stack-limit", DROP_VALUE, NULL },
	{ "--device-stack-protector", "-device-stack-protector", DROP_VALUE, NULL },
	{ "--optimization-info", "-opt-info", DROP_VALUE, NULL },
	{ "--diag-error", "-diag-error", DROP_VALUE, NULL },
	{ "--diag-suppress", "-diag-suppress", DROP_VALUE, NULL },
	{ "--diag-warn", "-diag-warn", DROP_VALUE, NULL },
	{ "--brief-diagnostics", "-brief-diag", DROP_VALUE, NULL },
	{ "--frandom-seed", "-frandom-seed", DROP_VALUE, NULL },
	{ "--version-ident", "-dQ", DROP_VALUE, NULL },
	{ "--create-pch", "-create-pch", DROP_VALUE, NULL },
	{ "--use-pch", "-use-pch", DROP_VALUE, NULL },
	{ "--pch-dir", "-pch-dir", DROP_VALUE, NULL },
	{ "--pch-verbose", "-pch-verbose", DROP_VALUE, NULL },
	{ "--pch-messages", "-pch-messages", DROP_VALUE, NULL },
	{ "--instantiate-templates-in-pch", "-instantiate-templates-in-pch", DROP_VALUE, NULL },
	{ "--pch", "-pch", DROP, NULL },
	{ "--extra-device-vectorization", "-extra-device-vectorization", DROP, NULL },
	{ "--device-w", "-dw", DROP, NULL },
	{ "--extensible-whole-program", "-ewp", DROP, NULL },
	{ "--no-source-include", "-no-source-include", DROP, NULL },
	{ "--no-cache", "-no-cache", DROP, NULL },
	{ "--restrict", "-restrict", DROP, NULL },
	{ "--minimal", "-minimal", DROP, NULL },
	{ "--Wreorder", "-Wreorder", DROP, NULL },
	{ "--device-int128", "-device-int128", DROP, NULL },
	{ "--display-error-number", "-err-no", DROP, NULL },
	{ "--no-display-error-number", "-no-err-no", DROP, NULL },
	{ "--dlink-time-opt", "-dlto", REFUSE, "LTO-IR is made by NVIDIA's own NVRTC alone" },
	{ "--gen-opt-lto", "-gen-opt-lto", REFUSE, "LTO-IR is made by NVIDIA's own NVRTC alone" },
	{ "--optix-ir", "-optix-ir", REFUSE, "OptiX-IR is made by NVIDIA's own NVRTC alone" },
};

static void put(struct clang_asked *a, const char *before, const char *value)
{
	char **more = realloc(a->words, (a->n + 1) * sizeof(*more));

	if (!more)
		return;
	a->words = more;
	if (asprintf(&more[a->n], "%s%s", before, value) >= 0)
		a->n++;
}

/* Does o begin with this option? Its value, "" where none stands in the same word; NULL: it is another option. */
static const char *behind(const char *o, const char *name, int joins)
{
	size_t n = strlen(name);

	if (strncmp(o, name, n))
		return NULL;
	if (o[n] == '=')
		return o + n + 1;
	return joins || !o[n] ? o + n : NULL;
}

static const struct option *find(const char *o, const char **value)
{
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		const struct option *k = &known[i];

		*value = behind(o, k->name, 0);
		if (!*value)    /* -DX, -Ipath */
			*value = behind(o, k->brief, k->how == HAND_ON && !k->brief[2]);
		if (*value)
			return k;
	}
	return NULL;
}

static int off(const char *v)
{
	return !strcmp(v, "false") || !strcmp(v, "off");
}

/* What a value of true or false may be; without one it is true. */
static int truth(const char *v)
{
	return !*v || !strcmp(v, "true") || !strcmp(v, "false");
}

static int standard(const char *v)
{
	static const char *const names[] = { "c++03", "c++11", "c++14", "c++17", "c++20" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(v, names[i]))
			return 1;
	return 0;
}

/* One option with its value; 0: not a value of it */
static int take(struct clang_asked *a, const struct option *k, const char *value)
{
	char suffix;

	switch (k->how) {
	case ARCH:
		a->arch = front_arch(value, &suffix);
		return a->arch >= 50 && a->arch < 130;
	case HAND_ON:
		if (*value)
			put(a, k->to, value);
		return *value != 0;
	case WORD:
		put(a, k->to, "");
		put(a, "", value);
		return *value != 0;
	case FLAG:
		put(a, k->to, "");
		return 1;
	case STANDARD:
		put(a, k->to, value);
		return standard(value);
	case DROP_NUMBER:
		return value[strspn(value, "0123456789")] == 0;
	case DROP_TRUTH:
		return truth(value);
	case DROP_ON:
		return !*value || !strcmp(value, "on");
	case RELOCATABLE:
		if (!off(value))
			put(a, k->to, "");
		return truth(value);
	case LESS:
		if (off(value))
			put(a, k->to, "");
		return 1;
	case DEVICE:
		a->device_default = 1;
		return 1;
	case CONTRACT:
		put(a, "-ffp-contract=", off(value) ? "off" : "fast");
		return truth(value);
	case FLUSH:
		if (!off(value))
			put(a, "-fgpu-flush-denormals-to-zero", "");
		return truth(value);
	case FAST:
		put(a, "-fgpu-flush-denormals-to-zero", "");
		return 1;
	case REFUSE:
		a->refused = k->to;
		return off(value);
	default:
		return 1;
	}
}

const char *clang_options(int n, const char *const *options, struct clang_asked *a)
{
	int said = 0;

	memset(a, 0, sizeof(*a));
	a->arch = FRONT_MAJOR == 13 ? 75 : 52;
	for (int i = 0; i < n; i++) {
		const struct option *k;
		const char *value, *o = options[i];
		char *trimmed = NULL;
		int good;

		if (!o)
			continue;
		o += strspn(o, " \t");
		if (!*o)
			return options[i];
		k = find(o, &value);
		if (!k)
			return o;
		/* a value in the next word, where one has to be, or may be and is none itself */
		if (!*value && !strchr(o, '=') && i + 1 < n && options[i + 1] && (k->how == ARCH || k->how == HAND_ON || k->how == WORD || k->how == DROP_WORD ||
		    ((k->how == DROP_VALUE || k->how == DROP_NUMBER || k->how == DROP_TRUTH || k->how == DROP_ON || k->how == RELOCATABLE ||
		      k->how == FLUSH || k->how == CONTRACT || k->how == LESS) && *options[i + 1] != '-')))
			value = options[++i];
		/* blanks around an option are not part of it */
		trimmed = strdup(value);
		if (!trimmed)
			return o;
		for (size_t end = strlen(trimmed); end && (trimmed[end - 1] == ' ' || trimmed[end - 1] == '\t'); end--)
			trimmed[end - 1] = 0;
		good = take(a, k, trimmed);
		free(trimmed);
		if (!good)
			return o;
		said |= k->how == STANDARD;
	}
	if (!said)
		put(a, "-std=", "c++17");
	return NULL;
}

void clang_options_free(struct clang_asked *a)
{
	while (a->n)
		free(a->words[--a->n]);
	free(a->words);
}
