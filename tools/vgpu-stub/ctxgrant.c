/* SPDX-License-Identifier: MIT */
/*
 * The device's own account of its memory. The agent adds up what its clients have; an agent that does not, or behind QEMU a
 * guest's root in its place, could otherwise have contexts of the device's whole size side by side.
 *
 * Page tables are somebody's as well: an honest context counts its own (ctx_mem.c), of any the kernel says what it has.
 *
 * A context asks before it has more than CTX_SLACK (GRANT); all grants together are no more than the device has. What it
 * then really has is the kernel's word, not its own: RLIMIT_DATA follows the grant for private memory, and the blocks of its
 * physical memory are counted. Called by ctxproc.c.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "stub.h"

#define TABLES_SPARE (64ull << 20)
#define MAPS_LOOK (16ull << 30)         /* of addresses given: so often a context's page tables are looked at */
#define TABLES_NS 50000000ull           /* and not more often than this those of all */

/* Its size is what a context may have there: the seals see to it that fallocate() and a mapping end there. */
static int sized_file(const char *name, uint64_t bytes)
{
	int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd >= 0 && (ftruncate(fd, (off_t)bytes) || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))) {
		close(fd);
		fd = -1;
	}
	return fd;
}

int ctxgrant_files(struct context *c)
{
	c->run_fd = memfd_create("vgpu-run", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (c->run_fd < 0 || ftruncate(c->run_fd, (off_t)VGPU_PAGE))
		return -errno;
	c->run = mmap(NULL, VGPU_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, c->run_fd, 0);
	if (c->run == MAP_FAILED) {
		c->run = NULL;
		return -errno;
	}
	c->run->run = CTX_RUN_GO;
	/* From here on nobody can map it writable any more; our mapping stays. */
	if (fcntl(c->run_fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		return -errno;
	c->phys_fd = sized_file("vgpu-phys", c->create.memory_limit & ~(VGPU_HUGE - 1));
	c->code_fd = sized_file("vgpu-code", CTX_CODE_BYTES);
	return c->phys_fd < 0 || c->code_fd < 0 ? -errno : 0;
}

/* Private memory that is none of the device's: what it maps before it hears a client, and the stated overhead. */
static uint64_t own_bytes(const struct context *c)
{
	return c->dev->config.overhead_bytes + CTX_TABLE_BYTES + (c->dev->config.cores + 1) * CTX_THREAD_BYTES;
}

uint64_t ctxgrant_most(const struct context *c) { return own_bytes(c) + c->create.memory_limit + CTX_SLACK; }
uint64_t ctxgrant_least(const struct context *c) { return own_bytes(c) + CTX_SLACK; }

/* Private memory as RLIMIT_DATA counts it; 0 where the kernel does not say. */
static uint64_t private_bytes(const struct context *c)
{
	unsigned long long pages = 0;
	char path[40];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/statm", c->pid);
	f = fopen(path, "re");
	if (!f)
		return 0;
	if (fscanf(f, "%*u %*u %*u %*u %*u %llu", &pages) != 1)
		pages = 0;
	fclose(f);
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

uint64_t ctxgrant_physical(const struct context *c)
{
	struct stat st;

	return c->phys_fd < 0 || fstat(c->phys_fd, &st) ? 0 : (uint64_t)st.st_blocks * 512;
}

static int limit(const struct context *c, uint64_t granted)
{
#ifdef __SANITIZE_ADDRESS__             /* its shadow alone is terabytes */
	(void)c;
	(void)granted;
	return 0;
#else
	uint64_t least = ctxgrant_least(c);
	struct rlimit r = { 0, ctxgrant_most(c) };

	if (c->dev->config.cuda_library)        /* the driver's own, which it does not tell */
		return 0;
	r.rlim_cur = (c->own.held && c->own.most < least ? c->own.most : least) + granted;
	return prlimit(c->pid, RLIMIT_DATA, &r, NULL);
#endif
}

int ctxgrant_limit(const struct context *c) { return limit(c, c->granted); }

/* VmPTE of proc(5): page tables of all levels. 0 where the kernel does not say. */
static uint64_t table_bytes(const struct context *c)
{
	unsigned long long kib = 0;
	char path[40], line[128];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", c->pid);
	f = fopen(path, "re");
	while (f && !kib && fgets(line, sizeof(line), f))
		sscanf(line, "VmPTE: %llu", &kib);
	if (f)
		fclose(f);
	return kib << 10;
}

/* Those of its window, its code and its own tables on top of what its client may have. */
static uint64_t tables_most(const struct context *c)
{
	uint64_t window = 0;

	for (uint32_t i = 0; i < c->npieces; i++)
		window += c->pieces[i].bytes;
	return CTX_TABLES_MOST(c->dev->config.overhead_bytes, c->granted) + window / 256 + TABLES_SPARE;
}

static void find_tables(struct context *c)
{
	uint64_t has = table_bytes(c), most = tables_most(c);

	c->mapped = 0;
	if (has <= most || c->dev->config.cuda_library)
		return;
	log_line("context %u (pid %d) has %" PRIu64 " MiB of page tables, %" PRIu64 " at most are its; killed", c->qid, c->pid, has >> 20, most >> 20);
	ctxproc_kill(c, VGPU_ST_PROTOCOL);
}

void ctxgrant_maps(struct context *c, uint64_t bytes)
{
	c->mapped += bytes;
	if (c->mapped >= MAPS_LOOK)
		find_tables(c);
}

/*
 * Nobody can forbid it to fill its file, or to touch what it has mapped: whoever has more of that than it was granted is found
 * when memory is asked for, or a context.
 */
void ctxgrant_find_greedy(struct device *d)
{
	uint64_t now = clock_ns();
	int tables = now >= d->tables_ns;

	if (tables)
		d->tables_ns = now + TABLES_NS;
	for (uint32_t q = 0; q < STUB_QUEUES; q++) {
		struct context *c = &d->ctx[q];
		uint64_t has;

		if (c->state != CTX_RUNNING)
			continue;
		if (tables)
			find_tables(c);
		has = ctxgrant_physical(c);
		if (c->state != CTX_RUNNING || has <= c->granted + CTX_SLACK)
			continue;
		log_line("context %u (pid %d) has %" PRIu64 " MiB of physical memory and was granted %" PRIu64 "; killed", q, c->pid, has >> 20,
			 (uint64_t)(c->granted + CTX_SLACK) >> 20);
		ctxproc_kill(c, VGPU_ST_PROTOCOL);
	}
}

/* Is it true that it has no more than that? The limit is there first, so that nothing grows behind our look. */
static int has_given_back(struct context *c, uint64_t granted)
{
	uint64_t has;

	if (limit(c, granted))
		return 0;
	has = private_bytes(c);
#ifdef __SANITIZE_ADDRESS__
	has = 0;
#endif
	if (has + ctxgrant_physical(c) <= ctxgrant_least(c) + granted)
		return 1;
	limit(c, c->granted);
	return 0;
}

static void set(struct context *c, uint64_t granted)
{
	c->dev->granted += granted - c->granted;
	c->granted = granted;
	__atomic_store_n(&c->run->granted, granted, __ATOMIC_RELAXED);
}

void ctxgrant_asked(struct context *c, uint64_t bytes, uint32_t id)
{
	struct device *d = c->dev;
	uint64_t others = d->granted - c->granted;

	ctxgrant_find_greedy(d);
	if (c->state != CTX_RUNNING)
		return;
	if (bytes < c->granted && has_given_back(c, bytes))
		set(c, bytes);
	else if (bytes > c->granted && bytes <= c->create.memory_limit && others <= d->info.memory_bytes &&
		 bytes <= d->info.memory_bytes - others && !limit(c, bytes))
		set(c, bytes);
	else
		log_verbose("context %u: %" PRIu64 " MiB are not granted, %" PRIu64 " of %" PRIu64 " are others'", c->qid, bytes >> 20, others >> 20,
			    d->info.memory_bytes >> 20);
	/* Release: the context's acquire of its id is the partner. */
	if (id)
		__atomic_store_n(&c->run->answered, id, __ATOMIC_RELEASE);
}

void ctxgrant_end(struct context *c)
{
	c->dev->granted -= c->granted;
	c->granted = 0;
}
