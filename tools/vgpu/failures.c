/* SPDX-License-Identifier: MIT */
/*
 * vgpu run --memcheck --report-api-errors: the program's calls that failed, told while it runs. The tracing side of the libraries writes a
 * line for each into a file of ours (libcuda-lite/trace/trace.c, failure()); whose names the callers have is looked up here (leaks.c).
 */
#define _GNU_SOURCE
#include "failures.h"
#include "leaks.h"
#include "vgpu.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOST 100
#define NOT_READY 600           /* an answer, not an error: cudaStreamQuery and its like */

int failures_open(struct failures *f, int all)
{
	const char *base = getenv("TMPDIR");
	int fd;

	if (getenv("VGPU_TRACE")) {
		complain("VGPU_TRACE is set: calls cannot be looked at twice");
		return -1;
	}
	if (!base || !*base || strlen(base) + 32 > sizeof(f->path))
		base = "/tmp";
	snprintf(f->path, sizeof(f->path), "%s/vgpu-calls-XXXXXX", base);
	fd = mkostemp(f->path, O_CLOEXEC);
	f->from = fd < 0 ? NULL : fdopen(fd, "re");
	if (!f->from) {
		complain("cannot make a file in %s: %s", base, strerror(errno));
		if (fd < 0)
			f->path[0] = 0;
		else
			close(fd);
		return -1;
	}
	f->most = MOST;
	return setenv("VGPU_TRACE", f->path, 1) || setenv("VGPU_TRACE_FILTER", all ? "driver,runtime,callers" : "driver,runtime,top,callers", 1) ? -1 : 0;
}

static void tell(FILE *to, char *line, int mangled)
{
	char *field[6] = { NULL };

	for (int i = 0; i < 5; i++) {
		field[i] = line;
		line += strcspn(line, "\t");
		if (*line)
			*line++ = 0;
	}
	field[5] = line + strcspn(line, "\t");
	if (*field[5])
		*field[5]++ = 0;
	fprintf(to, "========= Program hit %s (error %s) due to \"%s\" on CUDA API call to %s.\n", field[3], field[4], line, field[2]);
	if (*field[5]) {
		fputs("=========     Saved host backtrace up to driver entry point at error\n", to);
		leaks_frames(to, field[5], mangled);
	}
	fputs("=========\n", to);
}

void failures_tell(struct failures *f, const char *log, int mangled)
{
	char *line = NULL;
	size_t room = 0;
	FILE *to = NULL;
	long at;

	if (!f->path[0])
		return;
	clearerr(f->from);
	while (at = ftell(f->from), getline(&line, &room, f->from) > 0) {
		char *end = strchr(line, '\n');
		int number;

		if (!end) {             /* its end is still to come */
			fseek(f->from, at, SEEK_SET);
			break;
		}
		*end = 0;
		if (sscanf(line, "E\t%*d\t%*[^\t]\t%*[^\t]\t%d\t", &number) != 1 || number == NOT_READY)
			continue;
		f->n++;
		if (f->shown >= f->most)
			continue;
		if (!to)
			to = log ? fopen(log, "ae") : stderr;
		if (!to)
			break;
		f->shown++;
		tell(to, line, mangled);
	}
	free(line);
	if (to)
		log ? fclose(to) : fflush(to);
}

unsigned long long failures_close(struct failures *f, const char *log, int mangled)
{
	FILE *to;

	if (!f->path[0])
		return 0;
	failures_tell(f, log, mangled);
	if (f->n > f->shown && (to = log ? fopen(log, "ae") : stderr) != NULL) {
		fprintf(to, "========= %llu more calls failed\n=========\n", f->n - f->shown);
		if (log)
			fclose(to);
	}
	fclose(f->from);
	unlink(f->path);
	f->path[0] = 0;
	return f->n;
}
