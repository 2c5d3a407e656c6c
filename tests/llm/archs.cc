/* SPDX-License-Identifier: MIT */
/*
 * Models of every architecture that llama.cpp has, tiny and with random weights, on the device and on the CPU backend. The whole of
 * tests/test-llama-archs.cpp of the packaged version is included here as it is: what makes a model of each architecture is its own. Ours is
 * which weights' type, cache's type and attention a case has, and the comparison.
 *
 *   archs BACKENDS list         the architectures that its authors run: one case a line
 *   archs BACKENDS run          the cases on standard input, one line each: ok, FAIL or unsupported
 *
 * A case is ARCHITECTURE dense|moe [KEY=VALUE]...: type= of the weights (f32), k= and v= of the cache (f16), fa=0|1 (as llama.cpp
 * chooses), ngl= layers offloaded (all), embed=1 for embeddings, prompt= tokens at once (64), steps= tokens singly after them (4), times= how many times the CPU's
 * own error the device's may be, with=NAME,... tensors of each layer that a file may lack, and any NAME:NUMBER for a key of the file, as feed_forward_length:512.
 *
 * With weights and cache of 16 bits or more both compute alike: NMSE 1e-4, the authors' own bound. Below, both round activations, each
 * in its way: the reference is the same weights in F32, with a cache in F32, on the CPU backend.
 */
#define main authors_main
#include "test-llama-archs.cpp"
#undef main

#include <chrono>
#include <iostream>
#include <map>
#include <sstream>
#include <unistd.h>

#define LAYERS 2                /* that the authors' models of these have */
#define BOUND 1e-4
#define NOISE 1e-7              /* of F32 and F16, where nothing coarser is rounded */

struct test_case {
	std::string arch, line;
	bool moe = false;
	ggml_type type = GGML_TYPE_F32, k = GGML_TYPE_F16, v = GGML_TYPE_F16;
	int fa = -1, ngl = 999, prompt = 64, steps = 4, embed = 0;
	double times = 1.5;
	std::map<std::string, uint32_t> keys;
	std::vector<std::string> with;
};

static ggml_type type_of(const std::string &name)
{
	for (int t = 0; t < GGML_TYPE_COUNT; t++)
		if (ggml_type_name((ggml_type)t) && name == ggml_type_name((ggml_type)t))
			return (ggml_type)t;
	throw std::runtime_error("no type " + name);
}

static test_case parse(const std::string &line)
{
	std::istringstream in(line);
	std::string config, word;
	test_case c;

	c.line = line;
	if (!(in >> c.arch >> config) || llm_arch_from_string(c.arch) == LLM_ARCH_UNKNOWN || (config != "dense" && config != "moe"))
		throw std::runtime_error("no such case: " + line);
	c.moe = config == "moe";
	while (in >> word) {
		size_t eq = word.find_first_of("=:");
		std::string key = word.substr(0, eq), value = eq == std::string::npos ? "" : word.substr(eq + 1);

		if (value.empty()) throw std::runtime_error("no value: " + word);
		else if (word[eq] == ':') c.keys[key] = (uint32_t)std::stoul(value);
		else if (key == "type") c.type = type_of(value);
		else if (key == "k") c.k = type_of(value);
		else if (key == "v") c.v = type_of(value);
		else if (key == "fa") c.fa = std::stoi(value);
		else if (key == "ngl") c.ngl = std::stoi(value);
		else if (key == "with") for (const std::string &name : string_split<std::string>(value, ',')) c.with.push_back(name);
		else if (key == "embed") c.embed = std::stoi(value);
		else if (key == "prompt") c.prompt = std::stoi(value);
		else if (key == "steps") c.steps = std::stoi(value);
		else if (key == "times") c.times = std::stod(value);
		else throw std::runtime_error("no such key: " + word);
	}
	return c;
}

/* What a model's tensors are to hold: rounded as `type`, whatever the tensor's own type is. */
struct weights {
	ggml_type type;
	std::map<std::string, std::vector<uint8_t>> rounded;    /* their blocks: some types take long to find */
	int tensors;                    /* of the model, where libllama wants to be told; else 0 */
};

/*
 * The packaged libllama wants as many tensors in the metadata as it makes, unlike its sources: it says how many, and gets them. Their names
 * are nobody's.
 */
static int wanted, made;

static void hear(ggml_log_level level, const char *text, void *)
{
	const char *p = strstr(text, "too many tensors created; expected ");

	if (p && sscanf(p, "too many tensors created; expected %d, got %d", &wanted, &made) == 2)
		return;
	if (level == GGML_LOG_LEVEL_ERROR)
		fputs(text, stderr);
}

static void declare(gguf_context *g, const std::string &name, ggml_type type)
{
	ggml_tensor t = {};

	t.type = type;
	t.ne[0] = ggml_blck_size(type);
	t.ne[1] = t.ne[2] = t.ne[3] = 1;
	ggml_set_name(&t, name.c_str());
	gguf_add_tensor(g, &t);
}

static const size_t seed = 1;

static bool is_matrix(const ggml_tensor *t, ggml_type type)
{
	static const char *const other[] = { "norm", "conv", "ssm_a", "ssm_d", "ssm_dt", "token_embd", "token_types", "position", "rel_b", "gate_inp", "bias",
					     "time_mix", "shift", "pos" };

	if (!strstr(t->name, ".weight") || t->ne[1] < 2 || t->ne[0] % ggml_blck_size(type))
		return false;
	for (const char *o : other)
		if (strstr(t->name, o))
			return false;
	return true;
}

static void fill(ggml_tensor *t, void *data)
{
	weights &w = *(weights *)data;
	int64_t n = ggml_nelements(t), rows = ggml_nrows(t);
	std::mt19937 gen((unsigned)(seed ^ std::hash<std::string>()(t->name)));
	std::normal_distribution<float> dis(0.0f, 0.1f);
	std::vector<float> x(n), ones(t->ne[0], 1.0f);
	bool rounds = w.type != GGML_TYPE_F32 && is_matrix(t, w.type);

	for (float &f : x)
		f = strstr(t->name, "ssm_a") ? -fabsf(dis(gen)) : dis(gen);
	if (rounds) {
		std::vector<uint8_t> &q = w.rounded[t->name];

		if (q.empty()) {
			q.resize(ggml_row_size(w.type, t->ne[0]) * rows);
			ggml_quantize_chunk(w.type, x.data(), q.data(), 0, rows, t->ne[0], ones.data());
		}
		if (t->type == w.type) {
			ggml_backend_tensor_set(t, q.data(), 0, q.size());
			return;
		}
		ggml_get_type_traits(w.type)->to_float(q.data(), x.data(), n);
	}
	if (t->type == GGML_TYPE_F16) {
		std::vector<ggml_fp16_t> h(n);

		ggml_fp32_to_fp16_row(x.data(), h.data(), n);
		ggml_backend_tensor_set(t, h.data(), 0, ggml_nbytes(t));
	} else if (t->type == GGML_TYPE_F32) {
		ggml_backend_tensor_set(t, x.data(), 0, ggml_nbytes(t));
	} else {
		throw std::runtime_error(std::string("a type that was not asked for: ") + t->name);
	}
}

static gguf_context_ptr metadata(const test_case &c)
{
	llm_arch arch = llm_arch_from_string(c.arch);
	gguf_context_ptr g(gguf_init_empty()), whole = get_gguf_ctx(arch, c.moe);

	gguf_set_kv(g.get(), whole.get());      /* its tensors are of an architecture that is not run */

	if (arch == LLM_ARCH_BAILINGMOE3)       /* as its authors do */
		gguf_remove_key(g.get(), "bailingmoe3.kda.safe_gate");
	for (auto &k : c.keys)
		gguf_set_val_u32(g.get(), k.first.rfind("tokenizer.", 0) ? (c.arch + "." + k.first).c_str() : k.first.c_str(), k.second);
	return g;
}

enum side { REFERENCE, CPU, DEVICE };

struct result {
	std::vector<float> out;
	double seconds;
};

static bool encodes(const std::string &arch) { return arch == "t5" || arch == "dream" || arch == "llada" || arch == "llada-moe" || arch == "rnd1"; }

static result compute(const test_case &c, side side, ggml_backend_dev_t device, weights &w)
{
	gguf_context_ptr g = metadata(c);
	ggml_backend_dev_t devices[] = { side == DEVICE ? device : nullptr, nullptr };
	llama_model_params mp = llama_model_default_params();
	llama_context_params cp = llama_context_default_params();
	auto begin = std::chrono::steady_clock::now();
	result r;

	if (side != REFERENCE && c.type != GGML_TYPE_F32)
		for (auto &m : w.rounded)
			declare(g.get(), m.first, c.type);
	for (const std::string &name : c.with)
		for (unsigned l = 0; l < LAYERS; l++) {
			std::string full = "blk." + std::to_string(l) + "." + name;

			if (gguf_find_tensor(g.get(), full.c_str()) < 0)
				declare(g.get(), full, GGML_TYPE_F32);
		}
	for (int i = (int)gguf_get_n_tensors(g.get()); i < w.tensors; i++)
		declare(g.get(), "nobody's." + std::to_string(i), GGML_TYPE_F32);
	mp.devices = devices;
	mp.n_gpu_layers = side == DEVICE ? c.ngl : 0;
	mp.progress_callback = silent_model_load_progress;
	cp.n_ctx = 0;
	cp.n_threads = cp.n_threads_batch = 1;
	cp.n_batch = cp.n_ubatch = 512;
	cp.embeddings = c.embed;
	cp.pooling_type = c.embed ? LLAMA_POOLING_TYPE_MEAN : LLAMA_POOLING_TYPE_UNSPECIFIED;
	cp.type_k = side == REFERENCE ? GGML_TYPE_F32 : c.k;
	cp.type_v = side == REFERENCE ? GGML_TYPE_F32 : c.v;
	cp.flash_attn_type = side == REFERENCE ? LLAMA_FLASH_ATTN_TYPE_DISABLED : (llama_flash_attn_type)c.fa;
	if (side != DEVICE)
		cp.op_offload = cp.offload_kqv = false;
	made = 0;
	llama_model_ptr model(llama_model_init_from_user(g.get(), fill, &w, mp));
	if (!model && made > w.tensors) {
		w.tensors = made;
		return compute(c, side, device, w);
	}
	if (!model)
		throw std::runtime_error("the model is not made");
	llama_context_ptr ctx(llama_init_from_model(model.get(), cp));
	if (!ctx)
		throw std::runtime_error("no context");

	int vocab = llama_vocab_n_tokens(llama_model_get_vocab(model.get()));
	int steps = encodes(c.arch) || c.embed ? 0 : c.steps;
	std::vector<llama_token> tokens = get_tokens(c.prompt + steps, 128, seed);
	llama_batch batch = llama_batch_init(c.prompt, 0, 1);
	auto keep = [&](int i) {
		const float *l = c.embed ? llama_get_embeddings_seq(ctx.get(), 0) : llama_get_logits_ith(ctx.get(), i);

		if (!l)
			throw std::runtime_error("no output");
		r.out.insert(r.out.end(), l, l + (c.embed ? llama_model_n_embd_out(model.get()) : vocab));
	};

	for (int i = 0; i < c.prompt; i++)
		common_batch_add(batch, tokens[i], i, { 0 }, true);
	bool bad = (encodes(c.arch) && llama_encode(ctx.get(), batch)) || llama_decode(ctx.get(), batch);
	for (int i = 0; !bad && i < (c.embed ? 1 : c.prompt); i++)
		keep(i);
	for (int i = c.prompt; !bad && i < c.prompt + steps; i++) {
		common_batch_clear(batch);
		common_batch_add(batch, tokens[i], i, { 0 }, true);
		bad = llama_decode(ctx.get(), batch);
		if (!bad)
			keep(0);
	}
	llama_batch_free(batch);
	if (bad)
		throw std::runtime_error("does not decode");
	r.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
	return r;
}

/* NaN, or another length, is no agreement. */
static double error(const std::vector<float> &want, const std::vector<float> &got)
{
	double num = 0, den = 0;

	if (want.size() != got.size())
		return INFINITY;
	for (size_t i = 0; i < want.size(); i++) {
		num += ((double)got[i] - want[i]) * ((double)got[i] - want[i]);
		den += (double)want[i] * want[i];
	}
	return std::isfinite(num / den) ? num / den : INFINITY;
}

static bool run(const test_case &c, ggml_backend_dev_t device)
{
	bool rounds = ggml_is_quantized(c.type) || ggml_is_quantized(c.k) || ggml_is_quantized(c.v), good;
	weights w = { c.type, {}, 0 };
	fprintf(stderr, "on the CPU\n");
	result ref = compute(c, REFERENCE, device, w), cpu = compute(c, CPU, device, w);
	fprintf(stderr, "on the device\n");
	result dev = compute(c, DEVICE, device, w);
	double e = error(cpu.out, dev.out), own = error(ref.out, cpu.out), its = error(ref.out, dev.out);

	if (rounds)
		good = its <= c.times * own + NOISE && own < 0.5;
	else
		good = e <= BOUND;
	if (rounds)
		printf("%s %s: error against F32 %.2e, CPU's own %.2e: %.2f times (at most %.1f); %.2f s, the CPU %.2f\n", good ? "ok" : "FAIL",
		       c.line.c_str(), its, own, its / own, c.times, dev.seconds, cpu.seconds);
	else
		printf("%s %s: nmse %.2e (at most %.0e); %.2f s, the CPU %.2f\n", good ? "ok" : "FAIL", c.line.c_str(), e, BOUND, dev.seconds, cpu.seconds);
	return good;
}

int main(int argc, char **argv)
{
	ggml_backend_dev_t device = nullptr;
	std::string line;
	bool good = true;

	if (argc != 3) {
		fprintf(stderr, "usage: archs BACKENDS list|run\n");
		return 2;
	}
	if (!strcmp(argv[2], "list")) {
		for (const llm_arch &arch : llm_arch_all())
			for (bool moe : { false, true })
				if (arch != LLM_ARCH_UNKNOWN && arch != LLM_ARCH_EAGLE3 && arch != LLM_ARCH_DFLASH && arch_supported(arch) &&
				    (moe ? moe_implemented(arch) : !moe_mandatory(arch)))
					printf("%s %s\n", llm_arch_name(arch), moe ? "moe" : "dense");
		return 0;
	}
	llama_log_set(hear, nullptr);
	ggml_backend_load_all_from_path(argv[1]);
	llama_backend_init();
	for (size_t i = 0; i < ggml_backend_dev_count(); i++)
		if (!strncmp(ggml_backend_dev_name(ggml_backend_dev_get(i)), "CUDA", 4))
			device = ggml_backend_dev_get(i);
	if (!device) {
		printf("FAIL archs: ggml sees no CUDA device\n");
		return 1;
	}
	setvbuf(stdout, nullptr, _IOLBF, 0);
	while (std::getline(std::cin, line)) {
		if (line.empty() || line[0] == '#')
			continue;
		fprintf(stderr, "case %s\n", line.c_str());
		try {
			good = run(parse(line), device) && good;
		} catch (const std::exception &e) {
			printf("FAIL %s: %s\n", line.c_str(), e.what());
			good = false;
		}
	}
	fflush(stdout);
	_exit(good ? 0 : 1);
}
