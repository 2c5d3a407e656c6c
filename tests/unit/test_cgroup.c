/* SPDX-License-Identifier: MIT */
/*
 * The cgroup of a client's contexts: what is written there when contexts come and when one of several goes. The folder is an
 * ordinary one with the kernel's file names; that the kernel then holds processes to it is its own affair.
 *
 * Sources: tests/unit/test_cgroup.c tools/vgpu-stub/cgroup.c      Flags: -D_GNU_SOURCE
 */
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../tools/vgpu-stub/stub.h"

#define MIB (1ull << 20)
#define SEG0 0x1000000000ull

static unsigned failed, checks;
static struct device dev;
static char root[] = "/tmp/vgpu-test-cgroup-XXXXXX";

void log_line(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
	failed++;
}

void log_verbose(const char *fmt, ...) { (void)fmt; }

static void want(const char *what, uint64_t value, uint64_t wanted, int line)
{
	checks++;
	if (value == wanted)
		return;
	failed++;
	printf("FAIL line %d: %s is %llu, want %llu\n", line, what, (unsigned long long)value, (unsigned long long)wanted);
}

static void make_file(const char *folder, const char *name)
{
	char path[200];
	int fd;

	snprintf(path, sizeof(path), "%s/%s%s", root, folder, name);
	fd = open(path, O_WRONLY | O_CREAT, 0644);
	if (fd >= 0)
		close(fd);
}

/* The kernel's file holds what was written last; an ordinary one keeps the tail of a longer text, so it is emptied by the read. */
static uint64_t value(const char *name)
{
	char path[200], text[32] = "";
	FILE *f;

	snprintf(path, sizeof(path), "%s/client-%llx/%s", root, SEG0, name);
	f = fopen(path, "r+");
	if (f && !fgets(text, sizeof(text), f))
		text[0] = 0;
	if (f) {
		if (ftruncate(fileno(f), 0))
			failed++;
		fclose(f);
	}
	return strtoull(text, NULL, 10);
}

static void limits(uint64_t grant, unsigned n, unsigned weight, int line)
{
	want("memory.max", value("memory.max"), grant + n * (dev.config.overhead_bytes + CTX_TABLE_BYTES), line);
	want("pids.max", value("pids.max"), n * (dev.config.cores + 4), line);
	want("cpu.weight", value("cpu.weight"), weight, line);
}

static void enter(uint32_t q, uint64_t grant, uint32_t weight)
{
	struct context *c = &dev.ctx[q];
	int fd;

	c->dev = &dev;
	c->qid = q;
	c->create.seg0_iova = SEG0;
	c->create.memory_limit = grant;
	c->create.weight = weight;
	fd = cgroup_enter(c);
	want("cgroup_enter's descriptor is one", fd >= 0, 1, __LINE__);
	if (fd >= 0)
		close(fd);
}

int main(void)
{
	char why[300] = "", path[200];

	if (!mkdtemp(root))
		return 1;
	make_file("", "cgroup.subtree_control");
	snprintf(path, sizeof(path), "%s/client-%llx", root, SEG0);
	mkdir(path, 0755);
	snprintf(path, sizeof(path), "client-%llx/", SEG0);
	make_file(path, "memory.max");
	make_file(path, "pids.max");
	make_file(path, "cpu.weight");
	dev.config.cgroup = root;
	dev.config.cores = 2;
	dev.config.overhead_bytes = 64 * MIB;
	want(why, (uint64_t)cgroup_open(&dev, why, sizeof(why)), 0, __LINE__);

	enter(0, 256 * MIB, 100);
	limits(256 * MIB, 1, 100, __LINE__);
	enter(1, 512 * MIB, 400);
	limits(512 * MIB, 2, 400, __LINE__);
	enter(2, 256 * MIB, 100);
	limits(512 * MIB, 3, 400, __LINE__);
	/* one of three goes, the largest: overhead for two, the grant and weight of those that are left */
	cgroup_leave(&dev.ctx[1]);
	limits(256 * MIB, 2, 100, __LINE__);
	cgroup_leave(&dev.ctx[1]);
	want("memory.max, when it goes again", value("memory.max"), 0, __LINE__);
	cgroup_leave(&dev.ctx[0]);
	limits(256 * MIB, 1, 100, __LINE__);
	/* the last: the group itself goes, which here has files in it and stays */
	cgroup_leave(&dev.ctx[2]);
	want("memory.max, after the last", value("memory.max"), 0, __LINE__);

	snprintf(why, sizeof(why), "rm -rf %s", root);
	if (system(why))
		failed++;
	printf("%u checks, %u failed\n", checks, failed);
	return failed != 0;
}
