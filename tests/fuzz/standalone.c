/* SPDX-License-Identifier: MIT */
/*
 * Runs a libFuzzer entry point without libFuzzer: first every file of a corpus, then mutations
 * of them. Mutation number N is a function of the seed, N and the corpus alone, so a failure is
 * repeated by its number.
 *
 * Linked with one fuzz_*.c; meant for gcc's ASan and UBSan in the test suite.
 * Usage: PROGRAM [-n MUTATIONS] [-t SECONDS] [-s SEED] [-o NUMBER] FILE|FOLDER...
 *        -n and -t bound the run (default 20000 and 20 s); -o runs one mutation only and writes
 *        it to the file "mutation"; exit 0, or whatever the sanitizer does
 */
#include <dirent.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define MAX_FILES 512
#define MAX_BYTES (64u << 10)
#define MAX_WORDS 4096
#define LIMIT_S 20              /* of processor time for one input: a busy machine is no fault of it ... */
#define WAIT_S 300              /* ... and of the clock's, for what waits for ever */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
void __sanitizer_set_death_callback(void (*callback)(void)) __attribute__((weak));

struct blob {
	uint8_t *data;
	size_t size;
	const char *name;
};

static struct blob files[MAX_FILES];
static unsigned nfiles;
static struct blob words[MAX_WORDS];    /* pieces of text between blanks: a dictionary */
static unsigned nwords;
static uint64_t state, seed = 1;
static uint64_t current;                /* number of the mutation in work */
static const char *current_file;

static uint32_t rnd(uint32_t below)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return below ? (uint32_t)((state * 0x2545f4914f6cdd1dull) >> 32) % below : 0;
}

static void death(void)
{
	if (current_file)
		fprintf(stderr, "standalone: died on %s\n", current_file);
	else
		fprintf(stderr, "standalone: died in mutation %llu of seed %llu; repeat with -s %llu -o %llu\n",
			(unsigned long long)current, (unsigned long long)seed,
			(unsigned long long)seed, (unsigned long long)current);
}

/* gcc's UBSan does not know ASan's callback; it calls this for each report. */
void __ubsan_on_report(void);
void __ubsan_on_report(void)
{
	death();
}

static void too_long(int sig)
{
	fprintf(stderr, "standalone: an input takes more than %d s\n", sig == SIGALRM ? WAIT_S : LIMIT_S);
	death();
	_exit(1);
}

/* A check of the harness's own failed: what it said may still be in the buffer. */
static void aborted(int sig)
{
	signal(sig, SIG_DFL);
	fflush(stdout);
	death();
	raise(sig);
}

static void add_file(const char *path)
{
	FILE *f = fopen(path, "rb");
	struct blob *b = &files[nfiles];

	if (!f || nfiles == MAX_FILES) {
		if (f)
			fclose(f);
		return;
	}
	b->data = malloc(MAX_BYTES);
	b->size = fread(b->data, 1, MAX_BYTES, f);
	b->name = strdup(path);
	fclose(f);
	nfiles++;
	for (size_t i = 0; i < b->size;) {
		size_t n = 0;

		while (i + n < b->size && b->data[i + n] > ' ')
			n++;
		if (n > 1 && n < 24 && nwords < MAX_WORDS) {
			words[nwords].data = b->data + i;
			words[nwords++].size = n;
		}
		i += n + 1;
	}
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static void add_path(const char *path)
{
	struct dirent **list;
	struct stat st;
	char name[4096];
	int n;

	if (stat(path, &st) || !S_ISDIR(st.st_mode)) {
		add_file(path);
		return;
	}
	/* sorted by bytes, so that numbers mean the same on every machine */
	n = scandir(path, &list, NULL, by_name);
	for (int i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "%s/%s", path, list[i]->d_name);
		if (list[i]->d_name[0] != '.')
			add_file(name);
		free(list[i]);
	}
	if (n >= 0)
		free(list);
}

/* Replaces `cut` bytes at `at` by n others, within MAX_BYTES. */
static size_t replace(uint8_t *b, size_t size, size_t at, size_t cut, const uint8_t *with, size_t n)
{
	if (at > size)
		at = size;
	if (cut > size - at)
		cut = size - at;
	if (size - cut + n > MAX_BYTES)
		return size;
	memmove(b + at + n, b + at + cut, size - at - cut);
	memcpy(b + at, with, n);
	return size - cut + n;
}

static size_t mutate(uint8_t *b, size_t size)
{
	static const uint64_t odd[] = { 0, 1, 0x7f, 0x80, 0xff, 0x7fff, 0xffff, 0x7fffffff, 0x80000000,
					0xffffffff, 0x7fffffffffffffff, 0xffffffffffffffff };
	static uint8_t piece[MAX_BYTES];
	uint32_t n = (uint32_t)size, at = rnd(n + 1), len;
	const struct blob *other;

	switch (rnd(10)) {
	case 0:
		if (at < size)
			b[at] ^= (uint8_t)(1u << rnd(8));
		return size;
	case 1:
		if (at < size)
			b[at] = (uint8_t)rnd(256);
		return size;
	case 2:
		return replace(b, size, at, 1 + rnd(rnd(4) ? 8 : 400), piece, 0);
	case 3:
		/* a piece of itself elsewhere */
		len = 1 + rnd(rnd(4) ? 16 : 600);
		if (len > n - at)
			len = n - at;
		memcpy(piece, b + at, len);
		return replace(b, size, rnd(n + 1), rnd(2) ? len : 0, piece, len);
	case 4:
		other = &files[rnd(nfiles)];
		if (!other->size)
			return size;
		at = rnd((uint32_t)other->size);
		len = 1 + rnd((uint32_t)other->size - at);
		return replace(b, size, rnd(n + 1), rnd(2) ? len : 0, other->data + at, len);
	case 5:
	case 6:
	case 7:
		/* a word of the corpus in the place of another word */
		if (!nwords)
			return size;
		while (at > 0 && b[at - 1] > ' ')
			at--;
		for (len = 0; at + len < n && b[at + len] > ' ';)
			len++;
		other = &words[rnd(nwords)];
		return replace(b, size, at, rnd(4) ? len : 0, other->data, other->size);
	case 8:
		len = 1u << rnd(4);
		if (at + len <= n)
			memcpy(b + at, &odd[rnd(12)], len);
		return size;
	default:
		/* a number in the text becomes another one */
		while (at < n && (b[at] < '0' || b[at] > '9'))
			at++;
		for (len = 0; at + len < n && b[at + len] >= '0' && b[at + len] <= '9';)
			len++;
		snprintf((char *)piece, 32, "%llu", (unsigned long long)odd[rnd(12)]);
		return len ? replace(b, size, at, len, piece, strlen((char *)piece)) : size;
	}
}

static void limit(int seconds)
{
	struct itimerval t = { .it_value = { .tv_sec = seconds } };

	setitimer(ITIMER_PROF, &t, NULL);
	alarm(seconds ? WAIT_S : 0);
}

static void run(const uint8_t *data, size_t size)
{
	/* a block of exactly the size: one byte too far is seen */
	uint8_t *copy = malloc(size ? size : 1);

	memcpy(copy, data, size);
	limit(LIMIT_S);
	LLVMFuzzerTestOneInput(copy, size);
	limit(0);
	free(copy);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

int main(int argc, char **argv)
{
	static uint8_t b[MAX_BYTES];
	uint64_t count = 20000, only = 0;
	double seconds = 20, start = now();
	int opt;

	while ((opt = getopt(argc, argv, "n:t:s:o:")) != -1) {
		if (opt == 'n')
			count = strtoull(optarg, NULL, 0);
		else if (opt == 't')
			seconds = strtod(optarg, NULL);
		else if (opt == 's')
			seed = strtoull(optarg, NULL, 0);
		else if (opt == 'o')
			only = strtoull(optarg, NULL, 0);
		else
			return 2;
	}
	for (int i = optind; i < argc; i++)
		add_path(argv[i]);
	if (!nfiles) {
		printf("standalone: no corpus\n");
		return 77;
	}
	signal(SIGALRM, too_long);
	signal(SIGPROF, too_long);
	signal(SIGABRT, aborted);
	if (__sanitizer_set_death_callback)
		__sanitizer_set_death_callback(death);
	for (unsigned i = 0; !only && i < nfiles; i++) {
		current_file = files[i].name;
		run(files[i].data, files[i].size);
	}
	current_file = NULL;
	for (current = only ? only : 1; current <= (only ? only : count); current++) {
		const struct blob *f;
		size_t size;

		state = (seed * 0x9e3779b97f4a7c15ull) ^ (current * 0xbf58476d1ce4e5b9ull);
		state |= 1;
		rnd(0), rnd(0);
		f = &files[rnd(nfiles)];
		size = f->size;
		memcpy(b, f->data, size);
		for (uint32_t k = 1 + rnd(6); k; k--)
			size = mutate(b, size);
		if (only) {
			FILE *out = fopen("mutation", "wb");

			if (out) {
				fwrite(b, 1, size, out);
				fclose(out);
			}
		}
		run(b, size);
		if (!only && now() - start > seconds)
			break;
	}
	printf("standalone: %u files and %llu mutations of seed %llu in %.1f s\n", nfiles,
	       (unsigned long long)(only ? 1 : current - (current > count)), (unsigned long long)seed,
	       now() - start);
	return 0;
}
