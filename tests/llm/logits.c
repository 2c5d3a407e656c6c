/* SPDX-License-Identifier: MIT */
/*
 * llm logits and llm text: the same tokens on both sides.
 *
 * Teacher-forced: both sides always get the same next token, so that an error is measured and does not run away. With a
 * reference (the same weights in F32 on the CPU backend) the measure is how much further from it CUDA is than the
 * CPU backend is: the two quantise activations differently, and neither is right.
 */
#include "lm.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_LENGTHS 16
/* A floor for the comparison of two errors: below it both are rounding of F32. */
#define NOISE 1e-9
/* A reference that the CPU backend itself is farther from is one of another model, and would excuse anything. */
#define REFERENCE 1e-2
/* Of normally distributed errors, one in a million is beyond five times their root mean square; a difference of two, seven. */
#define MARGIN 7.0

/* All logits of a prompt of that many tokens and of the steps after it. */
static float *forced(struct lm *m, int prompt, int steps)
{
	llama_token tok[LM_MAX_TOKENS];
	size_t row = (size_t)m->n_vocab;
	float *all = malloc(sizeof(float) * row * (size_t)(prompt + steps));

	if (!all)
		lm_die("no memory");
	for (int i = 0; i < prompt + steps; i++)
		tok[i] = 3 + (i * 37 + i * i * 11) % (m->n_vocab - 3);
	llama_memory_clear(llama_get_memory(m->ctx), true);
	lm_decode(m, tok, prompt, 0, 0, 1);
	for (int i = 0; i < prompt; i++)
		memcpy(all + (size_t)i * row, lm_logits(m, i), sizeof(float) * row);
	for (int i = prompt; i < prompt + steps; i++) {
		lm_decode(m, tok + i, 1, i, 0, 0);
		memcpy(all + (size_t)i * row, lm_logits(m, -1), sizeof(float) * row);
	}
	return all;
}

static int verdict(int prompt, int rows, int n_vocab, const float *cpu, const float *cuda, const float *ref, double bound,
		   double times)
{
	struct lm_error between = { 0 }, e_cpu = { 0 }, e_cuda = { 0 };
	int n = rows * n_vocab, differ = 0, clear = 0, bad;
	double rms;

	lm_compare(&between, cpu, cuda, n);
	rms = lm_rms(&between);
	for (int i = 0; i < rows; i++) {
		float margin;
		int a = lm_best(cpu + (size_t)i * (size_t)n_vocab, n_vocab, &margin);

		if (a != lm_best(cuda + (size_t)i * (size_t)n_vocab, n_vocab, NULL)) {
			differ++;
			clear += margin > MARGIN * rms;         /* a clear choice, not a tie within the error */
		}
	}
	if (ref) {
		lm_compare(&e_cpu, ref, cpu, n);
		lm_compare(&e_cuda, ref, cuda, n);
		bad = !(lm_nmse(&e_cuda) <= times * lm_nmse(&e_cpu) + NOISE) || !(lm_nmse(&e_cpu) <= REFERENCE);
		printf("%s prompt %d: error against F32 %.2e, CPU's own %.2e: %.2f times (at most %.1f); %d of %d greedy tokens differ from the CPU's\n",
		       bad ? "FAIL" : "ok", prompt, lm_nmse(&e_cuda), lm_nmse(&e_cpu), lm_nmse(&e_cuda) / lm_nmse(&e_cpu),
		       times, differ, rows);
		return bad;
	}
	bad = !(lm_nmse(&between) <= bound) || clear;
	printf("%s prompt %d: nmse %.2e (at most %.0e), %d of %d greedy tokens differ, %d of them by more than the error\n",
	       bad ? "FAIL" : "ok", prompt, lm_nmse(&between), bound, differ, rows, clear);
	return bad;
}

int cmd_logits(const char *backends, int argc, char **argv)
{
	int length[MAX_LENGTHS], lengths = 0, steps = 4, most = 0, sides, n_vocab = 0, opt, bad = 0;
	char list[128] = "1,2,31,33,64,512", *save;
	const char *reference = NULL;
	float *all[3][MAX_LENGTHS];
	struct lm_options o = { .threads = 1 };         /* more wait for each other, spinning, on a busy machine */
	double bound = 5e-4, times = 1.5;
	struct lm m;

	while ((opt = getopt(argc, argv, "+p:n:b:r:k:")) != -1)
		switch (opt) {
		case 'p': snprintf(list, sizeof(list), "%s", optarg); break;
		case 'n': steps = atoi(optarg); break;
		case 'b': bound = atof(optarg); break;
		case 'k': times = atof(optarg); break;
		case 'r': reference = optarg; break;
		default: return 2;
		}
	for (char *p = strtok_r(list, ",", &save); p; p = strtok_r(NULL, ",", &save)) {
		int n = atoi(p);

		if (lengths == MAX_LENGTHS || n < 1 || n > 512)
			return 2;
		length[lengths++] = n;
		most = n > most ? n : most;
	}
	if (optind + 1 != argc || !lengths || steps < 0 || steps > 512)
		return 2;
	lm_start(backends);
	o.context = most + steps + 8;
	sides = reference ? 3 : 2;
	for (int side = 0; side < sides; side++) {
		lm_open(&m, side == 2 ? reference : argv[optind], side == 1 ? LM_CUDA : LM_CPU, &o);
		if (side && m.n_vocab != n_vocab)
			lm_die("the reference has another vocabulary");
		n_vocab = m.n_vocab;
		for (int i = 0; i < lengths; i++)
			all[side][i] = forced(&m, length[i], steps);
		lm_close(&m);
	}
	for (int i = 0; i < lengths; i++) {
		bad |= verdict(length[i], length[i] + steps, n_vocab, all[0][i], all[1][i], reference ? all[2][i] : NULL,
			       bound, times);
		for (int side = 0; side < sides; side++)
			free(all[side][i]);
	}
	return bad;
}

/*
 * Greedy text. The CPU writes it; CUDA gets each token that the CPU chose, so as long as every choice agrees it has
 * written the same. A choice that differs must be one where the CPU's two best lie closer than the error, which is measured
 * over all the steps.
 */
static int same_text(struct lm *cpu, struct lm *cuda, const char *prompt, int tokens, double bound)
{
	llama_token tok[LM_MAX_TOKENS];
	int n = lm_tokenize(cpu, prompt, tok, LM_MAX_TOKENS - tokens), start = n, first = -1, differ = 0, clear = 0, bad;
	struct { float margin; int differs; } step[LM_MAX_TOKENS];
	struct lm_error e = { 0 };
	char text[64], shown[80] = "";

	llama_memory_clear(llama_get_memory(cpu->ctx), true);
	llama_memory_clear(llama_get_memory(cuda->ctx), true);
	lm_decode(cpu, tok, n, 0, 0, 0);
	lm_decode(cuda, tok, n, 0, 0, 0);
	for (int i = 0; i < tokens; i++) {
		const float *want = lm_logits(cpu, -1), *got = lm_logits(cuda, -1);

		lm_compare(&e, want, got, cpu->n_vocab);
		tok[n] = lm_best(want, cpu->n_vocab, &step[i].margin);
		step[i].differs = lm_best(got, cuda->n_vocab, NULL) != tok[n];
		if (step[i].differs && first < 0)
			first = i;
		lm_piece(cpu, tok[n], text, sizeof(text));
		if (strlen(shown) + strlen(text) < 60)
			strcat(shown, *text == '\n' ? "/" : text);
		n++;
		if (i + 1 < tokens) {
			lm_decode(cpu, tok + n - 1, 1, n - 1, 0, 0);
			lm_decode(cuda, tok + n - 1, 1, n - 1, 0, 0);
		}
	}
	for (int i = 0; i < tokens; i++)
		if (step[i].differs) {
			differ++;
			clear += step[i].margin > MARGIN * lm_rms(&e);
		}
	bad = clear || !(lm_nmse(&e) <= bound);
	printf("%s text \"%s\" + %d tokens (\"%s\"): ", bad ? "FAIL" : "ok", prompt, n - start, shown);
	if (differ)
		printf("%d choices differ, the first at %d with a margin of %.4f, the error being %.4f rms; ", differ, first,
		       (double)step[first].margin, lm_rms(&e));
	else
		printf("the same; ");
	printf("nmse %.2e (at most %.0e)\n", lm_nmse(&e), bound);
	return bad;
}

int cmd_text(const char *backends, int argc, char **argv)
{
	struct lm_options o = { .threads = 1 };         /* more wait for each other, spinning, on a busy machine */
	struct lm cpu, cuda;
	double bound = 5e-4;
	int tokens = 256, opt, bad = 0;

	while ((opt = getopt(argc, argv, "+n:b:")) != -1)
		switch (opt) {
		case 'n': tokens = atoi(optarg); break;
		case 'b': bound = atof(optarg); break;
		default: return 2;
		}
	if (optind + 2 > argc || tokens < 1 || tokens > LM_MAX_TOKENS / 2)
		return 2;
	lm_start(backends);
	o.context = tokens + 256;
	lm_open(&cpu, argv[optind], LM_CPU, &o);
	lm_open(&cuda, argv[optind], LM_CUDA, &o);
	for (int i = optind + 1; i < argc; i++)
		bad |= same_text(&cpu, &cuda, argv[i], tokens, bound);
	lm_close(&cpu);
	lm_close(&cuda);
	return bad;
}
