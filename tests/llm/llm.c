/* SPDX-License-Identifier: MIT */
/*
 * llm: the same model, the same tokens, on the CPU backend and on CUDA, through the C API of an
 * unmodified libllama; says how far apart the logits are.
 *
 *   llm BACKENDS MODEL.gguf [-p PROMPT_TOKENS] [-n STEPS] [-l GPU_LAYERS] [-m MAX_NMSE]
 *
 * BACKENDS is the folder with libggml-*.so (the npm package's). Steps after the prompt are teacher-forced: both
 * sides get the same next token, so errors do not run away. Exit 0 when a CUDA device was there, every
 * layer was offloaded, the greedy tokens agree wherever the reference's margin is above the
 * error, and the normalised mean square error is at most MAX_NMSE.
 *
 * Compiled against the headers that the npm package's own sources carry; see run.sh.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "ggml-backend.h"
#include "llama.h"

#define MAX_TOKENS 2048

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void quiet(enum ggml_log_level level, const char *text, void *data)
{
	(void)data;
	if (level == GGML_LOG_LEVEL_ERROR || level == GGML_LOG_LEVEL_WARN)
		fputs(text, stderr);
}

static _Noreturn void die(const char *what)
{
	printf("llm: FAIL %s\n", what);
	exit(1);
}

/* Logits of the last prompt token and of every step; tokens are a fixed walk through the vocabulary. */
static float *run(const char *path, int layers, int prompt, int steps, int *vocab, double *prompt_s, double *step_s)
{
	struct llama_model_params mp = llama_model_default_params();
	struct llama_context_params cp = llama_context_default_params();
	struct llama_context *ctx;
	struct llama_model *model;
	llama_token tok[MAX_TOKENS];
	float *all;
	double t;

	mp.n_gpu_layers = layers;
	model = llama_model_load_from_file(path, mp);
	if (!model)
		die("the model does not load");
	cp.n_ctx = (uint32_t)(prompt + steps + 8);
	cp.n_batch = cp.n_ubatch = 512;
	cp.n_threads = cp.n_threads_batch = (int)sysconf(_SC_NPROCESSORS_ONLN);
	ctx = llama_init_from_model(model, cp);
	if (!ctx)
		die("no context");
	*vocab = llama_vocab_n_tokens(llama_model_get_vocab(model));
	all = malloc(sizeof(float) * (size_t)*vocab * (size_t)(steps + 1));
	if (!all)
		die("no memory");
	for (int i = 0; i < prompt; i++)
		tok[i] = 3 + (i * 37 + i * i * 11) % (*vocab - 3);
	t = now();
	if (llama_decode(ctx, llama_batch_get_one(tok, prompt)))
		die("the prompt does not decode");
	memcpy(all, llama_get_logits_ith(ctx, -1), sizeof(float) * (size_t)*vocab);
	*prompt_s = now() - t;
	t = now();
	for (int i = 0; i < steps; i++) {
		tok[0] = 3 + (i * 91 + 17) % (*vocab - 3);
		if (llama_decode(ctx, llama_batch_get_one(tok, 1)))
			die("a step does not decode");
		memcpy(all + (size_t)(i + 1) * (size_t)*vocab, llama_get_logits_ith(ctx, -1), sizeof(float) * (size_t)*vocab);
	}
	*step_s = now() - t;
	llama_free(ctx);
	llama_model_free(model);
	return all;
}

static int best(const float *l, int n, float *margin)
{
	int b = 0;
	float second = -INFINITY;

	for (int i = 1; i < n; i++)
		if (l[i] > l[b])
			b = i;
	for (int i = 0; i < n; i++)
		if (i != b && l[i] > second)
			second = l[i];
	*margin = l[b] - second;
	return b;
}

int main(int argc, char **argv)
{
	int prompt = 16, steps = 8, layers = 99, vocab = 0, cuda = 0, differ = 0, wrong = 0, opt;
	double max_nmse = 5e-4, num = 0, den = 0, p[2], s[2];
	const char *dir, *model, *device = "";
	float *ref, *got;

	while ((opt = getopt(argc, argv, "p:n:l:m:")) != -1)
		switch (opt) {
		case 'p': prompt = atoi(optarg); break;
		case 'n': steps = atoi(optarg); break;
		case 'l': layers = atoi(optarg); break;
		case 'm': max_nmse = atof(optarg); break;
		default: return 2;
		}
	if (optind + 2 != argc || prompt < 1 || steps < 0 || prompt + steps > MAX_TOKENS) {
		fputs("usage: llm [-p N] [-n N] [-l N] [-m NMSE] BACKENDS MODEL.gguf\n", stderr);
		return 2;
	}
	dir = argv[optind];
	model = argv[optind + 1];
	llama_log_set(quiet, NULL);
	ggml_backend_load_all_from_path(dir);
	llama_backend_init();
	for (size_t i = 0; i < ggml_backend_dev_count(); i++) {
		ggml_backend_dev_t d = ggml_backend_dev_get(i);

		if (!strncmp(ggml_backend_dev_name(d), "CUDA", 4)) {
			cuda++;
			device = ggml_backend_dev_description(d);
		}
	}
	if (!cuda)
		die("ggml sees no CUDA device");
	ref = run(model, 0, prompt, steps, &vocab, &p[0], &s[0]);
	got = run(model, layers, prompt, steps, &vocab, &p[1], &s[1]);
	for (size_t i = 0; i < (size_t)vocab * (size_t)(steps + 1); i++) {
		double d = (double)ref[i] - (double)got[i];

		if (!isfinite(got[i]))
			wrong++;
		num += d * d;
		den += (double)ref[i] * (double)ref[i];
	}
	double nmse = num / den, rms = sqrt(num / ((double)vocab * (steps + 1)));

	for (int i = 0; i <= steps; i++) {
		float m, unused;
		int a = best(ref + (size_t)i * (size_t)vocab, vocab, &m), b = best(got + (size_t)i * (size_t)vocab, vocab, &unused);

		if (a != b) {
			differ++;
			if (m > 6 * rms)        /* a clear choice, not a tie within the error */
				wrong++;
		}
	}
	printf("llm: %s on %s: nmse %.2e (at most %.0e), %d of %d greedy tokens differ, prompt %.2f s (CPU %.2f), %.2f tokens/s (CPU %.2f)\n",
	       wrong || !(nmse <= max_nmse) ? "FAIL" : "ok", device, nmse, max_nmse, differ, steps + 1, p[1], p[0],
	       steps / s[1], steps / s[0]);
	free(ref);
	free(got);
	return wrong || !(nmse <= max_nmse);
}
