/* SPDX-License-Identifier: MIT */
/*
 * A peer's bytes against the device: parser, dispatch, configuration space, registers, vectors, map
 * table and admin queue. Context processes are stand-ins here (nothing forks); the socket is not there. A model (vfu_model.h)
 * says what each message must be answered and what the tables must be afterwards.
 *
 * Sources: tests/fuzz/fuzz_vfu.c tools/vgpu-stub/vfu_msg.c tools/vgpu-stub/vfu_cmd.c tools/vgpu-stub/pci.c
 *          tools/vgpu-stub/regs.c tools/vgpu-stub/irq.c tools/vgpu-stub/dma.c tools/vgpu-stub/admin.c
 *          tools/vgpu-stub/log.c tools/vgpu-stub/loop.c
 *
 * Input: records of one control byte and a message (header, body as long as the header says, as far as
 * the input goes). Control byte: bit 0 a memfd comes with it, bits 1..2 that many eventfds, bit 3 VERSION
 * counts as said. The input's bytes also lie in the memfd's first page, as admin commands with good
 * sequence words, so that the admin queue gets to see wild ones.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../tools/vgpu-stub/vfu.h"
#include "vfu_model.h"

#define FILE_BYTES 0x40000u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct device dev;
static struct model model;
static int memory_fd, event_fd;
static uint8_t *memory;

/* ---- what is not under test ------------------------------------------------------------------- */
uint32_t ctxproc_create(struct device *d, uint32_t qid, const struct vgpu_ctx_create *create,
			const struct admin_token *token)
{
	struct admin_token t = *token;

	if (d->ctx[qid].state != CTX_FREE)
		return VGPU_ST_BUSY;
	{
		static struct ctx_run run;

		d->ctx[qid].run = &run;        /* a kernel's time limit goes there */
	}
	d->ctx[qid].state = CTX_RUNNING;
	d->ctx[qid].qid = qid;
	d->ctx[qid].create = *create;
	d->live++;
	admin_complete(d, &t, VGPU_ST_OK, 0, 0, 0);
	return VGPU_ST_OK;
}

uint32_t ctxproc_segment(struct context *c, uint64_t iova, uint64_t bytes, uint64_t va,
			 const struct admin_token *token)
{
	struct admin_token t = *token;

	/* Checked by the caller: inside the window. */
	if (va < c->create.span_base || bytes > VGPU_WINDOW_SPAN ||
	    va - c->create.span_base > VGPU_WINDOW_SPAN - bytes)
		abort();
	(void)iova;
	admin_complete(&dev, &t, VGPU_ST_OK, 0, 0, 0);
	return VGPU_ST_OK;
}

void ctxproc_destroy(struct context *c, const struct admin_token *token)
{
	struct admin_token t = *token;

	if (c->state != CTX_FREE)
		dev.live--;
	c->state = CTX_FREE;
	admin_complete(&dev, &t, VGPU_ST_OK, 0, 0, 0);
}

void ctxproc_kill_all(struct device *d)
{
	for (uint32_t q = 0; q < STUB_QUEUES; q++)
		d->ctx[q].state = CTX_FREE;
	d->live = 0;
}

void ctxproc_kill_wait(struct context *c, uint32_t status)
{
	if (c->state != CTX_RUNNING)
		return;
	c->state = CTX_DEAD;
	c->death_status = status;
	dev.live--;
	admin_context_died(&dev, c);
}

int ctxproc_kill_range(struct device *d, uint64_t iova, uint64_t bytes)
{
	/* before the table changes, and only for what the message says */
	NEED(model.kills == 1 && model.kill_iova == iova && model.kill_bytes == bytes);
	model.kills = 2;
	(void)d;
	return 0;
}

void ctxproc_vector_changed(struct device *d, uint32_t qid)
{
	if (qid >= STUB_QUEUES)
		abort();
	(void)d;
}

void cap_set(struct context *c, uint32_t which, uint32_t permille, uint64_t group)
{
	(void)c;
	NEED(which < 3 && permille <= 1000 && group);
}

void ctxproc_set_weight(struct context *c, uint32_t weight)
{
	(void)c;
	(void)weight;
}

void ctxproc_set_run(struct context *c, int run)
{
	(void)c;
	(void)run;
}

/* ---- one input ----------------------------------------------------------------------------------- */
static void set_up(void)
{
	static int done;

	if (done)
		return;
	done = 1;
	log_set_verbose(-1);
	memory_fd = memfd_create("fuzz", 0);
	if (memory_fd < 0 || ftruncate(memory_fd, FILE_BYTES))
		abort();
	memory = mmap(NULL, FILE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, memory_fd, 0);
	event_fd = eventfd(0, EFD_NONBLOCK);
	dev.config.pci_vendor = VGPU_PCI_VENDOR;
	dev.config.pci_device = VGPU_PCI_DEVICE;
	dev.info.memory_bytes = 1 << 30;
	dma_init(&dev.dma);
	pci_init(&dev);
	if (memory == MAP_FAILED || event_fd < 0 || irq_init(&dev) || loop_init() || admin_init(&dev))
		abort();
}

static void plant_commands(const uint8_t *data, size_t size)
{
	memset(memory, 0, FILE_BYTES);
	memcpy(memory, data, size < 4096 ? size : 4096);
	for (uint32_t i = 0; i < VGPU_ADMIN_SLOTS; i++) {
		uint32_t seq = i + 1;

		memcpy(memory + i * 64, &seq, 4);
		/* Most operation numbers are unknown; half of the commands get one that is known. */
		if (memory[i * 64 + 5] & 1) {
			memory[i * 64 + 4] = (uint8_t)(memory[i * 64 + 4] % 8);
			memory[i * 64 + 5] = 0;
		}
	}
}

static void one_message(const uint8_t *msg, size_t bytes, unsigned control, struct vfu_session *s)
{
	static uint8_t out[VFU_MAX_MESSAGE];
	struct vfu_reply reply = { .data = out };
	struct vfu_request r;
	enum model_fd kinds[4];
	int fds[4], malformed = model_malformed(msg, bytes), want;
	uint32_t nfds = 0;

	if (vfu_parse(msg, bytes, &r)) {
		NEED(malformed);
		return;
	}
	NEED(malformed != 1);
	if (control & 1) {
		kinds[nfds] = MODEL_MEMORY;
		fds[nfds++] = dup(memory_fd);
	}
	for (unsigned i = 0; i < (control >> 1 & 3); i++) {
		kinds[nfds] = MODEL_EVENTFD;
		fds[nfds++] = dup(event_fd);
	}
	if (control & 8)
		s->negotiated = 1;
	want = model_message(&model, msg, bytes, s->negotiated, kinds, nfds);
	vfu_execute(&dev, s, &r, fds, nfds, &reply);
	NEED((want == NOT_SAID || reply.error == want) && model.kills != 1);
	if (reply.bytes > VFU_MAX_MESSAGE - 16 || reply.nfds > VFU_REPLY_FDS || reply.error > 0)
		abort();
	for (uint32_t i = 0; i < nfds; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	device_settle(&dev);
	model_compare(&model, &dev);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct vfu_session session = { 0, VFU_REPLY_FDS };
	const uint8_t *p = data, *end = data + size;

	set_up();
	memset(&model, 0, sizeof(model));
	model.file_bytes = FILE_BYTES;
	plant_commands(data, size);
	while (end - p > 17) {
		unsigned control = *p++;
		struct vfu_header h;
		size_t n;
		uint8_t *copy;

		memcpy(&h, p, sizeof(h));
		n = h.bytes;
		if (n < sizeof(h) || n > (size_t)(end - p))
			n = (size_t)(end - p) < 48 ? (size_t)(end - p) : 48;
		/* A copy of just that length: reading beyond it is seen. */
		copy = malloc(n);
		if (!copy)
			break;
		memcpy(copy, p, n);
		((struct vfu_header *)(void *)copy)->bytes = (uint32_t)n;
		((struct vfu_header *)(void *)copy)->flags &= ~VFU_FLAG_TYPE;
		one_message(copy, n, control, &session);
		free(copy);
		p += n;
	}
	/* As when the owner is gone: nothing of it may be left. */
	device_reset(&dev);
	pci_reset(&dev);
	irq_release(&dev);
	dma_unmap_all(&dev.dma);
	if (dev.dma.files || dev.live || dev.csts)
		abort();
	for (uint32_t i = 0; i < STUB_VECTORS; i++)
		if (dev.vector[i] >= 0)
			abort();
	return 0;
}
