/* SPDX-License-Identifier: MIT */
/*
 * A store writes what its lanes store, and nothing else: no byte between them, before or behind, not even what was there a moment ago. The
 * ISA's memory model knows no byte that a thread writes without being told, so threads of other blocks, the host and copies may
 * write there meanwhile (CUDA's Programming Guide: bytes beside each other are different places).
 *
 * Kernels store and add in a row, apart, at places that are loaded, at one place, in whole warps, parts of them and every second lane, by elements
 * of 1 to 16 bytes, while a thread of this test counts in all other bytes around. What it has counted must be there. So do copies and fills of
 * every size to 140 bytes.
 *
 * Sources: tests/unit/test_near.c tools/vgpu-stub/cpu/[all].c -llz4 -lzstd -lm -lpthread
 */
#include <sched.h>

#include "../ptx/rig.h"
#include "isas.h"

#include "../../tools/vgpu-stub/cpu/cpu.h"
#include "processor.h"

#define ROUNDS 2000u            /* of a launch; the interpreter's are fewer */
#define ROUNDS_INTERP 300u
#define VALUE 0xa5b6c7d8u       /* of fills */
#define COPIES 300u             /* before the neighbour is looked at */
#ifdef __SANITIZE_ADDRESS__     /* sees what compiles and copies, not what compiled code writes */
#define MET 4u
#else
#define MET 12u                 /* rounds of the neighbour that the kernel was at work in; each has two looks at every byte */
#endif
#define LAUNCHES 12u            /* where they never meet: a busy machine, one processor */
#define AROUND 128              /* how far the neighbour goes from what is stored */
#define PAGE 16384u
#define FIRST 4096u             /* where elements begin */

static struct rig rig;

/* What a lane stores: of %r6, the round, in units of so many bytes. `own`: the last round is there in the end. */
static const struct { const char *name, *text; unsigned bytes, unit; bool own; } what[] = {
	{ "u8", "st.global.u8 [%q4], %r6;", 1, 1, true },
	{ "u16", "st.global.u16 [%q4], %h0;", 2, 2, true },
	{ "u32", "st.global.u32 [%q4], %r6;", 4, 4, true },
	{ "u64", "st.global.u64 [%q4], %q6;", 8, 8, true },
	{ "v2.u8", "st.global.v2.u8 [%q4], {%r6, %r6};", 2, 1, true },
	{ "v4.u8", "st.global.v4.u8 [%q4], {%r6, %r6, %r6, %r6};", 4, 1, true },
	{ "v2.u16", "st.global.v2.u16 [%q4], {%h0, %h0};", 4, 2, true },
	{ "v4.u16", "st.global.v4.u16 [%q4], {%h0, %h0, %h0, %h0};", 8, 2, true },
	{ "v2.u32", "st.global.v2.u32 [%q4], {%r6, %r6};", 8, 4, true },
	{ "v4.u32", "st.global.v4.u32 [%q4], {%r6, %r6, %r6, %r6};", 16, 4, true },
	{ "v2.u64", "st.global.v2.u64 [%q4], {%q6, %q6};", 16, 8, true },
	{ "atom.cas.b16", "atom.global.cas.b16 %h1, [%q4], 0, %h0;", 2, 2, false },
	{ "red.add.f16", "red.global.add.noftz.f16 [%q4], %h0;", 2, 2, false },
	{ "red.add.u32", "red.global.add.u32 [%q4], %r6;", 4, 4, false },
	{ "atom.exch.b32", "atom.global.exch.b32 %r7, [%q4], %r6;", 4, 4, false },
	{ "red.add.f32", "red.global.add.f32 [%q4], %f0;", 4, 4, false },
	{ "red.max.u64", "red.global.max.u64 [%q4], %q6;", 8, 8, false },
};

/* Where, q0 the first lane's place, q1 a table of places by lane, r0 the lane. ROWS: two, of sixteen lanes. */
enum { ROW, APART, ROWS, ONE, TABLE64, TABLE32, CHANCE, NPLACES };
static const char *const places[NPLACES] = { "row", "apart", "rows", "one place", "row by chance", "row by index", "anywhere" };

/* Who: all of a block, a part of a warp, every second lane by a guard, by a branch, the upper half of it */
enum { ALL, PART, GUARD, BRANCH, UPPER, NWHO };
static const char *const whose[NWHO] = { "all", "part", "guarded", "branch", "upper half" };

static bool runs(int who, unsigned l) { return who == ALL || (who == PART ? l < 19 : who == UPPER ? l >= 16 : l & 1); }

/* In elements from the first one's. */
static unsigned place_of(int place, unsigned l)
{
	switch (place) {
	case APART: return 3 * l;
	case ROWS: return l / 16 * 40 + l % 16;
	case ONE: return 0;
	case CHANCE: return (l * 7 & 31) * 2;
	}
	return l;
}

static char *entry_text(char *to, const char *end, unsigned w, int place, int who)
{
	unsigned bytes = what[w].bytes;

	to += snprintf(to, (size_t)(end - to), ".visible .entry k%u_%d_%d(.param .u64 p, .param .u64 t, .param .u32 n)\n{\n"
		       "\t.reg .b32 %%r<12>;\n\t.reg .b64 %%q<8>;\n\t.reg .b16 %%h<4>;\n\t.reg .f32 %%f<2>;\n\t.reg .pred %%p<4>;\n"
		       "\tld.param.u32 %%r8, [n];\n\tld.param.u64 %%q0, [p];\n\tld.param.u64 %%q1, [t];\n\tmov.u32 %%r0, %%tid.x;\n\tmov.u32 %%r1, %%r0;\n", w, place, who);
	switch (place) {
	case APART:
		to += snprintf(to, (size_t)(end - to), "\tmul.lo.u32 %%r1, %%r0, 3;\n");
		break;
	case ROWS:
		to += snprintf(to, (size_t)(end - to), "\tshr.u32 %%r2, %%r0, 4;\n\tand.b32 %%r3, %%r0, 15;\n\tmad.lo.u32 %%r1, %%r2, 40, %%r3;\n");
		break;
	case ONE:
		to += snprintf(to, (size_t)(end - to), "\tmov.u32 %%r1, 0;\n");
		break;
	case TABLE64:           /* whole addresses */
		to += snprintf(to, (size_t)(end - to), "\tmul.wide.u32 %%q2, %%r0, 8;\n\tadd.u64 %%q2, %%q1, %%q2;\n\tld.global.u64 %%q4, [%%q2];\n");
		break;
	case TABLE32:
	case CHANCE:
		to += snprintf(to, (size_t)(end - to), "\tmul.wide.u32 %%q2, %%r0, 4;\n\tadd.u64 %%q2, %%q1, %%q2;\n\tld.global.u32 %%r1, [%%q2+256];\n");
		break;
	}
	if (place != TABLE64)
		to += snprintf(to, (size_t)(end - to), "\tmul.wide.u32 %%q3, %%r1, %u;\n\tadd.u64 %%q4, %%q0, %%q3;\n", bytes);
	to += snprintf(to, (size_t)(end - to), "\tand.b32 %%r4, %%r0, %u;\n\tsetp.ne.u32 %%p0, %%r4, 0;\n\tmov.u32 %%r6, 0;\n"
		       "L:\n\tadd.u32 %%r6, %%r6, 1;\n\tcvt.u16.u32 %%h0, %%r6;\n\tcvt.u64.u32 %%q6, %%r6;\n\tcvt.rn.f32.u32 %%f0, %%r6;\n",
		       who == UPPER ? 16u : 1u);
	if (who == BRANCH || who == UPPER)
		to += snprintf(to, (size_t)(end - to), "\t@!%%p0 bra N;\n\t%s\nN:\n", what[w].text);
	else
		to += snprintf(to, (size_t)(end - to), "\t%s%s\n", who == GUARD ? "@%p0 " : "", what[w].text);
	return to + snprintf(to, (size_t)(end - to), "\tsetp.lt.u32 %%p1, %%r6, %%r8;\n\t@%%p1 bra L;\n\tret;\n}\n");
}

/* ---- the neighbour ------------------------------------------------------------------------------------------ */

static struct neighbour {
	volatile uint8_t *page;
	uint16_t at[PAGE];      /* the bytes that are his */
	unsigned n;
	unsigned round;         /* what is in all of them, in 8 bits */
	unsigned lost;          /* the first byte that was another, + 1 */
	unsigned go;            /* 1: counts; 0: is to stand still; 2: is to end */
	unsigned still;         /* does, and has seen the last round whole */
} nb;

static void count(struct neighbour *b)
{
	uint8_t was = (uint8_t)b->round, now = (uint8_t)(b->round + 1);

	for (unsigned i = 0; i < b->n; i++) {
		if (b->page[b->at[i]] != was && !b->lost)
			__atomic_store_n(&b->lost, b->at[i] + 1u, __ATOMIC_RELAXED);
		b->page[b->at[i]] = now;
	}
	__atomic_store_n(&b->round, b->round + 1, __ATOMIC_RELEASE);
}

static void on(int which);

static void *neighbour(void *arg)
{
	struct neighbour *b = arg;
	unsigned go;

	on(1);
	while ((go = __atomic_load_n(&b->go, __ATOMIC_ACQUIRE)) != 2) {
		if (go) {
			count(b);
			continue;
		}
		__atomic_store_n(&b->still, 1, __ATOMIC_RELEASE);
		while (!__atomic_load_n(&b->go, __ATOMIC_ACQUIRE))
			sched_yield();
		__atomic_store_n(&b->still, 0, __ATOMIC_RELEASE);
	}
	return NULL;
}

static void stand_still(void)
{
	__atomic_store_n(&nb.go, 0, __ATOMIC_RELEASE);
	while (!__atomic_load_n(&nb.still, __ATOMIC_ACQUIRE))
		sched_yield();
}

static void go_on(void)
{
	__atomic_store_n(&nb.go, 1, __ATOMIC_RELEASE);
	while (__atomic_load_n(&nb.still, __ATOMIC_ACQUIRE))
		sched_yield();
}

/* He has bytes lo to hi of the page but own[], and those around. */
static void beside(uint8_t *page, const uint8_t *own, unsigned lo, unsigned hi)
{
	memset(page, 0, PAGE);
	nb.page = page;
	nb.n = nb.round = nb.lost = 0;
	for (unsigned i = lo - AROUND; i < hi + AROUND; i++)
		if (!own[i])
			nb.at[nb.n++] = (uint16_t)i;
	go_on();
}

/* ---- kernels ------------------------------------------------------------------------------------------------ */

static uint32_t module, ids[sizeof(what) / sizeof(what[0])][NPLACES][NWHO];
static unsigned kernels, launches, rounds;

static void one_kernel(unsigned w, int place, int who, uint8_t *page, uint8_t *table)
{
	const uint32_t turns = rig_mode == ENGINE_MODE_INTERP ? ROUNDS_INTERP : ROUNDS;
	struct { uint64_t p, t; uint32_t n; } args = { (uint64_t)(uintptr_t)page + FIRST + 3u * what[w].bytes, (uint64_t)(uintptr_t)table, turns };
	unsigned first = FIRST + 3 * what[w].bytes, lo = PAGE, hi = 0, met = 0, n, i, l, index = 0;
	static uint8_t own[PAGE];
	uint32_t st = VGPU_ST_OK;

	memset(own, 0, sizeof(own));
	for (l = 0; l < 32; l++) {
		unsigned at = first + place_of(place, l) * what[w].bytes;
		uint64_t whole = (uint64_t)(uintptr_t)page + at;
		uint32_t at32 = place_of(place, l);

		memcpy(table + 8 * l, &whole, 8);
		memcpy(table + 256 + 4 * l, &at32, 4);
		if (!runs(who, l))
			continue;
		memset(own + at, 1, what[w].bytes);
		lo = at < lo ? at : lo;
		hi = at + what[w].bytes > hi ? at + what[w].bytes : hi;
	}
	beside(page, own, lo, hi);
	for (n = 0; n < LAUNCHES && met < MET && !st; n++) {
		struct engine_launch launch = { .fn = ids[w][place][who], .grid = { 1, 1, 1 }, .block = { who == PART ? 19 : 32, 1, 1 },
						.params = &args, .param_bytes = 20 };
		unsigned before = __atomic_load_n(&nb.round, __ATOMIC_ACQUIRE);

		st = rig_launch(&rig, &launch, &index);
		if (st == ENGINE_PENDING)
			st = rig_wait(&rig, index, 60);
		rig.launches = 0;
		rig.ended[index] = 0;
		met += __atomic_load_n(&nb.round, __ATOMIC_ACQUIRE) - before;
	}
	stand_still();
	count(&nb);             /* the last look */
	launches += n;
	rounds += nb.round;
	kernels++;
	CHECK(!st, "%s %s %s: %s", what[w].name, places[place], whose[who], vgpu_status_text(st));
	CHECK(!nb.lost, "%s, %s, %s: byte %d from the first lane's is no longer what another has written", what[w].name, places[place], whose[who],
	      (int)(nb.lost - 1) - (int)first);
	for (i = lo; i < hi && what[w].own; i++) {
		uint8_t want = (uint8_t)((i - first) % what[w].unit < 4 ? turns >> 8 * ((i - first) % what[w].unit) : 0);

		if (own[i] && page[i] != want) {
			CHECK(0, "%s, %s, %s: byte %u is 0x%x", what[w].name, places[place], whose[who], i - first, page[i]);
			break;
		}
	}
}

/* ---- copies and fills --------------------------------------------------------------------------------------- */

static void one_copy(unsigned bytes, unsigned elem, uint8_t *page, uint8_t *table)
{
	unsigned first = FIRST + 5 * (elem ? elem : 1), met = 0, n, i;
	uint8_t own[PAGE] = { 0 }, *to = page + first;
	uint32_t st = VGPU_ST_OK;

	memset(own + first, 1, bytes);
	for (i = 0; i < bytes; i++)
		table[i] = (uint8_t)(elem ? VALUE >> 8 * (i % elem) : i + 1);
	beside(page, own, first, first + bytes);
	for (n = 0; n < LAUNCHES && met < MET && !st; n++) {
		unsigned before = __atomic_load_n(&nb.round, __ATOMIC_ACQUIRE);

		for (i = 0; i < COPIES && !st; i++)
			st = elem ? engine_cpu.fill(rig.engine, to, VALUE, elem, bytes / elem) : engine_cpu.copy(rig.engine, to, table, bytes);
		met += __atomic_load_n(&nb.round, __ATOMIC_ACQUIRE) - before;
	}
	stand_still();
	count(&nb);
	CHECK(!st && !nb.lost, "%s of %u bytes, elements of %u: %s, byte %d from the first one", elem ? "fill" : "copy", bytes, elem, vgpu_status_text(st),
	      (int)(nb.lost - 1) - (int)first);
	CHECK(!memcmp(to, table, bytes), "%s of %u bytes, elements of %u", elem ? "fill" : "copy", bytes, elem);
}

static void copies(uint8_t *page, uint8_t *table)
{
	for (unsigned bytes = 1; bytes <= 140 && failures < 10; bytes++) {
		one_copy(bytes, 0, page, table);
		for (unsigned elem = 1; elem <= 4; elem *= 2)
			if (bytes % elem == 0)
				one_copy(bytes, elem, page, table);
	}
}

static int all(void)
{
	size_t room = 2u << 20;
	char *text = malloc(room), *to = text, log[256] = "";
	const unsigned kinds = sizeof(what) / sizeof(what[0]);
	struct engine_symbol s;
	uint8_t *page, *table;
	pthread_t thread;
	uint32_t st;
	unsigned w;
	int p, k;

	kernels = launches = rounds = 0;
	to += snprintf(to, room, ".version 7.0\n.target sm_70\n.address_size 64\n");
	for (w = 0; w < kinds; w++)
		for (p = 0; p < NPLACES; p++)
			for (k = 0; k < NWHO; k++)
				to = entry_text(to, text + room, w, p, k);
	on(0);
	if (rig_open(&rig, 2, 9, 0))
		return 1;
	page = rig_alloc(&rig, PAGE);
	table = rig_alloc(&rig, 4096);
	st = engine_cpu.module_load(rig.engine, text, (size_t)(to - text) + 1, &module, log, sizeof(log));
	if (st || !page || !table) {
		printf("test_near.c: %s %s\n", vgpu_status_text(st), log);
		return 1;
	}
	for (uint32_t i = 0; !engine_cpu.module_symbol(rig.engine, module, i, &s); i++)
		if (sscanf(s.name, "k%u_%d_%d", &w, &p, &k) == 3)
			ids[w][p][k] = s.id;
	nb.go = 0;
	if (pthread_create(&thread, NULL, neighbour, &nb))
		return 1;
	for (w = 0; w < kinds; w++)
		for (p = 0; p < NPLACES; p++)
			for (k = 0; k < NWHO && failures < 10; k++)
				one_kernel(w, p, k, page, table);
	if (rig_mode != ENGINE_MODE_INTERP)
		copies(page, table);
	__atomic_store_n(&nb.go, 2, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
	CHECK(!rig_close(&rig), "strays");
	free(text);
	printf("%s near (%s): %u kernels, %u launches, %u rounds beside them\n", failures ? "FAIL" : "ok", rig_mode == ENGINE_MODE_INTERP ? "interp" : "jit",
	       kernels, launches, rounds);
	return failures != 0;
}

static int each(void)
{
	int bad;

	rig_mode = ENGINE_MODE_AUTO;
	bad = all();
	rig_mode = ENGINE_MODE_INTERP;
	return all() || bad;
}

int main(void) { return on_each_isa(each); }
