/* SPDX-License-Identifier: MIT */
/*
 * Device memory that a program never frees: what was allocated and freed, a line each in the file that $VGPU_LEAK_LOG names, for
 * vgpu to read when the program has ended, however it ended (tools/vgpu/leaks.c). Without that variable a call of these is one look.
 *
 *   A PID ADDRESS BYTES FRAME...       tabs between; a frame is FILE+OFFSET in that file, the innermost first
 *   F PID ADDRESS
 *
 * Where calls that failed are told (libcuda-lite/trace), the callers' frames are written here too.
 */
#include "core.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../fw-protocol/vgpu_dial.h"

#define FRAMES 24
#define LINE 4096

/*
 * glibc's, else that of the compiler's library where C++ has brought it into a static program. They walk by unwind tables, which our own
 * code and most others' have. Without either the caller is all we know.
 */
struct _Unwind_Context;
extern int backtrace(void **frames, int n) __attribute__((weak));
extern int _Unwind_Backtrace(int (*each)(struct _Unwind_Context *, void *), void *owner) __attribute__((weak));
extern uintptr_t _Unwind_GetIP(struct _Unwind_Context *) __attribute__((weak));

struct walk { void **frame; int n; };

static int step(struct _Unwind_Context *c, void *owner)
{
	struct walk *w = owner;

	if (!_Unwind_GetIP(c))
		return 4;               /* behind _start */
	w->frame[w->n++] = (void *)_Unwind_GetIP(c);
	return w->n == FRAMES ? 4 : 0;          /* _URC_NORMAL_STOP, _URC_NO_REASON */
}

static int frames(void **frame)
{
	struct walk w = { frame, 0 };

	if (backtrace)
		return backtrace(frame, FRAMES);
	if (!_Unwind_Backtrace || !_Unwind_GetIP)
		return 1;
	_Unwind_Backtrace(step, &w);
	return w.n;
}

/* -1: nobody asked for it */
static int log_file(void)
{
	static int fd = -2;
	int f = vgpu_load_relaxed32((const uint32_t *)&fd);
	const char *path;

	if (f != -2)
		return f;
	path = vgpu_env("VGPU_LEAK_LOG");
	f = path && *path ? open(path, O_WRONLY | O_APPEND | O_CLOEXEC) : -1;
	if (path && *path && f < 0)
		vg_say("VGPU_LEAK_LOG=%s: %s; memory that is not freed is not told", path, strerror(errno));
	__atomic_store_n(&fd, f, __ATOMIC_RELAXED);
	return f;
}

/* The process's mappings as text, or NULL. */
static char *mappings(void)
{
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	size_t room = 1 << 16, n = 0;
	char *text = fd >= 0 ? malloc(room) : NULL;
	ssize_t k;

	while (text && (k = read(fd, text + n, room - n - 1)) > 0) {
		n += (size_t)k;
		if (room - n < 4096) {
			char *more = realloc(text, room *= 2);

			if (!more) {
				free(text);
				text = NULL;
				break;
			}
			text = more;
		}
	}
	if (fd >= 0)
		close(fd);
	if (text)
		text[n] = 0;
	return text;
}

static int put_frame(char *to, size_t room, const char *maps, uint64_t at)
{
	unsigned long long lo, hi, offset;
	const char *p, *path;
	int skip;

	for (p = maps; p && *p; p += strcspn(p, "\n"), p += *p == '\n') {
		if (sscanf(p, "%llx-%llx %*s %llx %*s %*s%n", &lo, &hi, &offset, &skip) != 3 || at < lo || at >= hi)
			continue;
		path = p + skip + strspn(p + skip, " ");
		if (*path == '/')
			return snprintf(to, room, "\t%.*s+0x%llx", (int)strcspn(path, "\n"), path, at - lo + offset);
		break;
	}
	return snprintf(to, room, "\t?+0x%llx", (unsigned long long)at);
}

/* As many as there is room for; how many bytes. */
static size_t put_frames(char *to, size_t room, const char *maps, void **frame, int n)
{
	size_t len = 0;

	for (int i = 0; i < n; i++) {
		/* a return address is behind the call, which may be another line's or function's */
		int k = put_frame(to + len, room - len, maps, (uint64_t)(uintptr_t)frame[i] - 1);

		if (k < 0 || len + (size_t)k >= room)
			break;
		len += (size_t)k;
	}
	return len;
}

/* Of who calls: tabs and frames. How many bytes. */
size_t vg_leak_callers(char *to, size_t room)
{
	void *frame[FRAMES] = { __builtin_return_address(0) };
	int n = frames(frame);
	char *maps = mappings();
	size_t len = put_frames(to, room, maps, frame, n);

	free(maps);
	return len;
}

static void write_line(int fd, const char *line, size_t n)
{
	if (write(fd, line, n) != (ssize_t)n)
		vg_say("VGPU_LEAK_LOG: %s", strerror(errno));
}

void vg_leak_alloc(uint64_t va, size_t bytes, void *caller)
{
	void *frame[FRAMES] = { caller };
	int fd = log_file(), n;
	char line[LINE], *maps;
	size_t len;

	if (VG_LIKELY(fd < 0))
		return;
	n = frames(frame);
	maps = mappings();
	len = (size_t)snprintf(line, sizeof(line), "A\t%d\t%llx\t%llx", (int)getpid(), (unsigned long long)va, (unsigned long long)bytes);
	len += put_frames(line + len, sizeof(line) - len - 1, maps, frame, n);
	free(maps);
	line[len++] = '\n';
	write_line(fd, line, len);
}

void vg_leak_free(uint64_t va)
{
	int fd = log_file();
	char line[64];

	if (VG_LIKELY(fd < 0))
		return;
	write_line(fd, line, (size_t)snprintf(line, sizeof(line), "F\t%d\t%llx\n", (int)getpid(), (unsigned long long)va));
}
