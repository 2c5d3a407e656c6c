/* SPDX-License-Identifier: MIT */
/*
 * vgpu cc: CUDA C++ without NVIDIA's toolkit: clang twice, for the device's PTX and for the host's side with that inside, with our
 * headers and libraries. By the name nvcc (lib/vgpu/sdk/bin) it is this command too. Options are nvcc's where those are about more than the host's compiler, else clang's, and go there.
 */
#define _GNU_SOURCE
#include "../vgpu-stub/cpu/fatbin.h"     /* the format's numbers */
#include "cc.h"
#include "choose.h"
#include "command.h"
#include "doctor.h"
#include "vgpu.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char usage_text[] =
	"usage: vgpu cc [options] FILE...           .cu, other sources, objects and archives\n\n"
	"  -o FILE          a.out; with -c FILE.o, with -ptx FILE.ptx\n"
	"  -c, -ptx         compile only; the device's side as PTX only\n"
	"  -x cu|c++|c      what all files are, whatever their names\n"
	"  -std=c++17       of C++; c++17 of .cu files where none is named\n"
	"  -arch=sm_61      (also compute_61, or as two words) the lowest device that the program runs on\n"
	"  -cudart shared|static   shared; static: our archive, with the driver in it\n"
	"  --rtc            as NVRTC compiles: the device's side only, no header of the host's; with -ptx\n"
	"  -gencode arch=compute_61,code=...   as often as one likes: the lowest counts\n"
	"  --default-stream per-thread|legacy, -use_fast_math, -ftz=, -fmad=   as nvcc has them; -Xptxas, -maxrregcount, -t,\n"
	"                   --expt-relaxed-constexpr, --extended-lambda and the like are taken\n"
	"  -lineinfo        source lines in what the memory checker and faults tell\n"
	"  -Xcompiler A,B   options for the host's side only; also \"A B\"\n"
	"  -v, --dryrun     prints the commands; does not run them\n"
	"  All else is clang's: -I -D -O -std -g -W -f for both sides, -L -l -Wl for the linker.\n"
	"  $VGPU_CLANG names the compiler: clang++. There is no -rdc: device code of one file cannot call another's.\n";

struct list { char **v; size_t n, room; };

struct cc {
	struct list both, host, device, link, input;
	const char *out, *clang, *include, *lib, *language;
	unsigned arch;
	int compile_only, ptx_only, rtc, is_static, verbose, dry, optimised, from_gencode, dialect;
	char dir[64];
};

static void put(struct list *l, const char *s)
{
	if (l->n + 1 >= l->room) {
		l->room = l->room ? 2 * l->room : 32;
		l->v = realloc(l->v, l->room * sizeof(*l->v));
		if (!l->v)
			abort();
	}
	l->v[l->n++] = (char *)(uintptr_t)s;
	l->v[l->n] = NULL;
}

static void put_words(struct list *to, const char *const *words, size_t n)
{
	for (size_t i = 0; i < n; i++)
		put(to, words[i]);
}

static void put_all(struct list *to, const struct list *from)
{
	for (size_t i = 0; i < from->n; i++)
		put(to, from->v[i]);
}

static char *joined(const char *fmt, const char *a, const char *b)
{
	char *s;

	if (asprintf(&s, fmt, a, b) < 0)
		abort();
	return s;
}

static int starts(const char *s, const char *with) { return !strncmp(s, with, strlen(with)); }

/* One command, what it says going to errors or, NULL, to the terminal; its exit status. */
static int run_into(const struct cc *c, const struct list *l, const char *errors)
{
	pid_t pid;
	int st;

	if (c->verbose || c->dry) {
		for (size_t i = 0; i < l->n; i++)
			fprintf(stderr, "%s%s", i ? " " : "", l->v[i]);
		fputc('\n', stderr);
	}
	if (c->dry)
		return 0;
	pid = fork();
	if (!pid) {
		sigpipe_as_before();
		if (errors && !freopen(errors, "w", stderr))
			_exit(127);
		execvp(l->v[0], l->v);
		complain("cannot run %s: %s", l->v[0], strerror(errno));
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &st, 0) != pid) {
		complain("cannot run %s: %s", l->v[0], strerror(errno));
		return 127;
	}
	return WIFEXITED(st) ? WEXITSTATUS(st) : 128 + WTERMSIG(st);
}

static int run(const struct cc *c, const struct list *l) { return run_into(c, l, NULL); }

/* What both sides of a .cu file are compiled with. */
static struct list start(const struct cc *c, int cuda)
{
	struct list l = { .n = 0 };

	put(&l, c->clang);
	if (cuda) {
		static const char *const fixed[] = { "-x", "cuda", "--cuda-path=/nonexistent", "-nocudainc", "-nocudalib", "-D__CUDACC__",
			/* the launch of CUDA 9.2 and later */
			"-Xclang", "-target-sdk-version=11.5" };
		static const char *const alone[] = { "-nostdinc++", "-nostdlibinc", "-Xclang", "-fcuda-allow-variadic-functions", "-include", "cuda_lite_rtc.h" };
		static const char *const hosted[] = { "-include", "cuda_runtime.h" };

		put_words(&l, fixed, sizeof(fixed) / sizeof(fixed[0]));
		if (c->rtc)
			put_words(&l, alone, sizeof(alone) / sizeof(alone[0]));
		else
			put_words(&l, hosted, sizeof(hosted) / sizeof(hosted[0]));
	}
	put(&l, joined("-I%s%s", c->include, ""));
	if (!c->optimised)
		put(&l, "-O2");
	if (cuda && !c->dialect)        /* as nvcc 13; clang 14's own is C++14 */
		put(&l, "-std=c++17");
	put_all(&l, &c->both);
	return l;
}

static const char *suffix(const char *path)
{
	const char *dot = strrchr(path, '.'), *slash = strrchr(path, '/');

	return dot && (!slash || dot > slash) ? dot : "";
}

static char *beside(const char *path, const char *with)
{
	const char *name = base(path), *dot = suffix(name);
	char *stem = strndup(name, *dot ? (size_t)(dot - name) : strlen(name)), *s = joined("%s%s", stem, with);

	free(stem);
	return s;
}

/* The container that nvcc's programs have their PTX in (tools/vgpu-stub/cpu/fatbin.h), one entry, not compressed: what looks at programs' GPU code knows it by that. */
static int contain(const char *ptx, const char *to, unsigned arch)
{
	struct { uint32_t magic; uint16_t version, bytes; uint64_t entries; } c = { FATBIN_MAGIC, 1, sizeof(c), 0 };
	struct {
		uint16_t kind, version;
		uint32_t bytes;
		uint64_t payload;
		uint32_t packed, options;
		uint16_t minor, major;
		uint32_t arch, name, name_bytes;
		uint64_t flags, zero, text;
	} e = { .kind = FATBIN_PTX, .version = 0x101, .bytes = sizeof(e), .arch = arch, .flags = 0x11 /* 64 bits, Linux */ };
	FILE *in = fopen(ptx, "re"), *out = fopen(to, "we");
	char *line = NULL, zeroes[8] = "";
	int st = !in || !out;
	unsigned major, minor;
	size_t room = 0, n = 0;
	ssize_t got;

	while (!st && (got = getline(&line, &room, in)) > 0) {
		n += (size_t)got;
		if (!e.major && sscanf(line, ".version %u.%u", &major, &minor) == 2) {
			e.major = (uint16_t)major;
			e.minor = (uint16_t)minor;
		}
	}
	e.payload = (n + sizeof(zeroes)) & ~(sizeof(zeroes) - 1);
	c.entries = sizeof(e) + e.payload;
	if (!st) {
		rewind(in);
		st = fwrite(&c, sizeof(c), 1, out) != 1 || fwrite(&e, sizeof(e), 1, out) != 1;
	}
	while (!st && (got = getline(&line, &room, in)) > 0)
		st = fwrite(line, (size_t)got, 1, out) != 1;
	st = st || fwrite(zeroes, e.payload - n, 1, out) != 1;
	st |= in && ferror(in);
	st |= out && fclose(out);
	if (in)
		fclose(in);
	free(line);
	if (st)
		complain("cc: %s: cannot be written: %s", to, strerror(errno));
	return st;
}

/* Passes on what clang said; whether that was of a % in a statement of assembly. */
static int pass_on(const char *errors, int aloud)
{
	FILE *in = fopen(errors, "re");
	char *line = NULL;
	size_t room = 0;
	int percent = 0;

	while (in && getline(&line, &room, in) > 0) {
		percent |= !!strstr(line, "invalid % escape in inline assembly string");
		if (aloud)
			fputs(line, stderr);
	}
	if (in)
		fclose(in);
	free(line);
	return percent;
}

/* One side of a .cu file, by start()'s list and more: if clang refuses a register's name behind one %, once more as preprocessed text in which there are two. */
static int one_side(const struct cc *c, struct list *l, const char *to, const char *file)
{
	char *errors = joined("%s%s", c->dir, "/errors"), *plain = joined("%s%s", c->dir, "/plain.cui"), *doubled = joined("%s%s", c->dir, "/doubled.cui");
	struct list again = { .n = 0 };
	int st;

	if (isatty(STDERR_FILENO))
		put(l, "-fcolor-diagnostics");
	put(l, "-o");
	put_all(&again, l);
	put(l, to);
	put(l, file);
	st = run_into(c, l, c->dry ? NULL : errors);
	if (st && !c->dry && pass_on(errors, 0)) {
		put(&again, plain);
		put(&again, file);
		put(&again, "-E");
		if (!run_into(c, &again, "/dev/null") && cc_double_percents(plain, doubled) > 0) {
			/* of type cuda still, which alone has a device's side; what was to be included is */
			again.n = 0;
			for (size_t i = 0; i < l->n; i++) {
				if (!strcmp(l->v[i], "-include") || !strcmp(l->v[i], "-imacros"))
					i++;
				else
					put(&again, strcmp(l->v[i], file) ? l->v[i] : doubled);
			}
			st = run_into(c, &again, errors);
		}
	}
	if (!c->dry)
		pass_on(errors, 1);
	free(again.v);
	free(errors);
	free(plain);
	free(doubled);
	return st;
}

static int compile(const struct cc *c, const char *file, const char *object, const char *ptx)
{
	struct list l;
	struct stat found;
	char arch[48], *fatbin;
	int st;

	if (strcmp(c->language ? c->language : suffix(file), c->language ? "cu" : ".cu")) {
		l = start(c, 0);
		if (c->language) {
			put(&l, "-x");
			put(&l, c->language);
		}
		put_all(&l, &c->host);
		put(&l, "-c");
		put(&l, "-o");
		put(&l, object);
		put(&l, file);
		st = run(c, &l);
		free(l.v);
		return st;
	}
	l = start(c, 1);
	put_all(&l, &c->device);
	snprintf(arch, sizeof(arch), "--cuda-gpu-arch=sm_%u", c->arch);
	put(&l, "--cuda-device-only");
	put(&l, arch);
	put(&l, "-Xclang");
	put(&l, "-target-feature");
	put(&l, "-Xclang");
	put(&l, c->arch >= 87 ? "+ptx78" : c->arch >= 80 ? "+ptx71" : "+ptx63");
	/* addresses in shared, constant and local memory have 32 bits, as nvcc's: half the registers, and sums that wrap as hardware's do */
	put(&l, "-fcuda-short-ptr");
	put(&l, "-mllvm");
	put(&l, "-nvptx-short-ptr");
	put(&l, "-S");
	st = one_side(c, &l, ptx, file);
	free(l.v);
	if (!st && !c->dry && !stat(ptx, &found) && S_ISREG(found.st_mode))
		st = cc_mend(ptx);
	if (st || c->ptx_only)
		return st;
	fatbin = joined("%s%s", ptx, ".fatbin");
	if (!c->dry && contain(ptx, fatbin, c->arch)) {
		free(fatbin);
		return 1;
	}
	l = start(c, 1);
	put_all(&l, &c->host);
	put(&l, "--cuda-host-only");
	put(&l, "-Xclang");
	put(&l, "-fcuda-include-gpubinary");
	put(&l, "-Xclang");
	put(&l, fatbin);
	put(&l, "-c");
	st = one_side(c, &l, object, file);
	free(l.v);
	free(fatbin);
	return st;
}

static int link_all(const struct cc *c, const struct list *objects)
{
	struct list l = { .n = 0 };
	int st;

	put(&l, c->clang);
	put_all(&l, &c->host);
	put(&l, "-o");
	put(&l, c->out ? c->out : "a.out");
	put_all(&l, objects);
	put_all(&l, &c->link);
	put(&l, joined("-L%s%s", c->lib, c->is_static ? "/cuda-13" : ""));
	if (c->is_static) {
		put(&l, "-lcudart_static");
		put(&l, "-l:libcuda.a");
	} else {
		put(&l, joined("-Wl,-rpath,%s%s", c->lib, ""));
		put(&l, "-l:libcudart.so.13");
		put(&l, "-l:libcuda.so.1");
	}
	put(&l, "-lpthread");
	put(&l, "-lm");
	put(&l, "-ldl");
	st = run(c, &l);
	free(l.v);
	return st;
}

static int is_source(const struct cc *c, const char *f)
{
	static const char *const known[] = { ".cu", ".c", ".cc", ".cpp", ".cxx", ".C" };

	if (c->language)
		return strcmp(suffix(f), ".o") && strcmp(suffix(f), ".a") && !strstr(base(f), ".so");
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (!strcmp(suffix(f), known[i]))
			return 1;
	return 0;
}

static int build(struct cc *c)
{
	struct list objects = { .n = 0 };
	char *object, *ptx, n[32];
	int st = 0;

	for (size_t i = 0; i < c->input.n && !st; i++) {
		const char *f = c->input.v[i];

		if (!is_source(c, f)) {
			put(&objects, f);
			continue;
		}
		snprintf(n, sizeof(n), "/%zu", i);
		ptx = c->ptx_only ? c->out ? strdup(c->out) : beside(f, ".ptx") : joined("%s%s.ptx", c->dir, n);
		object = c->compile_only ? c->out ? strdup(c->out) : beside(f, ".o") : joined("%s%s.o", c->dir, n);
		put(&objects, object);
		st = compile(c, f, object, ptx);
		free(ptx);
	}
	if (!st && !c->compile_only && !c->ptx_only)
		st = link_all(c, &objects);
	return st;
}

static int arch_of(const char *s)
{
	const char *n = starts(s, "sm_") ? s + 3 : starts(s, "compute_") ? s + 8 : "";
	char *end;
	long v = strtol(n, &end, 10);

	return *n && !*end && v >= 50 && v <= 129 ? (int)v : -1;
}

/*
 * nvcc's words that change nothing here, or are clang's for the device's side: -fmad=false, --fmad false. What they let the compiler do
 * less exactly it may do exactly.
 */
static const struct { const char *name, *value, *clang; int separate; } nvcc_words[] = {
	{ "-use_fast_math", NULL, "-fgpu-flush-denormals-to-zero", 0 },
	{ "-ftz", "true", "-fgpu-flush-denormals-to-zero", 1 }, { "-ftz", "false", "-fno-gpu-flush-denormals-to-zero", 1 },
	{ "-fmad", "true", "-ffp-contract=fast", 1 }, { "-fmad", "false", "-ffp-contract=off", 1 },
	{ "-prec-div", "true", NULL, 1 }, { "-prec-div", "false", NULL, 1 }, { "-prec-sqrt", "true", NULL, 1 }, { "-prec-sqrt", "false", NULL, 1 },
	{ "-expt-relaxed-constexpr", NULL, NULL, 0 }, { "-extended-lambda", NULL, NULL, 0 }, { "-expt-extended-lambda", NULL, NULL, 0 },
	{ "-maxrregcount", "", NULL, 1 }, { "-Xptxas", "", NULL, 1 }, { "-ptxas-options", "", NULL, 1 }, { "-Xcudafe", "", NULL, 1 },
	{ "-diag-suppress", "", NULL, 1 }, { "-threads", "", NULL, 1 }, { "-t", "", NULL, 1 }, { "-m64", NULL, NULL, 0 },
	{ "-default-stream", "legacy", NULL, 1 }, { "-default-stream", "null", NULL, 1 },
	{ "-default-stream", "per-thread", "-DCUDA_API_PER_THREAD_DEFAULT_STREAM=1", 1 },
};

/* 0: taken; 1: it is none of these; -1: of a value that is not there. *used: it stood behind. */
static int nvcc_word(struct cc *c, const char *a, const char *next, int *used)
{
	const char *name = a[0] == '-' && a[1] == '-' ? a + 1 : a, *value = strchr(name, '=');
	size_t n = value ? (size_t)(value - name) : strlen(name);
	int known = 0;

	*used = 0;
	for (size_t i = 0; i < sizeof(nvcc_words) / sizeof(nvcc_words[0]); i++) {
		const char *v = value ? value + 1 : nvcc_words[i].separate ? next : NULL;

		if (strlen(nvcc_words[i].name) != n || memcmp(nvcc_words[i].name, name, n))
			continue;
		known = 1;
		if (nvcc_words[i].value && (!v || (*nvcc_words[i].value && strcmp(v, nvcc_words[i].value))))
			continue;
		*used = nvcc_words[i].separate && !value;
		if (nvcc_words[i].clang)
			put(nvcc_words[i].clang[1] == 'D' ? &c->both : &c->device, nvcc_words[i].clang);
		return 0;
	}
	if (known)
		complain("cc: %s %s: no such value", a, value ? "" : next ? next : "");
	return known ? -1 : 1;
}

/* -gencode arch=compute_61,code=[sm_61,compute_61]: PTX for the lowest of all that are named runs on the others too. */
static int gencode(struct cc *c, const char *value)
{
	const char *p = value && starts(value, "arch=") ? value + 5 : "";
	char name[24];
	int arch;

	snprintf(name, sizeof(name), "%.*s", (int)strcspn(p, ","), p);
	arch = arch_of(name);
	if (arch < 0) {
		complain("cc: -gencode %s: it is arch=compute_61,code=sm_61, with other numbers", value ? value : "");
		return -1;
	}
	if (!c->from_gencode || (unsigned)arch < c->arch)
		c->arch = (unsigned)arch;
	c->from_gencode = 1;
	return 0;
}

/* nvcc's own words; 0: taken, 1: not one of those, -1: wrong, said. used: the value stood behind it. */
static int own_option(struct cc *c, const char *a, const char *next, int *used)
{
	const char *value = strchr(a, '=');
	size_t n = value ? (size_t)(value - a) : strlen(a);
	int arch;

	value = value ? value + 1 : next;
#define IS(s) (n == sizeof(s) - 1 && !memcmp(a, s, n))
	*used = !strchr(a, '=');
	if (IS("-arch") || IS("--gpu-architecture")) {
		arch = value ? arch_of(value) : -1;
		if (arch < 0) {
			complain("cc: %s %s: it is sm_61 or compute_61, with another number", a, value && *used ? value : "");
			return -1;
		}
		c->arch = (unsigned)arch;
		return 0;
	}
	if (IS("-gencode") || IS("--generate-code"))
		return gencode(c, value);
	if (IS("-code") || IS("--gpu-code")) {          /* there is PTX alone, which is for all devices from -arch on */
		if (value)
			return 0;
		complain("cc: %s: of what?", a);
		return -1;
	}
	if (IS("-cudart") || IS("--cudart")) {
		if (!value || (strcmp(value, "shared") && strcmp(value, "static"))) {
			complain("cc: %s: it is shared or static", a);
			return -1;
		}
		c->is_static = !strcmp(value, "static");
		return 0;
	}
	if ((IS("-x") || IS("--x")) && value) {
		if (strcmp(value, "cu") && strcmp(value, "c++") && strcmp(value, "c")) {
			complain("cc: -x %s: it is cu, c++ or c", value);
			return -1;
		}
		c->language = value;
		return 0;
	}
	if ((IS("-std") || IS("--std")) && value) {
		put(&c->both, joined("-std=%s%s", value, ""));
		c->dialect = 1;
		return 0;
	}
	if ((IS("-Xcompiler") || IS("--compiler-options")) && value) {
		char *save = NULL, *copy = strdup(value);

		/* a Makefile's --compiler-options "$(CFLAGS)" too: nvcc leaves its words to a shell */
		for (char *t = strtok_r(copy, ", \t\n", &save); t; t = strtok_r(NULL, ", \t\n", &save))
			put(&c->host, t);
		return 0;
	}
	*used = 0;
	if (IS("-rdc") || IS("--relocatable-device-code") || IS("-dc") || IS("-dlink")) {
		if (strchr(a, '=') && !strcmp(strchr(a, '='), "=false"))
			return 0;
		complain("cc: %s is not there: clang has no linker for device code; vgpu toolkit brings NVIDIA's compiler, whose -rdc works", a);
		return -1;
	}
	if (IS("-lineinfo") || IS("-G")) {
		put(&c->device, "-gline-tables-only");
		return 0;
	}
	return nvcc_word(c, a, next, used);
}

/* An option whose value may be the next word. */
static int takes_word(const char *a)
{
	static const char *const known[] = { "-I", "-D", "-U", "-L", "-l", "-isystem", "-include", "-iquote", "-Xlinker", "-T", "-z" };

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (!strcmp(a, known[i]))
			return 1;
	return 0;
}

static int options(struct cc *c, int argc, char **argv)
{
	int used, st;

	for (int i = 1; i < argc; i++) {
		char *a = argv[i];
		struct list *to = starts(a, "-l") || starts(a, "-L") || starts(a, "-Wl,") || starts(a, "-Xlinker") || !strcmp(a, "-T") || !strcmp(a, "-z") ||
				  !strcmp(a, "-static") || !strcmp(a, "-shared") || !strcmp(a, "-pie") || !strcmp(a, "-no-pie") || !strcmp(a, "-rdynamic") ? &c->link : &c->both;

		if (*a != '-' || !a[1]) {
			put(&c->input, a);
			continue;
		}
		st = own_option(c, a, i + 1 < argc ? argv[i + 1] : NULL, &used);
		if (st < 0)
			return -1;
		if (!st) {
			i += used;
			continue;
		}
		if (!strcmp(a, "-o") && i + 1 < argc) {
			c->out = argv[++i];
		} else if (!strcmp(a, "-c")) {
			c->compile_only = 1;
		} else if (!strcmp(a, "-ptx") || !strcmp(a, "--ptx")) {
			c->ptx_only = 1;
		} else if (!strcmp(a, "--rtc")) {
			c->rtc = 1;
		} else if (!strcmp(a, "-v")) {
			c->verbose = 1;
		} else if (!strcmp(a, "--dryrun")) {
			c->dry = 1;
		} else {
			c->optimised |= starts(a, "-O");
			put(to, a);
			if (takes_word(a) && i + 1 < argc)
				put(to, argv[++i]);
		}
	}
	return 0;
}

int cmd_cc(int argc, char **argv)
{
	struct cc c = { .arch = DEFAULT_CC };
	char include[PATH_MAX], lib[PATH_MAX], found[PATH_MAX];
	const char *base_dir = getenv("TMPDIR"), *clang = getenv("VGPU_CLANG");
	struct list rm = { .n = 0 };
	int st;

	if (argc < 2 || !strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")) {
		fputs(usage_text, argc < 2 ? stderr : stdout);
		return argc < 2 ? 2 : 0;
	}
	/* whoever compiles in a program that does not want to hear of its children (NVRTC of ours) would have us never hear how ours ended */
	signal(SIGCHLD, SIG_DFL);
	/* as find_package(CUDAToolkit) reads it: whose interface this is */
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) {
		puts("vgpu cc " VGPU_VERSION "\nCuda compilation tools, release 13.1, V13.1.0: clang's, by vgpu");
		return 0;
	}
	if (tool_path(include, sizeof(include), "include", "vgpu") || tool_path(lib, sizeof(lib), "lib", "") || options(&c, argc, argv))
		return 2;
	if (!c.input.n) {
		complain("cc: no input files");
		return 2;
	}
	if ((c.compile_only || c.ptx_only) && c.out && c.input.n > 1) {
		complain("cc: -o with %s is for one file", c.ptx_only ? "-ptx" : "-c");
		return 2;
	}
	if (c.rtc && !c.ptx_only) {
		complain("cc: --rtc makes PTX: it stands beside -ptx");
		return 2;
	}
	c.include = include;
	snprintf(found, sizeof(found), "%.*s/cuda.h", PATH_MAX - 16, include);
	if (access(found, R_OK)) {
		complain("cc: %s is missing: Debian's package libcuda-lite-dev has it; else make, or reinstall", found);
		return 1;
	}
	if (*lib && lib[strlen(lib) - 1] == '/')
		lib[strlen(lib) - 1] = 0;
	c.lib = lib;
	c.clang = clang && *clang ? clang : "clang++";
	if (command_find(environ, c.clang, found)) {
		complain("cc: %s is not installed: apt install clang, or name it by VGPU_CLANG", c.clang);
		return 127;
	}
	if (!base_dir || !*base_dir || strlen(base_dir) + 16 > sizeof(c.dir))
		base_dir = "/tmp";
	snprintf(c.dir, sizeof(c.dir), "%s/vgpu-cc-XXXXXX", base_dir);
	if (!mkdtemp(c.dir)) {
		complain("cannot make a folder in %s: %s", base_dir, strerror(errno));
		return 1;
	}
	st = build(&c);
	put(&rm, "rm");
	put(&rm, "-rf");
	put(&rm, c.dir);
	c.verbose = c.dry = 0;
	run(&c, &rm);
	return st;
}
