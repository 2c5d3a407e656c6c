/* SPDX-License-Identifier: MIT */
/*
 * See lm.h. Called by every command of llm.
 *
 * The CPU side gets an empty list of devices: a context that merely offloads no layer still gives its large
 * batches to CUDA, and would compare the device with itself. The CUDA side dies unless the loader said
 * that all layers were offloaded.
 */
#include "lm.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

const char *const lm_side_name[2] = { "CPU", "CUDA" };

int lm_errors_only;

static int offloaded, layers;           /* what the loader said last */

double lm_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

_Noreturn void lm_die(const char *fmt, ...)
{
	va_list ap;

	fflush(stdout);
	printf("FAIL llm ");
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	exit(1);
}

static void listen_to(enum ggml_log_level level, const char *text, void *data)
{
	const char *p = strstr(text, "offloaded ");

	(void)data;
	if (p && strstr(p, "layers to GPU"))
		sscanf(p, "offloaded %d/%d", &offloaded, &layers);
	if (level == GGML_LOG_LEVEL_ERROR || (level == GGML_LOG_LEVEL_WARN && !lm_errors_only))
		fputs(text, stderr);
}

/* LLM_RPC=LIBRARY,ENDPOINT,...: the device is that of llama.cpp's RPC servers there. 0: there are none */
static int servers(void)
{
	char *list = getenv("LLM_RPC"), *save = NULL, *at = list ? strtok_r(list, ",", &save) : NULL;
	ggml_backend_reg_t lib = at ? ggml_backend_load(at) : NULL;
	ggml_backend_reg_t (*add)(const char *);

	if (!at)
		return 0;
	add = lib ? (ggml_backend_reg_t (*)(const char *))ggml_backend_reg_get_proc_address(lib, "ggml_backend_rpc_add_server") : NULL;
	if (!add)
		lm_die("%s is no RPC backend", at);
	while ((at = strtok_r(NULL, ",", &save)) != NULL)
		ggml_backend_register(add(at));
	return 1;
}

const char *lm_start(const char *backends)
{
	const char *kind = "CUDA";

	llama_log_set(listen_to, NULL);
	ggml_backend_load_all_from_path(backends);
	llama_backend_init();
	if (servers())
		kind = "RPC";
	for (size_t i = 0; i < ggml_backend_dev_count(); i++) {
		ggml_backend_dev_t d = ggml_backend_dev_get(i);

		if (!strncmp(ggml_backend_dev_name(d), kind, strlen(kind)))
			return ggml_backend_dev_description(d);
	}
	lm_die("ggml sees no %s device", kind);
}

static void context(struct lm *m, enum lm_side side, const struct lm_options *o)
{
	struct llama_context_params cp = llama_context_default_params();

	cp.n_ctx = (uint32_t)o->context;
	cp.n_batch = cp.n_ubatch = 512;
	cp.n_seq_max = o->sequences ? (uint32_t)o->sequences : 1;
	cp.kv_unified = true;
	cp.n_threads = cp.n_threads_batch = o->threads ? o->threads : (int)sysconf(_SC_NPROCESSORS_ONLN);
	cp.embeddings = o->embedding;
	if (o->embedding)
		cp.pooling_type = LLAMA_POOLING_TYPE_MEAN;
	if (side == LM_CPU)
		cp.op_offload = cp.offload_kqv = false;
	m->embedding = o->embedding;
	m->ctx = llama_init_from_model(m->model, cp);
	if (!m->ctx)
		lm_die("no context on %s", lm_side_name[side]);
}

void lm_open(struct lm *m, const char *path, enum lm_side side, const struct lm_options *o)
{
	struct llama_model_params mp = llama_model_default_params();
	ggml_backend_dev_t none[] = { NULL };
	double t = lm_now();

	memset(m, 0, sizeof(*m));
	mp.n_gpu_layers = side == LM_CUDA ? 999 : 0;
	if (side == LM_CPU)
		mp.devices = none;
	mp.progress_callback = o->progress;
	mp.progress_callback_user_data = o->progress_data;
	offloaded = layers = -1;
	m->model = llama_model_load_from_file(path, mp);
	if (!m->model)
		lm_die("%s does not load on %s", path, lm_side_name[side]);
	if (side == LM_CUDA && (offloaded != layers || layers < 1))
		lm_die("only %d of %d layers were offloaded", offloaded, layers);
	m->vocab = llama_model_get_vocab(m->model);
	m->n_vocab = llama_vocab_n_tokens(m->vocab);
	m->n_embd = llama_model_n_embd(m->model);
	context(m, side, o);
	m->loaded_s = lm_now() - t;
}

void lm_reopen(struct lm *m, enum lm_side side, const struct lm_options *o)
{
	llama_free(m->ctx);
	context(m, side, o);
}

void lm_close(struct lm *m)
{
	llama_free(m->ctx);
	llama_model_free(m->model);
	memset(m, 0, sizeof(*m));
}

int lm_tokenize(const struct lm *m, const char *text, llama_token *out, int room)
{
	int n = llama_tokenize(m->vocab, text, (int32_t)strlen(text), out, room, true, false);

	if (n < 1)
		lm_die("the prompt does not tokenize into %d tokens", room);
	return n;
}

int lm_piece(const struct lm *m, llama_token t, char *buf, int room)
{
	int n = llama_token_to_piece(m->vocab, t, buf, room - 1, 0, false);

	if (n < 0)
		n = 0;
	buf[n] = 0;
	return n;
}

void lm_decode(struct lm *m, const llama_token *tok, int n, int pos, int seq, int all)
{
	struct llama_batch b = llama_batch_init(n, 0, 1);
	int err;

	for (int i = 0; i < n; i++) {
		b.token[i] = tok[i];
		b.pos[i] = pos + i;
		b.n_seq_id[i] = 1;
		b.seq_id[i][0] = seq;
		b.logits[i] = all || i == n - 1;
	}
	b.n_tokens = n;
	err = llama_decode(m->ctx, b);
	if (err)
		lm_die("%d tokens at position %d do not decode (%d)", n, pos, err);
	llama_batch_free(b);
}

const float *lm_logits(struct lm *m, int i)
{
	const float *l = llama_get_logits_ith(m->ctx, i);

	if (!l)
		lm_die("no logits for output %d", i);
	return l;
}

int lm_best(const float *logits, int n, float *margin)
{
	int b = 0;
	float second = -INFINITY;

	for (int i = 1; i < n; i++)
		if (logits[i] > logits[b])
			b = i;
	for (int i = 0; i < n; i++)
		if (i != b && logits[i] > second)
			second = logits[i];
	if (margin)
		*margin = logits[b] - second;
	return b;
}

void lm_compare(struct lm_error *e, const float *ref, const float *got, int n)
{
	for (int i = 0; i < n; i++) {
		double d = (double)got[i] - (double)ref[i];

		if (!isfinite(d))       /* a NaN anywhere must not be lost in a maximum */
			d = INFINITY;
		if (fabs(d) > e->max)
			e->max = fabs(d);
		e->num += d * d;
		e->den += (double)ref[i] * (double)ref[i];
	}
	e->n += (size_t)n;
}

double lm_nmse(const struct lm_error *e)
{
	return e->den > 0 ? e->num / e->den : INFINITY;
}

double lm_rms(const struct lm_error *e)
{
	return e->n ? sqrt(e->num / (double)e->n) : INFINITY;
}
