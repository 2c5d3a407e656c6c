/* SPDX-License-Identifier: MIT */
/*
 * mkgguf: writes a llama-architecture GGUF file with random weights, the same bytes for the same
 * arguments: a model of any size for numerics and speed, with no download.
 *
 *   mkgguf -o FILE [-t f16|q8_0|q4_0|q4_k_m] [-D] [-e EMBD] [-l LAYERS] [-H HEADS] [-k KV_HEADS] [-f FFN] [-v VOCAB] [-s SEED]
 *
 * -D: the same weights, as rounded by -t, written in F32: a reference that differs from the model in nothing.
 * Q4_K_M is the customary mixture: Q4_K, and Q6_K for the output and for attn_v and ffn_down of about half the layers.
 *
 * Format: GGUF version 3 (little endian: magic, counts, key-values, tensor infos, data aligned to
 * 32). Tokenizer: the SentencePiece form that llama models carry: <unk> <s> </s>, 256 byte
 * tokens, then words; so any text tokenises and any token prints.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "quant.h"

enum gguf_type { T_U32 = 4, T_I32 = 5, T_F32 = 6, T_STR = 8, T_ARR = 9 };

static FILE *out;
static uint64_t rng;
static int plain;               /* -D */

static void die(const char *what)
{
	fprintf(stderr, "mkgguf: %s\n", what);
	exit(1);
}

static void put(const void *p, size_t n)
{
	if (fwrite(p, 1, n, out) != n)
		die("cannot write");
}

static void u32(uint32_t v) { put(&v, 4); }
static void u64(uint64_t v) { put(&v, 8); }
static void f32(float v) { put(&v, 4); }
static void str(const char *s) { u64(strlen(s)); put(s, strlen(s)); }
static void kv_u32(const char *k, uint32_t v) { str(k); u32(T_U32); u32(v); }
static void kv_f32(const char *k, float v) { str(k); u32(T_F32); f32(v); }
static void kv_str(const char *k, const char *v) { str(k); u32(T_STR); str(v); }

static uint32_t next32(void)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return (uint32_t)(rng >> 32);
}

/* Sum of four uniforms: near enough to normal, mean 0, variance 1, and exact everywhere. */
static float normal(void)
{
	float s = 0;

	for (int i = 0; i < 4; i++)
		s += (float)(next32() >> 8) * (1.0f / 8388608.0f) - 1.0f;
	return s * 0.8660254f;
}

struct tensor {
	char name[64];
	uint64_t ne[2];
	unsigned dims;
	enum ggml_type_id type, rounded;        /* in the file; as its values were rounded */
	uint64_t offset;
};
static struct tensor *tensors;
static unsigned ntensors;

static uint64_t tensor_bytes(const struct tensor *t)
{
	return quant_bytes(t->type, t->ne[0]) * (t->dims == 2 ? t->ne[1] : 1);
}

static void add(const char *name, enum ggml_type_id type, uint64_t n0, uint64_t n1)
{
	struct tensor *t;

	tensors = realloc(tensors, (ntensors + 1) * sizeof(*tensors));
	if (!tensors)
		die("no memory");
	t = &tensors[ntensors];
	memset(t, 0, sizeof(*t));
	snprintf(t->name, sizeof(t->name), "%s", name);
	t->rounded = type;
	t->type = plain ? G_F32 : type;
	t->ne[0] = n0;
	t->ne[1] = n1;
	t->dims = n1 ? 2 : 1;
	if (!tensor_bytes(t))
		die("q4_k_m wants embd, head size times heads, and ffn to be multiples of 256");
	t->offset = ntensors ? (t[-1].offset + tensor_bytes(&t[-1]) + 31) / 32 * 32 : 0;
	ntensors++;
}

static void data(const struct tensor *t)
{
	uint64_t rows = t->dims == 2 ? t->ne[1] : 1;
	float scale = 1.0f / sqrtf((float)t->ne[0]), x[QUANT_BLOCK];
	uint8_t bytes[QUANT_MAX];

	for (uint64_t r = 0; r < rows; r++)
		for (uint64_t i = 0, n; i < t->ne[0]; i += n) {
			n = t->ne[0] - i < QUANT_BLOCK ? t->ne[0] - i : QUANT_BLOCK;
			for (unsigned k = 0; k < n; k++)
				x[k] = t->dims == 1 ? 1 + 0.1f * normal()       /* norms: around one */
				       : !strcmp(t->name, "token_embd.weight") ? normal() : normal() * scale;
			quant_encode(t->rounded, x, (unsigned)n, bytes);
			if (t->type != t->rounded) {
				quant_decode(t->rounded, bytes, (unsigned)n, x);
				quant_encode(t->type, x, (unsigned)n, bytes);
			}
			put(bytes, quant_bytes(t->type, n));
		}
}

static void tokenizer(uint32_t vocab)
{
	char s[32];

	kv_str("tokenizer.ggml.model", "llama");
	str("tokenizer.ggml.tokens"); u32(T_ARR); u32(T_STR); u64(vocab);
	for (uint32_t i = 0; i < vocab; i++) {
		if (i < 3)
			snprintf(s, sizeof(s), "%s", i == 0 ? "<unk>" : i == 1 ? "<s>" : "</s>");
		else if (i < 259)
			snprintf(s, sizeof(s), "<0x%02X>", i - 3);
		else    /* U+2581, the SentencePiece blank, and a word of letters */
			snprintf(s, sizeof(s), "\xe2\x96\x81%c%c%c%u", 'a' + i % 26, 'a' + i / 26 % 26, 'a' + i / 676 % 26, i);
		str(s);
	}
	str("tokenizer.ggml.scores"); u32(T_ARR); u32(T_F32); u64(vocab);
	for (uint32_t i = 0; i < vocab; i++)
		f32(i < 259 ? 0 : -(float)i);
	str("tokenizer.ggml.token_type"); u32(T_ARR); u32(T_I32); u64(vocab);
	for (uint32_t i = 0; i < vocab; i++)
		u32(i == 0 ? 2 : i < 3 ? 3 : i < 259 ? 6 : 1);  /* unknown, control, byte, normal */
	kv_u32("tokenizer.ggml.bos_token_id", 1);
	kv_u32("tokenizer.ggml.eos_token_id", 2);
	kv_u32("tokenizer.ggml.unknown_token_id", 0);
}

int main(int argc, char **argv)
{
	uint32_t embd = 256, layers = 2, heads = 4, kv = 2, ffn = 512, vocab = 512, file_type;
	enum ggml_type_id type = G_Q8_0, wide;
	const char *path = NULL;
	char name[64];
	long info_end;
	int opt;

	rng = 0x9e3779b97f4a7c15ull;
	while ((opt = getopt(argc, argv, "o:t:De:l:H:k:f:v:s:")) != -1)
		switch (opt) {
		case 'o': path = optarg; break;
		case 't':
			type = !strcmp(optarg, "f16") ? G_F16 : !strcmp(optarg, "q4_0") ? G_Q4_0 : !strcmp(optarg, "q4_k_m") ? G_Q4_K : G_Q8_0;
			if (type == G_Q8_0 && strcmp(optarg, "q8_0"))
				die("-t is f16, q8_0, q4_0 or q4_k_m");
			break;
		case 'D': plain = 1; break;
		case 'e': embd = (uint32_t)atoi(optarg); break;
		case 'l': layers = (uint32_t)atoi(optarg); break;
		case 'H': heads = (uint32_t)atoi(optarg); break;
		case 'k': kv = (uint32_t)atoi(optarg); break;
		case 'f': ffn = (uint32_t)atoi(optarg); break;
		case 'v': vocab = (uint32_t)atoi(optarg); break;
		case 's': rng ^= (uint64_t)strtoull(optarg, NULL, 0) * 0xd1342543de82ef95ull; break;
		default: die("see the head of mkgguf.c for the options");
		}
	if (!path || !heads || !kv || embd % 32 || ffn % 32 || embd % heads || heads % kv || vocab < 260 || vocab > 1 << 20 ||
	    !layers || layers > 1000)
		die("-o FILE is needed; embd and ffn are multiples of 32, embd of heads, heads of kv heads; vocab 260 and up");
	out = fopen(path, "wb");
	if (!out)
		die("cannot open the file");
	uint32_t hd = embd / heads;

	wide = type == G_Q4_K ? G_Q6_K : type;
	add("token_embd.weight", type, embd, vocab);
	add("output_norm.weight", G_F32, embd, 0);
	add("output.weight", wide, embd, vocab);
	for (uint32_t l = 0; l < layers; l++) {
		static const struct { const char *n; int in, rows; } w[] = {
			{ "attn_q", 0, 0 }, { "attn_k", 0, 1 }, { "attn_v", 0, 1 }, { "attn_output", 0, 0 },
			{ "ffn_gate", 0, 2 }, { "ffn_up", 0, 2 }, { "ffn_down", 2, 0 },
		};
		uint32_t size[3] = { embd, hd * kv, ffn };

		snprintf(name, sizeof(name), "blk.%u.attn_norm.weight", l);
		add(name, G_F32, embd, 0);
		snprintf(name, sizeof(name), "blk.%u.ffn_norm.weight", l);
		add(name, G_F32, embd, 0);
		for (size_t i = 0; i < sizeof(w) / sizeof(w[0]); i++) {
			snprintf(name, sizeof(name), "blk.%u.%s.weight", l, w[i].n);
			/* llama.cpp's rule: the first and the last eighth of the layers, and every third between */
			int more = (i == 2 || i == 6) && (l < layers / 8 || l >= 7 * layers / 8 || (l - layers / 8) % 3 == 2);

			add(name, more ? wide : type, size[w[i].in], size[w[i].rows]);
		}
	}
	file_type = plain ? 0 : type == G_F16 ? 1 : type == G_Q4_0 ? 2 : type == G_Q4_K ? 15 : 7;

	put("GGUF", 4);
	u32(3);
	u64(ntensors);
	u64(20);
	kv_str("general.architecture", "llama");
	kv_str("general.name", "vgpu random weights");
	kv_u32("general.file_type", file_type);
	kv_u32("general.quantization_version", 2);
	kv_u32("llama.block_count", layers);
	kv_u32("llama.context_length", 4096);
	kv_u32("llama.embedding_length", embd);
	kv_u32("llama.feed_forward_length", ffn);
	kv_u32("llama.attention.head_count", heads);
	kv_u32("llama.attention.head_count_kv", kv);
	kv_f32("llama.attention.layer_norm_rms_epsilon", 1e-5f);
	kv_u32("llama.rope.dimension_count", hd);
	kv_u32("llama.vocab_size", vocab);
	tokenizer(vocab);
	for (unsigned i = 0; i < ntensors; i++) {
		str(tensors[i].name);
		u32(tensors[i].dims);
		for (unsigned d = 0; d < tensors[i].dims; d++)
			u64(tensors[i].ne[d]);
		u32(tensors[i].type);
		u64(tensors[i].offset);
	}
	info_end = ftell(out);
	for (long pad = (32 - info_end % 32) % 32; pad > 0; pad--)
		put("", 1);
	for (unsigned i = 0; i < ntensors; i++) {
		uint64_t end = tensors[i].offset + tensor_bytes(&tensors[i]);

		data(&tensors[i]);
		for (; i + 1 < ntensors && end < tensors[i + 1].offset; end++)
			put("", 1);
	}
	if (fclose(out))
		die("cannot write");
	return 0;
}
