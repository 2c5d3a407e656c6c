/* SPDX-License-Identifier: MIT */
/*
 * Faults and arena memory. A page that is missing raises SIGSEGV or SIGBUS inside an access; the
 * handler finds the thread's state and jumps back to where the access was armed. Only addresses
 * inside the span are taken: anything else is a bug of ours and dies the usual way.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <ucontext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "memcheck.h"
#include "verify.h"

#define ALT_BYTES 65536
#define ARENA_MIN 16            /* log2 of the smallest block */

__thread struct tstate *cpu_ts;
static struct sigaction old_segv, old_bus;

static void on_fault(int sig, siginfo_t *si, void *uc)
{
	struct tstate *ts = cpu_ts;
	u64 a = (u64)si->si_addr;
	const struct sigaction *old = sig == SIGSEGV ? &old_segv : &old_bus;

	if (ts && arena_touch(ts, a))
		return;
	if (ts && ts->armed && vf_page_fault(ts, a))
		return;
	if (ts && ts->armed && ts->jit) {
		greg_t *ip = &((ucontext_t *)uc)->uc_mcontext.gregs[REG_RIP];
		const u8 *to = jit_fault(ts->jit, (const u8 *)*ip);

		__atomic_store_n(&ts->bare, 0, __ATOMIC_RELEASE);
		/* compiled code: to where it hands this access to the interpreter, which meets it again */
		if (to) {
			*ip = (greg_t)to;
			return;
		}
	}
	if (ts && ts->armed && (ts->e == NULL || a - ts->e->env.span_base < ts->e->env.span_bytes ||
				ts->armed == 2)) {
		ts->fault_addr = a;
		siglongjmp(ts->jmp, 1);
	}
	/* not ours: the default action, with the faulting instruction run again */
	sigaction(sig, old, NULL);
}

void fault_init(void)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	struct sigaction sa;

	/* a second engine of the process finds ours in place, unless its host took it out */
	pthread_mutex_lock(&lock);
	if (sigaction(SIGSEGV, NULL, &sa) == 0 && (sa.sa_flags & SA_SIGINFO) && sa.sa_sigaction == on_fault) {
		pthread_mutex_unlock(&lock);
		return;
	}
	memset(&sa, 0, sizeof(sa));
	sa.sa_sigaction = on_fault;
	sa.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
	sigemptyset(&sa.sa_mask);
	sigaction(SIGSEGV, &sa, &old_segv);
	sigaction(SIGBUS, &sa, &old_bus);
	pthread_mutex_unlock(&lock);
}

/* The calling thread's state, made on first use, with its own signal stack. */
struct tstate *tstate_get(struct engine *e)
{
	struct tstate *ts = cpu_ts;
	stack_t st;

	if (!ts) {
		/* lines of its own: every access of a kernel writes to it */
		ts = aligned_alloc(64, (sizeof(*ts) + 63) & ~(size_t)63);
		if (!ts)
			return NULL;
		memset(ts, 0, sizeof(*ts));
		if (sigaltstack(NULL, &st) == 0 && (st.ss_flags & SS_DISABLE)) {
			st.ss_sp = mmap(NULL, ALT_BYTES, PROT_READ | PROT_WRITE,
					MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
			st.ss_size = ALT_BYTES;
			st.ss_flags = 0;
			if (st.ss_sp != MAP_FAILED)
				sigaltstack(&st, NULL);
		}
		cpu_ts = ts;
	}
	ts->e = e;
	return ts;
}

void tstate_thread_exit(void)
{
	stack_t st = { .ss_flags = SS_DISABLE }, old;

	if (sigaltstack(&st, &old) == 0 && old.ss_size == ALT_BYTES)
		munmap(old.ss_sp, ALT_BYTES);
	if (cpu_ts) {
		tally_drop(cpu_ts);
		free(cpu_ts->scratch);
	}
	free(cpu_ts);
	cpu_ts = NULL;
}

/* A fault found by a check. what NULL: mem_describe says it. */
void fault_raise(u32 status, int lane, u64 addr, const char *what)
{
	struct tstate *ts = cpu_ts;

	ts->rep.status = status;
	ts->rep.address = addr;
	ts->rep.what = what;
	ts->rep_lane = lane;
	siglongjmp(ts->jmp, 2);
}

/* ---- arena: power of two blocks, free lists by class ------------------------------------ */

struct arena_free { struct arena_free *next; u64 addr; };

static u32 class_of(u64 bytes)
{
	u32 c = ARENA_MIN;

	/* the last page of a block is never committed: a guard */
	while (c < ARENA_MIN + ARENA_CLASSES - 1 && (1ull << c) < bytes + 4096)
		c++;
	return c;
}

u64 arena_alloc(struct engine *e, u64 bytes, u64 *got)
{
	u32 c = class_of(bytes);
	struct arena_free *f;
	u64 a = 0, size = 1ull << c;

	if (size < bytes + 4096)
		return 0;
	pthread_mutex_lock(&e->arena_lock);
	f = e->arena_free[c - ARENA_MIN];
	if (f) {
		e->arena_free[c - ARENA_MIN] = f->next;
		a = f->addr;
	} else if (size <= e->arena_end - e->arena_next) {
		a = e->arena_next;
		e->arena_next += size;
	}
	pthread_mutex_unlock(&e->arena_lock);
	free(f);
	*got = size;
	return a;
}

void arena_release(struct engine *e, u64 addr, u64 bytes)
{
	struct arena_free *f = malloc(sizeof(*f));
	u32 c = (u32)__builtin_ctzll(bytes);

	/* Pages go back; a block that cannot be noted is only address space lost. Mapped anew: the sandbox lets nothing lose its access. */
	if (mmap((void *)addr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED)
		madvise((void *)addr, bytes, MADV_DONTNEED);
	if (!f)
		return;
	f->addr = addr;
	pthread_mutex_lock(&e->arena_lock);
	f->next = e->arena_free[c - ARENA_MIN];
	e->arena_free[c - ARENA_MIN] = f;
	pthread_mutex_unlock(&e->arena_lock);
}

int arena_commit(u64 addr, u64 bytes)
{
	bytes = (bytes + 4095) & ~4095ull;
	return mprotect((void *)addr, bytes, PROT_READ | PROT_WRITE) ? -errno : 0;
}

bool arena_touch(struct tstate *ts, u64 addr)
{
	const struct cta *c = ts->cta;
	u64 at, n;

	if (!c || addr - c->lazy >= c->lazy_bytes)
		return false;
	at = (addr - c->lazy) / c->lazy_step * c->lazy_step;
	n = c->lazy_bytes - at < c->lazy_step ? c->lazy_bytes - at : c->lazy_step;
	if (!arena_commit(c->lazy + at, n))
		return true;
	ts->starved = true;
	return false;
}

/* ---- accesses of the dispatcher and of device functions ---------------------------------- */

u32 mem_copy(struct engine *e, void *dst, const void *src, size_t bytes)
{
	struct tstate *ts = tstate_get(e);

	if (!bytes)
		return VGPU_ST_OK;
	/* memmove is not asked about what goes round the end of memory */
	if (!dst || !src || (u64)dst + bytes < (u64)dst || (u64)src + bytes < (u64)src)
		return VGPU_ST_ILLEGAL_ADDRESS;
	if (!ts)
		return VGPU_ST_OUT_OF_MEMORY;
	if (sigsetjmp(ts->jmp, 0)) {
		cpu_ts->armed = 0;
		return VGPU_ST_ILLEGAL_ADDRESS;
	}
	ts->armed = 2;          /* the caller's own memory may be one side */
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	memmove(dst, src, bytes);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	ts->armed = 0;
	return VGPU_ST_OK;
}

u32 mem_fill(struct engine *e, void *dst, u32 value, unsigned elem, size_t count)
{
	struct tstate *ts = tstate_get(e);
	size_t i;

	if ((elem != 1 && elem != 2 && elem != 4) || count > SIZE_MAX / elem || ((u64)dst & (elem - 1)))
		return VGPU_ST_INVALID;
	if (!count)
		return VGPU_ST_OK;
	if (!dst || (u64)dst + elem * count < (u64)dst)
		return VGPU_ST_ILLEGAL_ADDRESS;
	if (!ts)
		return VGPU_ST_OUT_OF_MEMORY;
	if (sigsetjmp(ts->jmp, 0)) {
		cpu_ts->armed = 0;
		return VGPU_ST_ILLEGAL_ADDRESS;
	}
	ts->armed = 2;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (elem == 1 || (u8)value * 0x01010101u == (elem == 2 ? (value & 0xffff) * 0x10001u : value)) {
		memset(dst, (int)value, elem * count);
	} else if (elem == 2) {
		for (i = 0; i < count; i++)
			((volatile u16 *)dst)[i] = (u16)value;
	} else {
		for (i = 0; i < count; i++)
			((volatile u32 *)dst)[i] = value;
	}
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	ts->armed = 0;
	return VGPU_ST_OK;
}

static void span_check(struct tstate *ts, int lane, u64 addr, size_t n)
{
	const struct engine_env *env = &ts->e->env;

	if (addr - env->span_base >= env->span_bytes || n > env->span_bytes - (addr - env->span_base))
		fault_raise(VGPU_ST_ILLEGAL_ADDRESS, lane, addr, "access by a device function");
}

void mem_read(struct tstate *ts, int lane, u64 addr, void *dst, size_t n)
{
	span_check(ts, lane, addr, n);
	memcpy(dst, (const void *)addr, n);
}

void mem_write(struct tstate *ts, int lane, u64 addr, const void *src, size_t n)
{
	span_check(ts, lane, addr, n);
	memcpy((void *)addr, src, n);
	if (ts->e->mc)
		mc_wrote(ts->e, addr, n);
}

/* Bytes up to the NUL, cut at cap - 1; returns the length. */
size_t mem_read_str(struct tstate *ts, int lane, u64 addr, char *dst, size_t cap)
{
	size_t i;

	for (i = 0; i + 1 < cap; i++) {
		span_check(ts, lane, addr + i, 1);
		dst[i] = *(volatile const char *)(addr + i);
		if (!dst[i])
			return i;
	}
	dst[i] = 0;
	return i;
}

void arena_forget(struct engine *e, u32 cls)
{
	while (e->arena_free[cls]) {
		struct arena_free *f = e->arena_free[cls];

		e->arena_free[cls] = f->next;
		free(f);
	}
}
