/* SPDX-License-Identifier: MIT */
/*
 * What contexts have besides their grants, by a kernel of the test's own that says how much that is: who is ended, who gets no more, and
 * who is left alone.
 *
 * Sources: tests/unit/test_ctxown.c      Flags: -D_GNU_SOURCE
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"

static FILE *fake_status(const char *path, const char *mode);
#define fopen fake_status
#include "../../tools/vgpu-stub/ctxown.c"
#undef fopen

#define MIB (1ull << 20)
#define HAS 6

static struct device dev;
static struct { uint64_t maps, has, tables, physical; int silent; } says[HAS];
static uint64_t now_ns, told[HAS];
static int ended[HAS], ends, limits;

static FILE *fake_status(const char *path, const char *mode)
{
	static char text[200];
	int pid;

	if (sscanf(path, "/proc/%d/status", &pid) != 1 || says[pid].silent)
		return NULL;
	snprintf(text, sizeof(text), "Name:\tvgpu-context\nVmPTE:\t%llu kB\nVmData:\t%llu kB\nRssAnon:\t%llu kB\nRssShmem:\t999999999 kB\n",
		 (unsigned long long)says[pid].tables >> 10, (unsigned long long)says[pid].maps >> 10, (unsigned long long)says[pid].has >> 10);
	return fmemopen(text, strlen(text), mode[0] == 'r' ? "r" : mode);
}

uint64_t clock_ns(void) { return now_ns; }
void log_line(const char *f, ...) { (void)f; }
uint64_t ctxgrant_physical(const struct context *c) { return says[c->qid].physical; }

int ctxgrant_limit(const struct context *c)
{
	limits++;
	told[c->qid] = c->own.held ? c->own.most : UINT64_MAX;
	return 0;
}

void ctxproc_kill(struct context *c, uint32_t status)
{
	CHECK(status == VGPU_ST_CONTEXT_DEAD);
	ended[c->qid]++;
	ends++;
	c->state = CTX_DYING;
}

/* Six contexts of as many clients, users and containers, which have nothing. A GiB is there for all. */
static void begin(void)
{
	memset(says, 0, sizeof(says));
	memset(ended, 0, sizeof(ended));
	ends = limits = 0;
	now_ns = 1000000000;
	for (unsigned q = 0; q < HAS; q++)
		if (dev.ctx[q].code_fd > 0)
			close(dev.ctx[q].code_fd);
	memset(&dev, 0, sizeof(dev));
	dev.config.overhead_bytes = 512 * MIB;
	dev.config.overheads_bytes = 1024 * MIB;
	dev.config.cores = 2;
	for (unsigned q = 0; q < STUB_QUEUES; q++)
		dev.ctx[q] = (struct context){ .dev = &dev, .qid = q, .code_fd = -1 };
	for (unsigned q = 0; q < HAS; q++) {
		struct context *c = &dev.ctx[q];

		c->state = CTX_RUNNING;
		c->pid = (int)q;
		c->create.seg0_iova = 0x1000 * (1 + q);
		c->create.user = 10 + q;
		c->create.container = 20 + q;
		c->code_fd = memfd_create("code", 0);
		told[q] = UINT64_MAX;
	}
	dev.live = HAS;
}

static void has(unsigned q, uint64_t mib)
{
	says[q].has = mib * MIB;
	says[q].maps = (mib + 300) * MIB;
}

static void turn(void)
{
	now_ns = ctxown_next(&dev) > now_ns ? ctxown_next(&dev) : now_ns;
	ctxown_turn(&dev);
}

static void test_alone(void)
{
	begin();
	for (unsigned q = 0; q < HAS; q++)
		has(q, 100);
	turn();
	CHECK(ends == 0);
	/* 424 are left of all, and 796 of each one's own: less than its 512 */
	CHECK(told[0] == (400 + 360) * MIB);
	/* what it was granted is not counted: as private memory, as a file, or both */
	begin();
	has(0, 2000);
	dev.ctx[0].granted = 2000 * MIB;
	turn();
	CHECK(ends == 0 && dev.ctx[0].own.bytes == 0);
	begin();
	has(0, 500);
	says[0].physical = 1500 * MIB;
	dev.ctx[0].granted = 1900 * MIB;
	turn();
	CHECK(ends == 0 && dev.ctx[0].own.bytes == 100 * MIB);
}

static void together_in(int group)
{
	static const unsigned most = 1024 / 8 * 7;

	for (unsigned beyond = 0; beyond < 2; beyond++) {
		begin();
		for (unsigned q = 1; q < 4; q++) {
			if (group == CLIENT)
				dev.ctx[q].create.seg0_iova = 0x9000;
			else if (group == USER)
				dev.ctx[q].create.user = 99;
			else
				dev.ctx[q].create.container = 99;
		}
		has(0, 5);
		has(1, 300);
		has(2, most - 300 - 200 + beyond);
		has(3, 200);
		turn();
		CHECK(ends == (int)beyond && ended[2] == (int)beyond);
		/* all of it is taken: none of them gets more, and who is alone does */
		CHECK(beyond || (told[1] == 600 * MIB && told[2] == (says[2].maps) && told[3] == 500 * MIB && told[0] > 400 * MIB));
		/* when the one has gone the others have room again */
		if (beyond) {
			CHECK(told[1] > 900 * MIB || told[1] == UINT64_MAX);
			turn();
			CHECK(ends == 1);
		}
	}
}

/* Nobody has more than his share, all have too much: of those with the most the largest. */
static void test_all(void)
{
	begin();
	has(0, 400);
	has(1, 300);
	dev.ctx[2].create.container = dev.ctx[1].create.container;
	has(2, 200);
	has(3, 150);
	turn();
	CHECK(ends == 1 && ended[1] == 1);
	/* who has little gets more, whatever others have */
	begin();
	has(0, 600);
	has(1, 420);
	has(2, 1);
	turn();
	CHECK(ends == 0 && told[0] == 900 * MIB && told[1] == 720 * MIB && (told[2] == UINT64_MAX || told[2] >= (301 + 127) * MIB));
	/* and everybody the memory that a context begins with */
	begin();
	has(0, 895);
	dev.ctx[1].create.user = dev.ctx[0].create.user;
	has(1, 1);
	says[1].maps = 50 * MIB;
	turn();
	CHECK(ends == 0 && told[1] == CTX_TABLE_BYTES + 3 * CTX_THREAD_BYTES + CTX_SLACK + FEW);
}

/* By an agent that names nobody clients are all there is, and two of nobody's are not one. */
static void test_unnamed(void)
{
	begin();
	for (unsigned q = 0; q < HAS; q++)
		dev.ctx[q].create.user = dev.ctx[q].create.container = 0;
	has(0, 500);
	has(1, 500);
	turn();
	CHECK(ends == 0);
	has(1, 600);
	turn();
	CHECK(ends == 1 && ended[1] == 1);
}

static void test_counts(void)
{
	begin();
	says[0].tables = 30 * MIB;
	CHECK(fallocate(dev.ctx[0].code_fd, 0, 0, (off_t)(20 * MIB)) == 0);
	turn();
	CHECK(dev.ctx[0].own.bytes == 50 * MIB);
	CHECK(fallocate(dev.ctx[0].code_fd, 0, 0, (off_t)(880 * MIB)) == 0);
	turn();
	CHECK(ends == 1 && ended[0] == 1);
	/* one that is at its end says nothing, and is not limited */
	begin();
	has(0, 800);
	says[1].silent = 1;
	turn();
	CHECK(ends == 0 && told[1] == UINT64_MAX);
}

static void test_when(void)
{
	uint64_t at;

	begin();
	dev.live = 0;
	CHECK(ctxown_next(&dev) == 0);
	dev.live = 1;
	CHECK(ctxown_next(&dev) != 0);
	dev.config.cuda_library = "libcuda.so.1";
	CHECK(ctxown_next(&dev) == 0);
	ctxown_turn(&dev);
	CHECK(dev.own_ns == 0);
	dev.config.cuda_library = NULL;
	has(0, 5);
	for (unsigned i = 0; i < 10; i++)
		turn();
	CHECK(ctxown_next(&dev) == now_ns + FAR_NS);
	/* not before its time */
	has(0, 1000);
	ctxown_turn(&dev);
	CHECK(ends == 0);
	at = dev.own_ns;
	has(0, 40);
	now_ns = at;
	ctxown_turn(&dev);
	CHECK(ctxown_next(&dev) == now_ns + NEAR_NS);
	for (unsigned i = 0; i < 10; i++)
		turn();
	has(0, 600);
	for (unsigned i = 0; i < 10; i++)
		turn();
	CHECK(ctxown_next(&dev) == now_ns + NEAR_NS && told[0] < UINT64_MAX);
	/* what is given back is there for it again */
	has(0, 50);
	turn();
	CHECK(told[0] == UINT64_MAX && !dev.ctx[0].own.held);
}

int main(void)
{
	test_alone();
	together_in(CLIENT);
	together_in(USER);
	together_in(CONTAINER);
	test_all();
	test_unnamed();
	test_counts();
	test_when();
	printf("%u checks, %u failed\n", checks, failed);
	return failed != 0;
}
