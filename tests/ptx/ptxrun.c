/* SPDX-License-Identifier: MIT */
/*
 * Runs PTX test files on the cpu engine: one file = one case, its launch lines and the expected
 * memory, faults and output stand in its comments (README.md has the grammar).
 *
 * Build: tests/ptx/ptxrun.c tools/vgpu-stub/cpu/[all].c -llz4 -lzstd -lm -lpthread
 * Usage: ptxrun [-v] [-s] [-t SECONDS] [-c CORES] [-m MODE] [-j JOBS] [-x SEED] [-b FURTHER] [-g GIB] [-e N] FILE|FOLDER...    (default tests/ptx/cases)
 *        -s: a line "ok NAME", "FAIL NAME" or "skip NAME" for each file, for tests/run.sh;
 *        -m: jit, interp, memcheck or ops; with memcheck every report has to be named by the file
 *            cuda: on NVIDIA's driver, $CUDA_LIBRARY or libcuda.so.1, by JOBS processes; what that cannot tell is skipped
 *        -x: the JIT's code is left to the interpreter and entered again at places that SEED says
 *        -b: each block does the work of so many more besides its own, where that may be (coarsen.c)
 *        -g: device memory's addresses are so many, 512 otherwise: qemu-user notes each page of what is reserved
 *        -e: every Nth file of each folder
 *        exit 0 all passed, 1 some failed, 77 nothing to run
 *
 * Every file runs in a child process of its own (with -m cuda, in one that has had no fault so far): a crash or an endless kernel fails
 * that file. Under ASan BATCH files share one, none behind a fault, a failure or what was skipped; what it leaks fails the last of them.
 */
#include <dirent.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

static unsigned long long span_bytes = 512ull << 30;
#define RIG_SPAN_BYTES span_bytes
#define RIG_ARENA_BYTES (span_bytes / 4)
#define RIG_CUDA
#include "expect.h"
#include "pool.h"

static int verbose;
static int every = 1;           /* file of a folder */
static int scenarios;           /* one line "ok|FAIL|skip NAME ..." for each file */

static void do_stack(struct test *t, const char *s)
{
	int r;

	if (!rig_on_cuda || need_module(t))
		return;
	r = rig_cuda_stack(strtoul(s, NULL, 10));
	if (r)
		failed(t, "no stack of %s bytes: the driver's error %d", s, r);
}

/* So many blocks more are to be done by each, and are, by compiled code; or perhaps not. */
static void do_coarse(struct test *t, const char *s)
{
	const char *isa = getenv("VGPU_CPU_ISA");

	if (rig_on_cuda)
		return;
	jit_coarse = (uint32_t)strtoul(s, NULL, 10);
	t->coarse = !strstr(s, "perhaps") && rig_mode == ENGINE_MODE_JIT && __builtin_cpu_supports("avx2") && !(isa && !strcmp(isa, "base")) ? launch_coarse + 1 : 0;
}

/* Narrow blocks are to be run as wider ones, by compiled code, or are not to be. */
static void do_joined(struct test *t, const char *s)
{
	if (rig_on_cuda)
		return;
	t->joined = strtoul(s, NULL, 10) ? 1 : 2;
	t->joined_before = launch_joined;
}

/* Have they been? Where there is no compiled code, none are. */
static void check_joined(struct test *t)
{
	const char *isa = getenv("VGPU_CPU_ISA");
	int code = rig_mode == ENGINE_MODE_JIT && __builtin_cpu_supports("avx2") && !(isa && !strcmp(isa, "base"));

	if (!t->joined || t->failures || (t->joined == 1 && jit_coarse))        /* -b: several blocks' work by each is another way */
		return;
	if ((launch_joined != t->joined_before) != (code && t->joined == 1))
		failed(t, t->joined == 1 && code ? "no narrow blocks were run as wider ones" : "narrow blocks were run as wider ones");
}

static void directive(struct test *t, const char *s)
{
	size_t n = strcspn(s, ":");
	const char *rest = s + n + (s[n] == ':');

	while (*rest == ' ')
		rest++;
#define IS(name) (n == strlen(name) && !strncmp(s, name, n))
	if (IS("launch"))
		do_launch(t, rest, 0);
	else if (IS("status") || IS("print"))
		do_show(t, rest, *s == 's');
	else if (IS("launch-async"))
		do_launch(t, rest, 1);
	else if (IS("free"))
		do_free(t, rest);
	else if (IS("wait"))
		do_wait(t);
	else if (IS("expect"))
		do_expect(t, rest, 0);
	else if (IS("set"))
		do_expect(t, rest, 1);
	else if (IS("expect-fault"))
		do_expect_fault(t, rest, 0);
	else if (IS("expect-launch"))
		do_expect_fault(t, rest, 1);
	else if (IS("expect-load"))
		do_expect_load(t, rest);
	else if (IS("func"))
		do_func(t, rest);
	else if (IS("stack"))
		do_stack(t, rest);
	else if (IS("cc"))
		sscanf(rest, "%u.%u", &t->cc_major, &t->cc_minor);
	else if (IS("workers"))
		t->cores = (unsigned)strtoul(rest, NULL, 10);
	else if (IS("memcheck"))
		do_told(t, rest, ENGINE_MODE_MEMCHECK);
	else if (IS("ops"))
		do_told(t, rest, ENGINE_MODE_OPS);
	else if (IS("show"))
		setenv("VGPU_OPS", rest, 1);
	else if (IS("patience"))
		jit_patience = (uint32_t)strtoul(rest, NULL, 10);
	else if (IS("endless"))
		verify_ns = (uint64_t)(strtod(rest, NULL) * 1e9);
	else if (IS("coarse"))
		do_coarse(t, rest);
	else if (IS("joined"))
		do_joined(t, rest);
	else if (IS("optional"))
		t->optional = 1;
	else if (IS("unless")) {
	} else if (IS("timeout"))
		t->seconds = strtod(rest, NULL);
	else if (s[n] == ':' && (!strncmp(s, "expect", 6) || !strncmp(s, "launch", 6)))
		failed(t, "unknown directive '%.*s'", (int)n, s);
#undef IS
}

static int is_directive(const char *s, const char *name)
{
	return !strncmp(s, "// ", 3) && !strncmp(s + 3, name, strlen(name)) &&
	       s[3 + strlen(name)] == ':';
}

static uint64_t usual_ns;       /* verify_ns as it is in the product */

/* *from: the line where a process before this one left off, 0: none; with -m cuda, where another has to go on. */
static int run_file(const char *path, unsigned cores, double seconds, unsigned *from)
{
	struct test t = { .path = path, .cores = cores, .seconds = seconds, .cc_major = 9,
			  .launched = -1 };
	char line[65536], want[65536] = "";
	unsigned first = *from;
	int printing = 0;
	long size;
	FILE *f = fopen(path, "rb");

	*from = 0;
	jit_patience = 8;
	verify_ns = usual_ns;
	if (!first)
		rig_told_bytes = 0;     /* of the file before */
	if (!f || fseek(f, 0, SEEK_END) || (size = ftell(f)) < 0 || fseek(f, 0, SEEK_SET)) {
		printf("%s: cannot read\n", path);
		return 1;
	}
	t.text = malloc((size_t)size + 1);
	t.text_bytes = fread(t.text, 1, (size_t)size, f);
	t.text[t.text_bytes] = 0;
	fclose(f);
	if (rig_on_cuda && strstr(t.text, "\n// expect-fault: TIMEOUT"))
		snprintf(t.skip, sizeof(t.skip), "hardware waits for ever");
	for (char *s = t.text, *end; *s; s = *end ? end + 1 : end) {
		end = s + strcspn(s, "\n");
		t.line++;
		if (end - s >= (int)sizeof(line))
			continue;
		memcpy(line, s, (size_t)(end - s));
		line[end - s] = 0;
		if (is_directive(line, "expect-print")) {
			if (strlen(want) + strlen(line) < sizeof(want))
				strcat(strcat(want, line + strlen("// expect-print: ")), "\n");
			printing = 1;
			continue;
		}
		if (printing) {
			check_print(&t, want);
			want[0] = 0;
			printing = 0;
		}
		if (is_directive(line, "unless") && rig_mode == ENGINE_MODE_MEMCHECK && strstr(line, "memcheck")) {
			if (scenarios || verbose)
				printf("%s: memcheck keeps to other rules\n", path);
			free(t.text);
			return 77;
		}
		if (is_directive(line, "unless") && rig_on_cuda && strstr(line, "cuda")) {
			if (scenarios || verbose)
				printf("%s: hardware does it otherwise: %s\n", path, line + strlen("// unless: cuda"));
			free(t.text);
			return 77;
		}
		if (is_directive(line, "unless") && rig_mode == ENGINE_MODE_VERIFY && strstr(line, "verify")) {
			if (scenarios || verbose)
				printf("%s: its results are a matter of chance\n", path);
			free(t.text);
			return 77;
		}
		if (!strncmp(line, "// ", 3) && !t.skip[0] && (t.line >= first || is_directive(line, "cc") || is_directive(line, "workers") || is_directive(line, "optional")))
			directive(&t, line + 3);
		if (t.again)
			break;
		if (rig_on_cuda && (t.cc_major != rig_device.cc_major || t.cc_minor != rig_device.cc_minor))
			snprintf(t.skip, sizeof(t.skip), "of compute capability %u.%u", t.cc_major, t.cc_minor);
		if (t.skip[0])
			break;
	}
	*from = t.again;
	if (printing && !t.skip[0] && !t.again)
		check_print(&t, want);
	settle(&t);
	close_engine(&t);
	if (t.coarse && launch_coarse < t.coarse && !t.failures)
		failed(&t, "no block did the work of several");
	check_joined(&t);
	if (rig_on_cuda && strstr(t.text, "\n// stack: "))
		rig_cuda_stack(1024);
	check_told(&t);
	if (t.skip[0]) {
		printf("%s is skipped: %s\n", t.path, t.skip);
		free(t.text);
		return t.failures ? 1 : 77;
	}
	if (!t.checks && !*from)
		failed(&t, "checks nothing");
	if (verbose && !t.failures)
		printf("%s passed %u checks\n", path, t.checks);
	free(t.text);
	return t.failures != 0;
}

static int only_ptx(const struct dirent *d)
{
	size_t n = strlen(d->d_name);

	return n > 4 && !strcmp(d->d_name + n - 4, ".ptx");
}

static void count(const char *path, int result, unsigned *bad, unsigned *skipped)
{
	const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;

	if (scenarios)
		printf("%s %.*s\n", result == 0 ? "ok" : result == 77 ? "skip" : "FAIL",
		       (int)strcspn(name, "."), name);
	*skipped += result == 77;
	*bad += result != 0 && result != 77;
}

/* ---- -m cuda: several files in one process, several processes ---------------------------------------- */

static char **files;
static unsigned nfiles;
static unsigned *file_lines;            /* of all processes: where to go on, and whether something was wrong before */
static double wait_seconds;

static double file_limit(unsigned i) { (void)i; return 20; }
static int file_begin(void) { return rig_cuda_begin(); }

static int file_work(unsigned i)
{
	unsigned bad = 0, skipped = 0;
	int rc = run_file(files[i], 1, wait_seconds, &file_lines[2 * i]);

	file_lines[2 * i + 1] |= rc == 1;
	if (!file_lines[2 * i]) {
		rc = file_lines[2 * i + 1] ? 1 : rc;
		count(files[i], rc, &bad, &skipped);
	}
	RIG_FLUSH();
	return rc | (file_lines[2 * i] ? POOL_AGAIN : engine_cuda.died(rig_cuda_engine) ? POOL_SPOILT : 0);
}

static void file_died(unsigned i, const char *how)
{
	unsigned bad, skipped;

	printf("%s:0: the test %s\n", files[i], how);
	count(files[i], 1, &bad, &skipped);
	RIG_FLUSH();
}

static int add_file(const char *path)
{
	if (!(nfiles & (nfiles - 1))) {
		char **grown = realloc(files, (nfiles ? 2 * nfiles : 1) * sizeof(*files));

		if (!grown)
			return -1;
		files = grown;
	}
	files[nfiles] = strdup(path);
	return files[nfiles++] ? 0 : -1;
}

static int add(const char *path)
{
	struct dirent **list;
	struct stat st;
	char inside[4096];
	int n, rc = 0;

	if (stat(path, &st) || !S_ISDIR(st.st_mode))
		return add_file(path);
	n = scandir(path, &list, only_ptx, alphasort);
	for (int k = 0; k < n; k++) {
		snprintf(inside, sizeof(inside), "%s/%s", path, list[k]->d_name);
		free(list[k]);
		rc |= k % every ? 0 : add_file(inside);
	}
	if (n >= 0)
		free(list);
	return rc;
}

/* ---- all other modes: children ------------------------------------------------------------------------ */

/* A process of its own for each is half of the time under ASan: it is copied, and searched for leaks. */
#ifdef __SANITIZE_ADDRESS__
#define BATCH 16u
#else
#define BATCH 1u
#endif

static struct progress {
	unsigned at;            /* W child: the file that runs */
	int result[];           /* W child: of each, once it has ended: 1 + 0 passed, 1 failed, 77 skipped */
} *progress;

/* Does it leave the engine's threads or the process in a state that others would not begin in? */
static int spoils(const char *path)
{
	char line[65536];
	FILE *f = fopen(path, "rb");
	int yes = !f;

	while (!yes && fgets(line, sizeof(line), f))
		yes = is_directive(line, "expect-fault") || is_directive(line, "expect-launch") || is_directive(line, "show");
	if (f)
		fclose(f);
	return yes;
}

static void child(unsigned first, unsigned last, unsigned cores, double seconds)
{
	int rc = 0;

	for (unsigned i = first; i < last; i++) {
		unsigned from = 0;

		progress->at = i;
		rc = run_file(files[i], cores, seconds, &from);
		RIG_FLUSH();
		progress->result[i] = 1 + rc;
		if (rc || spoils(files[i]))
			break;
	}
	exit(rc == 1);
}

/* The files from first on, in one process; the first that has not run. */
static unsigned run_child(unsigned first, unsigned cores, double seconds, unsigned *bad, unsigned *skipped)
{
	unsigned last = nfiles - first < BATCH ? nfiles : first + BATCH, ran = first;
	int status = 0, ms = 0;
	unsigned at = first;
	pid_t pid;

	RIG_FLUSH();
	pid = fork();
	if (pid == 0)
		child(first, last, cores, seconds);
	if (pid < 0) {
		perror("fork");
		exit(1);
	}
	while (waitpid(pid, &status, WNOHANG) == 0) {
		if (at != progress->at)
			ms = 0;
		at = progress->at;
		if (ms++ > 60000) {
			kill(pid, SIGKILL);
			waitpid(pid, &status, 0);
			break;
		}
		usleep(1000);
	}
	while (ran < last && progress->result[ran])
		ran++;
	if (ran == first || (ran < last && progress->at == ran)) {              /* it ended within a file */
		if (WIFSIGNALED(status))
			printf("%s:0: the test died of signal %d\n", files[ran], WTERMSIG(status));
		progress->result[ran++] = 2;
	} else if (status && progress->result[ran - 1] != 2) {                  /* behind the last one: LeakSanitizer */
		printf("%s:0: or one before it in its process: exit %d\n", files[ran - 1], WEXITSTATUS(status));
		progress->result[ran - 1] = 2;
	}
	for (unsigned i = first; i < ran; i++)
		count(files[i], progress->result[i] - 1, bad, skipped);
	return ran;
}

int main(int argc, char **argv)
{
	unsigned bad = 0, skipped = 0, cores = 2, jobs = 1;
	double seconds = 60;
	int opt;

	usual_ns = verify_ns;
	join_least = 0;         /* wherever that may be */
	while ((opt = getopt(argc, argv, "vst:c:m:x:b:j:g:e:")) != -1) {
		if (opt == 'v')
			verbose = 1;
		else if (opt == 's')
			scenarios = 1;
		else if (opt == 't')
			seconds = strtod(optarg, NULL);
		else if (opt == 'c')
			cores = (unsigned)atoi(optarg);
		else if (opt == 'x')
			jit_stress = (uint32_t)strtoul(optarg, NULL, 0);
		else if (opt == 'b')
			jit_coarse = (uint32_t)strtoul(optarg, NULL, 0);
		else if (opt == 'j')
			jobs = (unsigned)atoi(optarg);
		else if (opt == 'e' && atoi(optarg) > 0)
			every = atoi(optarg);
		else if (opt == 'g')
			span_bytes = (unsigned long long)atoi(optarg) << 30;
		else if (opt == 'm' && !rig_set_mode(optarg))
			;
		else
			return 2;
	}
	for (int i = optind; i < argc || i == optind; i++)
		if (add(i < argc ? argv[i] : "tests/ptx/cases"))
			return 1;
	if (rig_on_cuda) {
		wait_seconds = seconds < 10 ? seconds : 10;
		file_lines = mmap(NULL, (nfiles + 1) * 2 * sizeof(*file_lines), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		if (file_lines == MAP_FAILED)
			return 1;
		if (nfiles && pool_run(nfiles, jobs, file_limit, file_begin, file_work, file_died))
			return 1;
		for (unsigned i = 0; i < nfiles; i++) {
			skipped += pool->result[i] == 77;
			bad += pool->result[i] && pool->result[i] != 77;
		}
	} else {
		progress = mmap(NULL, sizeof(*progress) + (nfiles + 1) * sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		if (progress == MAP_FAILED)
			return 1;
		for (unsigned i = 0; i < nfiles;)
			i = run_child(i, cores, seconds, &bad, &skipped);
	}
	printf("ptxrun: %u files, %u failed, %u skipped\n", nfiles, bad, skipped);
	return nfiles == 0 ? 77 : bad != 0 || (rig_on_cuda && skipped == nfiles);
}
