/* SPDX-License-Identifier: MIT */
/*
 * Device memory at the client's addresses. The span was reserved by hint when the context began (driver.c); an allocation maps
 * physical memory into it, in the driver's pages of 2 MiB. A page that several small allocations share is mapped by the
 * first of them and let go with the last; the whole pages inside one allocation are one piece of memory.
 *
 * The client's window is memory of this process. The driver reads and writes it in copies; kernels see it where the driver
 * can register it at its own address.
 */
#include "cuda.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define PAGES (CUDA_VA_BYTES / CUDA_PAGE)

static void *anon(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

/* ---- memory of the client that may vanish ---------------------------------------------------------- */

static __thread sigjmp_buf *guard;

static void on_fault(int sig, siginfo_t *si, void *uc)
{
	(void)si, (void)uc;
	if (guard)
		siglongjmp(*guard, 1);
	signal(sig, SIG_DFL);           /* not ours: it happens again, and ends the process */
}

/* Every page of it is there (and, to write, writable) at this moment. */
static int there(const void *p, size_t bytes, int write)
{
	volatile uint8_t *b = (volatile uint8_t *)(uintptr_t)p;
	sigjmp_buf back;
	int ok = 0;

	if (!bytes)
		return 1;
	if (!sigsetjmp(back, 1)) {
		guard = &back;
		for (size_t i = 0; i < bytes; i += VGPU_PAGE - ((uintptr_t)(b + i) & (VGPU_PAGE - 1)))
			if (write)
				__atomic_fetch_or(b + i, 0, __ATOMIC_RELAXED);
			else
				(void)b[i];
		ok = 1;
	}
	guard = NULL;
	return ok;
}

static uint32_t host_copy(void *dst, const void *src, size_t bytes)
{
	sigjmp_buf back;
	uint32_t st = VGPU_ST_ILLEGAL_ADDRESS;

	if (!sigsetjmp(back, 1)) {
		guard = &back;
		memmove(dst, src, bytes);
		st = VGPU_ST_OK;
	}
	guard = NULL;
	return st;
}

uint32_t cuda_memory_open(struct engine *e)
{
	struct sigaction sa = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_NODEFER };

	sigaction(SIGSEGV, &sa, NULL);
	sigaction(SIGBUS, &sa, NULL);
	e->users = anon(PAGES * sizeof(*e->users));
	e->run = anon(PAGES * sizeof(*e->run));
	e->phys = anon(CUDA_PHYS * sizeof(*e->phys));
	return e->users && e->run && e->phys ? VGPU_ST_OK : VGPU_ST_OUT_OF_MEMORY;
}

uint32_t cuda_failed(struct engine *e, CUresult r)
{
	uint32_t st = cuda_status(r);

	if (vgpu_status_sticky(st) && !e->died)
		e->died = st;
	return st;
}

/* ---- pages ------------------------------------------------------------------------------------------ */

static CUresult create(struct engine *e, uint64_t bytes, CUmemGenericAllocationHandle *h)
{
	CUmemAllocationProp prop;

	memset(&prop, 0, sizeof(prop));
	prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
	prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
	prop.location.id = e->dev;
	return cu.cuMemCreate(h, bytes, &prop, 0);
}

static CUresult map(struct engine *e, uint64_t va, uint64_t bytes, uint64_t offset, CUmemGenericAllocationHandle h)
{
	CUmemAccessDesc all = { .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = e->dev }, .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
	CUresult r = cu.cuMemMap(va, bytes, offset, h, 0);

	if (r)
		return r;
	r = cu.cuMemSetAccess(va, bytes, &all, 1);
	if (r)
		cu.cuMemUnmap(va, bytes);
	return r;
}

static uint64_t page_va(const struct engine *e, uint64_t page)
{
	return e->device_base + VGPU_ARENA_BYTES + page * CUDA_PAGE;
}

/* The memory has no name of its own: it goes with its mapping. */
static CUresult map_run(struct engine *e, uint64_t page, uint32_t n)
{
	CUmemGenericAllocationHandle h;
	CUresult r = create(e, n * CUDA_PAGE, &h), gone;

	if (r)
		return r;
	r = map(e, page_va(e, page), n * CUDA_PAGE, 0, h);
	gone = cu.cuMemRelease(h);
	if (gone)
		gone = cu.cuMemRelease(h);      /* nobody will ask again */
	if (!r && gone) {
		cu.cuMemUnmap(page_va(e, page), n * CUDA_PAGE);
		r = gone;
	}
	if (!r)
		e->run[page] = n;
	return r;
}

static CUresult unmap_run(struct engine *e, uint64_t page)
{
	CUresult r = cu.cuMemUnmap(page_va(e, page), e->run[page] * CUDA_PAGE);

	if (!r)
		e->run[page] = 0;
	return r;
}

/*
 * The pages first..last of an allocation: those at its ends may be others' as well, each is a run of its own. Where the driver refuses, all
 * of them stay the allocation's, so that it may be freed again: what has no memory any more is passed over then.
 */
static CUresult leave(struct engine *e, uint64_t first, uint64_t last)
{
	CUresult r = CUDA_SUCCESS;

	for (uint64_t p = first; p <= last; p++) {
		if (!--e->users[p] && e->run[p])
			r = unmap_run(e, p);
		if (!r)
			continue;
		do
			e->users[p]++;
		while (p-- > first);
		return r;
	}
	return r;
}

static uint32_t enter(struct engine *e, uint64_t va, uint64_t bytes)
{
	uint64_t first = (va - page_va(e, 0)) / CUDA_PAGE, last = (va + bytes - 1 - page_va(e, 0)) / CUDA_PAGE, p = first;
	CUresult r = CUDA_SUCCESS;

	while (p <= last && !r) {
		uint64_t n = p == first || p == last ? 1 : last - p;

		if (!e->run[p])
			r = map_run(e, p, (uint32_t)n);
		for (uint64_t k = 0; !r && k < n; k++)
			e->users[p + k]++;
		p += r ? 0 : n;
	}
	if (r && p > first)
		leave(e, first, p - 1);
	return r ? cuda_failed(e, r) : VGPU_ST_OK;
}

static int behind_arena(const struct engine *e, uint64_t va, uint64_t bytes)
{
	return va - page_va(e, 0) < CUDA_VA_BYTES && bytes <= CUDA_VA_BYTES - (va - page_va(e, 0));
}

uint32_t cuda_mem(struct engine *e, uint64_t va, uint64_t bytes, int alive)
{
	uint64_t first = (va - page_va(e, 0)) / CUDA_PAGE, last = (va + bytes - 1 - page_va(e, 0)) / CUDA_PAGE;

	if (!bytes || !behind_arena(e, va, bytes))
		return VGPU_ST_OUT_OF_MEMORY;   /* addresses that were left to the driver */
	return alive ? enter(e, va, bytes) : cuda_failed(e, leave(e, first, last));
}

/* ---- what the client maps itself ------------------------------------------------------------------- */

static struct cuda_phys *phys_at(struct engine *e, uint64_t offset)
{
	for (uint32_t i = 0; i < CUDA_PHYS; i++)
		if (e->phys[i].bytes && offset - e->phys[i].offset < e->phys[i].bytes)
			return &e->phys[i];
	return NULL;
}

uint32_t cuda_phys(struct engine *e, uint64_t offset, uint64_t bytes, int alive)
{
	struct cuda_phys *p = alive ? e->phys : phys_at(e, offset);
	CUresult r;

	if (!alive) {
		r = p ? cu.cuMemRelease(p->h) : CUDA_ERROR_INVALID_VALUE;
		if (!r)
			*p = (struct cuda_phys){ 0 };
		return cuda_failed(e, r);
	}
	while (p < e->phys + CUDA_PHYS && p->bytes)
		p++;
	if (p == e->phys + CUDA_PHYS)
		return VGPU_ST_LIMIT;
	r = create(e, bytes, &p->h);
	if (!r) {
		p->offset = offset;
		p->bytes = bytes;
	}
	return cuda_failed(e, r);
}

uint32_t cuda_map(struct engine *e, uint64_t va, uint64_t bytes, uint64_t offset, int alive)
{
	struct cuda_phys *p = alive ? phys_at(e, offset) : NULL;

	if (!behind_arena(e, va, bytes) || (alive && !p))
		return alive ? VGPU_ST_OUT_OF_MEMORY : VGPU_ST_INVALID;
	return cuda_failed(e, alive ? map(e, va, bytes, offset - p->offset, p->h) : cu.cuMemUnmap(va, bytes));
}

/* ---- copies ----------------------------------------------------------------------------------------- */

static int on_device(const struct engine *e, const void *p)
{
	return (uintptr_t)p - e->device_base < VGPU_DEVICE_SPAN;
}

/*
 * Called in the turn of one stream, whose earlier commands have ended: a stream of its own is order enough. An address that the
 * driver refuses is nobody's memory.
 */
static uint32_t finish(struct engine *e, CUresult r)
{
	if (!r)
		r = cu.cuStreamSynchronize(e->copies);
	return r == CUDA_ERROR_INVALID_VALUE ? (uint32_t)VGPU_ST_ILLEGAL_ADDRESS : cuda_failed(e, r);
}

/*
 * How many bytes of the host from p on are of one kind: a part of the window that the driver has pinned, or memory that it reads page
 * by page. A copy across two registrations NVIDIA's driver refuses (INVALID_VALUE, 580).
 */
static size_t one_kind(const struct engine *e, const void *p, size_t bytes, int *pinned)
{
	uint64_t at = (uintptr_t)p;

	*pinned = 0;
	for (uint32_t i = 0; i < e->nwindows; i++) {
		const struct cuda_window *w = &e->windows[i];

		if (w->at + w->bytes <= at)
			continue;
		*pinned = w->at <= at;
		if (*pinned)
			return bytes < w->at + w->bytes - at ? bytes : w->at + w->bytes - at;
		return bytes < w->at - at ? bytes : w->at - at;
	}
	return bytes;
}

/* Between the device, at real, and the host. */
static CUresult give_pieces(const struct engine *e, uint64_t real, void *host, size_t bytes, int to, CUstream stream)
{
	CUresult r = CUDA_SUCCESS;
	int pinned;

	for (size_t n; bytes && !r; bytes -= n, real += n, host = (char *)host + n) {
		n = one_kind(e, host, bytes, &pinned);
		if (!pinned && !there(host, n, !to))
			return CUDA_ERROR_INVALID_VALUE;
		r = to ? cu.cuMemcpyHtoDAsync_v2(real, host, n, stream) : cu.cuMemcpyDtoHAsync_v2(host, real, n, stream);
	}
	return r;
}

/* OK: given to the stream, or refused. An address that the driver refuses is nobody's memory. */
static CUresult give_copy(struct engine *e, void *dst, const void *src, size_t bytes, CUstream stream)
{
	int to = on_device(e, dst), from = on_device(e, src);
	uint64_t real_dst, real_src;

	if (!cuda_real(e, (uintptr_t)dst, bytes, &real_dst) || !cuda_real(e, (uintptr_t)src, bytes, &real_src))
		return CUDA_ERROR_INVALID_VALUE;
	if (to && from)
		return cu.cuMemcpyDtoDAsync_v2(real_dst, real_src, bytes, stream);
	return to ? give_pieces(e, real_dst, (void *)(uintptr_t)src, bytes, 1, stream) : give_pieces(e, real_src, dst, bytes, 0, stream);
}

static CUresult give_fill(struct engine *e, void *dst, uint32_t value, unsigned elem_bytes, size_t count, CUstream stream)
{
	uint64_t at;

	if (!cuda_real(e, (uintptr_t)dst, count * elem_bytes, &at))
		return CUDA_ERROR_INVALID_VALUE;
	return elem_bytes == 1 ? cu.cuMemsetD8Async(at, (unsigned char)value, count, stream) :
	       elem_bytes == 2 ? cu.cuMemsetD16Async(at, (unsigned short)value, count, stream) : cu.cuMemsetD32Async(at, value, count, stream);
}

static uint32_t given(struct engine *e, struct cuda_stream *s, CUresult r, int last)
{
	if (r)
		return r == CUDA_ERROR_INVALID_VALUE ? (uint32_t)VGPU_ST_ILLEGAL_ADDRESS : cuda_failed(e, r);
	s->fn = 0;
	if (last)
		cuda_given(e, s);
	return VGPU_ST_OK;
}

uint32_t cuda_copy_queued(struct engine *e, uint64_t cookie, void *dst, const void *src, size_t bytes, int last)
{
	struct cuda_stream *s;
	uint32_t st = e->died ? e->died : cuda_stream(e, cookie, CUDA_AS_IT_IS, &s);

	if (!st)
		cuda_run_flush(e, s);
	return st ? st : given(e, s, give_copy(e, dst, src, bytes, s->stream), last);
}

uint32_t cuda_fill_queued(struct engine *e, uint64_t cookie, void *dst, uint32_t value, unsigned elem_bytes, size_t count, int last)
{
	struct cuda_stream *s;
	uint32_t st = e->died ? e->died : cuda_stream(e, cookie, CUDA_AS_IT_IS, &s);

	if (!st)
		cuda_run_flush(e, s);
	return st ? st : given(e, s, give_fill(e, dst, value, elem_bytes, count, s->stream), last);
}

uint32_t cuda_copy(struct engine *e, void *dst, const void *src, size_t bytes)
{
	if (!bytes)
		return VGPU_ST_OK;
	if (!on_device(e, dst) && !on_device(e, src))
		return host_copy(dst, src, bytes);
	return finish(e, give_copy(e, dst, src, bytes, e->copies));
}

uint32_t cuda_fill(struct engine *e, void *dst, uint32_t value, unsigned elem_bytes, size_t count)
{
	if (!count)
		return VGPU_ST_OK;
	if (on_device(e, dst))
		return finish(e, give_fill(e, dst, value, elem_bytes, count, e->copies));
	if (!there(dst, count * elem_bytes, 1))
		return VGPU_ST_ILLEGAL_ADDRESS;
	for (size_t i = 0; i < count; i++)
		memcpy((uint8_t *)dst + i * elem_bytes, &value, elem_bytes);
	return VGPU_ST_OK;
}

static int window_add(struct engine *e, uint64_t at, uint64_t bytes)
{
	struct cuda_window *w = realloc(e->windows, (e->nwindows + 1) * sizeof(*w));
	uint32_t i = e->nwindows;

	if (!w)
		return -1;
	for (e->windows = w; i && w[i - 1].at > at; i--)
		w[i] = w[i - 1];
	w[i] = (struct cuda_window){ at, bytes };
	e->nwindows++;
	return 0;
}

/* Is it one that the driver has? */
static int window_remove(struct engine *e, uint64_t at)
{
	uint32_t i = 0;

	while (i < e->nwindows && e->windows[i].at != at)
		i++;
	if (i == e->nwindows)
		return 0;
	e->nwindows--;
	memmove(&e->windows[i], &e->windows[i + 1], (e->nwindows - i) * sizeof(*e->windows));
	return 1;
}

/* A driver that cannot register it still copies from it and to it; kernels that touch it fault. */
void cuda_note(struct engine *e, uint64_t addr, uint64_t bytes, int alive)
{
	CUdeviceptr seen = 0;
	CUresult r;

	if (alive != ENGINE_WINDOW && addr - e->env.span_base >= VGPU_WINDOW_SPAN)
		return;
	if (!alive) {
		if (window_remove(e, addr))
			cuda_failed(e, cu.cuMemHostUnregister((void *)(uintptr_t)addr));
		return;
	}
	r = cu.cuMemHostRegister_v2((void *)(uintptr_t)addr, bytes, CU_MEMHOSTREGISTER_DEVICEMAP | CU_MEMHOSTREGISTER_PORTABLE);
	cuda_failed(e, r);
	e->unregistered += r != CUDA_SUCCESS;
	if (r)
		return;
	r = cu.cuMemHostGetDevicePointer_v2(&seen, (void *)(uintptr_t)addr, 0);
	cuda_failed(e, r);
	if (!r && seen == addr && !window_add(e, addr, bytes))
		return;
	e->unregistered++;
	cuda_failed(e, cu.cuMemHostUnregister((void *)(uintptr_t)addr));
}
