/* SPDX-License-Identifier: MIT */
/*
 * The agent's answers, from somebody who is none: HELLO, descriptions of devices, any other answer, a farewell in an answer's place,
 * with descriptors that nobody asked for, or fewer. The library's own code reads them (connect.c is included for that, with span.c) from a real
 * socket. What it then holds is in the bounds that all others rely on, every descriptor that it did not take is closed, and no answer
 * is written behind its room.
 *
 * Sources: tests/fuzz/fuzz_answers.c; includes connect.c, span.c
 *
 * Input: messages: descriptors (1 byte), length (2 bytes), the bytes.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../unit/fds.h"
#include "../../libcuda-lite/core/connect.c"
#include "../../libcuda-lite/core/span.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define NEED(x) do { if (!(x)) { fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #x); abort(); } } while (0)

static unsigned byes;

/* What connect.c asks of others. */
void vg_say(const char *fmt, ...) { NEED(fmt && *fmt); }
bool vg_agent_lost(void) { vg.lost = VGPU_ST_AGENT_LOST; return true; }
void vg_agent_silent(uint32_t session) { (void)session; NEED(0); }
void vg_bye(uint32_t session, struct vgpu_msg_bye *m) { (void)session; m->text[sizeof m->text - 1] = 0; byes++; vg.lost = VGPU_ST_AGENT_LOST; }
uint64_t vg_now_ns(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec; }
void vg_backoff(unsigned turn) { (void)turn; }
bool vg_ctx_any(void) { return false; }
uint64_t vg_window_bytes(void) { return 0; }
void vg_window_forget(void) { }
void vg_mem_forget_all(void) { }
void vg_share_forget(void) { }
void vg_holes_watch(int fd, const void *p, uint64_t bytes) { NEED(fd >= 0 && p && bytes); }
void vg_holes_forget(void) { }

static int files[4];    /* a page, segment 0, short, empty */

static void give(int sock, const void *bytes, size_t n, unsigned fds)
{
	union { struct cmsghdr h; char room[CMSG_SPACE(16 * sizeof(int))]; } u;
	struct iovec io = { (void *)(uintptr_t)bytes, n };
	struct msghdr m = { .msg_iov = &io, .msg_iovlen = 1 };
	int list[16];

	for (unsigned i = 0; i < (fds & 15); i++)
		list[i] = files[(i + (fds >> 4)) % 4];
	if (fds & 15) {
		memset(&u, 0, sizeof u);
		m.msg_control = u.room;
		m.msg_controllen = CMSG_SPACE((fds & 15) * sizeof(int));
		u.h.cmsg_level = SOL_SOCKET;
		u.h.cmsg_type = SCM_RIGHTS;
		u.h.cmsg_len = CMSG_LEN((fds & 15) * sizeof(int));
		memcpy(CMSG_DATA(&u.h), list, (fds & 15) * sizeof(int));
	}
	(void)!sendmsg(sock, &m, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void one_answer(unsigned type, size_t room)
{
	struct vgpu_msg_index m = { .h = { type, 0 } };
	uint8_t *r = malloc(room);      /* so that a sanitizer sees its end */
	uint32_t status = vg_request(&m, sizeof m, r, (uint32_t)room, NULL, 0);
	struct vgpu_msg_header *h = (struct vgpu_msg_header *)r;

	NEED(status || (h->type == type && h->bytes <= room));
	free(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void *span;
	int pair[2], rc;
	unsigned before;

	if (!span) {
		static const size_t bytes[4] = { 4096, VGPU_SEG0_BYTES, 100, 0 };

		for (unsigned i = 0; i < 4; i++) {
			files[i] = memfd_create("given", MFD_CLOEXEC);
			NEED(files[i] >= 0 && ftruncate(files[i], (off_t)bytes[i]) == 0);
		}
		span = mmap(NULL, VGPU_SEG0_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		NEED(span != MAP_FAILED);
		setenv("VGPU_AGENT", "/nonexistent/agent", 1);
	}
	before = open_fds();
	NEED(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
	memset(&vg, 0, sizeof vg);
	vg.sock = pair[0];
	vg.pidfd = vg.kick = -1;
	vg.span = (uint64_t)(uintptr_t)span;
	while (size >= 3) {
		size_t n = (size_t)data[1] | (size_t)data[2] << 8;

		n = n < size - 3 ? n : size - 3;
		if (n)
			give(pair[1], data + 3, n, data[0]);
		data += 3 + n;
		size -= 3 + n;
	}
	/* then nothing more: who waits is told that it is over */
	shutdown(pair[1], SHUT_WR);
	rc = hello();
	if (!rc) {
		NEED(vg.seg0 && vg.agent && vg.agent_devices <= VGPU_MAX_DEVICES && vg.pidfd >= 0 && vg.kick >= 0);
		rc = ask_devices();
		NEED(rc || (vg.ndev <= vg.agent_devices && vg.ndev <= VGPU_MAX_DEVICES));
		for (uint32_t i = 0; i < vg.ndev && !rc; i++)
			NEED(memchr(vg.info[i].name, 0, sizeof vg.info[i].name) && vg.map[i] < vg.agent_devices &&
			     memchr(vg.info[i].bus_id, 0, sizeof vg.info[i].bus_id) && memchr(vg.info[i].engine, 0, sizeof vg.info[i].engine));
		one_answer(VGPU_MSG_CTX_CREATE, sizeof(struct vgpu_msg_ctx_r));
		one_answer(VGPU_MSG_STATUS, sizeof(struct vgpu_msg_status_r));
		one_answer(VGPU_MSG_CONTEXTS, sizeof(struct vgpu_msg_contexts_r));
	}
	if (vg.agent)
		munmap((void *)(uintptr_t)vg.agent, VGPU_PAGE);
	if (vg.seg0)
		NEED(mmap(span, VGPU_SEG0_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == span);
	if (vg.pidfd >= 0)
		close(vg.pidfd);
	if (vg.kick >= 0)
		close(vg.kick);
	if (vg.sock >= 0)
		close(vg.sock);
	close(pair[1]);
	NEED(open_fds() == before);
	return 0;
}
