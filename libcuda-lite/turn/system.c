/* SPDX-License-Identifier: MIT */
/* What the audit library needs of the system: see turn.h. */
#define _GNU_SOURCE
#include "turn.h"

#include <fcntl.h>
#include <stdarg.h>
#include <sys/syscall.h>

long sys_call(long number, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long r;

	__asm__ volatile("syscall" : "=a"(r) : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9) : "rcx", "r11", "memory");
	return r;
}

int turn_is_error(long r)
{
	return r < 0 && r >= -4095;
}

/* volatile: or gcc would make them calls of themselves */
void *memcpy(void *to, const void *from, size_t n)
{
	for (size_t i = 0; i < n; i++)
		((volatile char *)to)[i] = ((const char *)from)[i];
	return to;
}

void *memmove(void *to, const void *from, size_t n)
{
	if (to <= from)
		return memcpy(to, from, n);
	while (n--)
		((volatile char *)to)[n] = ((const char *)from)[n];
	return to;
}

void *memset(void *to, int c, size_t n)
{
	for (size_t i = 0; i < n; i++)
		((volatile char *)to)[i] = (char)c;
	return to;
}

int memcmp(const void *a, const void *b, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (((const volatile unsigned char *)a)[i] != ((const unsigned char *)b)[i])
			return ((const unsigned char *)a)[i] < ((const unsigned char *)b)[i] ? -1 : 1;
	return 0;
}

size_t turn_len(const char *s)
{
	size_t n = 0;

	while (((const volatile char *)s)[n])
		n++;
	return n;
}

int turn_same(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return *a == *b;
}

void turn_say(const char *part, ...)
{
	char line[1024] = "vgpu: ";
	size_t n = 6;
	va_list ap;

	va_start(ap, part);
	for (; part; part = va_arg(ap, const char *))
		for (; *part && n < sizeof(line) - 1; part++)
			line[n++] = *part;
	va_end(ap);
	line[n++] = '\n';
	/* One write, as libcuda-lite's lines are; nothing can be done when stderr is closed. */
	sys_call(SYS_write, 2, (long)line, (long)n, 0, 0, 0);
}

/* Calls each() for the pieces of a file that `end` ends, until it answers 1. Pieces of over 4 KiB are passed over. */
static void pieces(const char *path, char end, int (*each)(void *owner, char *s), void *owner)
{
	char buf[4096];
	size_t have = 0;
	int over = 0;
	long fd = sys_call(SYS_open, (long)path, O_RDONLY | O_CLOEXEC, 0, 0, 0, 0), got;

	if (turn_is_error(fd))
		return;
	while ((got = sys_call(SYS_read, fd, (long)(buf + have), (long)(sizeof(buf) - have), 0, 0, 0)) > 0) {
		size_t from = 0;

		have += (size_t)got;
		for (size_t i = 0; i < have; i++) {
			if (buf[i] != end)
				continue;
			buf[i] = 0;
			if (!over && each(owner, buf + from)) {
				sys_call(SYS_close, fd, 0, 0, 0, 0, 0);
				return;
			}
			over = 0;
			from = i + 1;
		}
		have -= from;
		memmove(buf, buf + from, have);
		if (have == sizeof(buf)) {
			over = 1;
			have = 0;
		}
	}
	sys_call(SYS_close, fd, 0, 0, 0, 0, 0);
}

struct place {
	uintptr_t at;
	char *to;
	size_t bytes;
};

static uintptr_t hex(const char **s)
{
	uintptr_t v = 0;

	for (;; (*s)++) {
		if (**s >= '0' && **s <= '9')
			v = v << 4 | (uintptr_t)(**s - '0');
		else if (**s >= 'a' && **s <= 'f')
			v = v << 4 | (uintptr_t)(**s - 'a' + 10);
		else
			return v;
	}
}

/* "first-end rwxp offset device inode   path" */
static int mapping(void *owner, char *line)
{
	struct place *p = owner;
	const char *s = line;
	uintptr_t first = hex(&s), end;
	size_t n = 0;

	s += *s == '-';
	end = hex(&s);
	if (p->at < first || p->at >= end)
		return 0;
	while (*s && *s != '/')
		s++;
	while (s[n] && n + 1 < p->bytes) {
		p->to[n] = s[n];
		n++;
	}
	p->to[s[n] ? 0 : n] = 0;
	return 1;
}

void turn_file_of(const void *at, char *to, size_t bytes)
{
	struct place p = { (uintptr_t)at, to, bytes };

	to[0] = 0;
	pieces("/proc/self/maps", '\n', mapping, &p);
}

static int variable(void *owner, char *s)
{
	static const char name[] = "VGPU_TURN=";

	for (size_t i = 0; i < sizeof(name) - 1; i++)
		if (s[i] != name[i])
			return 0;
	*(char *)owner = s[sizeof(name) - 1];
	return 1;
}

char turn_setting(void)
{
	char value = 0;

	pieces("/proc/self/environ", 0, variable, &value);
	return value;
}
