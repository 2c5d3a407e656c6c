/* SPDX-License-Identifier: MIT */
/*
 * What IDENTIFY answers. Limits are those of the compute capability (CUDA C++ Programming Guide, "Technical
 * Specifications per Compute Capability"), except where the engine gives more; clocks and caches are this
 * machine's, since a program may compute with them.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "engine.h"
#include "stub.h"

struct cc_limits {
	uint32_t major, minor;
	uint32_t threads_per_sm, blocks_per_sm;
	uint32_t shared_per_sm_kib, optin_kib, reserved_bytes;
};

static const struct cc_limits limits[] = {
#define CC(major, minor, threads, blocks, shared, optin, reserved) { major, minor, threads, blocks, shared, optin, reserved },
#include "cc.def"
#undef CC
};

static const struct cc_limits *find(uint32_t major, uint32_t minor)
{
	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
		if (limits[i].major == major && limits[i].minor == minor)
			return &limits[i];
	return NULL;
}

int info_cc_known(uint32_t major, uint32_t minor)
{
	return find(major, minor) != NULL;
}

const char *info_cc_list(void)
{
	static char text[128];
	size_t at = 0;

	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%u.%u", i ? " " : "",
				       limits[i].major, limits[i].minor);
	return text;
}

static uint64_t fnv(const char *s, uint64_t h)
{
	for (; *s; s++)
		h = (h ^ (uint8_t)*s) * 0x100000001b3ull;
	/* Spread the last bytes over the whole word. */
	h ^= h >> 31;
	h *= 0x9e3779b97f4a7c15ull;
	return h ^ h >> 29;
}

/* Same seed, same UUID: it names the device in CUDA_VISIBLE_DEVICES. */
static void make_uuid(uint8_t out[16], const char *seed)
{
	uint64_t a = fnv(seed, 0xcbf29ce484222325ull), b = fnv(seed, a);

	memcpy(out, &a, 8);
	memcpy(out + 8, &b, 8);
	out[6] = (uint8_t)((out[6] & 0x0f) | 0x80);     /* RFC 9562: version 8, own making */
	out[8] = (uint8_t)((out[8] & 0x3f) | 0x80);
}

static uint32_t cpu_khz(void)
{
	FILE *f = fopen("/proc/cpuinfo", "re");
	char line[256];
	double mhz = 0;

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "cpu MHz : %lf", &mhz) == 1)
			break;
	if (f)
		fclose(f);
	return mhz >= 100 && mhz < 100000 ? (uint32_t)(mhz * 1000) : 1000000;
}

void info_fill(struct vgpu_device_info *info, const struct stub_config *c)
{
	const struct cc_limits *l = find(c->cc_major, c->cc_minor);
	long l3 = sysconf(_SC_LEVEL3_CACHE_SIZE);

	memset(info, 0, sizeof(*info));
	snprintf(info->name, sizeof(info->name), "%s", c->name);
	engine_cpu.describe(info->engine, sizeof(info->engine));
	if (c->has_uuid)
		memcpy(info->uuid, c->uuid, sizeof(info->uuid));
	else
		make_uuid(info->uuid, c->seed);
	info->cc_major = c->cc_major;
	info->cc_minor = c->cc_minor;
	info->sm_count = c->sms;
	info->warp_size = 32;
	info->memory_bytes = c->memory_bytes;
	info->max_threads_per_block = 1024;
	info->max_threads_per_sm = l->threads_per_sm;
	info->max_blocks_per_sm = l->blocks_per_sm;
	info->max_block[0] = info->max_block[1] = 1024;
	info->max_block[2] = 64;
	info->max_grid[0] = 0x7fffffff;
	info->max_grid[1] = info->max_grid[2] = 65535;
	info->regs_per_block = info->regs_per_sm = 65536;
	info->shared_per_block = 48 << 10;
	info->shared_per_block_optin = l->optin_kib << 10;
	info->shared_per_sm = l->shared_per_sm_kib << 10;
	info->shared_reserved = l->reserved_bytes;
	info->clock_khz = cpu_khz();
	info->memory_clock_khz = 1600000;       /* DDR4-3200, two channels: a guess that hurts nobody */
	info->memory_bus_bits = 128;
	info->l2_bytes = l3 > 0 && l3 < 1l << 31 ? (uint32_t)l3 : 2u << 20;
	info->pci_vendor = c->pci_vendor;
	info->pci_device = c->pci_device;
	snprintf(info->bus_id, sizeof(info->bus_id), "%s", c->bus_id);
	info->features = VGPU_DEV_FEATURE_COOPERATIVE | VGPU_DEV_FEATURE_VMM | VGPU_DEV_FEATURE_PRIORITY | VGPU_DEV_FEATURE_CLUSTERS |
			 VGPU_DEV_FEATURE_LARGE;
	info->max_contexts = STUB_QUEUES;
	info->cores = c->cores;
}
