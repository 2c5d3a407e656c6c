/* SPDX-License-Identifier: MIT */
/*
 * Device printf: the device writes formatted text into a ring of the context, we copy it to stdout
 * at synchronization points, at context destruction and at exit, as CUDA does.
 *
 * printf_head is the device's, printf_tail ours; both count bytes for ever.
 */
#include "core.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../fw-protocol/vgpu_dial.h"

/* $VGPU_MEMCHECK_LOG: the memory checker's lines go into that file, the kernel's own stay where they are. NULL: there is none. */
static FILE *checker_log(void)
{
	static FILE *f;
	static bool tried;
	const char *path;

	if (!tried) {
		tried = true;
		path = vgpu_env("VGPU_MEMCHECK_LOG");
		f = path && *path ? fopen(path, "ae") : NULL;
		if (path && *path && !f)
			vg_say("VGPU_MEMCHECK_LOG=%s: %s; its lines stay on standard output", path, strerror(errno));
	}
	return f;
}

/* Whole lines, but for the last one: what the device printed at one time is there as a whole. */
static void put_apart(FILE *log, const char *p, size_t n)
{
	while (n) {
		const char *end = memchr(p, '\n', n);
		size_t k = end ? (size_t)(end - p) + 1 : n;

		fwrite(p, 1, k, k > 9 && !memcmp(p, "=========", 9) ? log : stdout);
		p += k;
		n -= k;
	}
	fflush(log);
}

void vg_printf_drain(struct vg_ctx *c)
{
	const char *ring = (const char *)c->head + VGPU_CTX_PRINTF;
	uint64_t head = vgpu_load_acquire64(&c->head->printf_head);
	uint64_t tail = vgpu_load_relaxed64(&c->head->printf_tail), lost;
	static uint32_t said;

	if (VG_LIKELY(head == tail))
		return;
	vg_lock(&c->print_lock);
	/* Another thread may have printed that, and more: what was read before is old, and written back it would move the tail backwards. */
	head = vgpu_load_acquire64(&c->head->printf_head);
	tail = vgpu_load_relaxed64(&c->head->printf_tail);
	/* A position that makes no sense is not followed: at most one ring's worth is printed. */
	if (head - tail > VGPU_CTX_PRINTF_BYTES)
		tail = head;
	if (VG_UNLIKELY(checker_log() != NULL) && head - tail) {
		size_t n = (size_t)(head - tail), first = VGPU_CTX_PRINTF_BYTES - tail % VGPU_CTX_PRINTF_BYTES;
		char *all = malloc(n);

		if (all) {
			first = first < n ? first : n;
			memcpy(all, ring + tail % VGPU_CTX_PRINTF_BYTES, first);
			memcpy(all + first, ring, n - first);
			put_apart(checker_log(), all, n);
			free(all);
			tail = head;
		}
	}
	while (tail < head) {
		uint64_t at = tail % VGPU_CTX_PRINTF_BYTES, n = VGPU_CTX_PRINTF_BYTES - at;

		if (n > head - tail)
			n = head - tail;
		/* Through stdio: device text keeps its place among the program's own output. */
		fwrite(ring + at, 1, n, stdout);
		tail += n;
	}
	fflush(stdout);
	/* Release: our reads come before the device may write there again. */
	vgpu_store_release64(&c->head->printf_tail, head);
	lost = vgpu_load_relaxed64(&c->head->printf_lost);
	vg_unlock(&c->print_lock);
	if (lost && !__atomic_exchange_n(&said, 1, __ATOMIC_RELAXED))
		vg_say("device printf wrote faster than it could be read: %llu bytes of text were dropped",
		       (unsigned long long)lost);
}

/* Text that arrived without a synchronization before exit is printed; nothing is waited for. */
__attribute__((destructor)) static void drain_at_exit(void)
{
	if (!*vg_alive)
		return;
	for (uint32_t i = 0; i < VGPU_MAX_CONTEXTS; i++) {
		struct vg_ctx *c = vg_ctx_by_number(i);

		if (c)
			vg_printf_drain(c);
	}
}
