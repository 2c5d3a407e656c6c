/* SPDX-License-Identifier: MIT */
/*
 * llama.cpp's operator tests, case by case. The whole of tests/test-backend-ops.cpp of the packaged version is included here as it
 * is: its cases, its data and its comparison with the CPU backend; what is ours is which case runs when, with which seed.
 *
 *   backend_ops BACKENDS list            every case: number, operator, support, cost, oddness, name
 *   backend_ops BACKENDS sample PER_OP   some of each operator's supported cases: half of them with odd shapes, spread over all
 *   backend_ops BACKENDS run             the cases whose numbers are on standard input, one line each: ok, FAIL or unsupported
 *
 * BACKENDS is the folder of libggml-*.so. A case's data come from its name and VGPU_OPS_SEED alone, so that it is the same alone and among others.
 */
#include <atomic>
#include <map>
#include <random>

/* The source seeds its generators from std::random_device: here, from the case. */
static std::atomic<uint64_t> seed_state;

namespace std {
struct case_seed {
	typedef unsigned result_type;
	static constexpr result_type min() { return 0; }
	static constexpr result_type max() { return ~0u; }
	double entropy() const { return 0; }
	result_type operator()()
	{
		uint64_t z = seed_state.fetch_add(0x9E3779B97F4A7C15u) + 0x9E3779B97F4A7C15u;

		z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
		z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
		return (result_type)(z >> 32);
	}
};
}
#define random_device case_seed
#define main tests_own_main
#include "test-backend-ops.cpp"
#undef main

#include <chrono>
#include <csignal>
#include <unistd.h>

/*
 * libggml's qsort: it makes the tables of the IQ types by some 100,000 sorts of pairs of small numbers, by the first and then by the second, which
 * lie in the order of the second already. By libc's sort they take two fifths of all time, so these are counted into their places and looked
 * through by the caller's own order; whatever is not such pairs, libc sorts.
 */
struct pair { int first, second; };

static bool counted(struct pair *p, size_t n, int (*order)(const void *, const void *))
{
	static thread_local std::vector<struct pair> was;
	static thread_local unsigned at[4097];

	for (size_t i = 0; i < n; i++)
		if (p[i].first < 0 || p[i].first >= 4096 || (i && p[i].second <= p[i - 1].second))
			return false;
	was.assign(p, p + n);
	memset(at, 0, sizeof(at));
	for (size_t i = 0; i < n; i++)
		at[was[i].first + 1]++;
	for (unsigned k = 1; k < 4097; k++)
		at[k] += at[k - 1];
	for (size_t i = 0; i < n; i++)
		p[at[was[i].first]++] = was[i];
	for (size_t i = 1; i < n; i++)
		if (order(p + i - 1, p + i) > 0)
			return false;
	return true;
}

extern "C" __attribute__((visibility("default"))) void qsort(void *base, size_t n, size_t size, int (*order)(const void *, const void *))
{
	if (n < 64 || size != sizeof(struct pair) || (uintptr_t)base % alignof(struct pair) || !counted((struct pair *)base, n, order))
		qsort_r(base, n, size, [](const void *a, const void *b, void *by) { return (*(int (**)(const void *, const void *))by)(a, b); }, &order);
}

static ggml_backend_t device, cpu;

static void seed_by(const std::string &name)
{
	const char *more = getenv("VGPU_OPS_SEED");
	uint64_t h = 14695981039346656037u; /* FNV-1a */

	for (char c : name + (more ? more : ""))
		h = (h ^ (uint8_t)c) * 1099511628211u;
	seed_state = h;
}

#define DEAR 8000000 /* cost of what a sample leaves out: some 20 ms */

/* What a case is, without running it. */
struct about {
	size_t number;
	std::string op, name;
	const char *support;
	uint64_t cost; /* bytes of all its tensors, and its operations */
	bool odd;      /* some row is no multiple of a warp */
};

static about look(test_case &t, size_t number)
{
	ggml_init_params ip = { ggml_tensor_overhead() * 128 + ggml_graph_overhead(), NULL, true };
	ggml_context_ptr c(ggml_init(ip)), weights(t.use_weight_context() ? ggml_init(ip) : nullptr);
	about a = { number, "", "", "yes", 0, false };

	t.mode = MODE_SUPPORT; /* no sentinels */
	ggml_tensor *out = t.build_graph(c.get(), weights.get());

	a.op = t.op_desc(out);
	a.name = a.op + "(" + t.vars() + ")";
	a.cost = t.op_flops(out);
	/* the same question as test_case::eval asks */
	for (ggml_tensor *x = ggml_get_first_tensor(c.get()); x; x = ggml_get_next_tensor(c.get(), x)) {
		if (!ggml_backend_supports_op(device, x))
			a.support = "no";
		else if (!ggml_backend_supports_op(cpu, x) && strcmp(a.support, "yes") == 0)
			a.support = "cpu-no";
		/* seconds for the tables that these are quantised with */
		a.cost += x->type == GGML_TYPE_IQ1_S || x->type == GGML_TYPE_IQ1_M || x->type == GGML_TYPE_IQ2_XS ? DEAR : ggml_nbytes(x);
		a.odd |= x->ne[0] % 32 != 0 && ggml_nelements(x) > 1;
	}
	return a;
}

/* COUNT of FROM, as far apart as they can be. */
static void spread(const std::vector<about> &from, size_t count, std::set<size_t> &out)
{
	for (size_t i = 0; i < count && i < from.size(); i++)
		out.insert(from[count < from.size() ? i * from.size() / count : i].number);
}

static void print(const about &a)
{
	printf("%zu\t%s\t%s\t%llu\t%s\t%s\n", a.number, a.op.c_str(), a.support, (unsigned long long)a.cost, a.odd ? "odd" : "even", a.name.c_str());
}

/* An operator with many cases gets more of them. The dearest third is left to the whole run, and what takes the CPU long to make and
 * to multiply; but the cheapest case is taken whatever it costs. */
static void sample(const std::vector<about> &all, size_t per_op)
{
	std::map<std::string, std::vector<about>> ops;
	std::set<size_t> chosen;

	for (const about &a : all)
		if (strcmp(a.support, "yes") == 0)
			ops[a.op].push_back(a);
	for (auto &[op, cases] : ops) {
		std::vector<uint64_t> costs;
		std::vector<about> odd, even;
		size_t want = per_op;

		for (size_t n = cases.size(); n > 100; n /= 4)
			want += per_op;
		for (const about &a : cases)
			costs.push_back(a.cost);
		std::sort(costs.begin(), costs.end());
		uint64_t most = std::max(std::min<uint64_t>(costs[costs.size() * 2 / 3], DEAR), costs[0]);

		for (const about &a : cases)
			if (a.cost <= most)
				(a.odd ? odd : even).push_back(a);
		spread(odd, std::max((want + 1) / 2, want - std::min(want, even.size())), chosen);
		spread(even, std::max(want / 2, want - std::min(want, odd.size())), chosen);
	}
	for (const about &a : all)
		if (chosen.count(a.number))
			print(a);
}

static int run(std::vector<std::unique_ptr<test_case>> &cases)
{
	const char *most = getenv("VGPU_OPS_SECONDS");
	int bad = 0;
	size_t i;

	while (scanf("%zu", &i) == 1) {
		if (i >= cases.size() || !cases[i]) {
			fprintf(stderr, "no case %zu, or it has run\n", i);
			return 2;
		}
		test_case &t = *cases[i];
		about a = look(t, i);
		test_status_t st = test_status_t::FAIL;
		auto start = std::chrono::steady_clock::now();

		/* the name first: what ends the process is then known */
		printf("case %zu %s: ", i, a.name.c_str());
		fflush(stdout);
		seed_by(a.name);
		alarm(most ? (unsigned)atoi(most) : 600);
		/* the tests keep a generator in each thread */
		std::thread([&] { st = t.eval(device, cpu, NULL, NULL); }).join();
		alarm(0);
		printf("%s %.3f s\n", st == test_status_t::OK ? "ok" : st == test_status_t::NOT_SUPPORTED ? "unsupported" : "FAIL",
		       std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
		fflush(stdout);
		bad |= st == test_status_t::FAIL;
		cases[i].reset();
	}
	return bad;
}

int main(int argc, char **argv)
{
	std::string what = argc > 2 ? argv[2] : "";

	if (argc != (what == "sample" ? 4 : 3) || (what != "list" && what != "sample" && what != "run")) {
		fprintf(stderr, "usage: backend_ops BACKENDS list | sample PER_OP | run <NUMBERS\n");
		return 2;
	}
	ggml_backend_load_all_from_path(argv[1]);
	ggml_backend_dev_t dev = ggml_backend_dev_by_name("CUDA0");

	device = dev ? ggml_backend_dev_init(dev, NULL) : NULL;
	cpu = ggml_backend_init_by_type(GGML_BACKEND_DEVICE_TYPE_CPU, NULL);
	if (!device || !cpu) {
		fprintf(stderr, "no %s backend\n", device ? "CPU" : "CUDA");
		return 2;
	}
	/* as the tests' own main; and one thread, whose sums are always in one order and which waits for no other */
	ggml_backend_reg_t reg = ggml_backend_dev_backend_reg(ggml_backend_get_device(cpu));
	auto use_ref = (void (*)(ggml_backend_t, bool))ggml_backend_reg_get_proc_address(reg, "ggml_backend_cpu_set_use_ref");
	auto threads = (ggml_backend_set_n_threads_t)ggml_backend_reg_get_proc_address(reg, "ggml_backend_set_n_threads");

	if (!use_ref || !threads) {
		fprintf(stderr, "the CPU backend has no reference mode\n");
		return 2;
	}
	use_ref(cpu, true);
	threads(cpu, 1);

	auto cases = make_test_cases_eval();

	if (what == "run") {
		int bad = run(cases);

		ggml_backend_free(device);
		ggml_backend_free(cpu);
		return bad;
	}
	std::vector<about> all;

	for (size_t i = 0; i < cases.size(); i++)
		all.push_back(look(*cases[i], i));
	if (what == "sample")
		sample(all, (size_t)atoi(argv[3]));
	else
		for (const about &a : all)
			print(a);
	return 0;
}
