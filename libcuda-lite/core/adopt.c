/* SPDX-License-Identifier: MIT */
/*
 * Ordinary memory of the process that the device sees too (cuMemHostRegister). Its pages are adopted: pages of the window take
 * their bytes and are mapped a second time, over the caller's range. The caller's address stays good for the caller; the
 * device's is that of the window, which lies elsewhere: the span is the only part of the address space that a context shares.
 *
 *   caller's range   |..a a|a a a a|a a..|        one mapping of the same pages
 *   window           |  w  |  w    |  w  |        address + delta; copies by the caller's address are sent with this one
 *
 * Whole pages are adopted, what else lies in the first and the last one with them. A registration that shares a page with
 * another has the same delta: its pages get the place beside the other's.
 *
 * The window's pages for this are the process's own (WINDOW_OWN): whatever becomes of the agent, they keep their bytes.
 *
 * While pages change places another thread's store to them can be lost: for the inner ones during the whole copy (they are the
 * caller's, who has to hold still, as with any copy), for the two outer ones between the last look at them and one system call.
 *
 * Memory that is shared already cannot be adopted: its file is lent to the device instead (lent.c).
 *
 * A forked child gets copies: all mappings of such pages outside the span are copied before the fork, and the copies take their
 * place in the child. A child by bare clone(2) shares them with its parent.
 */
#include "core.h"
#include "adopt.h"
#include "lent.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif

struct vma {
	uint64_t start, end, offset, inode;
	int prot;
	bool shared, stack, huge, window;
};

struct adopted {
	struct adopted *next;
	uint64_t ptr, bytes;            /* as registered */
	uint64_t lo, hi;                /* whole pages */
	uint64_t delta;                 /* window address - caller's */
	struct vg_ctx *ctx;
	bool shared;                    /* nothing was moved: the window has the file (lent.c) */
	struct vg_lent file;
};

static struct vg_lock lock;
static struct adopted *list;
static bool ever;                       /* fork handlers are there */
uint32_t vg_adoptions;

/* ---- what lies where ---------------------------------------------------------------------------- */

static bool parse(const char *line, struct vma *v)
{
	unsigned long start, end, offset, inode;
	char r, w, x, s;

	if (sscanf(line, "%lx-%lx %c%c%c%c %lx %*s %lu", &start, &end, &r, &w, &x, &s, &offset, &inode) != 8)
		return false;
	*v = (struct vma){ .start = start, .end = end, .offset = offset, .inode = inode, .shared = s == 's',
			   .prot = (r == 'r' ? PROT_READ : 0) | (w == 'w' ? PROT_WRITE : 0) | (x == 'x' ? PROT_EXEC : 0),
			   .stack = strstr(line, "[stack]") != NULL, .huge = strstr(line, "hugepage") != NULL,
			   .window = strstr(line, "/memfd:vgpu-window") != NULL };
	return true;
}

/* The mappings of [lo, hi), in order, in *out (free it). How many; -1: cannot be told. */
static int mappings(uint64_t lo, uint64_t hi, struct vma **out)
{
	FILE *f = fopen("/proc/self/maps", "re");
	struct vma *v = NULL, one;
	char line[512];
	int n = 0;

	*out = NULL;
	while (f && fgets(line, sizeof line, f)) {
		if (!parse(line, &one) || one.end <= lo)
			continue;
		if (one.start >= hi)
			break;
		if ((n & (n - 1)) == 0) {       /* powers of two: room for as many again */
			struct vma *more = realloc(v, (n ? 2 * (size_t)n : 1) * sizeof *v);

			if (!more) {
				n = -1;
				break;
			}
			v = more;
		}
		if (one.start < lo) {
			one.offset += lo - one.start;
			one.start = lo;
		}
		if (one.end > hi)
			one.end = hi;
		v[n++] = one;
	}
	if (!f || n < 0) {
		free(v);
		v = NULL;
		n = -1;
	}
	if (f)
		fclose(f);
	*out = v;
	return n;
}

/* Is v, outside the span, a second mapping of what lies at + delta in the window? */
static bool is_ours(const struct vma *v, uint64_t delta)
{
	struct vma *w;
	bool yes = v->window && mappings(v->start + delta, v->start + delta + VGPU_PAGE, &w) == 1 &&
		   w->inode == v->inode && w->offset == v->offset;

	if (v->window)
		free(w);
	return yes;
}

/* ---- moving ----------------------------------------------------------------------------------------- */

/* By the kernel's own call: pthread_sigmask's version is younger than 2.17 where it is linked newly. */
static void signals(const uint64_t *to, uint64_t *was)
{
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, to, was, sizeof *to);
}

static const uint64_t no_signals = ~0ull;

/* The outer pages of [to, to + bytes) once more: what others have there may have changed meanwhile. */
static void copy_edges(uint64_t to, uint64_t from, uint64_t bytes)
{
	memcpy((void *)(uintptr_t)to, (void *)(uintptr_t)from, VGPU_PAGE);
	if (bytes > VGPU_PAGE)
		memcpy((void *)(uintptr_t)(to + bytes - VGPU_PAGE), (void *)(uintptr_t)(from + bytes - VGPU_PAGE), VGPU_PAGE);
}

/* Pages of [at, at + bytes) are there: false: no memory for them. */
static bool populate(uint64_t at, uint64_t bytes)
{
	if (madvise((void *)(uintptr_t)at, bytes, MADV_POPULATE_WRITE) == 0)
		return true;
	return errno == EINVAL;         /* before Linux 5.14 they come when they are touched */
}

/* v is adopted into the window; the caller has made sure that its bytes can be read. */
static bool move_in(const struct vma *v, uint64_t delta)
{
	uint64_t bytes = v->end - v->start, to = v->start + delta;
	void *at = (void *)(uintptr_t)v->start;
	uint64_t was = 0;
	bool ok;

	memcpy((void *)(uintptr_t)to, at, bytes);
	signals(&no_signals, &was);
	copy_edges(to, v->start, bytes);
	/* A length of 0: the mapping stays where it is, and is there twice. */
	ok = mremap((void *)(uintptr_t)to, 0, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, at) == at;
	signals(&was, NULL);
	if (!ok)
		return false;
	madvise(at, bytes, MADV_DOFORK);
	if (v->prot != (PROT_READ | PROT_WRITE))
		mprotect(at, bytes, v->prot);
	/*
	 * The last page is a mapping by itself: so mremap(2) of the whole, by a realloc() of what is still registered, fails (and
	 * realloc copies) instead of showing what lies behind it in the window.
	 */
	if (bytes > VGPU_PAGE)
		madvise((void *)(uintptr_t)(v->end - VGPU_PAGE), VGPU_PAGE, MADV_RANDOM);
	return true;
}

/* Private memory with the same bytes in v's place. False: no memory for it; it stays as it is. */
static bool move_out(const struct vma *v, uint64_t delta)
{
	uint64_t bytes = v->end - v->start, from = v->start + delta;
	void *at = (void *)(uintptr_t)v->start;
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t was = 0;
	bool ok;

	if (p == MAP_FAILED)
		return false;
	memcpy(p, (void *)(uintptr_t)from, bytes);
	signals(&no_signals, &was);
	copy_edges((uint64_t)(uintptr_t)p, from, bytes);
	ok = (v->prot == (PROT_READ | PROT_WRITE) || mprotect(p, bytes, v->prot) == 0) &&
	     mremap(p, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, at) == at;
	signals(&was, NULL);
	if (!ok)
		munmap(p, bytes);
	return ok;
}

/* Pages [lo, hi) are ordinary memory again, as far as they are still ours: the program may have unmapped them. */
static void give_back(uint64_t lo, uint64_t hi, uint64_t delta)
{
	struct vma *v;
	int n = lo < hi ? mappings(lo, hi, &v) : 0;
	bool all = n >= 0;

	for (int i = 0; i < n; i++)
		if (is_ours(&v[i], delta) && !move_out(&v[i], delta))
			all = false;
	if (lo < hi)
		free(v);
	/* Where one could not be moved the window keeps the room: nobody else gets it. */
	if (all && lo < hi)
		vg_pages_give(lo + delta, hi - lo);
}

/* ---- registrations ------------------------------------------------------------------------------------ */

static struct adopted *on_page(uint64_t page, const struct adopted *but)
{
	for (struct adopted *a = list; a; a = a->next)
		if (a != but && !a->shared && page - a->lo < a->hi - a->lo)
			return a;
	return NULL;
}

/* Lock held. Out of the list and the table; its pages, where nobody else has them, are the process's own again. */
static void drop(struct adopted *a)
{
	uint64_t lo = a->lo, hi = a->hi;
	struct adopted **p = &list;
	struct vg_mem gone;

	while (*p != a)
		p = &(*p)->next;
	*p = a->next;
	__atomic_sub_fetch(&vg_adoptions, 1, __ATOMIC_RELEASE);
	vg_mem_take(a->ptr, 1u << VG_MEM_ADOPTED, &gone);
	vg_mem_take(a->ptr + a->delta, 1u << VG_MEM_ADOPTED, &gone);
	if (on_page(lo, a))
		lo += VGPU_PAGE;
	if (lo < hi && on_page(hi - VGPU_PAGE, a))
		hi -= VGPU_PAGE;
	if (!a->shared)
		give_back(lo, hi, a->delta);
	free(a);
}

/* Are all pages of it still those that were mapped there? Memory can be freed without a word to us. */
static bool intact(const struct adopted *a)
{
	struct vma *v;
	uint64_t at = a->lo;
	int n;

	if (a->shared)
		return vg_lent_still(a->lo, a->hi, &a->file);
	n = mappings(a->lo, a->hi, &v);
	for (int i = 0; i < n && v[i].start == at && is_ours(&v[i], a->delta); i++)
		at = v[i].end;
	free(v);
	return n < 0 || at == a->hi;
}

/* Lock held. Registrations of memory that is gone do not stand in the way of what lies there now. */
static bool overlaps(uint64_t ptr, uint64_t bytes)
{
	uint64_t lo = ptr & ~(VGPU_PAGE - 1), hi = (ptr + bytes + VGPU_PAGE - 1) & ~(VGPU_PAGE - 1);
	struct adopted *next;

	for (struct adopted *a = list; a; a = next) {
		next = a->next;
		if (a->lo < hi && lo < a->hi && !intact(a))
			drop(a);
		else if (a->ptr < ptr + bytes && ptr < a->ptr + a->bytes)
			return true;
	}
	return false;
}

/* Can these pages be taken? */
static enum vg_adopt_result check(const struct vma *v, int n, uint64_t lo, uint64_t hi, bool read_only)
{
	uint64_t at = lo, here = (uint64_t)(uintptr_t)&at;

	for (int i = 0; i < n; i++) {
		if (v[i].start != at || !(v[i].prot & PROT_READ) || (!(v[i].prot & PROT_WRITE) && !read_only))
			return VG_ADOPT_UNMAPPED;
		if (v[i].shared)
			return VG_ADOPT_SHARED;
		if (v[i].prot & PROT_EXEC || v[i].huge)
			return VG_ADOPT_KIND;
		at = v[i].end;
	}
	if (at != hi)
		return VG_ADOPT_UNMAPPED;
	/* A forked child would run on the same stack as its parent. */
	for (int i = 0; i < n; i++) {
		struct vma *own;
		int k = mappings(here, here + 1, &own);

		free(own);
		if (v[i].stack || (k == 1 && here - v[i].start < v[i].end - v[i].start))
			return VG_ADOPT_STACK;
	}
	return VG_ADOPT_OK;
}

/* All of it can be read: a mapping of a file may reach behind its end. */
static bool readable(uint64_t lo, uint64_t bytes)
{
	return madvise((void *)(uintptr_t)lo, bytes, MADV_POPULATE_READ) == 0 || errno == EINVAL;
}

#define LOOKS 8

static enum vg_adopt_result adopt_pages(uint64_t lo, uint64_t hi, bool known, uint64_t *delta, bool read_only)
{
	enum vg_adopt_result r = VG_ADOPT_OK;
	struct vma *v = NULL;
	uint64_t at;
	int n, i;

	/* read in pieces while other threads map and unmap beside it, what is told can have a gap that was never there */
	for (i = 0; i < LOOKS; i++) {
		free(v);
		n = mappings(lo, hi, &v);
		if (n < 0)
			return VG_ADOPT_PROC;
		r = check(v, n, lo, hi, read_only);
		if (r != VG_ADOPT_UNMAPPED)
			break;
	}
	if (r)
		goto out;
	if (known ? !vg_pages_take_at(lo + *delta, hi - lo) : !vg_pages_take(hi - lo, &at)) {
		r = known ? VG_ADOPT_APART : VG_ADOPT_MEMORY;
		goto out;
	}
	if (!known)
		*delta = at - lo;
	r = !readable(lo, hi - lo) ? VG_ADOPT_UNMAPPED : populate(lo + *delta, hi - lo) ? VG_ADOPT_OK : VG_ADOPT_MEMORY;
	if (r) {
		vg_pages_give(lo + *delta, hi - lo);
		goto out;
	}
	for (i = 0; i < n && move_in(&v[i], *delta); i++)
		;
	if (i < n) {
		give_back(lo, hi, *delta);
		r = VG_ADOPT_KIND;
	}
out:
	free(v);
	return r;
}

/* Of this session's window: another one's has the same name (the engine on a CUDA driver of ours has its client's). */
static bool own_window(const struct vma *v)
{
	struct vma *w;
	bool yes = false;
	int n = mappings(vg.span, vg.span + vg.window_span, &w);

	for (int i = 0; i < n; i++)
		yes |= w[i].window && w[i].inode == v->inode;
	free(w);
	return yes;
}

/* Is any of it seen by others? */
static bool is_shared(uint64_t lo, uint64_t hi)
{
	struct vma *v;
	bool yes = false;
	int n = mappings(lo, hi, &v);

	for (int i = 0; i < n; i++)
		yes |= v[i].shared && !(v[i].window && own_window(&v[i]));
	free(v);
	return yes;
}

static void fork_handlers(void);

enum vg_adopt_result vg_adopt(struct vg_ctx *c, uint64_t ptr, uint64_t bytes, uint32_t flags, bool read_only)
{
	struct vg_mem here = { .start = ptr, .bytes = bytes, .span_bytes = bytes, .kind = VG_MEM_ADOPTED, .flags = flags,
			       .ordinal = c->ordinal, .ctx = c }, there = here;
	uint64_t lo = ptr & ~(VGPU_PAGE - 1), hi = (ptr + bytes + VGPU_PAGE - 1) & ~(VGPU_PAGE - 1), from = lo, to = hi;
	struct adopted *a, *low, *high, gone;
	enum vg_adopt_result r;

	if (ptr + bytes < ptr || hi < ptr)
		return VG_ADOPT_UNMAPPED;
	if (!(vg.features & VGPU_FEATURE_OWN_PAGES) || vg.place)
		return VG_ADOPT_AGENT;
	a = malloc(sizeof *a);
	if (!a)
		return VG_ADOPT_MEMORY;
	vg_lock(&lock);
	fork_handlers();
	r = overlaps(ptr, bytes) ? VG_ADOPT_TWICE : VG_ADOPT_OK;
	low = on_page(lo, NULL);
	high = on_page(hi - VGPU_PAGE, NULL);
	if (!r && low && high && low->delta != high->delta)
		r = VG_ADOPT_APART;
	*a = (struct adopted){ .next = list, .ptr = ptr, .bytes = bytes, .lo = lo, .hi = hi, .delta = low ? low->delta : high ? high->delta : 0, .ctx = c };
	if (!r && !low && !high && is_shared(lo, hi)) {
		a->shared = true;
		r = vg_lend(lo, hi, read_only, &a->file);
		a->delta = a->file.delta;
		from = to;
	}
	if (low)
		from += VGPU_PAGE;
	if (high && from < to)
		to -= VGPU_PAGE;
	if (!r && from < to)
		r = adopt_pages(from, to, low || high, &a->delta, read_only);
	if (!r) {
		here.other = there.start = ptr + a->delta;
		there.other = ptr;
		if (!vg_mem_add(&here) || !vg_mem_add(&there)) {
			vg_mem_take(ptr, 1u << VG_MEM_ADOPTED, &here);
			gone = *a;
			if (!gone.shared)
				give_back(from, to, gone.delta);
			r = VG_ADOPT_MEMORY;
		}
	}
	if (!r) {
		list = a;
		__atomic_add_fetch(&vg_adoptions, 1, __ATOMIC_RELEASE);
	}
	vg_unlock(&lock);
	if (r)
		free(a);
	return r;
}

bool vg_adopt_end(uint64_t ptr)
{
	struct adopted *a;

	vg_lock(&lock);
	for (a = list; a && a->ptr != ptr; a = a->next)
		;
	if (a)
		drop(a);
	vg_unlock(&lock);
	return a != NULL;
}

void vg_adopt_drop_ctx(struct vg_ctx *c)
{
	struct adopted *a, *next;

	if (!__atomic_load_n(&vg_adoptions, __ATOMIC_ACQUIRE))
		return;
	vg_lock(&lock);
	for (a = list; a; a = next) {
		next = a->next;
		if (a->ctx == c)
			drop(a);
	}
	vg_unlock(&lock);
}

uint64_t vg_adopted_slow(uint64_t addr, uint64_t bytes)
{
	struct vg_mem m;

	if (vg_in_window(addr) || !vg_mem_find(addr, &m) || m.kind != VG_MEM_ADOPTED || bytes > m.bytes - (addr - m.start))
		return addr;
	return m.other + (addr - m.start);
}

/* ---- fork ------------------------------------------------------------------------------------------------- */

static struct vma *kept;                /* mappings of adopted pages, and where their copies lie: offset */
static int kept_n;

static void before_fork(void)
{
	struct vma *v;
	int n;

	vg_lock(&lock);
	n = mappings(0, ~0ull, &v);
	kept = v;
	kept_n = 0;
	for (int i = 0; i < n; i++) {
		uint64_t bytes = v[i].end - v[i].start;
		void *p;

		if (!v[i].window || !(v[i].prot & PROT_READ) || vg_in_window(v[i].start))
			continue;
		p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (p == MAP_FAILED) {
			vg_say("no memory for a copy of registered memory: a process that is forked now shares %llu bytes at 0x%llx with its parent",
			       (unsigned long long)bytes, (unsigned long long)v[i].start);
			continue;
		}
		memcpy(p, (void *)(uintptr_t)v[i].start, bytes);
		kept[kept_n] = v[i];
		kept[kept_n++].offset = (uint64_t)(uintptr_t)p;
	}
}

static void in_parent(void)
{
	for (int i = 0; i < kept_n; i++)
		munmap((void *)(uintptr_t)kept[i].offset, kept[i].end - kept[i].start);
	free(kept);
	kept = NULL;
	vg_unlock(&lock);
}

static void in_child(void)
{
	for (int i = 0; i < kept_n; i++) {
		uint64_t bytes = kept[i].end - kept[i].start;
		void *p = (void *)(uintptr_t)kept[i].offset;

		if (kept[i].prot != (PROT_READ | PROT_WRITE))
			mprotect(p, bytes, kept[i].prot);
		if (mremap(p, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, (void *)(uintptr_t)kept[i].start) == MAP_FAILED)
			vg_say("registered memory at 0x%llx is still shared with the parent: %s", (unsigned long long)kept[i].start, strerror(errno));
	}
	list = NULL;
	vg_adoptions = 0;
	vg_unlock(&lock);
}

/* Lock held. */
static void fork_handlers(void)
{
	if (ever)
		return;
	ever = true;
	pthread_atfork(before_fork, in_parent, in_child);
}
