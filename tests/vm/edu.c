/* SPDX-License-Identifier: MIT */
/*
 * Guest: drives QEMU's teaching device (docs/specs/edu) by the agent's own VFIO transport, so that registers,
 * interrupts, mapping and unmapping are checked against a device that is not ours. common.sh runs it.
 *
 *   edu cdev|group        one line per check; 0 if all hold
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "agent.h"

struct agent agent;             /* the transport reads its options */

#define EDU         "1234:11e8"
#define REG_ID      0x00u       /* 0xRRrr00edu */
#define REG_INVERT  0x04u
#define REG_FACT    0x08u
#define REG_STATUS  0x20u       /* bit 0: computing, bit 7: interrupt when done */
#define REG_IRQ     0x24u
#define REG_RAISE   0x60u
#define REG_ACK     0x64u
#define REG_DMA_SRC 0x80u
#define REG_DMA_DST 0x88u
#define REG_DMA_LEN 0x90u
#define REG_DMA_CMD 0x98u       /* 1 start and busy, 2 to memory, 4 interrupt when done */
#define EDU_BUFFER  0x40000u
#define MSI_INDEX   1u
#define CHUNK       4096u

/* Below 4 GiB: the device wants an address in one piece, and kernels before 6.11 split accesses of 8 bytes. */
#define MAPPED  0x10000000u
#define NOWHERE 0x90000000u
#define BYTES   (2ull << 20)

static const struct vfio_ops *ops;
static struct vfio *v;
static int irq, failures;

static void check(int yes, const char *what)
{
	printf("edu: %s: %s\n", what, yes ? "yes" : "NO");
	failures += !yes;
}

static uint32_t get(uint32_t reg)
{
	uint32_t value = 0;

	if (ops->region_read(v, VFIO_PCI_BAR0, reg, &value, 4) < 0)
		return ~0u;
	return value;
}

static int put(uint32_t reg, uint32_t value)
{
	return ops->region_write(v, VFIO_PCI_BAR0, reg, &value, 4);
}

/* 1 if the interrupt came within 30 s; its cause is acknowledged. */
static int interrupted(uint32_t cause)
{
	struct pollfd p = { .fd = irq, .events = POLLIN };
	uint64_t n;

	if (poll(&p, 1, 30000) != 1 || read(irq, &n, 8) != 8 || get(REG_IRQ) != cause)
		return 0;
	return put(REG_ACK, cause) == 0 && get(REG_IRQ) == 0;
}

static int wait_clear(uint32_t reg, uint32_t bit)
{
	for (int i = 0; i < 30000; i++, usleep(1000))
		if (!(get(reg) & bit))
			return 1;
	return 0;
}

/* One transfer, waited for by polling (interrupt = 0) or by interrupt. */
static int dma(uint32_t from, uint32_t to, int to_memory, int interrupt)
{
	if (put(REG_DMA_SRC, from) || put(REG_DMA_DST, to) || put(REG_DMA_LEN, CHUNK) ||
	    put(REG_DMA_CMD, (uint32_t)(1 | (to_memory ? 2 : 0) | (interrupt ? 4 : 0))))
		return 0;
	return interrupt ? interrupted(0x100) : wait_clear(REG_DMA_CMD, 1);
}

static void registers(void)
{
	uint64_t bytes = 0;

	check(ops->region_info(v, VFIO_PCI_BAR0, &bytes) == 0 && bytes == 1 << 20, "BAR0 has 1 MiB");
	check(get(REG_ID) == 0x010000ed, "identity");
	check(put(REG_INVERT, 0x12345678) == 0 && get(REG_INVERT) == ~0x12345678u, "a register inverts what is written");
	check(put(REG_FACT, 10) == 0 && wait_clear(REG_STATUS, 1) && get(REG_FACT) == 3628800, "10! = 3628800");
}

/* The other way to a BAR, which the agent takes for doorbells. */
static void mapped(void)
{
	void *page = NULL;
	volatile uint32_t *reg;

	check(ops->region_map(v, VFIO_PCI_BAR0, 0, 4096, &page) == 0, "BAR0 is mapped");
	if (!page)
		return;
	reg = page;
	reg[REG_INVERT / 4] = 0x55667788;
	check(reg[REG_ID / 4] == 0x010000ed && get(REG_INVERT) == ~0x55667788u, "its registers are there as well");
	check(ops->region_map(v, VFIO_PCI_BAR0, 1 << 20, 4096, &page) == -EINVAL, "no further than it goes");
	check(munmap((void *)(uintptr_t)reg, 4096) == 0, "it is unmapped");
}

static void interrupts(void)
{
	check(put(REG_RAISE, 0x42) == 0 && interrupted(0x42), "MSI by its raise register");
	check(put(REG_STATUS, 0x80) == 0 && put(REG_FACT, 7) == 0 && interrupted(1) && get(REG_FACT) == 5040, "MSI when 7! is done");
}

static void memory(uint8_t *m, int fd)
{
	static const unsigned source = 0, target = 0x10000;
	int same = 1;

	for (unsigned i = 0; i < CHUNK; i++) {
		m[source + i] = (uint8_t)(i * 7 + i / 256);
		m[target + i] = 0xee;
	}
	check(dma(MAPPED + source, EDU_BUFFER, 0, 0), "DMA from memory ends");
	check(dma(EDU_BUFFER, MAPPED + target, 1, 1), "DMA to memory ends with an MSI");
	for (unsigned i = 0; i < CHUNK; i++)
		same &= m[target + i] == (uint8_t)(i * 7 + i / 256);
	check(same && m[target + CHUNK] == 0, "the bytes came round, and no more");

	/* The IOMMU's part: common.sh looks for its faults in the kernel's log. */
	check(dma(EDU_BUFFER, NOWHERE, 1, 0), "DMA where nothing is mapped ends too");
	check(ops->dma_unmap(v, (iova_t){ MAPPED }, BYTES) == 0, "unmap");
	memset(m + target, 0xdd, CHUNK);
	check(dma(EDU_BUFFER, MAPPED + target, 1, 0), "DMA to what was unmapped ends");
	for (unsigned i = 0; i < CHUNK; i++)
		same &= m[target + i] == 0xdd;
	check(same, "and changes nothing");
	check(ops->dma_map(v, (iova_t){ MAPPED }, BYTES, fd, 0, m) == 0, "map again");
	check(dma(EDU_BUFFER, MAPPED + target, 1, 0) && m[target + 1] == 7, "DMA reaches it again");
	check(ops->dma_map(v, (iova_t){ MAPPED }, BYTES, fd, 0, m) == -EEXIST, "a second map of the same address is refused");
}

static int open_it(char *why, size_t bytes)
{
	uint16_t command = 6;   /* memory, bus master */

	return ops->open(EDU, &v, why, bytes) < 0 || ops->region_write(v, VFIO_PCI_CONFIG, 4, &command, 2) < 0 ? -1 : 0;
}

int main(int argc, char **argv)
{
	char why[400] = "";
	struct timespec pause = { 0, 100000000 };
	int fd = (int)syscall(SYS_memfd_create, "edu", 0), rc;
	uint8_t *m = NULL;

	if (argc != 2 || fd < 0 || ftruncate(fd, (off_t)BYTES) < 0)
		return 2;
	agent.opt.vfio = !strcmp(argv[1], "cdev") ? VFIO_WAY_CDEV : VFIO_WAY_GROUP;
	ops = vfio_find(EDU, why, sizeof(why));
	irq = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	m = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (!ops || m == MAP_FAILED || open_it(why, sizeof(why)) < 0) {
		printf("edu: %s\n", why);
		return 1;
	}
	printf("edu: opened by %s at %s\n", ops->way(v), ops->address(v));
	check(ops->irq_set(v, MSI_INDEX, 0, 1, &irq) == 0, "MSI is set up");
	check(ops->dma_map(v, (iova_t){ MAPPED }, BYTES, fd, 0, m) == 0, "2 MiB are mapped");
	registers();
	mapped();
	interrupts();
	memory(m, fd);
	check(ops->reset(v) == 0, "reset");

	/* Nothing keeps it busy: its next owner gets it as soon as the kernel has closed it. */
	ops->close(v);
	for (int i = 0; (rc = open_it(why, sizeof(why))) < 0 && i < 300; i++)
		nanosleep(&pause, NULL);
	check(rc == 0 && get(REG_ID) == 0x010000ed, "it can be opened again");
	printf("edu: %d failures\n", failures);
	return failures != 0;
}
