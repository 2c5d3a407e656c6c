/* SPDX-License-Identifier: MIT */
/*
 * llm speed: tokens per second of both sides, same model, same number of threads, same run. The sides take turns and the
 * median of the rounds counts, so that what else the machine does meets both.
 *
 * On a busy machine the clock says little, and threads of the CPU backend that wait for each other lose most. So the time on
 * processors is given as well.
 */
#include "lm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "proc.h"

#define MAX_ROUNDS 16

static struct proc_set beside;

/* Seconds on processors: of this process, and of the device and the agent where they compute for it. */
static double spent(enum lm_side side)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9 + (side == LM_CUDA ? proc_seconds(&beside) : 0);
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *v, int n)
{
	qsort(v, (size_t)n, sizeof(*v), by_value);
	return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

/* Seconds for the prompt and for the tokens after it, then the same on processors. */
static void once(struct lm *m, enum lm_side side, int prompt, int tokens, double out[4])
{
	llama_token tok[LM_MAX_TOKENS];
	double t, cpu;

	for (int i = 0; i < prompt + tokens; i++)
		tok[i] = 3 + (i * 37 + i * i * 11) % (m->n_vocab - 3);
	llama_memory_clear(llama_get_memory(m->ctx), true);
	cpu = spent(side);
	t = lm_now();
	lm_decode(m, tok, prompt, 0, 0, 0);
	lm_logits(m, -1);
	out[0] = lm_now() - t;
	out[2] = spent(side) - cpu;
	cpu = spent(side);
	t = lm_now();
	for (int i = prompt; i < prompt + tokens; i++) {
		lm_decode(m, tok + i, 1, i, 0, 0);
		lm_logits(m, -1);
	}
	out[1] = lm_now() - t;
	out[3] = spent(side) - cpu;
}

int cmd_speed(const char *backends, int argc, char **argv)
{
	double s[2][4][MAX_ROUNDS];             /* side, what once() gives */
	double m4[2][4];                        /* medians */
	int prompt = 256, tokens = 32, rounds = 3, opt;
	struct lm_options o = { 0 };
	struct lm m[2];

	while ((opt = getopt(argc, argv, "+p:n:t:r:")) != -1)
		switch (opt) {
		case 'p': prompt = atoi(optarg); break;
		case 'n': tokens = atoi(optarg); break;
		case 't': o.threads = atoi(optarg); break;
		case 'r': rounds = atoi(optarg); break;
		default: return 2;
		}
	if (optind + 1 != argc || prompt < 1 || prompt > 512 || tokens < 1 || tokens > 1024 || rounds < 1 || rounds > MAX_ROUNDS)
		return 2;
	const char *device = lm_start(backends);

	o.context = prompt + tokens + 8;
	for (int side = 0; side < 2; side++) {
		double warm[4];

		lm_open(&m[side], argv[optind], (enum lm_side)side, &o);
		once(&m[side], (enum lm_side)side, prompt, 2, warm);    /* first use compiles kernels and touches the weights */
	}
	proc_beside(&beside);
	for (int r = 0; r < rounds; r++)
		for (int side = 0; side < 2; side++) {
			double t[4];

			once(&m[side], (enum lm_side)side, prompt, tokens, t);
			for (int k = 0; k < 4; k++)
				s[side][k][r] = t[k];
		}
	for (int side = 0; side < 2; side++)
		for (int k = 0; k < 4; k++)
			m4[side][k] = median(s[side][k], rounds);
	printf("%s, %llu M parameters, %d rounds, medians\n", device,
	       (unsigned long long)llama_model_n_params(m[0].model) / 1000000, rounds);
	printf("%-34s %10s %10s %8s\n", "", "CUDA", "CPU", "ratio");
	for (int k = 0; k < 4; k++) {
		int n = k % 2 ? tokens : prompt;
		double cuda = k < 2 ? n / m4[1][k] : 1e3 * m4[1][k] / n, cpu = k < 2 ? n / m4[0][k] : 1e3 * m4[0][k] / n;

		printf("%s (%4d), %-17s %10.2f %10.2f %8.3f\n", k % 2 ? "decode" : "prompt", n,
		       k < 2 ? "tokens/s" : "processor ms each", cuda, cpu, m4[0][k] / m4[1][k]);
	}
	lm_close(&m[0]);
	lm_close(&m[1]);
	return 0;
}
