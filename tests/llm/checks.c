/* SPDX-License-Identifier: MIT */
/*
 * llm checks: what a runtime does besides one text at a time. Embeddings, sequences in parallel, a context that is shifted
 * when it is full, two models at once, loading and unloading. Each against the CPU backend, or against the
 * device itself alone.
 */
#include "lm.h"

#include <dirent.h>
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const prompts[4] = {
	"You may copy and distribute", "This License is", "In no event shall the author", "If you modify",
};

static int report(const char *what, const struct lm_error *e, double bound)
{
	int bad = !(lm_nmse(e) <= bound);

	printf("%s %s: nmse %.2e (at most %.0e)\n", bad ? "FAIL" : "ok", what, lm_nmse(e), bound);
	return bad;
}

static float *copy(const float *v, int n)
{
	float *p = malloc(sizeof(float) * (size_t)n);

	if (!p)
		lm_die("no memory");
	return memcpy(p, v, sizeof(float) * (size_t)n);
}

static int embeddings(const char *model)
{
	struct lm_options o = { .threads = 1, .context = 256, .embedding = 1 };
	struct lm_error e = { 0 };
	llama_token tok[64];
	float *v[2][4];
	struct lm m;
	int n_embd = 0;

	for (int side = 0; side < 2; side++) {
		lm_open(&m, model, (enum lm_side)side, &o);
		n_embd = m.n_embd;
		for (int i = 0; i < 4; i++) {
			llama_memory_clear(llama_get_memory(m.ctx), true);
			lm_decode(&m, tok, lm_tokenize(&m, prompts[i], tok, 64), 0, 0, 1);
			const float *got = llama_get_embeddings_seq(m.ctx, 0);

			if (!got)
				lm_die("no embedding on %s", lm_side_name[side]);
			v[side][i] = copy(got, n_embd);
		}
		lm_close(&m);
	}
	for (int i = 0; i < 4; i++) {
		lm_compare(&e, v[0][i], v[1][i], n_embd);
		free(v[0][i]);
		free(v[1][i]);
	}
	return report("embeddings of 4 texts", &e, 5e-4);
}

/*
 * Four sequences in one context: prompts one after another, then steps that carry one token of each. CUDA gets the CPU's
 * tokens. Returns the logits of every step and sequence.
 */
#define SEQ_STEPS 16
static float *sequences(struct lm *m, llama_token forced[SEQ_STEPS][4], int choose)
{
	size_t row = (size_t)m->n_vocab;
	float *all = malloc(sizeof(float) * row * 4 * SEQ_STEPS);
	llama_token tok[64];
	int pos[4];

	if (!all)
		lm_die("no memory");
	for (int s = 0; s < 4; s++) {
		pos[s] = lm_tokenize(m, prompts[s], tok, 64);
		lm_decode(m, tok, pos[s], 0, s, 0);
		if (choose)
			forced[0][s] = lm_best(lm_logits(m, -1), m->n_vocab, NULL);
	}
	for (int i = 0; i < SEQ_STEPS; i++) {
		struct llama_batch b = llama_batch_init(4, 0, 1);

		for (int s = 0; s < 4; s++) {
			b.token[s] = forced[i][s];
			b.pos[s] = pos[s]++;
			b.n_seq_id[s] = 1;
			b.seq_id[s][0] = s;
			b.logits[s] = 1;
		}
		b.n_tokens = 4;
		if (llama_decode(m->ctx, b))
			lm_die("a step of four sequences does not decode");
		llama_batch_free(b);
		for (int s = 0; s < 4; s++) {
			memcpy(all + (size_t)(i * 4 + s) * row, lm_logits(m, s), sizeof(float) * row);
			if (choose && i + 1 < SEQ_STEPS)
				forced[i + 1][s] = lm_best(lm_logits(m, s), m->n_vocab, NULL);
		}
	}
	return all;
}

static int parallel(const char *model)
{
	struct lm_options o = { .threads = 1, .context = 512, .sequences = 4 };
	struct lm_error between = { 0 }, alone = { 0 };
	llama_token forced[SEQ_STEPS][4], tok[64];
	float *all[2];
	struct lm m;
	int n_vocab = 0;

	for (int side = 0; side < 2; side++) {
		lm_open(&m, model, (enum lm_side)side, &o);
		n_vocab = m.n_vocab;
		all[side] = sequences(&m, forced, side == LM_CPU);
		if (side == LM_CUDA)            /* the second sequence again, by itself: the others must not show in it */
			for (int i = -1, pos = 0; i < SEQ_STEPS; i++) {
				if (i < 0) {
					llama_memory_clear(llama_get_memory(m.ctx), true);
					pos = lm_tokenize(&m, prompts[1], tok, 64);
					lm_decode(&m, tok, pos, 0, 1, 0);
					continue;
				}
				lm_decode(&m, &forced[i][1], 1, pos++, 1, 0);
				lm_compare(&alone, lm_logits(&m, -1), all[1] + (size_t)(i * 4 + 1) * (size_t)n_vocab, n_vocab);
			}
		lm_close(&m);
	}
	lm_compare(&between, all[0], all[1], n_vocab * 4 * SEQ_STEPS);
	free(all[0]);
	free(all[1]);
	return report("4 sequences in parallel against the CPU", &between, 5e-4) |
	       report("one of 4 sequences against itself alone", &alone, 5e-4);
}

/* A context of 128 tokens is filled, its older half dropped, the rest moved down (keys are turned on the device), and so on. */
static int shift(const char *model)
{
	struct lm_options o = { .threads = 1, .context = 128 };
	struct lm_error e = { 0 };
	struct lm m[2];
	llama_token t;
	int pos = 0, shifts = 0;

	for (int side = 0; side < 2; side++)
		lm_open(&m[side], model, (enum lm_side)side, &o);
	if (!llama_memory_can_shift(llama_get_memory(m[0].ctx)))
		lm_die("the CPU side cannot shift");
	t = llama_vocab_bos(m[0].vocab);
	for (int i = 0; i < 260; i++) {
		if (pos == o.context) {
			int keep = 4, drop = (pos - keep) / 2;

			for (int side = 0; side < 2; side++) {
				llama_memory_t mem = llama_get_memory(m[side].ctx);

				llama_memory_seq_rm(mem, 0, keep, keep + drop);
				llama_memory_seq_add(mem, 0, keep + drop, pos, -drop);
			}
			pos -= drop;
			shifts++;
		}
		for (int side = 0; side < 2; side++)
			lm_decode(&m[side], &t, 1, pos, 0, 0);
		pos++;
		lm_compare(&e, lm_logits(&m[0], -1), lm_logits(&m[1], -1), m[0].n_vocab);
		t = lm_best(lm_logits(&m[0], -1), m[0].n_vocab, NULL);
	}
	lm_close(&m[0]);
	lm_close(&m[1]);
	if (shifts < 2)
		lm_die("only %d shifts", shifts);
	return report("260 tokens in a context of 128, shifted when full", &e, 5e-4);
}

/* Greedy from a fixed token: the logits of every step, which the device must give again bit for bit. */
#define MODEL_STEPS 12
static void step(struct lm *m, int i, llama_token *t, float *out)
{
	lm_decode(m, t, 1, i, 0, 0);
	memcpy(out + (size_t)i * (size_t)m->n_vocab, lm_logits(m, -1), sizeof(float) * (size_t)m->n_vocab);
	*t = lm_best(lm_logits(m, -1), m->n_vocab, NULL);
}

static float *alone(struct lm *m)
{
	float *out = malloc(sizeof(float) * (size_t)m->n_vocab * MODEL_STEPS);
	llama_token t = 300;

	if (!out)
		lm_die("no memory");
	llama_memory_clear(llama_get_memory(m->ctx), true);
	for (int i = 0; i < MODEL_STEPS; i++)
		step(m, i, &t, out);
	return out;
}

static int two_models(const char *model, const char *other)
{
	struct lm_options o = { .threads = 1, .context = 64 };
	llama_token t[2] = { 300, 300 };
	float *want[2], *got[2];
	struct lm m[2];
	int bad = 0;

	for (int i = 0; i < 2; i++) {
		lm_open(&m[i], i ? other : model, LM_CUDA, &o);
		want[i] = alone(&m[i]);
		got[i] = malloc(sizeof(float) * (size_t)m[i].n_vocab * MODEL_STEPS);
		if (!got[i])
			lm_die("no memory");
		llama_memory_clear(llama_get_memory(m[i].ctx), true);
	}
	llama_memory_clear(llama_get_memory(m[0].ctx), true);
	for (int s = 0; s < MODEL_STEPS; s++)
		for (int i = 0; i < 2; i++)
			step(&m[i], s, &t[i], got[i]);
	for (int i = 0; i < 2; i++) {
		bad |= memcmp(want[i], got[i], sizeof(float) * (size_t)m[i].n_vocab * MODEL_STEPS) != 0;
		lm_close(&m[i]);
		free(want[i]);
		free(got[i]);
	}
	printf("%s two models at once: logits of %d steps in turns %s those of each alone\n", bad ? "FAIL" : "ok", MODEL_STEPS,
	       bad ? "differ from" : "are, bit for bit,");
	return bad;
}

/* Device memory in use, as NVML says; it is ours, preloaded beside libcuda. */
static unsigned long long device_used(void)
{
	static int (*info)(void *, void *);
	static void *device;
	unsigned long long memory[3];           /* nvmlMemory_t: total, free, used */

	if (!info) {
		void *so = dlopen("libnvidia-ml.so.1", RTLD_NOW);
		int (*init)(void) = so ? (int (*)(void))dlsym(so, "nvmlInit_v2") : NULL;
		int (*get)(unsigned, void **) = so ? (int (*)(unsigned, void **))dlsym(so, "nvmlDeviceGetHandleByIndex_v2") : NULL;

		info = so ? (int (*)(void *, void *))dlsym(so, "nvmlDeviceGetMemoryInfo") : NULL;
		if (!init || !get || !info || init() || get(0, &device))
			lm_die("NVML does not answer");
	}
	if (info(device, memory))
		lm_die("NVML does not say how much memory is used");
	return memory[2];
}

static int descriptors(void)
{
	DIR *d = opendir("/proc/self/fd");
	int n = 0;

	if (!d)
		lm_die("/proc/self/fd cannot be read");
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

static int reload(const char *model)
{
	unsigned long long loaded = 0, before = 0, after;
	struct lm_options o = { .threads = 1, .context = 64 };
	float *first = NULL, *got;
	int fds = 0, bad = 0, now_fds;
	struct lm m;

	/* the first round leaves what a process keeps: its context, its modules, its libraries */
	for (int i = 0; i < 6; i++) {
		lm_open(&m, model, LM_CUDA, &o);
		got = alone(&m);
		if (!first)
			first = copy(got, m.n_vocab * MODEL_STEPS);
		bad |= memcmp(first, got, sizeof(float) * (size_t)m.n_vocab * MODEL_STEPS) != 0;
		free(got);
		loaded = device_used();
		lm_close(&m);
		if (i == 0) {
			before = device_used();
			fds = descriptors();
		}
	}
	after = device_used();
	now_fds = descriptors();
	bad |= after > before || now_fds > fds || loaded <= after;
	printf("%s unloaded and loaded 5 times: device memory %llu bytes, %llu with the model, %llu in the end; descriptors %d, then %d; logits %s\n",
	       bad ? "FAIL" : "ok", before, loaded, after, fds, now_fds, bad ? "or the above differ" : "the same");
	free(first);
	return bad;
}

int cmd_checks(const char *backends, int argc, char **argv)
{
	if (argc != 3)
		return 2;
	int bad = 0;

	lm_start(backends);
	bad |= embeddings(argv[1]);
	bad |= parallel(argv[1]);
	bad |= shift(argv[1]);
	bad |= two_models(argv[1], argv[2]);
	bad |= reload(argv[1]);
	return bad;
}
