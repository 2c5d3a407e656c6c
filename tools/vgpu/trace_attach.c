/* SPDX-License-Identifier: MIT */
/*
 * vgpu trace -p PID: turns the slots of our libraries in a running process to their wrappers, as VGPU_TRACE does at load.
 *
 * A note in each library leads to its door (libcuda-lite/trace/trace_page.h). While all threads are stopped by ptrace(2), for about a
 * millisecond, words are written: where to report, and the slots. No code of ours runs in the process for that, no register changes.
 * Its next traced call connects to us; when we have gone, however we went, its next call turns the slots back.
 */
#define _GNU_SOURCE
#include "trace.h"
#include "../../libcuda-lite/trace/filter.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define DOORS 32u
#define THREADS 4096u
#define CALLS 16384u                    /* of a library, at most */
#define TEXT (1u << 20)                 /* its descriptions */
#define PATIENCE_S 60
#ifndef PTRACE_EVENT_STOP
#define PTRACE_EVENT_STOP 128
#endif

struct door {
	uint64_t at;
	char library[64];
	struct trace_door d;
	struct trace_shared s;
	uint64_t *slot, *want;          /* as they are, as they are to be */
};
struct target {
	pid_t pid;
	unsigned ndoors, nthreads;
	struct door door[DOORS];
	struct { pid_t tid; int sig, stopped; } thread[THREADS];
};

static int get(pid_t pid, void *to, uint64_t from, size_t n)
{
	struct iovec here = { to, n }, there = { (void *)(uintptr_t)from, n };

	return process_vm_readv(pid, &here, 1, &there, 1, 0) == (ssize_t)n ? 0 : -1;
}

/* In words, of a process that is stopped: n is a multiple of eight. */
static int put(pid_t pid, uint64_t to, const void *from, size_t n)
{
	for (size_t i = 0; i < n; i += 8) {
		long w;

		memcpy(&w, (const char *)from + i, 8);
		if (ptrace(PTRACE_POKEDATA, pid, (void *)(uintptr_t)(to + i), (void *)w))
			return -1;
	}
	return 0;
}

static void why_not(pid_t pid, int err)
{
	char line[16] = "";
	FILE *f = fopen("/proc/sys/kernel/yama/ptrace_scope", "re");
	int scope = f && fgets(line, sizeof(line), f) ? atoi(line) : 0;

	if (f)
		fclose(f);
	if (err == ESRCH)
		complain("trace: there is no process %d", (int)pid);
	else if (err == EPERM && scope && geteuid())
		complain("trace: process %d may not be attached to: kernel.yama.ptrace_scope is %d, which lets only root (as for strace -p and gdb -p)",
			 (int)pid, scope);
	else if (err == EPERM)
		complain("trace: process %d may not be attached to: it is another user's, or has a tracer already (TracerPid in /proc/%d/status)", (int)pid,
			 (int)pid);
	else
		complain("trace: process %d: %s", (int)pid, strerror(err));
}

/* ---- doors ------------------------------------------------------------------------------------- */

/* The door's address, of a library whose file begins at `start` in the process; 0: it has none. */
static uint64_t door_of(pid_t pid, uint64_t start)
{
	Elf64_Phdr ph[32];
	Elf64_Ehdr e;
	char note[4096];

	if (get(pid, &e, start, sizeof(e)) || memcmp(e.e_ident, ELFMAG, SELFMAG) || e.e_ident[EI_CLASS] != ELFCLASS64 || e.e_type != ET_DYN ||
	    !e.e_phnum || e.e_phnum > 32 || e.e_phentsize != sizeof(ph[0]) || get(pid, ph, start + e.e_phoff, e.e_phnum * sizeof(ph[0])))
		return 0;
	for (unsigned i = 0; i < e.e_phnum; i++) {
		size_t n = ph[i].p_filesz < sizeof(note) ? ph[i].p_filesz : sizeof(note);

		if (ph[i].p_type != PT_NOTE || get(pid, note, start + ph[i].p_vaddr, n))
			continue;
		for (size_t at = 0; at + sizeof(Elf64_Nhdr) <= n;) {
			Elf64_Nhdr h;
			size_t name = at + sizeof(h), desc, next;
			int32_t far;

			memcpy(&h, note + at, sizeof(h));
			desc = name + (((size_t)h.n_namesz + 3) & ~(size_t)3);
			next = desc + (((size_t)h.n_descsz + 3) & ~(size_t)3);
			if (next > n)
				break;
			if (h.n_type == 1 && h.n_descsz == 4 && h.n_namesz == sizeof(TRACE_NOTE) && !memcmp(note + name, TRACE_NOTE, sizeof(TRACE_NOTE))) {
				memcpy(&far, note + desc, 4);
				return start + ph[i].p_vaddr + desc + (uint64_t)(int64_t)far;
			}
			at = next;
		}
	}
	return 0;
}

static int find_doors(struct target *t)
{
	char path[64], line[4352], name[4096];
	unsigned long start, offset;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)t->pid);
	f = fopen(path, "re");
	if (!f) {
		why_not(t->pid, errno == ENOENT ? ESRCH : errno == EACCES ? EPERM : errno);
		return -1;
	}
	while (fgets(line, sizeof(line), f) && t->ndoors < DOORS) {
		struct door *d = &t->door[t->ndoors];
		const char *base;

		if (sscanf(line, "%lx-%*x r%*s %lx %*s %*s %4095[^\n]", &start, &offset, name) != 3 || offset || name[0] != '/')
			continue;
		d->at = door_of(t->pid, start);
		if (!d->at)
			continue;
		base = strrchr(name, '/') + 1;
		snprintf(d->library, sizeof(d->library), "%.63s", base);
		t->ndoors++;
	}
	fclose(f);
	return 0;
}

/* What the slots are to be, by the filter. All of it is read of the process: a stranger's bytes. */
static int plan(struct target *t, struct door *d, const char *filter)
{
	uint64_t bodies = (uintptr_t)d->d.bodies, wrappers = (uintptr_t)d->d.wrappers, text = (uintptr_t)d->d.descriptions;
	uint32_t n = d->d.calls;
	int32_t *b = calloc(n, 4), *w = calloc(n, 4);
	char *desc = calloc(1, TEXT + 1), *p = desc;
	size_t have = 0;
	int bad = 1;

	d->slot = calloc(n, 8);
	d->want = calloc(n, 8);
	if (!b || !w || !desc || !d->slot || !d->want)
		goto out;
	if (get(t->pid, b, bodies, 4ul * n) || get(t->pid, w, wrappers, 4ul * n) || get(t->pid, d->slot, (uintptr_t)d->d.slots, 8ul * n))
		goto out;
	/* page by page: what lies behind its end may not be mapped */
	for (uint32_t ends = 0; ends < n && have < TEXT - 4096;) {
		size_t part = 4096 - (text + have) % 4096;

		if (get(t->pid, desc + have, text + have, part))
			goto out;
		for (size_t i = 0; i < part; i++)
			ends += !desc[have + i];
		have += part;
	}
	for (uint32_t i = 0; i < n; i++, p += strlen(p) + 1) {
		size_t len = strcspn(p, "(-");
		char name[96];

		if (p >= desc + have)
			goto out;
		d->want[i] = bodies + 4ul * i + (uint64_t)(int64_t)b[i];
		if (!w[i] || len >= sizeof(name))
			continue;
		memcpy(name, p, len);
		name[len] = 0;
		if (trace_matches(filter, name))
			d->want[i] = wrappers + 4ul * i + (uint64_t)(int64_t)w[i];
	}
	bad = 0;
out:
	free(b);
	free(w);
	free(desc);
	return bad ? -1 : 0;
}

/* ---- threads -------------------------------------------------------------------------------------- */

static void pause_ms(long ms)
{
	nanosleep(&(struct timespec){ .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 }, NULL);
}

static void go_on(struct target *t)
{
	for (unsigned i = 0; i < t->nthreads; i++)
		if (t->thread[i].stopped)
			ptrace(PTRACE_DETACH, t->thread[i].tid, NULL, (void *)(long)t->thread[i].sig);
	t->nthreads = 0;
}

/* Waits for the stop that was asked for; a signal that came first is delivered when it goes on. 0; -1: it has ended; -2: told. */
static int stopped(struct target *t, unsigned i)
{
	time_t until = time(NULL) + PATIENCE_S;
	int st;

	for (;;) {
		pid_t r = waitpid(t->thread[i].tid, &st, __WALL | WNOHANG);

		if (r == t->thread[i].tid && WIFSTOPPED(st)) {
			t->thread[i].sig = st >> 16 ? 0 : WSTOPSIG(st);
			t->thread[i].stopped = 1;
			return 0;
		}
		if (r < 0 || r == t->thread[i].tid)
			return -1;
		if (time(NULL) > until) {
			complain("trace: thread %d does not stop: it waits in the kernel", (int)t->thread[i].tid);
			return -2;
		}
		pause_ms(1);
	}
}

static int known(const struct target *t, pid_t tid)
{
	for (unsigned i = 0; i < t->nthreads; i++)
		if (t->thread[i].tid == tid)
			return 1;
	return 0;
}

/* All of them, those too that come while we stop others. */
static int stop(struct target *t)
{
	char path[64];
	unsigned more;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)t->pid);
	do {
		DIR *dir = opendir(path);
		struct dirent *e;

		more = 0;
		while (dir && (e = readdir(dir))) {
			pid_t tid = atoi(e->d_name);
			unsigned i = t->nthreads;

			if (tid <= 0 || known(t, tid))
				continue;
			if (i == THREADS) {
				complain("trace: process %d has more than %u threads", (int)t->pid, THREADS);
				closedir(dir);
				return -1;
			}
			if (ptrace(PTRACE_SEIZE, tid, NULL, NULL)) {
				if (errno == ESRCH)
					continue;
				why_not(t->pid, errno);
				closedir(dir);
				return -1;
			}
			t->thread[i].tid = tid;
			t->thread[i].stopped = t->thread[i].sig = 0;
			t->nthreads++;
			more++;
			/* one that has ended meanwhile is none */
			if (!ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) && stopped(t, i) == -2) {
				closedir(dir);
				return -1;
			}
		}
		if (dir)
			closedir(dir);
	} while (more);
	for (unsigned i = 0; i < t->nthreads; i++)
		if (t->thread[i].stopped)
			return 0;
	why_not(t->pid, ESRCH);
	return -1;
}

/* ---- attaching ---------------------------------------------------------------------------------- */

/* 0, 1: one of its threads is about to turn slots by itself, later; -1: told. */
static int look(struct target *t)
{
	for (unsigned i = 0; i < t->ndoors; i++) {
		struct door *d = &t->door[i];

		if (get(t->pid, &d->d, d->at, sizeof(d->d)) || d->d.magic != TRACE_MAGIC || d->d.version != TRACE_VERSION || !d->d.calls || d->d.calls > CALLS ||
		    get(t->pid, &d->s, (uintptr_t)d->d.shared, sizeof(d->s)) || d->s.version != TRACE_VERSION) {
			complain("trace: %s in process %d is of another release of vgpu", d->library, (int)t->pid);
			return -1;
		}
		if (d->d.turning || d->s.lock)
			return 1;
		if (!d->s.attached && (d->s.fd >= 0 || d->s.page)) {
			complain("trace: process %d is traced since it began (VGPU_TRACE)", (int)t->pid);
			return -1;
		}
	}
	return 0;
}

static int write_all(struct target *t, const char *to, const char *filter, uint32_t flags)
{
	pid_t any = 0;

	for (unsigned i = 0; i < t->nthreads && !any; i++)
		any = t->thread[i].stopped ? t->thread[i].tid : 0;
	for (unsigned i = 0; i < t->ndoors; i++) {
		struct door *d = &t->door[i];
		struct trace_shared s = d->s;
		uint64_t at = (uintptr_t)d->d.shared;

		if (plan(t, d, filter)) {
			complain("trace: the calls of %s in process %d cannot be read", d->library, (int)t->pid);
			return -1;
		}
		/* several libraries share one */
		s.attached++;
		s.attached += !s.attached;
		s.flags = flags;
		s.pid = 0;
		memset(s.to, 0, sizeof(s.to));
		memset(s.filter, 0, sizeof(s.filter));
		snprintf(s.to, sizeof(s.to), "%s", to);
		snprintf(s.filter, sizeof(s.filter), "%s", filter);
		if (put(any, at, &s, sizeof(s)))
			goto failed;
	}
	/* the slots last: until then nothing has changed for the program */
	for (unsigned i = 0; i < t->ndoors; i++)
		for (uint32_t k = 0; k < t->door[i].d.calls; k++)
			if (t->door[i].slot[k] != t->door[i].want[k] &&
			    put(any, (uintptr_t)(t->door[i].d.slots + k), &t->door[i].want[k], 8))
				goto failed;
	return 0;
failed:
	complain("trace: cannot write to process %d: %s", (int)t->pid, strerror(errno));
	return -1;
}

int trace_attach(pid_t pid, const char *to, const char *filter, uint32_t flags)
{
	struct target *t = calloc(1, sizeof(*t));
	int rc = -1;

	_Static_assert(sizeof(struct trace_shared) % 8 == 0, "written in words");
	if (!t)
		return -1;
	t->pid = pid;
	flags |= (trace_has_word(filter, "top") ? TRACE_TOP : 0u) | (trace_has_word(filter, "errors") ? TRACE_ERRORS : 0u);
	if (strlen(filter) >= sizeof(t->door[0].s.filter)) {
		complain("trace: -f has more than %zu letters", sizeof(t->door[0].s.filter) - 1);
		goto out;
	}
	if (find_doors(t))
		goto out;
	/* one that works a lot may be at it whenever we look */
	for (unsigned turn = 0; turn < 1000; turn++) {
		rc = stop(t);
		if (!rc && !t->ndoors) {
			complain("trace: process %d has none of our shared libraries: vgpu doctor -p %d says what it uses", (int)pid, (int)pid);
			rc = -1;
		}
		if (!rc)
			rc = look(t);
		if (!rc)
			rc = write_all(t, to, filter, flags);
		go_on(t);
		if (rc <= 0)
			break;
		pause_ms(10);
	}
	if (rc > 0)
		complain("trace: process %d is never at rest", (int)pid);
out:
	for (unsigned i = 0; i < t->ndoors; i++) {
		free(t->door[i].slot);
		free(t->door[i].want);
	}
	free(t);
	return rc ? -1 : 0;
}

/* ---- the folder ------------------------------------------------------------------------------------- */

/* Does it see the files that we see? -1: told why we cannot know. */
static int same_world(pid_t pid)
{
	char path[64];
	struct stat a, b;

	snprintf(path, sizeof(path), "/proc/%d/root", (int)pid);
	if (stat(path, &a)) {
		why_not(pid, errno == ENOENT ? ESRCH : errno == EACCES ? EPERM : errno);
		return -1;
	}
	if (stat("/proc/self/root", &b) || a.st_dev != b.st_dev || a.st_ino != b.st_ino)
		return 0;
	snprintf(path, sizeof(path), "/proc/%d/ns/mnt", (int)pid);
	return !stat(path, &a) && !stat("/proc/self/ns/mnt", &b) && a.st_ino == b.st_ino;
}

int trace_base(pid_t pid, char *base, size_t room)
{
	int same = same_world(pid);

	if (!same)
		snprintf(base, room, "/proc/%d/root/tmp", (int)pid);
	return same < 0 ? -1 : !same;
}

int trace_hand_over(pid_t pid, const char *dir)
{
	char path[128];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	if (stat(path, &st)) {
		why_not(pid, ESRCH);
		return -1;
	}
	if (geteuid() || !st.st_uid)
		return 0;
	snprintf(path, sizeof(path), "%s/lines", dir);
	if (lchown(path, st.st_uid, st.st_gid) || lchown(dir, st.st_uid, st.st_gid)) {
		complain("trace: cannot give %s to user %u: %s", dir, st.st_uid, strerror(errno));
		return -1;
	}
	return 0;
}

/* It is the process's folder: what stands there is opened with care. */
void trace_stop(const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	uint32_t yes = 1;

	while (d && (e = readdir(d))) {
		struct stat st;
		int fd = e->d_name[0] >= '0' && e->d_name[0] <= '9' ? openat(dirfd(d), e->d_name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC) : -1;

		if (fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_nlink == 1 && st.st_size == (off_t)sizeof(struct trace_page) &&
		    pwrite(fd, &yes, sizeof(yes), offsetof(struct trace_page, stop)) < 0)
			complain("trace: %s/%s: %s", dir, e->d_name, strerror(errno));
		if (fd >= 0)
			close(fd);
	}
	if (d)
		closedir(d);
}
