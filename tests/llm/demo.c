/* SPDX-License-Identifier: MIT */
/*
 * llm demo: the device writes text, word by word; then the CPU backend writes it again, and the two are compared. For
 * people: a bar while the weights move, text as it comes where standard output is a terminal or a file alike.
 */
#include "lm.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COLUMNS 96

struct run {
	llama_token tok[LM_MAX_TOKENS];
	float *logits;                  /* of every token written */
	int start, n;
	double prompt_s, decode_s, loaded_s;
};

static int bar(float part, void *what)
{
	static int last = -1;
	int full = (int)(part * 30);

	if (!isatty(STDERR_FILENO) || full == last)
		return 1;
	last = full;
	fprintf(stderr, "\r  %s [%-30.*s] %3.0f %%", (const char *)what, full, "##############################", (double)part * 100);
	if (full == 30) {
		fputs("\r\033[K", stderr);
		last = -1;
	}
	return 1;
}

static bool progress(float part, void *what)
{
	return bar(part, what);
}

/* Text as it comes, broken at blanks before COLUMNS; the end of a word is known when the next begins. */
struct writer { char word[256]; int len, column; };

static void flush_word(struct writer *w)
{
	int skip = 0;

	if (w->column + w->len > COLUMNS && w->len) {
		fputs("\n  ", stdout);
		w->column = 2;
		skip = w->word[0] == ' ';
	}
	fwrite(w->word + skip, 1, (size_t)(w->len - skip), stdout);
	w->column += w->len - skip;
	w->len = 0;
	fflush(stdout);
}

static void say(struct writer *w, const char *text)
{
	for (; *text; text++) {
		if (*text == ' ' || *text == '\n' || w->len == (int)sizeof(w->word))
			flush_word(w);
		if (*text == '\n') {
			fputs("\n  ", stdout);
			w->column = 2;
		} else if (*text != ' ' || w->column > 2) {
			w->word[w->len++] = *text;
		}
	}
}

static void write_text(struct run *r, struct lm *m, const char *prompt, int tokens, const char *working)
{
	struct writer w = { .column = 2 };
	char piece[64];
	double t;
	int n;

	n = r->start = lm_tokenize(m, prompt, r->tok, LM_MAX_TOKENS - tokens);
	r->logits = malloc(sizeof(float) * (size_t)m->n_vocab * (size_t)tokens);
	if (!r->logits)
		lm_die("no memory");
	t = lm_now();
	lm_decode(m, r->tok, n, 0, 0, 0);
	lm_logits(m, -1);
	r->prompt_s = lm_now() - t;
	if (!working) {
		fputs("\n  ", stdout);
		say(&w, prompt);
	}
	t = lm_now();
	for (int i = 0; i < tokens; i++) {
		memcpy(r->logits + (size_t)i * (size_t)m->n_vocab, lm_logits(m, -1), sizeof(float) * (size_t)m->n_vocab);
		r->tok[n] = lm_best(lm_logits(m, -1), m->n_vocab, NULL);
		n++;
		if (llama_vocab_is_eog(m->vocab, r->tok[n - 1]))
			break;
		if (working) {
			bar((float)(i + 1) / (float)tokens, (char *)(uintptr_t)working);
		} else {
			lm_piece(m, r->tok[n - 1], piece, sizeof(piece));
			say(&w, piece);
		}
		lm_decode(m, r->tok + n - 1, 1, n - 1, 0, 0);
	}
	lm_logits(m, -1);
	r->decode_s = lm_now() - t;
	r->n = n;
	if (!working) {
		flush_word(&w);
		fputs("\n\n", stdout);
	}
}

int cmd_demo(const char *backends, int argc, char **argv)
{
	static struct run r[2];
	struct lm_options o = { .threads = 1 };         /* of the CPU backend: on so small a model, more wait for each other */
	int tokens = 256, same, n_vocab, opt;
	struct lm m;

	while ((opt = getopt(argc, argv, "+n:")) != -1)
		switch (opt) {
		case 'n': tokens = atoi(optarg); break;
		default: return 2;
		}
	if (optind + 2 != argc || tokens < 1 || tokens > LM_MAX_TOKENS / 2)
		return 2;
	lm_errors_only = 1;

	const char *device = lm_start(backends), *path = argv[optind], *prompt = argv[optind + 1];

	o.context = tokens + 256;
	o.progress = progress;
	o.progress_data = "weights to the device";
	lm_open(&m, path, LM_CUDA, &o);
	n_vocab = m.n_vocab;
	printf("  %s: %.1f M parameters, all %d layers on the device\n", device, (double)llama_model_n_params(m.model) / 1e6,
	       llama_model_n_layer(m.model) + 1);
	write_text(&r[1], &m, prompt, tokens, NULL);
	r[1].loaded_s = m.loaded_s;
	lm_close(&m);
	o.progress = NULL;
	lm_open(&m, path, LM_CPU, &o);
	write_text(&r[0], &m, prompt, tokens, "the CPU backend writes");
	r[0].loaded_s = m.loaded_s;
	lm_close(&m);

	for (same = r[0].start; same < r[0].n && same < r[1].n && r[0].tok[same] == r[1].tok[same]; same++)
		;
	int written = same - r[0].start, whole = same == r[0].n && same == r[1].n, bad = 0;

	if (whole) {
		printf("  The CPU backend writes the same %d tokens.\n", written);
	} else {
		/* up to there both had the same tokens before them: that is what the error can be measured on */
		struct lm_error e = { 0 };
		float margin;

		for (int i = 0; i <= written; i++)
			lm_compare(&e, r[0].logits + (size_t)i * (size_t)n_vocab, r[1].logits + (size_t)i * (size_t)n_vocab, n_vocab);
		lm_best(r[0].logits + (size_t)written * (size_t)n_vocab, n_vocab, &margin);
		bad = (double)margin > 7 * lm_rms(&e);
		printf("  %s: the CPU backend writes the same %d tokens, then its two best are %.4f apart and the error is %.4f rms.\n",
		       bad ? "FAIL" : "As it should be", written, (double)margin, lm_rms(&e));
	}
	printf("\n  %-22s %12s %12s %10s\n", "", "the device", "CPU, 1 core", "ratio");
	printf("  %-22s %12.2f %12.2f\n", "loading, s", r[1].loaded_s, r[0].loaded_s);
	for (int what = 0; what < 2; what++) {
		double v[2];

		for (int side = 0; side < 2; side++)
			v[side] = what ? (r[side].n - r[side].start) / r[side].decode_s : r[side].start / r[side].prompt_s;
		printf("  %-22s %12.1f %12.1f %10.3f\n", what ? "text, tokens/s" : "prompt, tokens/s", v[1], v[0], v[1] / v[0]);
	}
	free(r[0].logits);
	free(r[1].logits);
	return bad;
}
