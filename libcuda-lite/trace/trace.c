/* SPDX-License-Identifier: MIT */
/*
 * The traced process's side of vgpu trace; linked into each library. trace_start() runs when the library is
 * loaded and does nothing unless VGPU_TRACE is set to
 *
 *   -        lines on stderr
 *   DIR      a folder of vgpu trace: lines to the socket DIR/lines if it is there, counts in DIR/<pid>
 *   FILE     lines appended to FILE; %p stands for the process id
 *
 * VGPU_TRACE_FILTER: see filter.h. The destination is opened at the first traced call, in a forked child again.
 *
 * vgpu trace -p turns the slots of a running process from outside, by the door, while all its threads are stopped; the rest is as
 * above: the next call opens the destination. When nobody reads any more, each library turns its own slots back at its next call.
 * errno stays as the program's call left it. Nothing here allocates or takes a lock of the C library.
 */
#define _GNU_SOURCE
#include "trace.h"
#include "filter.h"
#include "../core/tls.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define LINE_BYTES 4096u
#define MOST_CALLERS 200u

/* ---- at load ------------------------------------------------------------------------------------ */

VGPU_TLS(struct trace_thread, vgpu_trace_self);
VGPU_TLS_HERE(struct trace_thread, vgpu_trace_self);
#ifdef TRACE_SHARED
__attribute__((visibility("hidden"))) size_t vg_leak_callers(char *to, size_t room);
#define CALLERS vg_leak_callers
#else
#define CALLERS NULL
#endif
static struct trace_shared own = { .version = TRACE_VERSION, .thread = vgpu_trace_self_at, .fd = -1, .callers = CALLERS };

__attribute__((visibility("hidden"))) struct trace_door vgpu_trace_door = {
	.magic = TRACE_MAGIC, .version = TRACE_VERSION, .slots = vgpu_trace_slots, .bodies = vgpu_trace_bodies,
	.wrappers = vgpu_trace_wrappers, .descriptions = vgpu_trace_descriptions, .shared = &own,
};
__asm__(".pushsection .note.vgpu.trace, \"a\", @note\n.balign 4\n.long 11, 4, 1\n.asciz \"" TRACE_NOTE "\"\n.balign 4\n"
	".long vgpu_trace_door - .\n.popsection\n");
#define shared (vgpu_trace_door.shared)

#ifdef TRACE_SHARED
/* In libcuda: the one that the other libraries use too. */
struct trace_shared *vgpuTraceShared(void)
{
	return &own;
}
#endif

static void *self_relative(const int32_t *at)
{
	return (void *)((uintptr_t)at + (uintptr_t)(intptr_t)*at);
}

/* Turns the slots that the filter names to their wrappers; NULL: all back to their bodies. Other threads may be calling. */
static int turn(const char *filter)
{
	const char *desc = vgpu_trace_descriptions;
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t first = (uintptr_t)vgpu_trace_slots & ~(page - 1);
	uintptr_t last = ((uintptr_t)(vgpu_trace_slots + vgpu_trace_calls) + page - 1) & ~(page - 1);

	/* the table is behind RELRO, where a stray pointer cannot turn it */
	if (mprotect((void *)first, last - first, PROT_READ | PROT_WRITE))
		return -errno;
	for (unsigned i = 0; i < vgpu_trace_calls; i++, desc += strlen(desc) + 1) {
		char name[96];
		size_t n = strcspn(desc, "(-");

		if (!filter)
			__atomic_store_n(&vgpu_trace_slots[i], self_relative(&vgpu_trace_bodies[i]), __ATOMIC_RELAXED);
		if (!filter || !vgpu_trace_wrappers[i] || n >= sizeof(name))
			continue;
		memcpy(name, desc, n);
		name[n] = 0;
		if (trace_matches(filter, name))
			__atomic_store_n(&vgpu_trace_slots[i], self_relative(&vgpu_trace_wrappers[i]), __ATOMIC_RELAXED);
	}
	mprotect((void *)first, last - first, PROT_READ);
	return 0;
}

__attribute__((constructor)) static void trace_start(void)
{
	const char *to = getenv("VGPU_TRACE"), *filter = getenv("VGPU_TRACE_FILTER");
	int err;

	vgpu_trace_door.calls = vgpu_trace_calls;
#ifndef TRACE_SHARED
	if (vgpuTraceShared && vgpuTraceShared() && vgpuTraceShared()->version == TRACE_VERSION)
		shared = vgpuTraceShared();
#endif
	if (atomic_load(&shared->attached) && atomic_load(&shared->over) != atomic_load(&shared->attached)) {
		/* loaded by a program that is traced since it ran */
		to = shared->to;
		filter = shared->filter;
	}
	/* a program with raised rights writes where its caller says under no condition */
	if (!to || !*to || getauxval(AT_SECURE))
		return;
	if (!filter)
		filter = "";
	shared->flags |= (trace_has_word(filter, "top") ? TRACE_TOP : 0u) | (trace_has_word(filter, "errors") ? TRACE_ERRORS : 0u) |
			 (trace_has_word(filter, "callers") ? TRACE_ERRORS | TRACE_CALLERS : 0u);
	err = turn(filter);
	if (err)
		fprintf(stderr, "vgpu trace: cannot trace: %s\n", strerror(-err));
}

/* Nobody reads session n any more: this library's calls are as before. A thread that is inside a wrapper goes on to its end. */
static void turn_back(uint32_t n)
{
	uint32_t off = 0;

	if (!atomic_compare_exchange_strong(&vgpu_trace_door.turning, &off, 1))
		return;
	/* from here on nobody attaches */
	if (atomic_load(&shared->attached) == n) {
		atomic_store(&shared->over, n);
		turn(NULL);
	}
	atomic_store(&vgpu_trace_door.turning, 0);
}

/* ---- destination -------------------------------------------------------------------------------- */

static int open_socket(const char *dir)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd;

	if ((size_t)snprintf(a.sun_path, sizeof(a.sun_path), "%s/lines", dir) >= sizeof(a.sun_path) || access(a.sun_path, F_OK))
		return -1;
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd >= 0 && connect(fd, (void *)&a, sizeof(a))) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* In the place of the one before, which a call in progress may still write to. */
static struct trace_page *open_page(const char *dir, uint32_t pid, struct trace_page *before)
{
	char path[512];
	struct trace_page *p;
	int fd, comm;
	ssize_t n;

	if ((size_t)snprintf(path, sizeof(path), "%s/%u", dir, pid) >= sizeof(path))
		return NULL;
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0 && errno == EEXIST)          /* an exec kept the pid: the counts go on */
		fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return NULL;
	p = ftruncate(fd, sizeof(*p)) ? MAP_FAILED : mmap(before, sizeof(*p), PROT_READ | PROT_WRITE, MAP_SHARED | (before ? MAP_FIXED : 0), fd, 0);
	close(fd);
	if (p == MAP_FAILED)
		return NULL;
	p->pid = pid;
	comm = open("/proc/self/comm", O_RDONLY | O_CLOEXEC);
	n = comm < 0 ? 0 : read(comm, p->comm, sizeof(p->comm) - 1);
	p->comm[n > 0 && p->comm[n - 1] == '\n' ? n - 1 : 0] = 0;
	if (comm >= 0)
		close(comm);
	for (unsigned i = 0; i < TRACE_FLIGHTS; i++) {
		atomic_store_explicit(&p->flight[i].tid, 0, memory_order_relaxed);
		atomic_store_explicit(&p->flight[i].since_ns, 0, memory_order_relaxed);
	}
	/* pairs with the reader's acquire: what stands above is there */
	atomic_store_explicit(&p->magic, TRACE_MAGIC, memory_order_release);
	return p;
}

/* The kernel's number of a socket, by which it is known again (SO_COOKIE); 0: it is none. */
static uint64_t cookie_of(int fd)
{
	uint64_t cookie = 0;
	socklen_t n = sizeof(cookie);

	return fd < 0 || getsockopt(fd, SOL_SOCKET, 57, &cookie, &n) ? 0 : cookie;
}

static void open_folder(struct trace_shared *s, const char *dir, uint32_t pid)
{
	struct trace_page *p = open_page(dir, pid, s->page);
	int fd = open_socket(dir), was = s->socket ? s->fd : -1;

	/* of another trace, and still ours: in its place, for a thread may be about to write to it */
	if (fd >= 0 && s->cookie && cookie_of(was) == s->cookie && dup3(fd, was, O_CLOEXEC) == was) {
		close(fd);
		fd = was;
	}
	s->cookie = cookie_of(fd);
	s->socket = 1;
	s->page = p;
	s->fd = fd;
}

static void open_destination(struct trace_shared *s, uint32_t pid)
{
	const char *to = getenv("VGPU_TRACE"), *mark;
	char path[512];
	int dir;

	if (atomic_load(&s->attached)) {
		open_folder(s, s->to, pid);
		return;
	}
	s->fd = -1;
	s->socket = 0;
	if (!to)
		return;
	if (!strcmp(to, "-")) {
		s->fd = STDERR_FILENO;
	} else if ((dir = open(to, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) >= 0) {
		close(dir);
		open_folder(s, to, pid);
	} else {
		mark = strstr(to, "%p");
		if (mark)
			snprintf(path, sizeof(path), "%.*s%u%s", (int)(mark - to), to, pid, mark + 2);
		else
			snprintf(path, sizeof(path), "%s", to);
		s->fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY, 0600);
		if (s->fd < 0)
			fprintf(stderr, "vgpu trace: %s: %s\n", path, strerror(errno));
	}
}

/* Opened once per process; a child that forked opens its own. */
static void ready(struct trace_shared *s, uint32_t pid)
{
	while (atomic_load_explicit(&s->pid, memory_order_acquire) != pid) {
		uint32_t holder = 0;

		if (!atomic_compare_exchange_strong(&s->lock, &holder, pid)) {
			/* a lock that another process's thread held when it forked is nobody's here */
			if (holder == pid || !atomic_compare_exchange_strong(&s->lock, &holder, pid)) {
				sched_yield();
				continue;
			}
		}
		if (atomic_load_explicit(&s->pid, memory_order_relaxed) != pid) {
			open_destination(s, pid);
			atomic_store_explicit(&s->pid, pid, memory_order_release);
		}
		atomic_store(&s->lock, 0);
	}
}

static void put(struct trace_shared *s, const char *line, size_t n)
{
	ssize_t r;

	if (s->fd < 0)
		return;
	/* one message or one appending write: lines of many threads and processes stay whole */
	do
		r = s->socket ? send(s->fd, line, n, MSG_NOSIGNAL) : write(s->fd, line, n);
	while (r < 0 && errno == EINTR);
	if (r < 0 && s->socket) {       /* nobody reads any more, or the program closed it */
		if (atomic_load(&s->attached))
			atomic_store(&s->over, atomic_load(&s->attached));
		else
			s->fd = -1;
	}
}

/*
 * Attached, and not any more: the session that is over, else 0. The page says so where the reader went in order, else the socket, which is
 * looked at now and then.
 */
static uint32_t over(struct trace_shared *s)
{
	static _Atomic uint32_t turns;
	uint32_t n = atomic_load_explicit(&s->attached, memory_order_relaxed);
	const struct trace_page *p = s->page;
	char c;

	if (!n)
		return 0;
	if (atomic_load_explicit(&s->over, memory_order_relaxed) == n || s->fd < 0 || (p && atomic_load_explicit(&p->stop, memory_order_relaxed)))
		return n;
	return atomic_fetch_add_explicit(&turns, 1, memory_order_relaxed) % 1024 || recv(s->fd, &c, 1, MSG_DONTWAIT | MSG_PEEK) ? 0 : n;
}

/* ---- one call ------------------------------------------------------------------------------------- */

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static struct trace_flight *claim_flight(struct trace_page *p, uint32_t tid)
{
	for (unsigned i = 0; i < TRACE_FLIGHTS; i++) {
		uint32_t unused = 0, at = (tid + i) % TRACE_FLIGHTS;
		struct trace_flight *f = &p->flight[at];

		if (atomic_load_explicit(&f->tid, memory_order_relaxed) == tid ||
		    atomic_compare_exchange_strong(&f->tid, &unused, tid))
			return f;
	}
	return NULL;                    /* that many threads: this one is not shown */
}

void trace_put(const char *line, size_t n)
{
	ready(shared, (uint32_t)getpid());
	put(shared, line, n);
}

void trace_enter(struct trace_call *c, const char *desc, const uint64_t *args)
{
	int saved = errno;
	uint32_t pid = (uint32_t)getpid();
	struct trace_thread *t = shared->thread();
	uint16_t session = (uint16_t)atomic_load_explicit(&shared->attached, memory_order_relaxed);

	if (t->pid != pid || t->session != session) {   /* a thread's first call, also in a forked child */
		ready(shared, pid);
		t->pid = pid;
		t->session = session;
		t->tid = (uint32_t)syscall(SYS_gettid);
		t->flight = shared->page ? claim_flight(shared->page, t->tid) : NULL;
		t->depth = 0;
	}
	c->desc = desc;
	c->thread = t;
	c->depth = t->depth++;
	c->start_ns = now_ns();
	if (!c->depth && t->flight) {
		size_t n = strcspn(desc, "(");

		n = n < sizeof(t->flight->name) ? n : sizeof(t->flight->name) - 1;
		memcpy(t->flight->name, desc, n);
		t->flight->name[n] = 0;
		atomic_store_explicit(&t->flight->since_ns, c->start_ns, memory_order_release);
	}
	c->span = vgpu_trace_begin ? vgpu_trace_begin(desc, args) : NULL;
	errno = saved;
}

static struct trace_count *count_of(struct trace_page *p, const char *desc, const char *result, int failed)
{
	size_t n = strcspn(desc, "(");
	uint32_t h = 2166136261u;

	if (n >= sizeof(p->count[0].name))
		n = sizeof(p->count[0].name) - 1;
	for (size_t i = 0; i < n; i++)
		h = (h ^ (unsigned char)desc[i]) * 16777619u;
	for (const char *r = failed ? result : ""; *r; r++)
		h = (h ^ (unsigned char)*r) * 16777619u;
	for (unsigned i = 0; i < TRACE_COUNTS; i++) {
		struct trace_count *k = &p->count[(h + i) % TRACE_COUNTS];
		uint32_t state = atomic_load_explicit(&k->state, memory_order_acquire);

		if (state == TRACE_FREE && atomic_compare_exchange_strong(&k->state, &state, TRACE_CLAIMED)) {
			memcpy(k->name, desc, n);
			k->name[n] = 0;
			snprintf(k->result, sizeof(k->result), "%s", failed ? result : "");
			k->error = failed;
			atomic_store_explicit(&k->state, TRACE_READY, memory_order_release);
			return k;
		}
		while (state == TRACE_CLAIMED) {        /* another thread is writing the name */
			sched_yield();
			state = atomic_load_explicit(&k->state, memory_order_acquire);
		}
		if (!strncmp(k->name, desc, n) && !k->name[n] && !strcmp(k->result, failed ? result : ""))
			return k;
	}
	return NULL;
}

static void count(struct trace_page *p, const struct trace_call *c, const char *result, int failed, uint64_t ns)
{
	struct trace_count *k = count_of(p, c->desc, result, failed);
	uint64_t max;

	if (!k) {
		atomic_fetch_add_explicit(&p->lost, 1, memory_order_relaxed);
		return;
	}
	atomic_fetch_add_explicit(c->depth ? &k->inner : &k->calls, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&k->ns, ns, memory_order_relaxed);
	max = atomic_load_explicit(&k->max_ns, memory_order_relaxed);
	while (ns > max && !atomic_compare_exchange_weak(&k->max_ns, &max, ns))
		;
}

/* "PID/TID START ..name(arguments) = RESULT <SECONDS>": start on CLOCK_MONOTONIC, two dots for each call around it. */
static void line(const struct trace_call *c, const uint64_t *args, const char *result, int failed, uint64_t ns)
{
	char buf[LINE_BYTES];
	/* room for what must stand at the end, whatever the arguments take */
	struct text t = { buf, buf + sizeof(buf) - 128 };

	text_add(&t, "%u/%u %llu.%09llu ", c->thread->pid, c->thread->tid, (unsigned long long)(c->start_ns / 1000000000u),
		 (unsigned long long)(c->start_ns % 1000000000u));
	for (uint32_t i = 0; i < c->depth && i < 16; i++)
		text_add(&t, "..");
	trace_arguments(&t, c->desc, args, failed);
	t.end = buf + sizeof(buf);
	text_add(&t, " = %s <%llu.%09llu>\n", result, (unsigned long long)(ns / 1000000000u), (unsigned long long)(ns % 1000000000u));
	put(shared, buf, (size_t)(t.at - buf));
}

/* For vgpu run --memcheck: "E PID NAME RESULT NUMBER TEXT FRAME...", tabs between. Who fails for ever is told without its callers then. */
static void failure(const struct trace_call *c, const char *result, int number)
{
	static _Atomic uint32_t told;
	char buf[LINE_BYTES];
	struct text t = { buf, buf + sizeof(buf) - 1 };
	const char *why = vgpu_trace_error ? vgpu_trace_error(number) : "";

	text_add(&t, "E\t%u\t%.*s\t%s\t%d\t%s", c->thread->pid, (int)strcspn(c->desc, "("), c->desc, result, number, why);
	if (shared->callers && atomic_fetch_add_explicit(&told, 1, memory_order_relaxed) < MOST_CALLERS)
		t.at += shared->callers(t.at, (size_t)(t.end - t.at));
	*t.at++ = '\n';
	put(shared, buf, (size_t)(t.at - buf));
}

void trace_leave(struct trace_call *c, uint64_t result, const uint64_t *args)
{
	int saved = errno, failed = 0;
	uint64_t ns = now_ns() - c->start_ns;
	struct trace_page *page = shared->page;
	const char *text;
	uint32_t ended;
	char buf[64];

	c->thread->depth = c->depth;
	if (!c->depth && c->thread->flight)
		atomic_store_explicit(&c->thread->flight->since_ns, 0, memory_order_release);
	if (vgpu_trace_end)
		vgpu_trace_end(c->span, result != 0);
	if (c->depth && shared->flags & TRACE_TOP) {
		errno = saved;
		return;
	}
	text = trace_result(c->desc, result, buf, &failed);
	if (shared->flags & TRACE_CALLERS) {
		if (failed)
			failure(c, text, (int)result);
	} else if (failed || !(shared->flags & TRACE_ERRORS)) {
		if (page)
			count(page, c, text, failed, ns);
		if (shared->fd >= 0)
			line(c, args, text, failed, ns);
	}
	ended = over(shared);
	if (ended)
		turn_back(ended);
	errno = saved;
}
