/* SPDX-License-Identifier: MIT */
/*
 * What the commands of llm share: a model on one side (CPU or CUDA) with a context, batches, greedy choice, errors.
 * Nothing here knows CUDA: the libllama of the npm package does all of it, as its makers built it.
 */
#ifndef LM_H
#define LM_H

#include <stddef.h>
#include <stdint.h>

#include "ggml-backend.h"
#include "llama.h"

#define LM_MAX_TOKENS 2048

enum lm_side { LM_CPU, LM_CUDA };
extern const char *const lm_side_name[2];
extern int lm_errors_only;              /* of what libllama says: no warnings */

struct lm {
	struct llama_model *model;
	struct llama_context *ctx;
	const struct llama_vocab *vocab;
	int n_vocab, n_embd;
	int embedding;                  /* opened for embeddings: no logits */
	double loaded_s;                /* how long loading took */
};

struct lm_options {
	int context;                    /* tokens that the context holds, all sequences together */
	int sequences;                  /* 0: one */
	int embedding;
	int threads;                    /* 0: as many as processors */
	llama_progress_callback progress;
	void *progress_data;
};

/* Sums of squares of a difference and of its reference; lm_nmse() is their quotient. */
struct lm_error { double num, den, max; size_t n; };

double lm_now(void);
_Noreturn void lm_die(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Backends of a folder, once; dies where ggml sees no CUDA device, or no RPC server where LLM_RPC names some (rpc.sh). Returns its description. */
const char *lm_start(const char *backends);

/* A model with every layer on one side; the CPU side is the package's CPU backend and nothing else. */
void lm_open(struct lm *m, const char *path, enum lm_side side, const struct lm_options *o);
void lm_close(struct lm *m);

/* A new context over the same model; the old one is freed. */
void lm_reopen(struct lm *m, enum lm_side side, const struct lm_options *o);

int lm_tokenize(const struct lm *m, const char *text, llama_token *out, int room);
/* Text of one token into buf (room 64 is enough for any of ours), ended; its length. */
int lm_piece(const struct lm *m, llama_token t, char *buf, int room);

/* Decodes n tokens of one sequence from position pos; logits for all of them, or only for the last. */
void lm_decode(struct lm *m, const llama_token *tok, int n, int pos, int seq, int all);
/* Logits of the i-th output of the last decode; -1: the last. */
const float *lm_logits(struct lm *m, int i);

int lm_best(const float *logits, int n, float *margin);
void lm_compare(struct lm_error *e, const float *ref, const float *got, int n);
double lm_nmse(const struct lm_error *e);
double lm_rms(const struct lm_error *e);

/* commands of llm: argv from their own name on; 0 well, 1 failed, 2 usage */
int cmd_ops(const char *backends, int argc, char **argv);
int cmd_logits(const char *backends, int argc, char **argv);
int cmd_text(const char *backends, int argc, char **argv);
int cmd_demo(const char *backends, int argc, char **argv);
int cmd_checks(const char *backends, int argc, char **argv);
int cmd_speed(const char *backends, int argc, char **argv);

#endif
