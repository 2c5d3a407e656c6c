/* SPDX-License-Identifier: MIT */
/*
 * Guest: takes the function through kernel VFIO itself and looks at what the device may do to memory: nothing
 * where nothing is mapped (it must say so in the status, and go on), nothing without the bus-master bit, nothing after a
 * reset. owner.sh runs it before the agent starts.
 *
 *   outside 0000:00:05.0
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <linux/vfio.h>

#include "vgpu_client.h"
#include "vgpu_device.h"

#define MAPPED   0x100000000ull         /* 64 KiB: submissions, completions, room for answers */
#define NOWHERE  0x900000000ull
#define BYTES    0x10000ull

static int container, device;
static off_t bar0, config;
static unsigned char *memory;
static unsigned long long next;

static void die(const char *what)
{
	printf("outside: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void reg(unsigned at, unsigned value)
{
	if (pwrite(device, &value, 4, bar0 + at) != 4)
		die("register write");
}

static off_t region(unsigned index)
{
	struct vfio_region_info r = { .argsz = sizeof(r), .index = index };

	if (ioctl(device, VFIO_DEVICE_GET_REGION_INFO, &r) < 0)
		die("region info");
	return (off_t)r.offset;
}

static void own(const char *address)
{
	struct vfio_iommu_type1_dma_map m = { .argsz = sizeof(m), .flags = 3, .iova = MAPPED, .size = BYTES };
	char path[128], target[256];
	unsigned short command = 6;
	ssize_t n;
	int group;

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/iommu_group", address);
	n = readlink(path, target, sizeof(target) - 1);
	if (n < 0)
		die(path);
	target[n] = 0;
	snprintf(path, sizeof(path), "/dev/vfio/%.60s", strrchr(target, '/') + 1);
	container = open("/dev/vfio/vfio", O_RDWR);
	group = open(path, O_RDWR);
	if (container < 0 || group < 0 || ioctl(group, VFIO_GROUP_SET_CONTAINER, &container) < 0 ||
	    ioctl(container, VFIO_SET_IOMMU, VFIO_TYPE1v2_IOMMU) < 0)
		die(path);
	device = ioctl(group, VFIO_GROUP_GET_DEVICE_FD, address);
	if (device < 0)
		die(address);
	memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	m.vaddr = (unsigned long)memory;
	if (memory == MAP_FAILED || ioctl(container, VFIO_IOMMU_MAP_DMA, &m) < 0)
		die("map");
	bar0 = region(VFIO_PCI_BAR0_REGION_INDEX);
	config = region(VFIO_PCI_CONFIG_REGION_INDEX);
	if (ioctl(device, VFIO_DEVICE_RESET) < 0 || pwrite(device, &command, 2, config + 4) != 2)
		die("reset");
}

static void enable(unsigned long long asq)
{
	memset(memory, 0, BYTES);
	next = 0;
	reg(VGPU_REG_ASQ, (unsigned)asq);
	reg(VGPU_REG_ASQ + 4, (unsigned)(asq >> 32));
	reg(VGPU_REG_ACQ, (unsigned)(MAPPED + 0x1000));
	reg(VGPU_REG_ACQ + 4, (unsigned)((MAPPED + 0x1000) >> 32));
	reg(VGPU_REG_CC, VGPU_CC_EN);
}

static unsigned status_register(void)
{
	unsigned v = 0;

	if (pread(device, &v, 4, bar0 + VGPU_REG_CSTS) != 4)
		die("register read");
	return v;
}

static int done_at(unsigned long long n)
{
	struct vgpu_reply *done = (struct vgpu_reply *)(memory + 0x1000 + (n - 1) % VGPU_ADMIN_SLOTS * sizeof(*done));

	return __atomic_load_n(&done->seq, __ATOMIC_ACQUIRE) == (unsigned)n;
}

/* Status of one admin command; -1 when none comes within `ms`. */
static int command_within(int ms, unsigned op, unsigned long long a)
{
	struct vgpu_admin_cmd *slot = (struct vgpu_admin_cmd *)(memory + next % VGPU_ADMIN_SLOTS * sizeof(*slot));
	struct vgpu_reply *done = (struct vgpu_reply *)(memory + 0x1000 + next % VGPU_ADMIN_SLOTS * sizeof(*done));

	next++;
	slot->op = (unsigned short)op;
	slot->a = a;
	__atomic_store_n(&slot->seq, (unsigned)next, __ATOMIC_SEQ_CST);
	reg(VGPU_DOORBELL(0), 1);
	for (int i = 0; i < ms; i++, usleep(1000))
		if (done_at(next))
			return (int)done->status;
	return -1;
}

static int command(unsigned op, unsigned long long a)
{
	return command_within(30000, op, a);
}

static int failures;

static void bus_master(int on)
{
	unsigned short command = on ? 6 : 2;

	if (pwrite(device, &command, 2, config + 4) != 2)
		die("configuration write");
}

static void want(int yes, const char *what, int got)
{
	if (!yes) {
		printf("outside: %s: got %d\n", what, got);
		failures++;
	}
}

static void want_status(int st, int good, const char *what)
{
	want(good ? st == VGPU_ST_OK : st > VGPU_ST_OK, what, st);
}

int main(int argc, char **argv)
{
	struct vgpu_ctx_create create = { .queue_iova = NOWHERE, .seg0_iova = NOWHERE + 0x10000000,
		.span_base = VGPU_SPAN_BASE_DEFAULT, .span_bytes = VGPU_SPAN_BYTES,
		.device_base = VGPU_DEVICE_BASE(VGPU_SPAN_BASE_DEFAULT, 0), .memory_limit = 64 << 20, .weight = 100 };

	if (argc != 2)
		return 2;
	own(argv[1]);
	enable(MAPPED);
	want(status_register() == VGPU_CSTS_RDY, "the device does not become ready", (int)status_register());
	want_status(command(VGPU_ADMIN_IDENTIFY, MAPPED + 0x2000), 1, "IDENTIFY into mapped memory");
	want_status(command(VGPU_ADMIN_IDENTIFY, NOWHERE), 0, "IDENTIFY into unmapped memory is refused");
	want_status(command(VGPU_ADMIN_IDENTIFY, MAPPED + BYTES - 64), 0, "IDENTIFY across the end is refused");
	want_status(command(VGPU_ADMIN_CTX_CREATE, NOWHERE), 0, "CTX_CREATE from unmapped memory is refused");
	memcpy(memory + 0x3000, &create, sizeof(create));
	want_status(command(VGPU_ADMIN_CTX_CREATE, MAPPED + 0x3000), 0, "queues in unmapped memory are refused");
	want_status(command(VGPU_ADMIN_IDENTIFY, MAPPED + 0x2000), 1, "IDENTIFY after all that");

	/* PCI Local Bus 3.0 §6.2.2: without the bit a function may not master the bus. */
	bus_master(0);
	memset(memory + 0x2000, 0, 0x1000);
	want(command_within(300, VGPU_ADMIN_IDENTIFY, MAPPED + 0x2000) == -1 && !memory[0x2000], "no DMA without the bus-master bit", memory[0x2000]);
	bus_master(1);
	for (int i = 0; i < 30000 && !done_at(next); i++)
		usleep(1000);
	want(done_at(next) && memory[0x2000], "what came meanwhile is done when the bit is set", memory[0x2000]);

	/* A command is out when the reset comes: not done later. */
	if (ioctl(device, VFIO_DEVICE_RESET) < 0)
		die("reset");
	want(status_register() == 0, "registers after the reset", (int)status_register());
	memset(memory + 0x1000, 0, 0x2000);
	want(command_within(300, VGPU_ADMIN_IDENTIFY, MAPPED + 0x2000) == -1 && !memory[0x2000], "no DMA after a reset", memory[0x2000]);
	bus_master(1);
	enable(NOWHERE);
	/* It may find that out only when it looks: then it stops being ready. */
	reg(VGPU_DOORBELL(0), 1);
	for (int i = 0; i < 30000 && status_register() == VGPU_CSTS_RDY; i++)
		usleep(1000);
	want(status_register() == VGPU_CSTS_FATAL, "queues of its own in unmapped memory are fatal", (int)status_register());
	printf("outside: %d failures\n", failures);
	return failures != 0;
}
