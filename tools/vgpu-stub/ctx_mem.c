/* SPDX-License-Identifier: MIT */
/*
 * Device memory of the context: allocations and VMM mappings inside the reserved span.
 *
 * The client chooses addresses, the context keeps them apart: a range is given out once, freed
 * exactly as it was allocated, and PROT_NONE otherwise. Memory is committed before OK is said, and counted
 * against memory_limit. Physical memory of the VMM is the memfd CTX_AT_PHYS, whose size is the limit: what lies
 * behind its end is nobody's. The offsets that the client chooses are names, each huge page of them lies in the
 * block of the file that was free; it may be mapped only where PHYS_ALLOC has committed it.
 */
#define _GNU_SOURCE
#include "ctx.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23          /* asm-generic/mman-common.h, since 5.14 */
#endif

#define COMMIT_STEP (32ull << 20)
#define GRANT_WAIT_NS 5000000000ull     /* the parent is one thread that never waits: this is for its being stopped */

void *ctx_anon(uint64_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

int ctx_none(uint64_t va, uint64_t bytes)
{
	void *p = mmap((void *)(uintptr_t)va, bytes, PROT_NONE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);

	return p == MAP_FAILED ? -errno : 0;
}

int ctx_mem_init(struct ctx *c)
{
	c->phys_blocks = (uint32_t)(c->init.create.memory_limit / VGPU_HUGE);
	c->phys_used = ctx_anon(c->phys_blocks + 1);
	c->phys_at = ctx_anon(sizeof(*c->phys_at) * (VGPU_PHYS_SPAN / VGPU_HUGE));
	if (!c->phys_used || !c->phys_at)
		return -1;
	c->mem.r = ctx_anon(sizeof(struct ctx_range) * CTX_RANGES);
	c->phys.r = ctx_anon(sizeof(struct ctx_range) * CTX_RANGES);
	return c->mem.r && c->phys.r ? 0 : -1;
}

/*
 * Images, code, what the engine allocates and page tables are the context's own overhead, which the device states; what goes
 * beyond is charged to the grant like memory that the client asked for.
 */
static uint64_t own_bytes(const struct ctx *c)
{
	return c->image_bytes + c->engine_bytes + c->mem.units * VGPU_PAGE;
}

static uint64_t charged(const struct ctx *c)
{
	uint64_t own = own_bytes(c);

	return c->memory_bytes + (own > c->init.overhead ? own - c->init.overhead : 0);
}

/* Sends what is to be ours from now on. Nobody waits for less; of more, the run page says when it is answered, and how. */
static void send_grant(uint64_t bytes, uint32_t id)
{
	struct ctx_msg m = { .type = CTX_GRANT };

	m.u.grant.bytes = bytes;
	m.u.grant.id = id;
	ctx_send(&m, -1, 0);
}

/* The grant for so much memory: a little less, so that small steps up and down are nobody's business. */
static uint64_t grant_for(uint64_t bytes)
{
	return bytes > CTX_SLACK / 2 ? bytes - CTX_SLACK / 2 : 0;
}

static uint64_t granted(const struct ctx *c)
{
	return __atomic_load_n(&c->run->granted, __ATOMIC_RELAXED);
}

void ctx_account(struct ctx *c, int64_t bytes)
{
	c->memory_bytes += (uint64_t)bytes;
	vgpu_store_relaxed64(&c->qb->memory_bytes, charged(c));
	if (bytes < 0 && granted(c) > charged(c) && granted(c) <= c->init.create.memory_limit)
		send_grant(grant_for(charged(c)), 0);
}

int ctx_account_engine(struct ctx *c)
{
	c->engine_bytes = c->ops->own_bytes(c->engine);
	ctx_account(c, 0);
	return ctx_over_limit(c, 0);
}

/* The device's parent keeps the account of all contexts (ctxgrant.c): so much, or what it says instead. */
static int ask(struct ctx *c, uint64_t bytes)
{
	struct timespec pause = { .tv_nsec = 20000 };
	uint64_t until = ctx_now_ns() + GRANT_WAIT_NS;
	uint32_t id = ++c->grant_id ? c->grant_id : ++c->grant_id;

	if (bytes <= granted(c) + CTX_SLACK)
		return 0;
	send_grant(grant_for(bytes), id);
	/* Acquire: what is granted is there before it; partner: ctxgrant_asked(). */
	while (vgpu_load_acquire32(&c->run->answered) != id && ctx_now_ns() < until)
		clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
	return bytes <= granted(c) + CTX_SLACK ? 0 : -1;
}

int ctx_over_limit(struct ctx *c, uint64_t bytes)
{
	uint64_t limit = c->init.create.memory_limit, now = charged(c);

	return now > limit || bytes > limit - now || ask(c, now + bytes);
}

int ctx_image_room(struct ctx *c, uint64_t bytes)
{
	uint64_t own = own_bytes(c), spare = c->init.overhead > own ? c->init.overhead - own : 0;

	return bytes <= spare || !ctx_over_limit(c, bytes - spare);
}

/* ---- ranges ---------------------------------------------------------------------------------- */

/* First range that ends behind addr. */
static uint32_t find(const struct ctx_ranges *t, uint64_t addr)
{
	uint32_t lo = 0, hi = t->n;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (t->r[mid].va + t->r[mid].bytes > addr)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo;
}

static int is_free(const struct ctx_ranges *t, uint64_t va, uint64_t bytes)
{
	uint32_t i = find(t, va);

	return i == t->n || t->r[i].va >= va + bytes;
}

static struct ctx_range *exact(const struct ctx_ranges *t, uint64_t va, uint64_t bytes)
{
	uint32_t i = find(t, va);

	return i < t->n && t->r[i].va == va && t->r[i].bytes == bytes ? &t->r[i] : NULL;
}

/*
 * Page tables: the kernel has one of 4 KiB for each 2 MiB of addresses in which anything is mapped, whatever that is. Memory that
 * is mapped at many addresses, or one page here and there, costs more of them than of itself.
 */
#define UNIT(va) ((va) / VGPU_HUGE)

/* Those of [va, va + bytes), which goes in before range i, that no neighbour has. */
static uint64_t units_alone(const struct ctx_ranges *t, uint32_t i, uint64_t va, uint64_t bytes)
{
	uint64_t first = UNIT(va), last = UNIT(va + bytes - 1), n = last - first + 1;
	int left = i > 0 && UNIT(t->r[i - 1].va + t->r[i - 1].bytes - 1) == first, right = i < t->n && UNIT(t->r[i].va) == last;

	return n - (left || (right && n == 1)) - (right && n > 1);
}

static void insert(struct ctx_ranges *t, const struct ctx_range *r)
{
	uint32_t i = find(t, r->va);

	t->units += units_alone(t, i, r->va, r->bytes);
	memmove(&t->r[i + 1], &t->r[i], (t->n++ - i) * sizeof(*r));
	t->r[i] = *r;
}

static void drop(struct ctx_ranges *t, uint32_t i, uint32_t n)
{
	for (; n; n--) {
		const struct ctx_range r = t->r[i + n - 1];

		memmove(&t->r[i + n - 1], &t->r[i + n], (t->n - i - n) * sizeof(*t->r));
		t->n--;
		t->units -= units_alone(t, i + n - 1, r.va, r.bytes);
	}
}

/* May there be the page tables of one more range? */
static int tables_room(struct ctx *c, uint64_t va, uint64_t bytes)
{
	uint64_t more = units_alone(&c->mem, find(&c->mem, va), va, bytes);

	if (c->ops->memory)             /* the driver's affair */
		return 1;
	return (c->mem.units + more) * VGPU_PAGE <= CTX_TABLES_MOST(c->init.overhead, granted(c)) && ctx_image_room(c, more * VGPU_PAGE);
}

/* ---- allocations ------------------------------------------------------------------------------- */

/* Pages now, not at first touch: a kernel must not find out that memory is gone. 0 or -errno. */
static int populate(uint8_t *p, uint64_t bytes)
{
	while (madvise(p, bytes, MADV_POPULATE_WRITE)) {
		if (errno == EINVAL) {                  /* a kernel before 5.14 */
			for (uint64_t i = 0; i < bytes; i += VGPU_PAGE)
				*(volatile uint8_t *)(p + i) = 0;
			break;
		}
		if (errno != EINTR && errno != EAGAIN)
			return -errno;
	}
	return 0;
}

/* ---- blocks of physical memory ------------------------------------------------------------------ */

static int find_run(const struct ctx *c, uint32_t n, uint32_t *first)
{
	uint32_t run = 0;

	for (uint32_t b = 0; b < c->phys_blocks; b++) {
		run = c->phys_used[b] ? 0 : run + 1;
		if (run == n) {
			*first = b + 1 - n;
			return 1;
		}
	}
	return 0;
}

/* One behind the other where there is such a place, else wherever they are free. 0, or -1: too few. */
static int take_blocks(struct ctx *c, uint64_t offset, uint64_t bytes)
{
	uint32_t *at = c->phys_at + offset / VGPU_HUGE, n = (uint32_t)(bytes / VGPU_HUGE), got = 0, b = 0;

	if (n > c->phys_blocks)
		return -1;
	find_run(c, n, &b);
	for (; got < n && b < c->phys_blocks; b++)
		if (!c->phys_used[b]) {
			c->phys_used[b] = 1;
			at[got++] = b;
		}
	if (got == n)
		return 0;
	while (got--)
		c->phys_used[at[got]] = 0;
	return -1;
}

static void give_blocks(struct ctx *c, uint64_t offset, uint64_t bytes)
{
	const uint32_t *at = c->phys_at + offset / VGPU_HUGE;

	for (uint64_t i = 0; i < bytes / VGPU_HUGE; i++)
		c->phys_used[at[i]] = 0;
}

/* Where offset lies in the file, and how many bytes from there on are one behind the other. */
static uint64_t file_run(const struct ctx *c, uint64_t offset, uint64_t bytes, uint64_t *file)
{
	const uint32_t *at = c->phys_at + offset / VGPU_HUGE;
	uint64_t n = 1;

	while (n < bytes / VGPU_HUGE && at[n] == at[0] + n)
		n++;
	*file = at[0] * VGPU_HUGE;
	return n * VGPU_HUGE;
}

static void punch(struct ctx *c, uint64_t offset, uint64_t bytes)
{
	uint64_t file, n;

	for (uint64_t i = 0; i < bytes; i += n) {
		n = file_run(c, offset + i, bytes - i, &file);
		while (fallocate(CTX_AT_PHYS, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)file, (off_t)n) && errno == EINTR)
			;
	}
	give_blocks(c, offset, bytes);
}

static int allocate(const struct ctx *c, uint64_t offset, uint64_t bytes)
{
	uint64_t file, n;

	for (uint64_t i = 0; i < bytes; i += n) {
		n = file_run(c, offset + i, bytes - i, &file);
		while (fallocate(CTX_AT_PHYS, FALLOC_FL_KEEP_SIZE, (off_t)file, (off_t)n))
			if (errno != EINTR)
				return -errno;
	}
	return 0;
}

/*
 * Gigabytes take seconds. They are committed in steps, between which rings, streams and the parent
 * get their look; the control call is answered when the last step is done.
 */
uint32_t ctx_commit_step(struct ctx *c)
{
	struct ctx_commit *k = &c->commit;
	uint64_t n = k->bytes - k->at < COMMIT_STEP ? k->bytes - k->at : COMMIT_STEP;
	int phys = k->kind == CTX_PHYSICAL;
	int rc = c->error ? -ECANCELED : phys ? allocate(c, k->va + k->at, n) :
		 populate((uint8_t *)(uintptr_t)k->va + k->at, n);

	k->at += n;
	if (!rc && k->at < k->bytes)
		return CTX_COMMITTING;
	if (rc && phys)
		punch(c, k->va, k->bytes);
	else if (rc)
		ctx_none(k->va, k->bytes);
	else
		insert(phys ? &c->phys : &c->mem,
		       &(struct ctx_range){ .va = k->va, .bytes = k->bytes, .kind = k->kind });
	if (!rc && !phys)
		c->ops->note_alloc(c->engine, k->va, k->asked, ENGINE_FRESH);
	if (rc)
		ctx_account(c, -(int64_t)k->bytes);
	k->bytes = 0;
	return c->error ? c->error : rc ? VGPU_ST_OUT_OF_MEMORY : VGPU_ST_OK;
}

static uint32_t commit(struct ctx *c, uint64_t va, uint64_t bytes, uint64_t asked, enum ctx_kind kind)
{
	c->commit = (struct ctx_commit){ .va = va, .bytes = bytes, .asked = asked, .kind = kind };
	ctx_account(c, (int64_t)bytes);
	return ctx_commit_step(c);
}

/* The engine has the memory itself: it is there when it says so. */
static uint32_t have(struct ctx *c, struct ctx_ranges *t, const struct ctx_range *r, uint32_t st)
{
	if (st)
		return st;
	insert(t, r);
	if (r->kind != CTX_VMM)
		ctx_account(c, (int64_t)r->bytes);
	return VGPU_ST_OK;
}

/* asked is the client's word, for the memory checker only: nonsense is the whole range. */
uint32_t ctx_mem_alloc(struct ctx *c, uint64_t va, uint64_t bytes, uint64_t asked)
{
	void *p;

	if (!is_free(&c->mem, va, bytes))
		return VGPU_ST_INVALID;
	if (c->mem.n == CTX_RANGES)
		return VGPU_ST_LIMIT;
	if (ctx_over_limit(c, bytes) || !tables_room(c, va, bytes))
		return VGPU_ST_OUT_OF_MEMORY;
	if (c->ops->memory)
		return have(c, &c->mem, &(struct ctx_range){ .va = va, .bytes = bytes, .kind = CTX_ALLOC },
			    c->ops->memory(c->engine, va, bytes, 1));
	p = mmap((void *)(uintptr_t)va, bytes, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	if (p == MAP_FAILED) {
		ctx_none(va, bytes);
		return VGPU_ST_OUT_OF_MEMORY;
	}
	if (bytes >= VGPU_HUGE)
		madvise(p, bytes, MADV_HUGEPAGE);       /* advice only: without THP it is 4 KiB pages */
	return commit(c, va, bytes, asked && asked <= bytes ? asked : bytes, CTX_ALLOC);
}

uint32_t ctx_mem_free(struct ctx *c, uint64_t va, uint64_t bytes)
{
	struct ctx_range *r = exact(&c->mem, va, bytes);

	if (!r || r->kind != CTX_ALLOC)
		return VGPU_ST_INVALID;
	/* A failure: the range stays allocated. */
	if (c->ops->memory) {
		uint32_t st = c->ops->memory(c->engine, va, bytes, 0);

		if (st)
			return st;
	} else if (ctx_none(va, bytes)) {
		return VGPU_ST_OUT_OF_MEMORY;   /* of mappings */
	}
	drop(&c->mem, (uint32_t)(r - c->mem.r), 1);
	c->ops->note_alloc(c->engine, va, bytes, 0);
	ctx_account(c, -(int64_t)bytes);
	return VGPU_ST_OK;
}

uint64_t ctx_mem_at(void *owner, uint64_t address, uint64_t *base, int *plain)
{
	const struct ctx *c = owner;
	uint32_t i = find(&c->mem, address);

	if (i < c->mem.n && address >= c->mem.r[i].va) {
		*base = c->mem.r[i].va;
		*plain = c->mem.r[i].kind == CTX_ALLOC;
		return c->mem.r[i].bytes;
	}
	for (i = 0; i < c->segments; i++)
		if (address - c->segment[i].va < c->segment[i].bytes) {
			*base = c->segment[i].va;
			*plain = 0;
			return c->segment[i].bytes;
		}
	return 0;
}

int ctx_mem_may_share(struct ctx *c, uint64_t va, uint64_t bytes)
{
	return !c->ops->memory && c->mem.n < CTX_RANGES && is_free(&c->mem, va, bytes) && tables_room(c, va, bytes);
}

void ctx_mem_shared(struct ctx *c, uint64_t va, uint64_t bytes)
{
	insert(&c->mem, &(struct ctx_range){ .va = va, .bytes = bytes, .kind = CTX_SHARED });
	c->ops->note_alloc(c->engine, va, bytes, ENGINE_MAPPED);
}

/* The heap of device malloc is an allocation like any other, charged and committed; the engine gives it out in parts. */
uint32_t ctx_mem_heap(struct ctx *c, uint64_t va, uint64_t bytes)
{
	struct ctx_range *r = exact(&c->mem, va, bytes);

	return r && r->kind == CTX_ALLOC ? c->ops->heap(c->engine, va, bytes) : (uint32_t)VGPU_ST_INVALID;
}

/* ---- virtual memory management ----------------------------------------------------------------- */

uint32_t ctx_phys_alloc(struct ctx *c, uint64_t offset, uint64_t bytes)
{
	if (!is_free(&c->phys, offset, bytes))
		return VGPU_ST_INVALID;
	if (c->phys.n == CTX_RANGES)
		return VGPU_ST_LIMIT;
	if (ctx_over_limit(c, bytes))
		return VGPU_ST_OUT_OF_MEMORY;
	if (c->ops->physical)
		return have(c, &c->phys, &(struct ctx_range){ .va = offset, .bytes = bytes, .kind = CTX_PHYSICAL },
			    c->ops->physical(c->engine, offset, bytes, 1));
	if (take_blocks(c, offset, bytes))
		return VGPU_ST_OUT_OF_MEMORY;
	return commit(c, offset, bytes, bytes, CTX_PHYSICAL);
}

uint32_t ctx_phys_free(struct ctx *c, uint64_t offset, uint64_t bytes)
{
	struct ctx_range *r = exact(&c->phys, offset, bytes);

	if (!r)
		return VGPU_ST_INVALID;
	for (uint32_t i = 0; i < c->mem.n; i++) {       /* still mapped: a touch would bring pages back */
		const struct ctx_range *m = &c->mem.r[i];

		if (m->kind == CTX_VMM && m->offset < offset + bytes && offset < m->offset + m->bytes)
			return VGPU_ST_BUSY;
	}
	if (c->ops->physical) {
		uint32_t st = c->ops->physical(c->engine, offset, bytes, 0);

		if (st)
			return st;
	} else {
		punch(c, offset, bytes);
	}
	drop(&c->phys, (uint32_t)(r - c->phys.r), 1);
	ctx_account(c, -(int64_t)bytes);
	return VGPU_ST_OK;
}

uint32_t ctx_vmm_map(struct ctx *c, uint64_t va, uint64_t bytes, uint64_t offset)
{
	uint32_t i = find(&c->phys, offset);
	uint64_t file, n;

	if (i == c->phys.n || c->phys.r[i].va > offset ||
	    c->phys.r[i].va + c->phys.r[i].bytes < offset + bytes || !is_free(&c->mem, va, bytes))
		return VGPU_ST_INVALID;
	if (c->mem.n == CTX_RANGES)
		return VGPU_ST_LIMIT;
	if (c->ops->mapping)
		return have(c, &c->mem, &(struct ctx_range){ .va = va, .bytes = bytes, .offset = offset, .kind = CTX_VMM },
			    c->ops->mapping(c->engine, va, bytes, offset, 1));
	if (!tables_room(c, va, bytes))
		return VGPU_ST_OUT_OF_MEMORY;
	for (uint64_t k = 0; k < bytes; k += n) {
		n = file_run(c, offset + k, bytes - k, &file);
		if (mmap((void *)(uintptr_t)(va + k), n, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, CTX_AT_PHYS,
			 (off_t)file) == MAP_FAILED) {
			int rc = errno;

			ctx_none(va, bytes);
			ctx_log(c, "VMM_MAP of %llu bytes at 0x%llx: %s", (unsigned long long)bytes,
				(unsigned long long)va, strerror(rc));
			return rc == ENOMEM ? VGPU_ST_OUT_OF_MEMORY : VGPU_ST_INTERNAL;
		}
	}
	insert(&c->mem, &(struct ctx_range){ .va = va, .bytes = bytes, .offset = offset, .kind = CTX_VMM });
	ctx_account(c, 0);
	c->ops->note_alloc(c->engine, va, bytes, ENGINE_MAPPED);
	return VGPU_ST_OK;
}

/* One or more whole mappings without a gap between them, as cuMemUnmap allows. */
uint32_t ctx_vmm_unmap(struct ctx *c, uint64_t va, uint64_t bytes)
{
	uint32_t first = find(&c->mem, va), i = first;
	uint64_t at = va;

	for (; i < c->mem.n && at < va + bytes; i++) {
		if (c->mem.r[i].va != at || (c->mem.r[i].kind != CTX_VMM && c->mem.r[i].kind != CTX_SHARED))
			return VGPU_ST_INVALID;
		at += c->mem.r[i].bytes;
	}
	if (at != va + bytes)
		return VGPU_ST_INVALID;
	/* A driver lets go of a mapping by the range that was mapped, and by no other. */
	for (; c->ops->mapping && first < i; i--) {
		const struct ctx_range r = c->mem.r[first];
		uint32_t st = c->ops->mapping(c->engine, r.va, r.bytes, 0, 0);

		if (st)
			return st;
		drop(&c->mem, first, 1);
		c->ops->note_alloc(c->engine, r.va, r.bytes, 0);
	}
	if (c->ops->mapping)
		return VGPU_ST_OK;
	if (ctx_none(va, bytes))
		return VGPU_ST_OUT_OF_MEMORY;
	drop(&c->mem, first, i - first);
	c->ops->note_alloc(c->engine, va, bytes, 0);
	return VGPU_ST_OK;
}

/* ---- single words -------------------------------------------------------------------------------- */

/*
 * Memory that this process has mapped itself can be touched directly, and atomically. What is left
 * (variables in the engine's arena, memory that is gone) goes through the engine's guarded copy.
 */
static void *direct(struct ctx *c, uint64_t addr, unsigned bytes)
{
	uint32_t i;

	for (i = 0; i < c->segments; i++)
		if (addr >= c->segment[i].va && addr - c->segment[i].va + bytes <= c->segment[i].bytes)
			return (void *)(uintptr_t)addr;
	if (c->ops->memory)
		return NULL;            /* the device's memory is not this process's */
	i = find(&c->mem, addr);
	return i < c->mem.n && addr >= c->mem.r[i].va ? (void *)(uintptr_t)addr : NULL;
}

uint32_t ctx_store(struct ctx *c, uint64_t addr, uint64_t value, unsigned bytes)
{
	void *p = direct(c, addr, bytes);
	uint32_t low = (uint32_t)value;
	int beside = p && c->ops->beside ? c->ops->beside(c->engine, -1) : 0;

	if (p && bytes == 8)
		vgpu_store_release64(p, value);
	else if (p)
		vgpu_store_release32(p, low);
	else
		return c->ops->copy(c->engine, (void *)(uintptr_t)addr, bytes == 8 ? (void *)&value : (void *)&low,
				    bytes);
	if (c->ops->beside)
		c->ops->beside(c->engine, beside);
	return VGPU_ST_OK;
}

uint32_t ctx_load(struct ctx *c, uint64_t addr, uint64_t *value, unsigned bytes)
{
	const void *p = direct(c, addr, bytes);
	uint32_t low = 0, st = VGPU_ST_OK;

	if (p && bytes == 8)
		*value = vgpu_load_acquire64(p);
	else if (p)
		*value = vgpu_load_acquire32(p);
	else if (bytes == 8)
		st = c->ops->copy(c->engine, value, (const void *)(uintptr_t)addr, 8);
	else if (!(st = c->ops->copy(c->engine, &low, (const void *)(uintptr_t)addr, 4)))
		*value = low;
	return st;
}
