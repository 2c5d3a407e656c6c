/* SPDX-License-Identifier: MIT */
/*
 * The traced process's side of vgpu trace; linked into each library. trace_start() runs when the library is
 * loaded and does nothing unless VGPU_TRACE is set to
 *
 *   -        lines on stderr
 *   DIR      a folder of vgpu trace: lines to the socket DIR/lines if it is there, counts in DIR/<pid>
 *   FILE     lines appended to FILE; %p stands for the process id
 *
 * VGPU_TRACE_FILTER: see matches(). The destination is opened at the first traced call, in a forked child again.
 * errno stays as the program's call left it. Nothing here allocates or takes a lock of the C library.
 */
#define _GNU_SOURCE
#include "trace.h"
#include "../core/tls.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
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

static struct trace_shared *shared;
static int top_only, errors_only;

/* ---- at load ------------------------------------------------------------------------------------ */

static int in_group(const char *call, const char *group, size_t n)
{
	static const struct { const char *group, *prefix; } groups[] = {
		{ "driver", "cu" }, { "runtime", "cuda" }, { "blas", "cublas" }, { "nvml", "nvml" }, { "nvtx", "nvtx" }, { "runtime", "__cuda" },
	};
	int driver = !strncmp(call, "cu", 2) && call[2] >= 'A' && call[2] <= 'Z';

	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++)
		if (strlen(groups[i].group) == n && !strncmp(group, groups[i].group, n) &&
		    (i ? !strncmp(call, groups[i].prefix, strlen(groups[i].prefix)) : driver))
			return 1;
	return 0;
}

/*
 * A comma-separated list: globs of names (cudaMalloc*), groups (driver, runtime, blas, nvml, nvtx), a "!" before either leaves
 * out what matches. "top" (no calls inside other calls) and "errors" (only calls that fail) stand beside.
 */
static int matches(const char *filter, const char *call)
{
	int yes = 0, any = 0;

	while (*filter) {
		size_t n = strcspn(filter, ",");
		char glob[96];
		int no = *filter == '!';

		if (n > (size_t)no && n - (size_t)no < sizeof(glob)) {
			memcpy(glob, filter + no, n - (size_t)no);
			glob[n - (size_t)no] = 0;
			if (strcmp(glob, "top") && strcmp(glob, "errors")) {
				int hit = in_group(call, glob, strlen(glob)) || !fnmatch(glob, call, 0);

				if (no) {
					if (hit)
						return 0;
				} else {
					any = 1;
					yes |= hit;
				}
			}
		}
		filter += n + (filter[n] == ',');
	}
	return yes || !any;
}

static int has_word(const char *filter, const char *word)
{
	size_t n = strlen(word);

	for (const char *p = strstr(filter, word); p; p = strstr(p + 1, word))
		if ((p == filter || p[-1] == ',') && (!p[n] || p[n] == ','))
			return 1;
	return 0;
}

VGPU_TLS(struct trace_thread, vgpu_trace_self);
VGPU_TLS_HERE(struct trace_thread, vgpu_trace_self);
static struct trace_shared own = { .version = TRACE_VERSION, .thread = vgpu_trace_self_at, .fd = -1 };

#ifdef TRACE_SHARED
/* In libcuda: the one that the other libraries use too. */
struct trace_shared *vgpuTraceShared(void)
{
	return &own;
}
#endif

__attribute__((constructor)) static void trace_start(void)
{
	const char *to = getenv("VGPU_TRACE"), *filter = getenv("VGPU_TRACE_FILTER");
	const char *desc = vgpu_trace_descriptions;
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), first, last;

	/* a program with raised rights writes where its caller says under no condition */
	if (!to || !*to || getauxval(AT_SECURE))
		return;
#ifdef TRACE_SHARED
	shared = &own;
#else
	shared = vgpuTraceShared ? vgpuTraceShared() : &own;
#endif
	if (!shared || shared->version != TRACE_VERSION)
		shared = &own;
	if (!filter)
		filter = "";
	top_only = has_word(filter, "top");
	errors_only = has_word(filter, "errors");
	first = (uintptr_t)vgpu_trace_slots & ~(page - 1);
	last = ((uintptr_t)(vgpu_trace_slots + vgpu_trace_calls) + page - 1) & ~(page - 1);
	/* the table is behind RELRO, where a stray pointer cannot turn it; no other thread calls us yet */
	if (mprotect((void *)first, last - first, PROT_READ | PROT_WRITE)) {
		fprintf(stderr, "vgpu trace: cannot trace: %s\n", strerror(errno));
		return;
	}
	for (unsigned i = 0; i < vgpu_trace_calls; i++, desc += strlen(desc) + 1) {
		char name[96];
		size_t n = strcspn(desc, "(-");

		if (!vgpu_trace_wrappers[i] || n >= sizeof(name))
			continue;
		memcpy(name, desc, n);
		name[n] = 0;
		if (matches(filter, name))
			vgpu_trace_slots[i] = (void *)((uintptr_t)&vgpu_trace_wrappers[i] + (uintptr_t)(intptr_t)vgpu_trace_wrappers[i]);
	}
	mprotect((void *)first, last - first, PROT_READ);
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

static struct trace_page *open_page(const char *dir, uint32_t pid)
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
	p = ftruncate(fd, sizeof(*p)) ? MAP_FAILED : mmap(NULL, sizeof(*p), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
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

static void open_destination(struct trace_shared *s, uint32_t pid)
{
	const char *to = getenv("VGPU_TRACE"), *mark;
	char path[512];
	int dir;

	s->fd = -1;
	s->socket = 0;
	s->page = NULL;
	if (!to)
		return;
	if (!strcmp(to, "-")) {
		s->fd = STDERR_FILENO;
	} else if ((dir = open(to, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) >= 0) {
		close(dir);
		s->page = open_page(to, pid);
		s->fd = open_socket(to);
		s->socket = 1;
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
	if (r < 0 && s->socket)
		s->fd = -1;             /* nobody reads any more, or the program closed it */
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

	if (t->pid != pid) {            /* a thread's first call, also in a forked child */
		ready(shared, pid);
		t->pid = pid;
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

void trace_leave(struct trace_call *c, uint64_t result, const uint64_t *args)
{
	int saved = errno, failed = 0;
	uint64_t ns = now_ns() - c->start_ns;
	const char *text;
	char buf[64];

	c->thread->depth = c->depth;
	if (!c->depth && c->thread->flight)
		atomic_store_explicit(&c->thread->flight->since_ns, 0, memory_order_release);
	if (vgpu_trace_end)
		vgpu_trace_end(c->span, result != 0);
	if (c->depth && top_only) {
		errno = saved;
		return;
	}
	text = trace_result(c->desc, result, buf, &failed);
	if (failed || !errors_only) {
		if (shared->page)
			count(shared->page, c, text, failed, ns);
		if (shared->fd >= 0)
			line(c, args, text, failed, ns);
	}
	errno = saved;
}
