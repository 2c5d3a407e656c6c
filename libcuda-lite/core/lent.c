/* SPDX-License-Identifier: MIT */
/*
 * Registered memory that this process shares with others: shm_open(3), memfd_create(2), files of a tmpfs, mapped MAP_SHARED. Its pages can
 * change places with none of the window's, as private ones do (adopt.c): the others would lose sight of them. So its file is lent to the
 * device and becomes a part of the window itself; the program's mapping stays as it is.
 *
 * All of the mapping that a registration lies in is lent at once, where the window has room for it: pieces of one file are one segment.
 * Segments are never given back (window.c); what is registered anew is found again.
 *
 * A mapping does not say its file's descriptor. One that the process still has open, the name, and the kernel's own link to it
 * (/proc/self/map_files, for the administrator) are tried, each checked against the mapping.
 */
#include "lent.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

struct run {                            /* mappings of one file, one behind the other */
	uint64_t start, end, offset, dev, inode;
	uint64_t first_end;             /* of the first of them, by whose name the kernel links the file */
	bool read, write;               /* all of them */
	char path[256];
};

static bool parse(const char *line, struct run *m)
{
	unsigned long start, end, offset, inode;
	unsigned major, minor;
	char rd, wr, s;
	int at = 0;

	if (sscanf(line, "%lx-%lx %c%c%*c%c %lx %x:%x %lu %n", &start, &end, &rd, &wr, &s, &offset, &major, &minor, &inode, &at) < 9 || s != 's' || !inode)
		return false;
	*m = (struct run){ .start = start, .end = end, .offset = offset, .dev = makedev(major, minor), .inode = inode, .first_end = end,
			  .read = rd == 'r', .write = wr == 'w' };
	if (at)
		strncat(m->path, line + at, sizeof m->path - 1);
	m->path[strcspn(m->path, "\n")] = 0;
	return true;
}

/* The run that [lo, hi) lies in. */
static bool find_run(uint64_t lo, uint64_t hi, struct run *r)
{
	FILE *f = fopen("/proc/self/maps", "re");
	struct run one;
	char line[512];
	bool any = false;

	while (f && fgets(line, sizeof line, f)) {
		if (!parse(line, &one))
			continue;
		if (any && one.start == r->end && one.dev == r->dev && one.inode == r->inode && one.offset == r->offset + (r->end - r->start)) {
			r->end = one.end;
			r->read &= one.read;
			r->write &= one.write;
		} else if (any && r->end > lo) {
			break;
		} else {
			*r = one;
		}
		any = true;
	}
	if (f)
		fclose(f);
	return any && r->start <= lo && hi <= r->end;
}

static bool is_file(int fd, const struct run *r, uint64_t *bytes)
{
	struct stat st;
	int how = fcntl(fd, F_GETFL);

	if (how < 0 || (how & O_ACCMODE) != O_RDWR || syscall(SYS_fstat, fd, &st) || st.st_dev != r->dev || st.st_ino != r->inode || st.st_size < 0)
		return false;
	*bytes = ((uint64_t)st.st_size + VGPU_PAGE - 1) & ~(VGPU_PAGE - 1);
	return true;
}

/* One of the process's own, again under a number of ours; -1. */
static int open_already(const struct run *r, uint64_t *bytes)
{
	DIR *d = opendir("/proc/self/fd");
	const struct dirent *e;
	int fd = -1;

	while (d && fd < 0 && (e = readdir(d))) {
		char *end;
		long n = strtol(e->d_name, &end, 10);

		if (*end || end == e->d_name || !is_file((int)n, r, bytes))
			continue;
		fd = fcntl((int)n, F_DUPFD_CLOEXEC, 0);
		if (fd >= 0 && !is_file(fd, r, bytes)) {        /* another thread has closed it meanwhile */
			close(fd);
			fd = -1;
		}
	}
	if (d)
		closedir(d);
	return fd;
}

static int by_name(const char *path, const struct run *r, uint64_t *bytes)
{
	int fd = path[0] == '/' ? open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) : -1;

	if (fd >= 0 && !is_file(fd, r, bytes)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static int find_file(const struct run *r, uint64_t *bytes)
{
	char link[64];
	int fd = open_already(r, bytes);

	snprintf(link, sizeof link, "/proc/self/map_files/%llx-%llx", (unsigned long long)r->start, (unsigned long long)r->first_end);
	if (fd < 0)
		fd = by_name(r->path, r, bytes);
	return fd < 0 ? by_name(link, r, bytes) : fd;
}

enum vg_adopt_result vg_lend(uint64_t lo, uint64_t hi, bool read_only, struct vg_lent *out)
{
	struct run r = { 0 };
	uint64_t bytes = 0, first, at;
	uint32_t status = VGPU_ST_OUT_OF_MEMORY;
	int fd;

	if (!find_run(lo, hi, &r))
		return VG_ADOPT_SHARED;
	if (!r.read || (!r.write && !read_only))
		return VG_ADOPT_UNMAPPED;
	first = r.offset + (lo - r.start);
	*out = (struct vg_lent){ .dev = r.dev, .inode = r.inode, .offset = first };
	if (vg_window_lent(out, hi - lo, &at)) {
		out->delta = at - lo;
		return VG_ADOPT_OK;
	}
	if (!(vg.features & VGPU_FEATURE_LENT))
		return VG_ADOPT_AGENT;
	fd = find_file(&r, &bytes);
	if (fd < 0)
		return VG_ADOPT_SHARED;
	if (bytes < first + (hi - lo)) {        /* behind the file's end there is nothing */
		close(fd);
		return VG_ADOPT_UNMAPPED;
	}
	if (r.end - r.start > bytes - r.offset)
		r.end = r.start + (bytes - r.offset);
	out->offset = r.offset;
	status = vg_window_lend(fd, out, r.end - r.start, &at);
	at += lo - r.start;
	if (status == VGPU_ST_OUT_OF_MEMORY) {
		out->offset = first;
		status = vg_window_lend(fd, out, hi - lo, &at);
	}
	close(fd);
	out->offset = first;
	out->delta = at - lo;
	return status == VGPU_ST_OK ? VG_ADOPT_OK : status == VGPU_ST_NOT_SUPPORTED ? VG_ADOPT_SHARED : VG_ADOPT_MEMORY;
}

bool vg_lent_still(uint64_t lo, uint64_t hi, const struct vg_lent *l)
{
	struct run r = { 0 };

	return find_run(lo, hi, &r) && r.dev == l->dev && r.inode == l->inode && r.offset + (lo - r.start) == l->offset;
}
