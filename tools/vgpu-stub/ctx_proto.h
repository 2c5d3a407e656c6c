/* SPDX-License-Identifier: MIT */
/*
 * Device parent and context process: the bootstrap and the few messages after it.
 *
 * The parent (server side: registers, DMA table, admin queue) spawns one process per context:
 * fork + exec of its own binary, argv {"vgpu-stub", "--context"}, fd 3 = SOCK_SEQPACKET to the
 * parent, nothing else open but 0..2 (null, null, a pipe to the parent). exec gives it an address space of its own.
 *
 *   parent                                   context
 *   INIT + fds {kick, irq, phys, run}  --->  puts its walls up (ctx_walls.c), reserves the span PROT_NONE
 *   MAP x n (queue block, segment 0)   --->  maps, no answer before START
 *   START                              --->  opens the engine (threads), drops everything, seccomp
 *                                      <---  READY + listener fd (seccomp user notification)
 *   RLIMIT_NOFILE := CTX_FDS               (prlimit: lower before, and READY could not carry a descriptor while
 *                                           others of the same user are in flight)
 *   MAP, no fd (segments added later)  --->  mmap of CTX_AT_MAP; the parent sees the call, compares, puts
 *                                      <---  ACK   the file there (NOTIF_ADDFD), lets it go on
 *   UNMAP                              --->  PROT_NONE again
 *                                      <---  ACK
 *                                      <---  GRANT (device memory it needs, or needs no more), answered in the run page
 *   IRQ, no fd (vector re-programmed)  --->  from now on RAISE instead of a write to CTX_AT_IRQ
 *
 * After START an fd number never changes its meaning: no close, no dup, no fd comes in, and
 * read, write, fallocate, sendmsg work only on the numbers CTX_AT_* that are for them. Otherwise a window
 * memfd, mapped for one page, could be written as a whole.
 *
 * The context is counted as hostile from its first instruction after exec: the parent believes nothing it says,
 * waits for it only with a deadline, and kills it at any deviation. mmap of a file is allowed
 * when it is exactly the MAP the parent sent last, or the phys memfd at an address inside the device's span.
 */
#ifndef VGPU_CTX_PROTO_H
#define VGPU_CTX_PROTO_H

#include <stdint.h>

#include "../../fw-protocol/vgpu_client.h"
#include "../../fw-protocol/vgpu_device.h"

#define CTX_LIBRARY_BYTES 256u          /* path of a library of the host's, with its NUL */
#define CTX_SOCKET_FD 3
#define CTX_COUNTS_FD 4                 /* at the start only, and only for vgpu verify: the file of its counts */
#define CTX_QB_VA 0x180000000000ull     /* the queue block in the context: below every span but the low ones */
_Static_assert(VGPU_SPAN_LOW_TO + VGPU_GIB <= CTX_QB_VA, "the queue block lies behind every low span");

enum ctx_msg_type { CTX_INIT = 1, CTX_MAP, CTX_UNMAP, CTX_START, CTX_IRQ,      /* parent -> context */
		    CTX_READY = 100, CTX_ACK, CTX_LOG, CTX_RAISE, CTX_GRANT }; /* context -> parent */

enum { CTX_FD_KICK,     /* eventfd, the parent writes it when the doorbell rings; context sleeps on it */
       CTX_FD_IRQ,      /* eventfd of this queue's MSI-X vector: the context writes 8 bytes of 1 */
       CTX_FD_PHYS,     /* memfd, VMM physical memory: its size is the grant in whole huge pages */
       CTX_FD_RUN,      /* memfd, one page, mapped read-only: struct ctx_run */
       CTX_FD_CODE,     /* memfd, compiled code: CTX_CODE_BYTES, of which the parent sees what is there */
       CTX_INIT_FDS };

/* Where the context keeps its fds once the sandbox is up. The listener is the next free one. */
enum { CTX_AT_KICK = 4, CTX_AT_IRQ, CTX_AT_PHYS, CTX_AT_RUN, CTX_AT_OWN /* its own eventfd */,
       CTX_AT_MAP /* the file of the MAP sent last: placed there by the parent */, CTX_AT_END };

/* Tables of a context, mapped before it hears a client: the stream nodes and payload blocks are most of it (ctx.h). */
#define CTX_TABLE_BYTES (288ull << 20)
#define CTX_THREAD_BYTES (10ull << 20)  /* stacks of an engine thread */
#define CTX_CODE_BYTES (512ull << 20)   /* address space for compiled kernels; pages come with use */

/* What a context may have beyond what it was granted: small ones never ask, and not every allocation does. */
#define CTX_SLACK (16ull << 20)

/* Page tables of what the client has on the device. More than that the context refuses; much more than that ends it (ctxgrant.c). */
#define CTX_TABLES_MOST(overhead, granted) ((overhead) / 4 + (granted) / 128)

#define CTX_FDS (CTX_AT_END + 2u)       /* RLIMIT_NOFILE from READY on: the parent sets it */
#define CTX_EXIT_STUCK 62              /* exit status: a call of the host's driver took longer than --kernel-timeout */
#define CTX_CUDA_FDS 1024u              /* with a driver, which has its own: all above CTX_AT_END, where the listener is */

#define CTX_RUN_GO 1u           /* SET_RUN. Not set: take no new work from the rings */
#define CTX_RUN_HELD 2u         /* others' turn (fair.c): no commands, and no turn of a grid begins. A futex, woken when it goes */

struct ctx_run {
	uint32_t run;           /* CTX_RUN_*; when work may go on: then kick */
	uint32_t messages;      /* incremented after each message sent after START: saves a busy context the recvmsg */
	uint64_t granted;       /* device memory that the parent has set aside for it, CTX_SLACK not counted */
	uint32_t answered;      /* id of the GRANT answered last; granted says how */
	uint32_t kernel_ms;     /* that a kernel may take, beside --kernel-timeout; 0: as long as it likes */
	uint64_t held_ns;       /* in which it was others' turn; first written of these two */
	uint64_t held_since_ns; /* it is now, CLOCK_MONOTONIC; 0: it is not */
	uint32_t rsvd[6];
};
_Static_assert(sizeof(struct ctx_run) == 64, "one line");

struct ctx_msg {
	uint32_t type;
	uint32_t status;        /* READY, ACK: enum vgpu_status */
	union {
		struct ctx_init {
			struct vgpu_ctx_create create;  /* as the agent asked, checked by the parent */
			struct vgpu_device_info device; /* what the engine is to look like */
			uint32_t asym_fence;            /* CC bit: agent and device share a kernel */
			uint32_t cores;                 /* engine threads */
			uint32_t qid;
			uint32_t verbose;
			uint32_t walls, uid;            /* VGPU_WALL_* that must stand; whom to become, 0: stays */
			uint32_t kernel_timeout_s, rsvd;        /* 0: none */
			uint64_t overhead;              /* bytes beside the grant, see struct stub_config */
			uint32_t cuda, cuda_device;     /* the engine: 0 cpu, 1 cuda on that device of the library's */
			char cuda_library[CTX_LIBRARY_BYTES], cublas_library[CTX_LIBRARY_BYTES];        /* the latter empty: none */
		} init;
		struct ctx_map {
			uint64_t va, bytes, offset;     /* page-aligned; mmap(va, MAP_SHARED|MAP_FIXED) */
			uint32_t fd_key;                /* a new key comes with its fd; a known one reuses it */
			uint32_t id;                    /* repeated in ACK */
		} map;
		struct ctx_grant {
			uint64_t bytes;                 /* all in all */
			uint32_t id;                    /* 0: less than before, nobody waits for an answer */
		} grant;
		char log[512];          /* LOG: one line, NUL-terminated */
	} u;
};

#endif
