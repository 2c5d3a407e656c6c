/* SPDX-License-Identifier: MIT */
/* DMA by message: what is sent, in which order, and what answers of all kinds do; see tools/vgpu-stub/dma_msg.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../../tools/vgpu-stub/dma_msg.h"
#include "../../tools/vgpu-stub/vfu_msg.h"

#include "check.h"

static uint8_t message[VFU_MAX_MESSAGE];
static struct vfu_header h;
static struct vfu_dma_access a;
static int calls, last_error;

static void done(struct device *d, void *arg, int err)
{
	(void)d;
	calls++;
	last_error = err;
	if (arg)        /* a done that asks for more */
		CHECK(dma_msg_write(0x5000, "more", 4, done, NULL) == 0);
}

/* Takes the next message; its length, 0: none. */
static uint32_t next(void)
{
	uint32_t n = dma_msg_next(message, sizeof(message));

	if (n) {
		memcpy(&h, message, sizeof(h));
		memcpy(&a, message + sizeof(h), sizeof(a));
		CHECK(h.bytes == n && h.flags == 0 && dma_msg_awaits(h.id, h.command));
	}
	return n;
}

/* Answers it: data at byte `at`, `bytes` in all. */
static int answer(unsigned at, const char *data, unsigned bytes, uint32_t error)
{
	uint8_t m[256] = { 0 };
	struct vfu_header r = { h.id, h.command, bytes, VFU_FLAG_REPLY | (error ? VFU_FLAG_ERROR : 0), error };

	memcpy(m, &r, sizeof(r));
	if (bytes >= 32)
		memcpy(m + 16, &a, sizeof(a));
	if (data)
		memcpy(m + at, data, strlen(data));
	return dma_msg_answer(NULL, m, bytes);
}

/* A peer that puts data at `at`: reads find it there, and writes go there. */
static void layout(unsigned at)
{
	char got[8] = "";

	CHECK(dma_msg_read(0x1000, got, 8, done, NULL) == 0);
	CHECK(dma_msg_write(0x2000, "abcdefgh", 8, done, NULL) == 0);
	CHECK(next() == 32 && h.command == VFU_DMA_READ && a.iova == 0x1000 && a.count == 8);
	CHECK(next() == 0);                                     /* one at a time */
	CHECK(!dma_msg_awaits((uint16_t)(h.id + 1), h.command) && !dma_msg_awaits(h.id, VFU_DMA_WRITE));
	calls = 0;
	CHECK(answer(at, "12345678", 40, 0) == 0 && calls == 1 && last_error == 0 && !memcmp(got, "12345678", 8));
	CHECK(!dma_msg_awaits(h.id, h.command));
	CHECK(next() == 40 && h.command == VFU_DMA_WRITE && a.iova == 0x2000 && !memcmp(message + at, "abcdefgh", 8));
	CHECK(answer(0, NULL, 16, 0) == 0 && calls == 2 && last_error == 0);
	CHECK(next() == 0);
	dma_msg_forget();
}

static void zeros(void)
{
	char got[8] = "garbage";

	/* a first word of zeros says nothing about the layout; the next answer does */
	CHECK(dma_msg_read(0, got, 4, done, NULL) == 0 && next() == 32 && answer(0, NULL, 36, 0) == 0);
	CHECK(!memcmp(got, "\0\0\0\0", 4));
	CHECK(dma_msg_read(0, got, 4, done, NULL) == 0 && next() == 32 && answer(28, "word", 36, 0) == 0);
	CHECK(!memcmp(got, "word", 4));
	/* known now: zeros do not change it */
	CHECK(dma_msg_read(0, got, 8, done, NULL) == 0 && next() == 32 && answer(32, "tail", 40, 0) == 0);
	CHECK(!memcmp(got, "\0\0\0\0tail", 8));
	dma_msg_forget();
}

static void errors(void)
{
	char got[8] = "keep";

	CHECK(dma_msg_read(0x9000, got, 4, done, NULL) == 0 && next() == 32);
	CHECK(answer(0, NULL, 16, EFAULT) == 0 && last_error == -EFAULT && !memcmp(got, "keep", 4));
	CHECK(dma_msg_write(0x9000, got, 4, done, NULL) == 0 && next() == 36);
	CHECK(answer(0, NULL, 16, 0x80000000u) == 0 && last_error == -EIO);     /* no errno */
	/* an answer that is too short or too long: the caller hangs up, nobody is called */
	calls = 0;
	for (unsigned bytes = 16; bytes < 64; bytes++) {
		if (bytes == 36)
			continue;
		CHECK(dma_msg_read(0x9000, got, 4, done, NULL) == 0 && next() == 32 && answer(0, NULL, bytes, 0) == -EPROTO);
		CHECK(calls == 0 && !memcmp(got, "keep", 4));
	}
	CHECK(dma_msg_read(0, got, VFU_MAX_DATA + 1, done, NULL) == -EINVAL);
	CHECK(dma_msg_write(0, got, VFU_MAX_DATA + 1, done, NULL) == -EINVAL);
	dma_msg_forget();
}

static void drops(void)
{
	char got[4];

	calls = 0;
	/* reset with one message out and one queued: neither is heard of; the answer is still taken */
	CHECK(dma_msg_read(0x1000, got, 4, done, NULL) == 0 && dma_msg_read(0x2000, got, 4, done, NULL) == 0 && next() == 32);
	dma_msg_drop();
	CHECK(next() == 0 && dma_msg_awaits(h.id, h.command));
	CHECK(dma_msg_write(0x3000, "new", 3, done, NULL) == 0);
	CHECK(dma_msg_next(message, sizeof(message)) == 0);     /* in order: not before that answer */
	CHECK(answer(28, "old!", 36, 0) == 0 && calls == 0);
	CHECK(next() == 35 && a.iova == 0x3000 && answer(0, NULL, 16, 0) == 0 && calls == 1);
	/* the peer goes: no answer is awaited from the next one */
	CHECK(dma_msg_read(0x1000, got, 4, done, NULL) == 0 && next() == 32);
	dma_msg_forget();
	CHECK(!dma_msg_awaits(h.id, h.command) && next() == 0 && calls == 1);
	/* a done may queue */
	CHECK(dma_msg_write(0x4000, "x", 1, done, &calls) == 0 && next() == 33 && answer(0, NULL, 16, 0) == 0);
	CHECK(next() == 36 && a.iova == 0x5000 && answer(0, NULL, 16, 0) == 0 && calls == 3 && next() == 0);
	dma_msg_forget();
}

int main(void)
{
	layout(28);
	layout(32);
	zeros();
	errors();
	drops();
	printf("test_dma_msg: %u checks, %u failed\n", checks, failed);
	return failed != 0;
}
