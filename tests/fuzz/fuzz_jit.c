/* SPDX-License-Identifier: MIT */
/*
 * Fuzzer of the whole engine: PTX text goes through the front end and the JIT and runs, by the interpreter and by the
 * JIT, each with an engine of its own and the same memory. With one warp whose lanes do not race the outcome may not depend on who
 * ran it: status, buffers and the module's variables must agree. With more warps, what is looked for is crashes, stray writes (canary.h)
 * and endless code. A kernel that the interpreter does not finish in LIMIT_S is given up: closing an engine stops it.
 *
 * The first line of an input may say how to run it, for the mutator to change:
 *
 *     // fuzz: SHAPE SEED STRESS          row of shapes[]; of parameters and memory; jit_stress (jit.h), 0: none
 *
 * Registers are given values where they are declared, since a read of one without may see anything. SHAPE + 100: they are not,
 * and memory is not compared.
 *
 * Build: as fuzz_ptx.c says. Run: fuzz_jit -n 0 tests/fuzz/corpus/jit; or tests/fuzz/run.sh
 */
#include <ctype.h>

#include "../ptx/rig.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define LIMIT_S 0.02            /* of a launch by the interpreter; */
#define JIT_LIMIT_S 5           /* by the JIT, of a kernel that the interpreter has finished */
#define OTHER_LIMIT_S 0.1       /* and one that may do something else each time, and no end of it */
#define MAX_TEXT 20000u
#define MAX_KERNELS 2u
#define LAUNCHES 2u             /* the second one knows what was learned of blocks */
#define BUFFERS 6u
#define BUFFER_BYTES 4096u
#define MAX_GLOBALS 65536u      /* bytes of variables that are compared */
#define RAW 100u

static const struct { uint32_t grid, block[3]; } shapes[] = {
	{ 1, { 32, 1, 1 } }, { 1, { 1, 1, 1 } }, { 1, { 31, 1, 1 } }, { 1, { 16, 2, 1 } }, { 1, { 4, 4, 2 } }, { 1, { 7, 3, 1 } },
	{ 1, { 1, 32, 1 } },
	{ 1, { 64, 1, 1 } }, { 2, { 40, 1, 1 } }, { 5, { 32, 1, 1 } }, { 3, { 8, 8, 2 } }, { 1, { 256, 1, 1 } },
};
#define SHAPES (sizeof(shapes) / sizeof(shapes[0]))

struct how { unsigned shape, seed, stress; int raw; };

struct outcome {
	uint32_t status[MAX_KERNELS * LAUNCHES];
	unsigned n;                     /* launches so far */
	int ended;                      /* the engine came to the end of all of them */
	int wide;                       /* some had more than one warp */
	int local;                      /* a lane left its local memory, or had none left for a call */
	unsigned char *bytes;           /* of each launch that ended well: buffers, variables */
	size_t used;
};
#define OUTCOME_BYTES (MAX_KERNELS * LAUNCHES * (BUFFERS * BUFFER_BYTES + MAX_GLOBALS))

static struct rig rig;
static unsigned char *buffer[BUFFERS];
static struct outcome outcome[2];
static const char *text_now;            /* for what is told of a finding */
static char found[200];
static uint32_t spin;                   /* as the engine has it */

extern uint32_t interp_spin, interp_garbage;     /* jit.h */
extern uint32_t interp_upper;

/* What became of inputs; told from time to time, for run.sh. */
static struct { unsigned long all, ran, endless, both, compared, racing; } seen;
#define TELL 20000u

static void tell(void)
{
	fprintf(stderr, "fuzz_jit: %lu inputs, %lu ran, %lu of them without end, %lu by both, %lu compared, %lu racing\n", seen.all, seen.ran,
		seen.endless, seen.both, seen.compared, seen.racing);
}

static void finding(const char *what)
{
	tell();
	printf("fuzz_jit: %s\n---- the text\n%s\n----\n", what, text_now);
	fflush(stdout);
	abort();
}

/* ---- an engine for each run -------------------------------------------------------------------------------- */

/* Leaves what the last one had in its arena behind: pages are fresh and addresses come again. */
static void engine_again(uint32_t mode)
{
	void *arena = (void *)(uintptr_t)rig.env.arena_base;

	engine_cpu.close(rig.engine);
	rig.engine = NULL;
	if (mmap(arena, rig.env.arena_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) != arena)
		abort();
	rig.launches = rig.faults = 0;
	memset(rig.ended, 0, sizeof(rig.ended));
	free(rig.print);
	rig.print = NULL;
	rig.print_bytes = 0;
	rig.env.mode = mode;
	if (engine_cpu.open(&rig.env, &rig.engine))
		abort();
}

static struct engine *reader;

/*
 * Most of what mutations make is no program: that is found out by an engine that stays, in a part of the span that no other
 * uses, before any is opened for it.
 */
#define READER_BASE (RIG_SPAN_BASE + RIG_SPAN_BYTES / 2)
#define READER_LOADS 50000u     /* functions have numbers, which end */

static int legal(const char *text)
{
	static unsigned loads;
	struct engine_env env = rig.env;
	uint32_t module, st;
	char log[200];

	if (reader && ++loads % READER_LOADS == 0) {
		engine_cpu.close(reader);
		reader = NULL;
	}
	env.mode = ENGINE_MODE_INTERP;
	env.arena_base = READER_BASE;
	if (!reader && engine_cpu.open(&env, &reader))
		abort();
	st = engine_cpu.module_load(reader, text, strlen(text), &module, log, sizeof(log));
	if (!st && engine_cpu.module_unload(reader, module))
		finding("a module is not unloaded");
	return !st;
}

/* What live workers hold is found by no leak checker that may not look into them. */
static void at_end(void)
{
	tell();
	if (reader)
		engine_cpu.close(reader);
	(void)rig_close(&rig);
}

static void set_up(void)
{
	if (rig.engine)
		return;
	spin = interp_spin;
	rig_watch_buffers = 0;          /* a kernel may well write behind its buffer: that is compared, as what is in it */
	if (rig_open(&rig, 1, 9, 0))
		abort();
	for (unsigned i = 0; i < BUFFERS; i++)
		buffer[i] = rig_alloc(&rig, BUFFER_BYTES - 64);
	for (unsigned i = 0; i < 2; i++)
		outcome[i].bytes = malloc(OUTCOME_BYTES);
	atexit(at_end);
}

static uint32_t next(uint32_t *state)
{
	*state = *state * 1664525u + 1013904223u;
	return *state >> 8;
}

/* Small integers, floats, and bits of all kinds. */
static void fill(uint32_t seed)
{
	static const uint32_t odd[] = { 0, 1, 31, 32, 0x7fffffff, 0x80000000, 0xffffffff, 0x3f800000, 0x40490fdb, 0x7f800000,
					0x7fc00000, 0x00000123, 0x3c003c00, 0x7ff00000, 0x3ff00000 };
	uint32_t state = seed * 2654435761u + 1;

	for (unsigned i = 0; i < BUFFERS; i++)
		for (unsigned k = 0; k < BUFFER_BYTES - 64; k += 4) {
			uint32_t v = next(&state);

			v = v % 3 == 0 ? odd[v / 3 % (sizeof(odd) / 4)] : v % 3 == 1 ? v % 61 : v * 257;
			memcpy(buffer[i] + k, &v, 4);
		}
	for (unsigned i = 0; i < BUFFERS; i++)
		memset(buffer[i] + BUFFER_BYTES - 64, CANARY, 64);
}

/* ---- a run ---------------------------------------------------------------------------------------------------- */

static void keep(struct outcome *o, const void *from, size_t bytes)
{
	memcpy(o->bytes + o->used, from, bytes);
	o->used += bytes;
}

static void keep_memory(struct outcome *o, uint32_t module)
{
	struct engine_symbol sym;
	size_t left = MAX_GLOBALS;

	for (unsigned i = 0; i < BUFFERS; i++)
		keep(o, buffer[i], BUFFER_BYTES);
	for (uint32_t i = 0; !engine_cpu.module_symbol(rig.engine, module, i, &sym); i++) {
		if (sym.kind == ENGINE_SYM_FUNC || !sym.address || sym.bytes > left)
			continue;
		left -= sym.bytes;
		if (engine_cpu.copy(rig.engine, o->bytes + o->used, (void *)(uintptr_t)sym.address, sym.bytes) == VGPU_ST_OK)
			o->used += sym.bytes;
	}
}

/*
 * What a launch left in shared and local memory, the next one, of another kernel too, would find there, or not, by which of the blocks'
 * windows it gets: all of the arena but the variables is zero again.
 */
static void forget(uint32_t module)
{
	uint64_t low = UINT64_MAX, high = 0, base = rig.env.arena_base, end = base + rig.env.arena_bytes;
	struct engine_symbol sym;

	for (uint32_t i = 0; !engine_cpu.module_symbol(rig.engine, module, i, &sym); i++) {
		if (sym.kind == ENGINE_SYM_FUNC || sym.address - base >= rig.env.arena_bytes)
			continue;
		low = sym.address < low ? sym.address : low;
		high = sym.address + sym.bytes > high ? sym.address + sym.bytes : high;
	}
	low = low == UINT64_MAX ? base : low & ~4095ull;
	high = high ? (high + 4095) & ~4095ull : base;
	madvise((void *)(uintptr_t)base, low - base, MADV_DONTNEED);
	madvise((void *)(uintptr_t)high, end - high, MADV_DONTNEED);
}

/* False: no more launches. */
static int launch(struct outcome *o, const struct how *how, const struct engine_func_info *fi, uint32_t module, double limit)
{
	static unsigned char params[4096];
	struct engine_launch l = { .fn = fi->id, .grid = { shapes[how->shape].grid, 1, 1 }, .shared_bytes = 256, .params = params,
				   .param_bytes = fi->param_bytes };
	uint32_t state = how->seed, st;
	unsigned index = 0;

	memcpy(l.block, fi->reqntid[0] ? fi->reqntid : shapes[how->shape].block, sizeof(l.block));
	o->wide |= l.grid[0] > 1 || (uint64_t)l.block[0] * l.block[1] * l.block[2] > 32;
	for (uint32_t p = 0; p < fi->nparams; p++) {
		uint64_t v = fi->params[p].bytes == 8 ? (uintptr_t)buffer[p % BUFFERS] : next(&state) % 40;

		if (fi->params[p].bytes <= 8)
			memcpy(params + fi->params[p].offset, &v, fi->params[p].bytes);
		else
			memset(params + fi->params[p].offset, 1, fi->params[p].bytes);
	}
	for (unsigned i = 0; i < LAUNCHES; i++) {
		fill(how->seed);
		forget(module);
		st = rig_launch(&rig, &l, &index);
		if (st == ENGINE_PENDING)
			st = rig_wait(&rig, index, limit);
		o->status[o->n++] = st;
		if (st == RIG_TIMEOUT)
			return 0;
		o->local |= rig.faults && (!strncmp(rig.fault_what, "local ", 6) || !strncmp(rig.fault_what, "call: stack", 11));
		if (st)         /* the context is lost, or the launch is refused, whoever runs it */
			return !rig.faults;
		keep_memory(o, module);
	}
	return 1;
}

/* -1: nothing in it runs. */
static int run(const char *text, const struct how *how, uint32_t mode, double limit, struct outcome *o)
{
	struct engine_func_info fi;
	struct engine_symbol sym;
	uint32_t module, kernels = 0;
	char log[200];

	o->n = 0;
	o->used = 0;
	o->ended = 1;
	o->wide = o->local = 0;
	engine_again(mode);
	if (engine_cpu.module_load(rig.engine, text, strlen(text), &module, log, sizeof(log)))
		return -1;
	for (uint32_t i = 0; kernels < MAX_KERNELS && !engine_cpu.module_symbol(rig.engine, module, i, &sym); i++) {
		if (sym.kind != ENGINE_SYM_FUNC || engine_cpu.func_info(rig.engine, sym.id, &fi, log, sizeof(log)) ||
		    fi.param_bytes > 4096)
			continue;
		kernels++;
		if (!launch(o, how, &fi, module, limit))
			break;
	}
	/* nor is a block that waits for threads that it does not have */
	if (o->n && (o->status[o->n - 1] == RIG_TIMEOUT || o->status[o->n - 1] == VGPU_ST_TIMEOUT))
		o->ended = 0;
	return kernels ? 0 : -1;
}

static void canaries(const char *who)
{
	const struct canaries *c = &rig.canaries;
	int bad = 0;

	for (int i = 0; i < 3; i++)     /* every byte as its neighbour: the library's memcmp is fast */
		bad |= c->area[i][0] != CANARY || memcmp(c->area[i], c->area[i] + 1, CANARY_BYTES - 1);
	for (unsigned i = 0; i < c->slacks; i++)
		bad |= c->slack[i].at[0] != CANARY || memcmp(c->slack[i].at, c->slack[i].at + 1, c->slack[i].bytes - 1);
	if (bad) {
		canary_check(c);
		finding(who);
	}
}

/* ---- comparison ------------------------------------------------------------------------------------------- */

static int is_nan32(uint32_t v) { return (v & 0x7fffffff) > 0x7f800000; }
static int is_nan64(uint64_t v) { return (v & INT64_MAX) > 0x7ff0000000000000; }

/* The address of somebody's shared or local memory: which window of the arena that is changes from launch to launch. */
static int is_window(uint64_t v) { return v - rig.env.arena_base < rig.env.arena_bytes; }

/* NaNs have no bits of their own, of either width. */
static int same(const unsigned char *a, const unsigned char *b, size_t bytes)
{
	for (size_t i = 0; i + 4 <= bytes; i += 4) {
		uint32_t x, y;
		uint64_t p = 0, q = 0;

		if (!memcmp(a + i, b + i, 4))
			continue;
		memcpy(&x, a + i, 4);
		memcpy(&y, b + i, 4);
		if ((i & ~(size_t)7) + 8 <= bytes) {
			memcpy(&p, a + (i & ~(size_t)7), 8);
			memcpy(&q, b + (i & ~(size_t)7), 8);
		}
		if (!(is_nan32(x) && is_nan32(y)) && !(is_nan64(p) && is_nan64(q)) && !(is_window(p) && is_window(q))) {
			snprintf(found, sizeof(found), "other memory: place %zu: interpreter 0x%x, JIT 0x%x", i, x, y);
			return 0;
		}
	}
	return 1;
}

/* Which of several faults of lanes that have parted comes first is open. */
static int fault_of_lanes(uint32_t status)
{
	return status == VGPU_ST_ILLEGAL_ADDRESS || status == VGPU_ST_MISALIGNED || status == VGPU_ST_ILLEGAL_INSTRUCTION;
}

/*
 * What differs, in found[]. Code has the local memory of functions whose bodies it takes over beside its own: what lies outside
 * of a variable is another's there, and outside of all for who calls them.
 */
static int differ(const struct outcome *a, const struct outcome *b)
{
	if (a->local || b->local)
		return 0;
	for (unsigned i = 0; i < a->n && i < b->n; i++)
		if (a->status[i] != b->status[i] && !(fault_of_lanes(a->status[i]) && fault_of_lanes(b->status[i]))) {
			snprintf(found, sizeof(found), "launch %u ends otherwise: interpreter %u, JIT %u (%s)", i, a->status[i], b->status[i],
				 rig.faults ? rig.fault_what : "");
			return 1;
		}
	if (a->n != b->n || a->used != b->used) {
		strcpy(found, "not as many launches");
		return 1;
	}
	return memcmp(a->bytes, b->bytes, a->used) && !same(a->bytes, b->bytes, a->used);
}

/*
 * Lanes that wait behind a loop get a turn after some rounds of it, and code that is left in the middle counts them otherwise. A
 * kernel whose outcome on the interpreter depends on that number is about lanes that race, and has no right one.
 */
static int races(const char *text, const struct how *how)
{
	static const uint32_t spins[] = { 0, 1, 2, 3, 5, 8, 16, 40, 100, 250, 700, 1500, UINT32_MAX };
	char kept[sizeof(found)];
	int other = 0;

	memcpy(kept, found, sizeof(found));
	for (size_t i = 0; !other && i < sizeof(spins) / sizeof(spins[0]); i++) {
		interp_spin = spins[i];
		run(text, how, ENGINE_MODE_INTERP, OTHER_LIMIT_S, &outcome[1]);
		other = differ(&outcome[0], &outcome[1]);
	}
	interp_spin = spin;
	/* an atomic operation tells whether lanes of a branch's other side have been there */
	for (uint32_t i = 1; i <= 2 && !other && strstr(text, "atom."); i++) {
		interp_upper = i;
		run(text, how, ENGINE_MODE_INTERP, OTHER_LIMIT_S, &outcome[1]);
		other = differ(&outcome[0], &outcome[1]);
		interp_upper = 0;
	}
	memcpy(found, kept, sizeof(found));
	return other;
}

/*
 * Parameters that nobody stores, results that nobody sets, local memory that is another function's, and whatever else
 * with_values() does not reach: what comes out depends on what registers held before, on where a call's memory lies, or on which of
 * several functions that lanes call is first.
 */
static int undefined(const char *text, const struct how *how)
{
	static const uint32_t garbage[] = { 0x2a, 0xc5, 0x01, 0x100 };   /* bytes; the last one is 0 */
	char kept[sizeof(found)];
	int other = 0;

	memcpy(kept, found, sizeof(found));
	for (size_t i = 0; !other && i < sizeof(garbage) / sizeof(garbage[0]); i++) {
		interp_garbage = garbage[i];
		run(text, how, ENGINE_MODE_INTERP, OTHER_LIMIT_S, &outcome[1]);
		other = differ(&outcome[0], &outcome[1]);
	}
	interp_garbage = 0;
	memcpy(found, kept, sizeof(found));
	return other;
}

/* A member mask that is computed may leave out who asks, or be another for each: undefined. */
static int open_masks(const char *text)
{
	static const char *const with[] = { "shfl.sync", "vote.sync", "match.", "redux.", "bar.warp.sync", "activemask" };

	for (size_t i = 0; i < sizeof(with) / sizeof(with[0]); i++)
		for (const char *s = strstr(text, with[i]); s; s = strstr(s + 1, with[i])) {
			const char *end = strchr(s, ';'), *last = end;

			while (last && last > s && *last != ',' && !isspace((unsigned char)*last))
				last--;
			if (last && last[1] == '%')
				return 1;
		}
	return 0;
}

/*
 * The number of a barrier in a register may be another in each lane. One that counts or votes, and is aligned, is for whole warps:
 * where lanes may have parted, what it counts is open.
 */
static int open_barriers(const char *text)
{
	for (const char *s = strstr(text, "bar"); s; s = strstr(s + 1, "bar")) {
		const char *to = s + strcspn(s, " \t\n;"), *red = strstr(s, ".red"), *aligned = strstr(s, ".aligned");

		if ((strncmp(s, "bar.", 4) && strncmp(s, "barrier.", 8)) || !strncmp(s, "bar.warp", 8))
			continue;
		if (red && red < to) {
			if (strchr(text, '@') && (s[3] == '.' || (aligned && aligned < to)))
				return 1;
			to += strcspn(to, ",;");
			to += *to == ',';
		}
		to += strspn(to, " \t\n");
		if (*to == '%')
			return 1;
	}
	return 0;
}

/* What tells of time (how many launches of a kernel's own wait does), or is left open in a way that values in registers do not cure. */
static int deterministic(const char *text, const struct how *how)
{
	static const char *const whole[] = { "matrix.", "mma." };       /* of a whole warp, else undefined */
	static const char *const words[] = { "%clock", "%globaltimer", ".reg .v", ".b128", "mbarrier", "cp.async", "ParameterBuffer" };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strstr(text, words[i]))
			return 0;
	for (size_t i = 0; i < sizeof(whole) / sizeof(whole[0]); i++)
		if (strstr(text, whole[i]) && (how->shape || strchr(text, '@')))
			return 0;
	return !(strchr(text, '@') && open_masks(text)) && !open_barriers(text);
}

/* ---- registers with values --------------------------------------------------------------------------------- */

/* Does the text say it anywhere? Most of a family of registers is for nobody. */
static int named(const char *text, const char *reg)
{
	size_t n = strlen(reg);

	for (const char *s = strstr(text, reg); s; s = strstr(s + 1, reg))
		if (!isalnum((unsigned char)s[n]))
			return 1;
	return 0;
}

static char *put(char *to, char *end, const char *text, const char *type, const char *name, size_t n, int number, unsigned *salt)
{
	unsigned bits = (unsigned)strtoul(type + 1, NULL, 10), k = ++*salt;
	char reg[80], line[160];

	snprintf(reg, sizeof(reg), number < 0 ? "%.*s" : "%.*s%d", (int)n, name, number);
	if (!named(text, reg))
		return to;
	if (type[0] == 'p')
		snprintf(line, sizeof(line), " { .reg .u32 fzl; mov.u32 fzl, %%laneid; setp.lt.u32 %s, fzl, %u; }", reg, k * 7 % 40);
	else if (bits == 8)
		snprintf(line, sizeof(line), " cvt.u8.u32 %s, %u;", reg, k);
	else if (bits == 32 && type[0] != 'f' && k % 3)
		snprintf(line, sizeof(line), " mov.b32 %s, %s;", reg, k % 3 == 1 ? "%tid.x" : "%laneid");
	else if (bits == 16 || bits == 32 || bits == 64)
		snprintf(line, sizeof(line), " mov.b%u %s, %s;", bits, reg, type[0] != 'f' ? k % 2 ? "3" : "17" : bits == 32 ? "0x40400000" :
			 bits == 64 ? "0x4008000000000000" : "0x4200");
	else
		return NULL;
	if (to + strlen(line) + 1 > end)
		return NULL;
	return stpcpy(to, line);
}

/* Behind a declaration of registers from `from` to `to` (its semicolon): a first value for each. NULL: not of a kind it knows. */
static char *give_values(char *out, char *end, const char *text, const char *from, const char *to, unsigned *salt)
{
	char type[16];
	size_t n = 0;

	while (from < to && (isspace((unsigned char)*from) || *from == '.'))
		from++;
	while (from < to && isalnum((unsigned char)*from) && n < 15)
		type[n++] = *from++;
	type[n] = 0;
	while (from < to) {
		const char *name;
		int count = -1;
		size_t len;

		while (from < to && (isspace((unsigned char)*from) || *from == ','))
			from++;
		name = from;
		while (from < to && (isalnum((unsigned char)*from) || strchr("_$%", *from)))
			from++;
		len = (size_t)(from - name);
		if (!len)
			return from == to ? out : NULL;
		if (*from == '<') {
			count = atoi(from + 1);
			from = memchr(from, '>', (size_t)(to - from));
			if (!from || count < 1 || count > 200)
				return NULL;
			from++;
		}
		for (int i = 0; i < (count < 0 ? 1 : count); i++) {
			out = put(out, end, text, type, name, len, count < 0 ? -1 : i, salt);
			if (!out)
				return NULL;
		}
	}
	return out;
}

/* The carry of addc and its like is a register that nobody declares. */
static int carries(const char *text)
{
	return strstr(text, "addc") || strstr(text, "subc") || strstr(text, "madc");
}

/* The text with every register given a value. NULL: cannot. To be freed. */
static char *with_values(const char *text)
{
	static const char carry[] = " { .reg .u32 fzc; add.cc.u32 fzc, 0, 0; }";
	unsigned char jumps[64] = { 0 };        /* blocks around here: does something in them jump, and maybe over what follows? */
	unsigned depth = 0;
	size_t room = strlen(text) + 64 * 1024;
	const char *result = NULL, *results = NULL;      /* of the function whose body comes: a register, which it may never write, up to there */
	char *out = malloc(room), *o = out, *end = out ? out + room - strlen(text) : NULL;
	unsigned salt = 0;

	for (const char *s = text; out && *s;) {
		const char *stop = strchr(s, ';');

		if (!depth && !strncmp(s, ".func", 5)) {
			result = s + 5 + strspn(s + 5, " \t\n");
			results = *result == '(' ? strchr(result, ')') : NULL;
			result = results ? strstr(result, ".reg") : NULL;
			if (result > results)
				result = NULL;
		}
		if (*s == '{' && ++depth < sizeof(jumps))
			jumps[depth] = 0;
		if (*s == '{' && depth == 1 && result) {
			*o++ = *s++;
			o = give_values(o, end, text, result + 4, results, &salt);
			result = NULL;
			if (!o) {
				free(out);
				return NULL;
			}
			continue;
		}
		if (*s == '}' && depth && --depth + 1 < sizeof(jumps))
			jumps[depth] |= jumps[depth + 1];
		if (!strncmp(s, "bra", 3) || !strncmp(s, "brx", 3))
			jumps[depth < sizeof(jumps) ? depth : 0] = 1;
		if (depth && !strncmp(s, ".param", 6) && stop && !memchr(s, ')', (size_t)(stop - s)) && stop + 1 - s < 200) {
			char type[8], name[64];
			int n = 0;

			/* a parameter of a call, which may never be stored */
			if (sscanf(s, ".param .%7[a-z0-9] %63[A-Za-z0-9_$] %n", type, name, &n) == 2 && s + n == stop) {
				o += snprintf(o, (size_t)(end - o), "%.*s; st.param.%s [%s], 0;", (int)(stop - s), s, type, name);
				s = stop + 1;
				if (o >= end)
					break;
				continue;
			}
		}
		if (strncmp(s, ".reg", 4) || !isspace((unsigned char)s[4]) || !stop || memchr(s, ')', (size_t)(stop - s))) {
			*o++ = *s++;
			if (o >= end)
				break;
			continue;
		}
		if (depth >= sizeof(jumps) || jumps[depth]) {   /* the value would be jumped over as well */
			free(out);
			return NULL;
		}
		memcpy(o, s, (size_t)(stop - s) + 1);
		o = give_values(o + (stop - s) + 1, end, text, s + 4, stop, &salt);
		if (o && carries(text) && o + sizeof(carry) < end)
			o = stpcpy(o, carry);
		if (!o) {
			free(out);
			return NULL;
		}
		s = stop + 1;
	}
	if (out)
		*o = 0;
	return out;
}

/*
 * Code for strips of a warp runs one to its end before the next: what lanes of a warp do in memory that others use is in no order
 * without a barrier, and there the two engines need not agree. Such code is watched for crashes, stray writes and whether it ends; jitdiff.c's kernels,
 * whose lanes do not race, compare it.
 */
static int by_strips(void)
{
	const char *isa = getenv("VGPU_CPU_ISA");

	return (isa && !strcmp(isa, "avx2")) || !__builtin_cpu_supports("avx512f");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct how how = { 0, 1, 0, 0 };
	char *text, *ready;
	int runs, same_again;

	if (size > MAX_TEXT || memchr(data, 0, size))
		return 0;
	text = malloc(size + 1);
	memcpy(text, data, size);
	text[size] = 0;
	sscanf(text, "// fuzz: %9u %9u %9u", &how.shape, &how.seed, &how.stress);
	how.raw = how.shape >= RAW;
	how.shape = how.shape % RAW % SHAPES;
	ready = how.raw ? NULL : with_values(text);
	text_now = ready ? ready : text;
	set_up();
	jit_stress = 0;
	runs = legal(text_now) && run(text_now, &how, ENGINE_MODE_INTERP, LIMIT_S, &outcome[0]) == 0 && outcome[0].n;
	seen.ran += runs;
	seen.endless += runs && !outcome[0].ended;
	if (runs && outcome[0].ended) {
		canaries("interpreter: a stray write");
		seen.both++;
		same_again = !outcome[0].wide && ready && !by_strips() && deterministic(text_now, &how);
		jit_stress = how.stress;
		run(text_now, &how, ENGINE_MODE_JIT, same_again ? JIT_LIMIT_S : OTHER_LIMIT_S, &outcome[1]);
		jit_stress = 0;
		canaries("JIT: a stray write");
		if (same_again) {
			seen.compared++;
			if (differ(&outcome[0], &outcome[1])) {
				if (!races(text_now, &how) && !undefined(text_now, &how))
					finding(found);
				seen.racing++;
			}
		}
	}
	if (++seen.all % TELL == 0)
		tell();
	text_now = "";
	if (runs && !(outcome[0].ended && outcome[1].ended))
		engine_again(ENGINE_MODE_INTERP);       /* what did not end in time still reads its module's text */
	free(ready);
	free(text);
	return 0;
}
