/* SPDX-License-Identifier: MIT */
/*
 * llm speed: tokens per second of both sides, same model, same number of threads, same run. The sides take turns and the
 * median of the rounds counts, so that what else the machine does meets both.
 */
#include "lm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_ROUNDS 16

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

/* Seconds for the prompt and for the tokens after it. */
static void once(struct lm *m, int prompt, int tokens, double out[2])
{
	llama_token tok[LM_MAX_TOKENS];
	double t;

	for (int i = 0; i < prompt + tokens; i++)
		tok[i] = 3 + (i * 37 + i * i * 11) % (m->n_vocab - 3);
	llama_memory_clear(llama_get_memory(m->ctx), true);
	t = lm_now();
	lm_decode(m, tok, prompt, 0, 0, 0);
	lm_logits(m, -1);
	out[0] = lm_now() - t;
	t = lm_now();
	for (int i = prompt; i < prompt + tokens; i++) {
		lm_decode(m, tok + i, 1, i, 0, 0);
		lm_logits(m, -1);
	}
	out[1] = lm_now() - t;
}

int cmd_speed(const char *backends, int argc, char **argv)
{
	double s[2][2][MAX_ROUNDS], per[2][2];  /* side, prompt or decode */
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
		double warm[2];

		lm_open(&m[side], argv[optind], (enum lm_side)side, &o);
		once(&m[side], prompt, 2, warm);        /* first use compiles kernels and touches the weights */
	}
	for (int r = 0; r < rounds; r++)
		for (int side = 0; side < 2; side++) {
			double t[2];

			once(&m[side], prompt, tokens, t);
			s[side][0][r] = t[0];
			s[side][1][r] = t[1];
		}
	for (int side = 0; side < 2; side++) {
		per[side][0] = prompt / median(s[side][0], rounds);
		per[side][1] = tokens / median(s[side][1], rounds);
	}
	printf("%s, %llu M parameters, %d rounds, medians of tokens/s\n", device,
	       (unsigned long long)llama_model_n_params(m[0].model) / 1000000, rounds);
	printf("%-24s %10s %10s %8s\n", "", "CUDA", "CPU", "ratio");
	printf("prompt (%4d tokens)     %10.2f %10.2f %8.3f\n", prompt, per[1][0], per[0][0], per[1][0] / per[0][0]);
	printf("decode (%4d tokens)     %10.2f %10.2f %8.3f\n", tokens, per[1][1], per[0][1], per[1][1] / per[0][1]);
	lm_close(&m[0]);
	lm_close(&m[1]);
	return 0;
}
