/* SPDX-License-Identifier: MIT */
/*
 * Sums that workers keep to themselves (cpu/tally.c). Kernels that reduce into a table, of each operation and type that may be kept, by indices, by rows and
 * to one place, guarded and not, of values that differ and that do not, against the same sums made here; each is to have brought sums home where it may, and
 * none where the kernel, the launch or the memory says that somebody would see them late. Then grids beside one another; and memory that goes while sums of it are kept.
 *
 * Sources: tests/unit/test_tally.c tools/vgpu-stub/cpu/[all].c -llz4 -lzstd -lm -lpthread
 */

#include "../ptx/rig.h"
#include "isas.h"

#include "../../tools/vgpu-stub/cpu/cpu.h"

#define WORDS 512u              /* of the table */
#define THREADS 96u
#define BLOCKS 400u             /* more than the dispatcher runs in place */
#define ROUNDS 6u
#define N (BLOCKS * THREADS * ROUNDS)

static struct rig rig;
static uint32_t *in;
static unsigned char *table, *other;
static uint32_t module;

enum shape { INDEX, SIGNED, SHIFTED, BEHIND, READ, ROW, ONE, SHAPES_ALL };
struct op { const char *name; char kind; unsigned bytes; char how; };   /* kind: u, f; how: + | ^ M */

static const struct op ops[] = {
	{ "add.u32", 'u', 4, '+' }, { "add.u64", 'u', 8, '+' }, { "add.f32", 'f', 4, '+' }, { "add.f64", 'f', 8, '+' },
	{ "or.b32", 'u', 4, '|' }, { "xor.b64", 'u', 8, '^' }, { "max.u32", 'u', 4, 'M' }, { "max.u64", 'u', 8, 'M' },
};

/*
 * in[i] gives index, guard and value to thread i, which goes on in steps of the grid; behind these N are indices by themselves. loads: what else it does, before each reduction. p: the table,
 * q: another pointer.
 */
static uint32_t load_kernel(const struct op *o, enum shape s, int guarded, int same, const char *loads, const char *red)
{
	static const char *const address[] = {
		"mul.wide.u32 %q3, %r4, %B;\n add.s64 %q4, %q0, %q3;\n",
		"mul.wide.s32 %q3, %r4, %B;\n add.s64 %q4, %q0, %q3;\n",
		"cvt.s64.s32 %q3, %r4;\n shl.b64 %q3, %q3, %L;\n add.s64 %q4, %q3, %q0;\n",
		"mul.wide.u32 %q3, %r4, %B;\n add.s64 %q4, %q0, %q3;\n add.s64 %q4, %q4, -64;\n",
		"add.s64 %q8, %q2, %N;\n ld.global.u32 %r4, [%q8];\n mul.wide.u32 %q3, %r4, %B;\n add.s64 %q4, %q0, %q3;\n",
		"and.b32 %r4, %r0, 255;\n mul.wide.u32 %q3, %r4, %B;\n add.s64 %q4, %q0, %q3;\n",
		"add.s64 %q4, %q0, 40;\n",
	};
	char text[4096], log[256] = "", *t = text, where[256], value[256];
	const char *a = address[s];
	char *w = where;
	uint32_t st;

	for (; *a; a++)
		if (a[0] == '%' && a[1] == 'B' && ++a)
			*w++ = (char)('0' + (char)o->bytes);
		else if (a[0] == '%' && a[1] == 'L' && ++a)
			*w++ = o->bytes == 8 ? '3' : '2';
		else if (a[0] == '%' && a[1] == 'N' && ++a)
			w += sprintf(w, "%u", 4 * N);
		else
			*w++ = *a;
	*w = 0;
	snprintf(value, sizeof(value), "%s", same ? "mov.u32 %r5, 3;\n" : "shr.u32 %r5, %r3, 20;\n and.b32 %r5, %r5, 63;\n");
	t += sprintf(t, ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k(.param .u64 p, .param .u64 q, .param .u64 in, .param .u32 n)\n{\n"
		     ".reg .b32 %%r<9>;\n.reg .b64 %%q<9>;\n.reg .f32 %%f<2>;\n.reg .f64 %%d<2>;\n.reg .pred %%t, %%g;\n"
		     "ld.param.u64 %%q0, [p];\nld.param.u64 %%q1, [in];\nld.param.u32 %%r7, [n];\nld.param.u64 %%q5, [q];\n"
		     "mov.u32 %%r0, %%ctaid.x;\nmov.u32 %%r1, %%ntid.x;\nmov.u32 %%r2, %%tid.x;\nmad.lo.u32 %%r0, %%r0, %%r1, %%r2;\n"
		     "mov.u32 %%r6, %%nctaid.x;\nmul.lo.u32 %%r6, %%r6, %%r1;\nsetp.ge.u32 %%t, %%r0, %%r7;\n@%%t bra OUT;\n"
		     "LOOP:\nmul.wide.u32 %%q2, %%r0, 4;\nadd.s64 %%q2, %%q1, %%q2;\nld.global.u32 %%r3, [%%q2];\nand.b32 %%r4, %%r3, 511;\n");
	t += sprintf(t, "%s%s%s", where, value, loads);
	if (o->kind == 'f')
		t += sprintf(t, o->bytes == 4 ? "cvt.rn.f32.u32 %%f0, %%r5;\n" : "cvt.rn.f64.u32 %%d0, %%r5;\n");
	else if (o->bytes == 8)
		t += sprintf(t, "cvt.u64.u32 %%q6, %%r5;\n mul.lo.u64 %%q6, %%q6, 0x100000001;\n");
	if (guarded)
		t += sprintf(t, "and.b32 %%r8, %%r3, 0x80000000;\nsetp.eq.u32 %%g, %%r8, 0;\n@%%g ");
	t += sprintf(t, "%s.%s [%%q4%s], %s;\n", red, o->name, s == BEHIND ? "+64" : "",
		     o->kind == 'f' ? (o->bytes == 4 ? "%f0" : "%d0") : o->bytes == 8 ? "%q6" : "%r5");
	sprintf(t, "add.u32 %%r0, %%r0, %%r6;\nsetp.lt.u32 %%t, %%r0, %%r7;\n@%%t bra LOOP;\nOUT:\nret;\n}\n");
	st = engine_cpu.module_load(rig.engine, text, strlen(text) + 1, &module, log, sizeof(log));
	CHECK(!st, "%s %s\n%s", vgpu_status_text(st), log, text);
	return st;
}

static uint32_t entry(void)
{
	struct engine_symbol s;

	for (uint32_t i = 0; !engine_cpu.module_symbol(rig.engine, module, i, &s); i++)
		if (!strcmp(s.name, "k"))
			return s.id;
	abort();
}

static uint32_t begin(void *p, void *q, uint32_t n, uint32_t flags, unsigned *index)
{
	struct { void *p, *q, *in; uint32_t n; } params = { p, q, in, n };
	struct engine_launch l = { .fn = entry(), .grid = { flags ? 8 : BLOCKS, 1, 1 }, .block = { THREADS, 1, 1 }, .params = &params, .param_bytes = 28, .flags = flags };

	return rig_launch(&rig, &l, index);
}

static uint32_t finish(uint32_t st, unsigned index)
{
	if (st == ENGINE_PENDING)
		st = rig_wait(&rig, index, 60);
	rig.ended[index] = 0;
	rig.launches = 0;
	return st;
}

static void combine(const struct op *o, unsigned char *to, uint32_t v)
{
	uint64_t whole = o->bytes == 8 ? v * 0x100000001ull : v, old = 0;

	if (o->kind == 'f' && o->bytes == 4) {
		*(float *)(void *)to += (float)v;
		return;
	}
	if (o->kind == 'f') {
		*(double *)(void *)to += (double)v;
		return;
	}
	memcpy(&old, to, o->bytes);
	old = o->how == '+' ? old + whole : o->how == '|' ? old | whole : o->how == '^' ? old ^ whole : old > whole ? old : whole;
	memcpy(to, &old, o->bytes);
}

static void expect(const struct op *o, enum shape s, int guarded, int same, unsigned char *to)
{
	for (uint32_t i = 0; i < N; i++) {
		uint32_t x = in[i], v = same ? 3 : x >> 20 & 63, k = s == ROW ? i & 255 : s == ONE ? 40 / o->bytes : x & 511;

		if (!guarded || !(x & 0x80000000))
			combine(o, to + k * o->bytes, v);
	}
}

/* kept: are sums to have been brought home? */
static void one(const struct op *o, enum shape s, int guarded, int same, const char *loads, const char *red, void *q, uint32_t flags, int kept)
{
	static unsigned char want[8 * WORDS];
	uint64_t before = tally_brought;
	unsigned index = 0;
	uint32_t st;

	if (load_kernel(o, s, guarded, same, loads, red))
		return;
	for (unsigned i = 0; i < 8 * WORDS; i++)
		want[i] = table[i] = o->kind == 'f' ? 0 : (unsigned char)(i * 37);
	st = begin(table, q, N, flags, &index);
	st = finish(st, index);
	expect(o, s, guarded, same, want);
	CHECK(!st, "%s shape %d: %s", o->name, s, vgpu_status_text(st));
	for (unsigned i = 0; i < WORDS * o->bytes; i++)
		if (want[i] != table[i]) {
			CHECK(0, "%s shape %d guarded %d same %d kept %d: byte %u is %u instead of %u", o->name, s, guarded, same, kept, i, table[i], want[i]);
			break;
		}
	/* an even number of the same value is nothing */
	CHECK((tally_brought != before) == kept || (o->how == '^' && same), "%s shape %d guarded %d same %d, '%s', %s: %llu words brought", o->name, s, guarded, same, loads, red,
	      (unsigned long long)(tally_brought - before));
	engine_cpu.module_unload(rig.engine, module);
}

static void all_kinds(void)
{
	for (unsigned o = 0; o < sizeof(ops) / sizeof(*ops); o++)
		for (unsigned s = 0; s < SHAPES_ALL; s++)
			for (unsigned how = 0; how < 4; how++)
				one(&ops[o], (enum shape)s, how & 1, how >> 1, "", "red.global", other, 0, 1);
	one(&ops[0], INDEX, 0, 0, "", "red", other, 0, 1);
	one(&ops[0], INDEX, 0, 0, "", "red.relaxed.gpu.global", other, 0, 1);
	/* others' memory is read and written, and nothing of theirs is the table; a pointer to nowhere is none */
	one(&ops[0], INDEX, 0, 0, "st.global.u32 [%q5], %r3;\n ld.global.u32 %r8, [%q5+4];\n", "red.global", other, 0, 1);
	one(&ops[0], INDEX, 0, 0, "setp.eq.s64 %g, %q5, 0;\n @!%g ld.global.u32 %r8, [%q5];\n", "red.global", NULL, 0, 1);
}

static const char *const seen[] = {
	"ld.volatile.global.u32 %r8, [%q5];\n", "st.relaxed.sys.global.u32 [%q5], %r3;\n", "membar.gl;\n", "fence.acq_rel.gpu;\n",
	"ld.global.u64 %q7, [%q5+8];\n ld.global.u32 %r8, [%q7];\n",             /* a pointer of which nobody knows where it leads */
	"mul.wide.u32 %q7, %r3, 8;\n setp.eq.u32 %g, %r3, 0x12345;\n @%g ld.global.u32 %r8, [%q7];\n",
	"sub.s64 %q7, %q5, %q0;\n add.s64 %q7, %q7, %q0;\n ld.global.u32 %r8, [%q7];\n",
};

static void not_kept(void)
{
	const struct op *sum = &ops[0];

	for (unsigned i = 0; i < sizeof(seen) / sizeof(*seen); i++)
		one(sum, INDEX, 0, 0, seen[i], "red.global", other, 0, 0);
	/* what is read or written may be of the table: the other pointer leads there as well, or nobody knows where it leads */
	one(sum, INDEX, 0, 0, "ld.global.u32 %r8, [%q5];\n", "red.global", table, 0, 0);
	one(sum, INDEX, 0, 0, "ld.global.u32 %r8, [%q5];\n", "red.global", table + 8 * WORDS - 4, 0, 0);
	one(sum, INDEX, 0, 0, "setp.eq.u32 %g, %r3, 0x12345;\n @%g st.global.u32 [%q5], %r3;\n", "red.global", table + 64, 0, 0);
	one(sum, INDEX, 0, 0, "setp.eq.u32 %g, %r3, 0x12345;\n @%g ld.global.u32 %r8, [%q5];\n", "red.global", (void *)(uintptr_t)(RIG_SPAN_BASE + 64), 0, 0);
	/* a pointer that is read, and a parameter that is 0 added to it, which is no pointer to nowhere */
	one(sum, INDEX, 0, 0, "ld.global.u64 %q7, [%q1];\n add.s64 %q7, %q7, %q5;\n setp.eq.u32 %g, %r3, 0x12345;\n @%g ld.global.u32 %r8, [%q7];\n", "red.global", NULL, 0, 0);
	/* another operation on it, and one whose result is wanted */
	one(sum, INDEX, 0, 0, "red.global.max.u32 [%q4], 0;\n", "red.global", other, 0, 0);
	one(sum, INDEX, 0, 0, "atom.global.add.u32 %r8, [%q4], 0;\n add.u32 %r5, %r5, %r8;\n sub.u32 %r5, %r5, %r8;\n", "red.global", other, 0, 0);
	one(sum, INDEX, 0, 0, "", "red.sys.global", other, 0, 0);
	one(sum, INDEX, 0, 0, "", "red.release.gpu.global", other, 0, 0);
	one(sum, INDEX, 0, 0, "", "red.global", other, ENGINE_LAUNCH_COOPERATIVE, 0);
	/* not worth while */
	tally_worth = 1 << 20;
	one(sum, INDEX, 0, 0, "", "red.global", other, 0, 0);
	tally_worth = 0;
}

/* Several grids add to one table at once, from several streams: those that are alone for a while keep sums. */
static void beside(void)
{
	uint32_t st[8], sum[WORDS], launched = 0;
	unsigned index[8];

	if (load_kernel(&ops[0], INDEX, 0, 0, "", "red.global"))
		return;
	memset(sum, 0, sizeof(sum));
	expect(&ops[0], INDEX, 0, 0, (unsigned char *)sum);
	memset(table, 0, 8 * WORDS);
	for (unsigned round = 0; round < 30; round++) {
		for (unsigned i = 0; i < 8; i++, launched++)
			st[i] = begin(table, other, N, 0, &index[i]);
		for (unsigned i = 0; i < 8; i++) {
			if (st[i] == ENGINE_PENDING)
				st[i] = rig_wait(&rig, index[i], 60);
			/* nothing of a grid that has ended is still kept */
			for (unsigned k = 0; k < WORDS && failures < 5; k++)
				CHECK(__atomic_load_n((uint32_t *)(void *)table + k, __ATOMIC_RELAXED) >= sum[k] * (launched - 7 + i), "word %u when grid %u had ended", k, i);
		}
		for (unsigned i = 0; i < 8; i++) {
			CHECK(!st[i], "%s", vgpu_status_text(st[i]));
			rig.ended[index[i]] = 0;
		}
		rig.launches = 0;
		for (unsigned i = 0; i < WORDS; i++)
			if (((uint32_t *)(void *)table)[i] != sum[i] * launched) {
				CHECK(0, "round %u, word %u: %u instead of %u", round, i, ((uint32_t *)(void *)table)[i], sum[i] * launched);
				return;
			}
	}
	engine_cpu.module_unload(rig.engine, module);
}

/* The program unmaps the table while the kernel runs: a fault of that kernel, and nothing else comes of it. */
static void gone(void)
{
	unsigned index = 0;
	uint32_t st;

	if (load_kernel(&ops[0], INDEX, 0, 0, "", "red.global"))
		return;
	mprotect(table, 8 * WORDS, PROT_NONE);
	st = begin(table, other, N, 0, &index);
	st = finish(st, index);
	mprotect(table, 8 * WORDS, PROT_READ | PROT_WRITE);
	CHECK(st == VGPU_ST_ILLEGAL_ADDRESS && rig.faults == 1, "%s, %u faults", vgpu_status_text(st), rig.faults);
	CHECK(rig.fault.address - (uint64_t)(uintptr_t)table < 8 * WORDS, "at 0x%llx", (unsigned long long)rig.fault.address);
}

static void open_rig(unsigned cores)
{
	uint32_t x = cores;

	if (rig_open(&rig, cores, 9, 0))
		abort();
	in = rig_alloc(&rig, 8 * N);
	table = rig_alloc(&rig, 8 * WORDS);
	other = rig_alloc(&rig, 4096);
	if (!in || !table || !other)
		abort();
	for (unsigned i = 0; i < N; i++) {
		x = x * 1664525 + 1013904223;
		in[i] = x ^ x >> 13;
		/* some warps have one place in common, some half of one */
		if (i / 32 % 5 == 1)
			in[i] = (in[i] & ~511u) | 77;
		if (i / 32 % 5 == 2 && i % 32 < 16)
			in[i] = (in[i] & ~511u) | 78;
		in[N + i] = in[i] & 511;
	}
	*(uint64_t *)(void *)(other + 8) = (uint64_t)(uintptr_t)other;
}

/* A table that ends sooner than the program thinks: what goes beyond it is met there, and is in nobody's own memory. One engine for each, which dies of it. */
static void beyond(void)
{
	static const struct { unsigned op; enum shape s; } what[] = { { 0, INDEX }, { 0, SIGNED }, { 0, SHIFTED }, { 0, BEHIND }, { 0, READ }, { 1, INDEX }, { 2, INDEX }, { 2, READ }, { 6, ONE } };

	for (unsigned i = 0; i < sizeof(what) / sizeof(*what); i++) {
		unsigned char *p;
		unsigned index = 0;
		uint32_t st;

		open_rig(2);
		/* no warp has one place in common */
		for (uint32_t k = 0; k < N; k++) {
			in[k] = k * 2654435761u;
			in[N + k] = in[k] >> 7 & 511;
		}
		p = table + 8 * WORDS - 32;
		if (!load_kernel(&ops[what[i].op], what[i].s, 0, 0, "", "red.global")) {
			st = begin(p, other, N, 0, &index);
			st = finish(st, index);
			CHECK(st == VGPU_ST_ILLEGAL_ADDRESS && rig.fault.address - (uint64_t)(uintptr_t)(table + 8 * WORDS) < 65536, "%u: %s at 0x%llx, the table at %p",
			      i, vgpu_status_text(st), (unsigned long long)rig.fault.address, (void *)table);
		}
		CHECK(!rig_close(&rig), "strays");
	}
}

static void several(unsigned cores)
{
	open_rig(cores);
	tally_worth = 0;
	if (cores > 1) {
		all_kinds();
		not_kept();
		beside();
		gone();
	} else {
		one(&ops[0], INDEX, 0, 0, "", "red.global", other, 0, 0);
	}
	CHECK(!rig_close(&rig), "strays");
}

static int all(void)
{
	if (rig_open(&rig, 2, 9, 0))
		return 1;
	if (!rig.engine->alone.able) {
		printf("skip: no compiled code here, or no membarrier\n");
		return 77;
	}
	rig_close(&rig);
	several(1);
	several(2);
	several(3);
	beyond();
	printf("%s\n", failures ? "FAIL" : "ok");
	return failures != 0;
}

int main(void) { return on_each_isa(all); }
