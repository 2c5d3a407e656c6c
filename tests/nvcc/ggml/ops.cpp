// SPDX-License-Identifier: MIT
// A static program with some of llama.cpp's ggml-cuda in it, beside ggml's CPU backend: the same operation on both, compared.
// A line "ok NAME: NMSE" or "FAIL NAME: ..." each; the last is that all memory is free again.
#include <ggml-alloc.h>
#include <ggml-backend.h>
#include <ggml-cpu.h>
#include <ggml-cuda.h>
#include <ggml.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

static ggml_backend_t device, cpu;
static bool bad;

// What ggml-cuda.cu names of the files that are not linked (ggml.sh writes the jumps to this): its choices say "not that one" by
// themselves, everything else is never to be reached.
extern "C" [[noreturn]] void absent(const char *name)
{
	std::printf("FAIL %s is not linked\n", name);
	std::fflush(stdout);
	std::abort();
}

// the same numbers each time
static float value(uint32_t &state)
{
	state = state * 1664525u + 1013904223u;
	return static_cast<float>(state >> 8) / 8388608.0f - 1.0f;
}

struct input {
	ggml_type type;
	std::vector<int64_t> shape;
};
using builder = std::function<ggml_tensor *(ggml_context *, std::vector<ggml_tensor *> &)>;

static std::vector<float> compute(ggml_backend_t backend, const std::vector<input> &inputs, float low, float high, const builder &build,
				  std::string &why)
{
	ggml_context *ctx = ggml_init({ ggml_tensor_overhead() * 32 + ggml_graph_overhead(), nullptr, true });
	std::vector<ggml_tensor *> in;
	std::vector<float> result;
	uint32_t state = 1;

	for (const input &i : inputs) {
		int64_t ne[4] = { 1, 1, 1, 1 };

		for (size_t d = 0; d < i.shape.size(); d++)
			ne[d] = i.shape[d];
		in.push_back(ggml_new_tensor(ctx, i.type, 4, ne));
	}
	ggml_tensor *out = build(ctx, in);
	ggml_cgraph *graph = ggml_new_graph(ctx);

	ggml_build_forward_expand(graph, out);
	// an operation that a backend does not have must not pass for one that it computes
	for (int n = 0; n < ggml_graph_n_nodes(graph); n++)
		if (!ggml_backend_supports_op(backend, ggml_graph_node(graph, n)))
			why = "not supported by its backend";
	ggml_backend_buffer_t buffer = why.empty() ? ggml_backend_alloc_ctx_tensors(ctx, backend) : nullptr;

	if (!buffer && why.empty())
		why = "no memory";
	if (buffer) {
		for (ggml_tensor *t : in) {
			const int64_t n = ggml_nelements(t);
			std::vector<float> f(n);
			std::vector<uint8_t> raw(ggml_nbytes(t));

			for (float &x : f)
				x = low + (high - low) * (value(state) + 1) / 2;
			if (t->type == GGML_TYPE_F32) {
				ggml_backend_tensor_set(t, f.data(), 0, n * sizeof(float));
				continue;
			}
			ggml_quantize_chunk(t->type, f.data(), raw.data(), 0, n / t->ne[0], t->ne[0], nullptr);
			ggml_backend_tensor_set(t, raw.data(), 0, raw.size());
		}
		if (ggml_backend_graph_compute(backend, graph) != GGML_STATUS_SUCCESS)
			why = "not computed";
		result.resize(ggml_nelements(out));
		ggml_backend_tensor_get(out, result.data(), 0, result.size() * sizeof(float));
		ggml_backend_buffer_free(buffer);
	}
	ggml_free(ctx);
	return result;
}

static void compare(const std::string &name, double bound, const std::vector<input> &inputs, float low, float high, const builder &build)
{
	std::string why;
	const std::vector<float> want = compute(cpu, inputs, low, high, build, why), have = compute(device, inputs, low, high, build, why);
	double error = 0, size = 0;

	for (size_t i = 0; why.empty() && i < want.size(); i++) {
		error += (static_cast<double>(have[i]) - want[i]) * (static_cast<double>(have[i]) - want[i]);
		size += static_cast<double>(want[i]) * want[i];
	}
	if (why.empty() && (size == 0 || !(error / size <= bound)))
		why = "too far off";
	if (why.empty())
		std::printf("ok %s: NMSE %.1e\n", name.c_str(), error / size);
	else
		std::printf("FAIL %s: %s, NMSE %.1e\n", name.c_str(), why.c_str(), error / size);
	bad |= !why.empty();
}

int main()
{
	size_t before, after, total;

	device = ggml_backend_cuda_init(0);
	cpu = ggml_backend_cpu_init();
	if (!device || !cpu) {
		std::puts("FAIL a backend is missing");
		return 1;
	}
	ggml_backend_cuda_get_device_memory(0, &before, &total);
	for (int op = 0; op < GGML_UNARY_OP_COUNT; op++) {
		if (op == GGML_UNARY_OP_XIELU)  // has parameters
			continue;
		// these two ggml's CPU backend looks up in tables of f16
		const double bound = op == GGML_UNARY_OP_GELU || op == GGML_UNARY_OP_GELU_QUICK ? 1e-6 : 1e-7;

		compare(std::string("unary ") + ggml_unary_op_name(static_cast<ggml_unary_op>(op)), bound, { { GGML_TYPE_F32, { 257, 7, 3, 2 } } }, -5, 5,
			[=](ggml_context *c, std::vector<ggml_tensor *> &in) { return ggml_unary(c, in[0], static_cast<ggml_unary_op>(op)); });
	}
	const struct {
		const char *name;
		ggml_tensor *(*make)(ggml_context *, ggml_tensor *, ggml_tensor *);
	} binary[] = { { "add", ggml_add }, { "sub", ggml_sub }, { "mul", ggml_mul }, { "div", ggml_div } };
	for (const auto &b : binary) {
		const auto build = [=](ggml_context *c, std::vector<ggml_tensor *> &in) { return b.make(c, in[0], in[1]); };

		compare(std::string("binary ") + b.name, 1e-7, { { GGML_TYPE_F32, { 130, 9, 4, 2 } }, { GGML_TYPE_F32, { 130, 9, 4, 2 } } }, 0.5, 2, build);
		compare(std::string("binary ") + b.name + ", a row for all", 1e-7, { { GGML_TYPE_F32, { 130, 9, 4, 2 } }, { GGML_TYPE_F32, { 130 } } }, 0.5, 2, build);
		compare(std::string("binary ") + b.name + ", repeated in each dimension", 1e-7,
			{ { GGML_TYPE_F32, { 12, 6, 4, 2 } }, { GGML_TYPE_F32, { 6, 3, 2, 1 } } }, 0.5, 2, build);
	}
	compare("scale", 1e-7, { { GGML_TYPE_F32, { 1000, 33 } } }, -1, 1,
		[](ggml_context *c, std::vector<ggml_tensor *> &in) { return ggml_scale(c, in[0], 0.37f); });
	compare("copy to f16 and back", 1e-7, { { GGML_TYPE_F32, { 64, 33, 3 } } }, -1, 1, [](ggml_context *c, std::vector<ggml_tensor *> &in) {
		ggml_tensor *half = ggml_cast(c, ggml_permute(c, in[0], 1, 0, 2, 3), GGML_TYPE_F16);

		return ggml_cast(c, half, GGML_TYPE_F32);
	});
	const auto product = [](ggml_context *c, std::vector<ggml_tensor *> &in) { return ggml_mul_mat(c, in[0], in[1]); };
	for (ggml_type type : { GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_BF16, GGML_TYPE_Q8_0, GGML_TYPE_Q4_0, GGML_TYPE_Q4_K })
		for (int64_t columns : { 1, 33 }) {
			const std::string name = std::string("matrices of ") + ggml_type_name(type) + ", " + std::to_string(columns) + " columns";

			// the bound of llama.cpp's own test-backend-ops for products
			compare(name, 5e-4, { { type, { 256, 70 } }, { GGML_TYPE_F32, { 256, columns } } }, -1, 1, product);
		}
	compare("matrices of f32, batched", 5e-4, { { GGML_TYPE_F32, { 64, 40, 2, 3 } }, { GGML_TYPE_F32, { 64, 20, 2, 3 } } }, -1, 1, product);
	compare("matrices of f16, batched", 5e-4, { { GGML_TYPE_F16, { 64, 40, 2, 3 } }, { GGML_TYPE_F32, { 64, 20, 4, 3 } } }, -1, 1, product);
	compare("a layer: relu(a * b + c)", 5e-4, { { GGML_TYPE_F32, { 96, 48 } }, { GGML_TYPE_F32, { 96, 17 } }, { GGML_TYPE_F32, { 48 } } }, -1, 1,
		[](ggml_context *c, std::vector<ggml_tensor *> &in) { return ggml_relu(c, ggml_add(c, ggml_mul_mat(c, in[0], in[1]), in[2])); });
	ggml_backend_free(device);
	ggml_backend_free(cpu);
	ggml_backend_cuda_get_device_memory(0, &after, &total);
	std::printf("%s memory: %zu bytes free before, %zu after\n", before == after ? "ok" : "FAIL", before, after);
	return bad || before != after;
}
