/* SPDX-License-Identifier: MIT */
/*
 * Runs PTX test files on the cpu engine: one file = one case, its launch lines and the expected
 * memory, faults and output stand in its comments (README.md has the grammar).
 *
 * Build: tests/ptx/ptxrun.c tools/vgpu-stub/cpu/[all].c -llz4 -lzstd -lm -lpthread
 * Usage: ptxrun [-v] [-s] [-t SECONDS] [-c CORES] [-m MODE] [-x SEED] FILE|FOLDER...    (default tests/ptx/cases)
 *        -s: a line "ok NAME", "FAIL NAME" or "skip NAME" for each file, for tests/run.sh;
 *        -m: jit, interp, memcheck or ops; with memcheck every report has to be named by the file
 *        -x: the JIT's code is left to the interpreter and entered again at places that SEED says
 *        exit 0 all passed, 1 some failed, 77 nothing to run
 *
 * Every file runs in a child process of its own: a crash or an endless kernel fails that file.
 */
#include <dirent.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "expect.h"

static int verbose;
static int scenarios;           /* one line "ok|FAIL|skip NAME ..." for each file */

static void directive(struct test *t, const char *s)
{
	size_t n = strcspn(s, ":");
	const char *rest = s + n + (s[n] == ':');

	while (*rest == ' ')
		rest++;
#define IS(name) (n == strlen(name) && !strncmp(s, name, n))
	if (IS("launch"))
		do_launch(t, rest, 0);
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
	else if (IS("cc"))
		sscanf(rest, "%u.%u", &t->cc_major, &t->cc_minor);
	else if (IS("memcheck"))
		do_told(t, rest, ENGINE_MODE_MEMCHECK);
	else if (IS("ops"))
		do_told(t, rest, ENGINE_MODE_OPS);
	else if (IS("show"))
		setenv("VGPU_OPS", rest, 1);
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

static int run_file(const char *path, unsigned cores, double seconds)
{
	struct test t = { .path = path, .cores = cores, .seconds = seconds, .cc_major = 9,
			  .launched = -1 };
	char line[65536], want[65536] = "";
	int printing = 0;
	long size;
	FILE *f = fopen(path, "rb");

	if (!f || fseek(f, 0, SEEK_END) || (size = ftell(f)) < 0 || fseek(f, 0, SEEK_SET)) {
		printf("%s: cannot read\n", path);
		return 1;
	}
	t.text = malloc((size_t)size + 1);
	t.text_bytes = fread(t.text, 1, (size_t)size, f);
	t.text[t.text_bytes] = 0;
	fclose(f);
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
		if (is_directive(line, "unless") && rig_mode == ENGINE_MODE_VERIFY && strstr(line, "verify")) {
			if (scenarios || verbose)
				printf("%s: its results are a matter of chance\n", path);
			free(t.text);
			return 77;
		}
		if (!strncmp(line, "// ", 3))
			directive(&t, line + 3);
	}
	if (printing)
		check_print(&t, want);
	settle(&t);
	close_engine(&t);
	check_told(&t);
	if (!t.checks)
		failed(&t, "checks nothing");
	if (verbose && !t.failures)
		printf("%s passed %u checks\n", path, t.checks);
	free(t.text);
	return t.failures != 0;
}

/* 0 passed, 1 failed, 77 skipped. */
static int run_child(const char *path, unsigned cores, double seconds)
{
	int wait_status = 0, ms = 0;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		int rc = run_file(path, cores, seconds);

		fflush(stdout);
		exit(rc);
	}
	if (pid < 0) {
		perror("fork");
		return 1;
	}
	while (waitpid(pid, &wait_status, WNOHANG) == 0) {
		if (ms++ > 60000) {
			kill(pid, SIGKILL);
			waitpid(pid, &wait_status, 0);
			break;
		}
		usleep(1000);
	}
	if (WIFSIGNALED(wait_status)) {
		printf("%s:0: the test died of signal %d\n", path, WTERMSIG(wait_status));
		return 1;
	}
	return WEXITSTATUS(wait_status);
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

int main(int argc, char **argv)
{
	unsigned files = 0, bad = 0, skipped = 0, cores = 2;
	const char *fallback[] = { "tests/ptx/cases" };
	const char **paths;
	double seconds = 60;
	int opt, npaths;

	while ((opt = getopt(argc, argv, "vst:c:m:x:")) != -1) {
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
		else if (opt == 'm' && !rig_set_mode(optarg))
			;
		else
			return 2;
	}
	paths = optind < argc ? (const char **)argv + optind : fallback;
	npaths = optind < argc ? argc - optind : 1;
	for (int i = 0; i < npaths; i++) {
		struct dirent **list;
		struct stat st;
		char path[4096];
		int n;

		if (stat(paths[i], &st) || !S_ISDIR(st.st_mode)) {
			files++;
			count(paths[i], run_child(paths[i], cores, seconds), &bad, &skipped);
			continue;
		}
		n = scandir(paths[i], &list, only_ptx, alphasort);
		for (int k = 0; k < n; k++) {
			snprintf(path, sizeof(path), "%s/%s", paths[i], list[k]->d_name);
			free(list[k]);
			files++;
			count(path, run_child(path, cores, seconds), &bad, &skipped);
		}
		if (n >= 0)
			free(list);
	}
	printf("ptxrun: %u files, %u failed, %u skipped\n", files, bad, skipped);
	return files == 0 ? 77 : bad != 0;
}
