/* SPDX-License-Identifier: MIT */
/*
 * Contract 1: client (libcuda-lite) and agent.
 *
 * Cold path: a SOCK_SEQPACKET UNIX socket. One request, one answer, fixed structs, fds passed with
 * SCM_RIGHTS; who the peer is comes from SO_PEERCRED. Everything that creates something with an fd
 * or a process goes here: HELLO, DEVICE, CTX_CREATE, CTX_DESTROY, WINDOW_GROW, WINDOW_OWN, STATUS.
 *
 * Hot path: segment 0 of the client's window, a sealed memfd made by the agent and mapped by client,
 * agent and device. Control calls that need no fd go through its control queue; each context
 * has its own I/O queue there.
 *
 * Address span of a client (the same virtual addresses in client and context process):
 *
 *   span_base                      + 1 TiB                  + 2 TiB
 *   +------------------------------+------------------------+----------- ...
 *   | window: segment 0, 1, 2 ...  | device 0 memory        | device 1
 *   | shared, pinned, managed      | 64 GiB engine's arena, | (PROT_NONE in the client)
 *   | IOVA = window_iova + offset  | then the client's      |
 *   +------------------------------+------------------------+----------- ...
 *
 * The client reserves all of it PROT_NONE before HELLO, so no device pointer is a host pointer.
 *
 * Segment 0 (VGPU_SEG0_BYTES), offsets in bytes; W names the only writer of a line:
 *
 *   0x000000  struct vgpu_session      W: agent, once
 *   0x001000  control queue, 64 slots  W: client
 *   0x002000  replies, 64 x 64 bytes   W: agent (client: waiter only)
 *   0x010000  context 0 .. 7, VGPU_CTX_STRIDE each:
 *     +0x00000  struct vgpu_ctx_head   line by line, see there
 *     +0x01000  printf ring, 60 KiB    W: device
 *     +0x10000  timelines, 1024 x 64   W: device (client: waiter)
 *     +0x20000  I/O queue, 1024 x 64   W: client
 *   0x200000  staging, 2 MiB           W: client and device, as commands say
 */
#ifndef VGPU_CLIENT_H
#define VGPU_CLIENT_H

#include "vgpu_cmd.h"

/* ---- the span ---------------------------------------------------------------------------- */
#define VGPU_TIB (1ull << 40)
#define VGPU_GIB (1ull << 30)
#define VGPU_SPAN_BASE_MIN     0x1c0000000000ull /* the lowest: a client's stand-in has its window below the client's */
#define VGPU_SPAN_BASE_DEFAULT 0x200000000000ull /* free in glibc, musl, ASan and TSan layouts */
/* Linux puts programs that run at any address here, and what they allocate: the context's process, which needs the span too. */
#define VGPU_PROGRAMS_FROM 0x550000000000ull
#define VGPU_PROGRAMS_TO   0x580000000000ull
/*
 * A tool that lays out its process's addresses (ThreadSanitizer, Valgrind) leaves room for a small window low down, and keeps what lies
 * behind it for itself: a client has only the window there, nobody touches devices' addresses in its process. The context has them all.
 */
#define VGPU_SPAN_LOW    0x000400000000ull
#define VGPU_SPAN_LOW_TO 0x170000000000ull       /* where the last one ends: the context has its queue block behind that */
#define VGPU_MAX_DEVICES 8u
#define VGPU_WINDOW_SPAN VGPU_TIB
#define VGPU_DEVICE_SPAN VGPU_TIB
#define VGPU_SPAN_BYTES (VGPU_WINDOW_SPAN + VGPU_MAX_DEVICES * VGPU_DEVICE_SPAN)
#define VGPU_SPAN_FREE(base) ((base) >= VGPU_PROGRAMS_TO || (base) + VGPU_SPAN_BYTES <= VGPU_PROGRAMS_FROM)
#define VGPU_SPAN_IS_LOW(base) ((base) >= VGPU_SPAN_LOW && (base) <= VGPU_SPAN_LOW_TO - VGPU_SPAN_BYTES)
#define VGPU_ARENA_BYTES (64 * VGPU_GIB)         /* first part of a device's span: the engine's */
#define VGPU_DEVICE_BASE(span, dev) ((span) + VGPU_WINDOW_SPAN + (uint64_t)(dev) * VGPU_DEVICE_SPAN)
#define VGPU_PHYS_SPAN VGPU_TIB                  /* offsets of PHYS_ALLOC */
#define VGPU_PAGE 4096ull                        /* granularity of MEM_ALLOC */
#define VGPU_HUGE (2ull << 20)                   /* granularity of segments, PHYS_* and VMM_* */

/* ---- segment 0 --------------------------------------------------------------------------- */
#define VGPU_SEG0_BYTES      0x400000u
#define VGPU_CTLQ_OFFSET     0x001000u
#define VGPU_CTLQ_SLOTS      64u
#define VGPU_REPLY_OFFSET    0x002000u
#define VGPU_REPLIES         64u
#define VGPU_CTX_OFFSET(n)   (0x010000u + (n) * VGPU_CTX_STRIDE)
#define VGPU_CTX_STRIDE      0x030000u
#define VGPU_CTX_PRINTF      0x001000u
#define VGPU_CTX_PRINTF_BYTES 0x00f000u
#define VGPU_CTX_TIMELINES   0x010000u
#define VGPU_CTX_IOQ         0x020000u
#define VGPU_IOQ_SLOTS       1024u
#define VGPU_STAGING_OFFSET  0x200000u
#define VGPU_STAGING_BYTES   0x200000u
_Static_assert(VGPU_CTX_OFFSET(VGPU_MAX_CONTEXTS) <= VGPU_STAGING_OFFSET, "contexts fit");
_Static_assert(VGPU_CTX_TIMELINES + VGPU_MAX_STREAMS * 64u <= VGPU_CTX_IOQ, "timelines fit");
_Static_assert(VGPU_CTX_IOQ + VGPU_IOQ_SLOTS * VGPU_SLOT_BYTES <= VGPU_CTX_STRIDE, "queue fits");

#define VGPU_SESSION_MAGIC 0x55504756u  /* "VGPU" */

struct vgpu_session {
	uint32_t magic, version;        /* magic 0: the agent takes the window back; what was read in it before that look may be gone */
	uint64_t features;
	uint32_t client_id;
	uint32_t rsvd[11];
	/* line 1, W: agent. Slots of the control queue consumed so far. */
	uint64_t ctl_head;
	uint64_t rsvd1[7];
};
_Static_assert(sizeof(struct vgpu_session) == 128, "two lines");

struct vgpu_ctx_head {
	/* line 0, W: agent. I/O slots consumed so far: the room a submitter may use. */
	uint64_t io_head;
	uint64_t rsvd0[7];
	/* line 1, W: device by DMA, or the agent when context or device died. Sticky. */
	uint32_t error;                 /* enum vgpu_status; 0 while the context lives well */
	uint32_t report_bytes;          /* text in report[], valid once error != 0 */
	uint64_t rsvd1[7];
	/* line 2, W: device. Bytes of printf text ever written (ring position). */
	uint64_t printf_head;
	uint64_t printf_lost;           /* bytes dropped because the ring was full */
	uint64_t rsvd2[6];
	/* line 3, W: client. Bytes of printf text ever read. */
	uint64_t printf_tail;
	uint64_t rsvd3[7];
	/* lines 4..19, W: device, before error is set (release). A fault in words, no NUL needed. */
	char report[1024];
};
_Static_assert(sizeof(struct vgpu_ctx_head) == 1280, "lines as drawn");

/* ---- the agent's page: one for all clients, mapped read-only by them ----------------------- */
struct vgpu_agent_page {
	uint32_t magic, version;
	uint32_t need_wakeup;           /* 1: the agent sleeps; write 8 bytes to the kick eventfd */
	uint32_t rsvd[13];
	struct vgpu_agent_device {      /* a line per device */
		uint32_t state;         /* 0 gone, 1 ready */
		uint32_t rsvd;
		uint64_t memory_bytes, memory_used;
		/* As of the last HELLO that was answered: */
		uint64_t busy_ns;       /* of all contexts together; never less than before */
		uint32_t in_flight;     /* contexts whose commands are not all done */
		uint32_t rsvd1;
		uint64_t rsvd2[3];
	} device[VGPU_MAX_DEVICES];
};
_Static_assert(sizeof(struct vgpu_agent_page) == 64 * 9, "a line each");

/* ---- feature words ------------------------------------------------------------------------ */
/*
 * HELLO offers, the answer holds the intersection; an unknown bit offered is ignored, an
 * unknown bit required (upper half) refuses the client.
 */
#define VGPU_FEATURE_ASYM_FENCE 1ull    /* both sides are registered for membarrier(2)
					   GLOBAL_EXPEDITED: the sleeper pays, publishers need no fence */
#define VGPU_FEATURE_OWN_PAGES 2ull     /* the agent knows WINDOW_OWN */
#define VGPU_FEATURE_SHARE 4ull         /* ... and SHARE, SHARED_OPEN, MAP_AT */
#define VGPU_FEATURE_CORE 8ull          /* ... and the control command CORE */
#define VGPU_FEATURE_GATES 16ull        /* ... and GATE, GATES, ALLOT, ALLOTS */
#define VGPU_FEATURE_PRIORITY 32ull     /* ... and VGPU_CMD_PRIORITY */
#define VGPU_FEATURE_CLUSTERS 64ull     /* ... and clusters in a launch's attributes */
#define VGPU_FEATURE_LARGE 128ull       /* ... and LAUNCH_LARGE */
#define VGPU_FEATURE_WORK 256ull        /* ... and WORK, TIMES; ALLOT of everybody, KERNEL_MS, COMPUTE, PRIORITY */
#define VGPU_FEATURE_RUNS 512ull        /* ... and VGPU_CMD_RUN */
#define VGPU_FEATURE_LENT 1024ull       /* ... and WINDOW_LENT */
#define VGPU_FEATURE_STACK 2048ull      /* ... and the control command STACK */

/*
 * Versions: HELLO asks for the client's newest. An agent that is older refuses it and names its own newest; the client then asks for
 * that on a new connection, where it still speaks it. What comes after HELLO is of the agreed version.
 */

/* ---- socket messages ----------------------------------------------------------------------- */
enum vgpu_msg_type {
	VGPU_MSG_HELLO = 1,     /* vgpu_msg_hello -> vgpu_msg_hello_r + fds HELLO_FD_* */
	VGPU_MSG_DEVICE,        /* vgpu_msg_index -> vgpu_msg_device_r */
	VGPU_MSG_CTX_CREATE,    /* vgpu_msg_ctx -> vgpu_msg_ctx_r */
	VGPU_MSG_CTX_DESTROY,   /* vgpu_msg_ctx -> vgpu_msg_status; kills what still runs in it */
	VGPU_MSG_WINDOW_GROW,   /* vgpu_msg_grow -> vgpu_msg_grow_r + 1 fd */
	VGPU_MSG_STATUS,        /* vgpu_msg_index (start) -> vgpu_msg_status_r, clients page by page */
	VGPU_MSG_LOAD,          /* vgpu_msg_index (0) -> vgpu_msg_load_r: how busy devices are */
	VGPU_MSG_CONTEXTS,      /* vgpu_msg_index (start) -> vgpu_msg_contexts_r, page by page */
	VGPU_MSG_CTL,           /* vgpu_msg_ctl -> vgpu_msg_ctl_r: for the administrator */
	VGPU_MSG_BYE,           /* the agent's last word to a client that it drops: vgpu_msg_bye, unasked; then it closes */
	/*
	 * vgpu_msg_grow -> vgpu_msg_grow_r + 1 fd. As WINDOW_GROW, but the segment is of 4 KiB pages that the client fills, and that
	 * the kernel charges to it; the agent never takes them away. For what the process cannot lose: its own memory (cuMemHostRegister).
	 */
	VGPU_MSG_WINDOW_OWN,
	/*
	 * Memory of two processes of one user. SHARE names the segment (of WINDOW_OWN) that holds an offset by a token; SHARED_OPEN gives
	 * the same memory to who knows the token, as a segment of his own window: vgpu_msg_token -> vgpu_msg_grow_r + 1 fd. MAP_AT has a
	 * context map a part of such a segment at an address of its device span too, for good: memory that was device memory before.
	 */
	VGPU_MSG_SHARE,         /* vgpu_msg_grow (bytes: the offset) -> vgpu_msg_share_r */
	VGPU_MSG_SHARED_OPEN,
	VGPU_MSG_MAP_AT,        /* vgpu_msg_map_at -> vgpu_msg_status */
	VGPU_MSG_GATE,          /* vgpu_msg_gate -> vgpu_msg_ctl_r: who is let in, for the administrator */
	VGPU_MSG_GATES,         /* vgpu_msg_index (start) -> vgpu_msg_gates_r, page by page */
	VGPU_MSG_ALLOT,         /* vgpu_msg_allot -> vgpu_msg_ctl_r: who gets how much, for the administrator */
	VGPU_MSG_ALLOTS,        /* vgpu_msg_index (start) -> vgpu_msg_allots_r, page by page */
	VGPU_MSG_WORK,          /* vgpu_msg_index (start) -> vgpu_msg_work_r: what contexts do now, page by page */
	VGPU_MSG_TIMES,         /* vgpu_msg_index (device) -> vgpu_msg_times_r */
	/*
	 * vgpu_msg_lent + 1 fd -> vgpu_msg_grow_r. A part of a file of the client's own becomes a segment: memory that it shares with others
	 * (tmpfs, memfd; open for reading and writing, whole pages inside the file). Nothing of it is ever taken away or written by the agent.
	 */
	VGPU_MSG_WINDOW_LENT,
};

/*
 * What the agent had when it began to serve, as a file beside its socket: SOCKET VGPU_DESCRIBED_SUFFIX. It stays when the agent goes,
 * for programs that are meant to compute on the device and nowhere else (VGPU_REQUIRED): it tells them what there is, not that it can
 * be used. Replaced as a whole, by rename.
 */
#define VGPU_DESCRIBED_SUFFIX ".devices"
struct vgpu_described {
	uint32_t magic, version;        /* VGPU_SESSION_MAGIC, the agent's newest */
	uint32_t devices, rsvd;
	struct vgpu_device_info info[VGPU_MAX_DEVICES]; /* the first `devices` of them; zeros behind */
};
_Static_assert(sizeof(struct vgpu_described) == 16 + 512 * VGPU_MAX_DEVICES, "file layout");

enum { VGPU_HELLO_FD_PIDFD, VGPU_HELLO_FD_AGENT_PAGE, VGPU_HELLO_FD_KICK, VGPU_HELLO_FD_SEG0,
       VGPU_HELLO_FDS };

struct vgpu_msg_header {
	uint32_t type;                  /* answers repeat it */
	uint32_t bytes;                 /* of the whole message */
};
struct vgpu_msg_hello {
	struct vgpu_msg_header h;
	uint32_t magic, version;
	uint64_t features;
	uint64_t span_base;             /* 0: a monitor; it gets no window, only DEVICE and STATUS */
	char command[16];               /* for people: comm of the process */
	char release[16];               /* VGPU_VERSION; empty before 0.1.0 */
};
struct vgpu_msg_hello_r {
	struct vgpu_msg_header h;
	uint32_t status;                /* enum vgpu_status */
	uint32_t version;               /* that was asked for; refused because of it: the newest there is, which may be asked for again */
	uint64_t features;
	uint32_t client_id, devices;
	uint64_t window_iova;           /* of segment 0 */
	uint64_t window_quota, memory_quota;    /* memory_quota 0: all that a device has */
	char text[96];                  /* why not, in words, when status != 0; else the agent's version */
};
struct vgpu_msg_index {
	struct vgpu_msg_header h;
	uint32_t index, rsvd;
};
struct vgpu_msg_device_r {
	struct vgpu_msg_header h;
	uint32_t status, rsvd;
	struct vgpu_device_info info;
};
struct vgpu_msg_ctx {
	struct vgpu_msg_header h;
	uint32_t device;                /* CTX_CREATE */
	uint32_t context;               /* CTX_DESTROY */
	uint32_t weight;                /* 0 = default */
	uint32_t place;                 /* CTX_CREATE: 0, the device's own; n: VGPU_DEVICE_BASE(span, n - 1) */
};
struct vgpu_msg_ctx_r {
	struct vgpu_msg_header h;
	uint32_t status, context;
	uint64_t io_index;              /* first slot index of its queue: tickets go on from there */
};
struct vgpu_msg_status {
	struct vgpu_msg_header h;
	uint32_t status, rsvd;
};
/*
 * What the shared memory says of a context's end may be gone when the client looks: a dropped client's window is taken back at once.
 * status is what calls answer from then on, where the context's head says nothing; text is printable, one line.
 */
struct vgpu_msg_bye {
	struct vgpu_msg_header h;
	uint32_t status, rsvd;
	char text[160];
};
struct vgpu_msg_grow {
	struct vgpu_msg_header h;
	uint64_t bytes;                 /* rounded up to VGPU_HUGE by the agent */
};
struct vgpu_msg_lent {
	struct vgpu_msg_header h;
	uint64_t offset, bytes;         /* of the file, in VGPU_PAGE */
};
struct vgpu_msg_grow_r {
	struct vgpu_msg_header h;
	uint32_t status, rsvd;
	uint64_t offset, bytes;         /* place in the window; map the fd at span_base + offset */
};
struct vgpu_msg_share_r {
	struct vgpu_msg_header h;
	uint32_t status, rsvd;
	uint8_t token[16];
	uint64_t offset, bytes;         /* of the segment */
};
struct vgpu_msg_token {
	struct vgpu_msg_header h;
	uint8_t token[16];
};
struct vgpu_msg_map_at {
	struct vgpu_msg_header h;
	uint32_t context, rsvd;
	uint64_t offset, bytes;         /* of the window */
	uint64_t va;
};
struct vgpu_msg_client {
	uint32_t client_id, pid, uid, contexts;
	uint64_t memory_bytes, window_bytes;
	uint64_t commands;              /* forwarded so far */
	uint64_t connected_ns;          /* age */
	char command[32];
};
#define VGPU_STATUS_PAGE 32u
struct vgpu_msg_status_r {
	struct vgpu_msg_header h;
	uint32_t status, clients;       /* all there are */
	uint32_t first, count;          /* in this page */
	uint32_t agent_pid, agent_cpu;  /* cpu ~0: not pinned */
	uint64_t agent_uptime_ns;
	uint64_t sleeps, wakeups_sent;
	char agent_version[32];
	char transport[32];             /* "vfio-user" */
	struct vgpu_msg_client client[VGPU_STATUS_PAGE];
};

/*
 * How busy: of the last second, or since it is there. Samples are the counter at some moments (CLOCK_MONOTONIC), oldest first; none is
 * taken while nothing has worked for a second, so between two that are far apart the counter stood still until the later one.
 */
#define VGPU_LOAD_SAMPLES 16u
#define VGPU_LOAD_DRAINED 1u            /* flag: no new contexts */
#define VGPU_CONTEXT_STOPPED 1u         /* flag: it takes no new work */
struct vgpu_load_sample {
	uint64_t at_ns, busy_ns;
};
struct vgpu_msg_load_r {
	struct vgpu_msg_header h;
	uint32_t status, devices;
	uint64_t now_ns;
	struct vgpu_load {
		uint32_t state;         /* 0 lost, 1 ready */
		uint32_t permille;
		uint32_t in_flight;     /* contexts whose commands are not all done */
		uint32_t contexts, clients;     /* that have one here */
		uint32_t samples;
		uint64_t memory_bytes, memory_used, busy_ns;
		uint64_t faults;        /* contexts that died of an error, since the agent started */
		uint64_t losses;        /* of the device */
		uint32_t flags, rsvd;
		uint64_t refused;       /* contexts that were asked for here and not made: limits, rates, drained, no memory; 0 of older agents */
		struct vgpu_load_sample sample[VGPU_LOAD_SAMPLES];
	} device[VGPU_MAX_DEVICES];
};
struct vgpu_msg_context {
	uint32_t client_id, pid, uid, context, device, weight;
	uint32_t permille, flags;
	uint64_t memory_bytes, busy_ns;
	uint64_t commands, commands_done, launches_done;
	uint64_t since_ns;              /* age */
	char command[32];
};
#define VGPU_CONTEXTS_PAGE 32u
struct vgpu_msg_contexts_r {
	struct vgpu_msg_header h;
	uint32_t status, contexts;      /* all that live */
	uint32_t first, count;          /* in this page */
	uint64_t now_ns;
	struct vgpu_msg_context context[VGPU_CONTEXTS_PAGE];
};

/* What live contexts do now, as they say; in the order of CONTEXTS. */
#define VGPU_WORK_PAGE 16u
struct vgpu_msg_work_r {
	struct vgpu_msg_header h;
	uint32_t status, contexts;      /* all that live */
	uint32_t first, count;          /* in this page */
	struct vgpu_work {
		uint32_t client_id, context;
		uint32_t priority;      /* VGPU_PRIORITY_* of vgpu_device.h; 0: nothing was said */
		uint32_t compute;       /* permille of its device that the narrowest of its caps allows; 0: there is none */
		uint64_t running_ns;    /* see struct vgpu_qb_work */
		uint64_t kernel_ms;     /* that a kernel may take; 0: as long as the device lets it */
		char kernel[VGPU_KERNEL_NAME];
	} work[VGPU_WORK_PAGE];
};

/* Of a device since the agent started, contexts that are gone too; and of the agent, why it let somebody not in. */
enum vgpu_refusal { VGPU_REFUSED_PLACES = 1, VGPU_REFUSED_LIMIT, VGPU_REFUSED_RATE, VGPU_REFUSED_HELD, VGPU_REFUSED_ADMISSION, VGPU_REFUSED_VERSION,
		    VGPU_REFUSED_MEMORY, VGPU_REFUSED_REQUEST, VGPU_REFUSALS };
struct vgpu_msg_times_r {
	struct vgpu_msg_header h;
	uint32_t status, device;
	struct vgpu_times kernels, compiles;
	uint64_t refused[VGPU_REFUSALS];        /* connections, by reason */
};

enum vgpu_ctl_op { VGPU_CTL_END = 1, VGPU_CTL_STOP, VGPU_CTL_GO, VGPU_CTL_DRAIN, VGPU_CTL_UNDRAIN, VGPU_CTL_WEIGHT };
struct vgpu_msg_ctl {
	struct vgpu_msg_header h;
	uint32_t op, target;            /* a client's id; of DRAIN and UNDRAIN a device */
	uint64_t value;                 /* of WEIGHT: 1..1000, of each of its contexts, those to come too; else 0 */
};
struct vgpu_msg_ctl_r {
	struct vgpu_msg_header h;
	uint32_t status, count;         /* DRAIN: contexts that are left */
	char text[96];                  /* why not */
};

/* Admission and quarantine. Of a user, or of a cgroup and all below it (cgroups(7), as /proc/PID/cgroup has it). */
enum vgpu_gate_op { VGPU_GATE_OPEN = 1, VGPU_GATE_CLOSED, VGPU_GATE_ADMIT, VGPU_GATE_DENY, VGPU_GATE_FORGET, VGPU_GATE_RELEASE };
#define VGPU_GATE_ALL 0xffffffffu       /* RELEASE: whoever is held off */
struct vgpu_msg_gate {
	struct vgpu_msg_header h;
	uint32_t op, uid;
	char cgroup[192];               /* empty: of the user */
};
enum vgpu_gate_state { VGPU_GATE_ADMITTED = 1, VGPU_GATE_DENIED, VGPU_GATE_HELD };
#define VGPU_GATES_PAGE 16u
struct vgpu_msg_gates_r {
	struct vgpu_msg_header h;
	uint32_t status, gates;         /* all there are */
	uint32_t first, count;          /* in this page */
	uint32_t closed, rsvd;          /* only who is admitted comes in */
	struct vgpu_gate {
		uint32_t state, uid;
		uint32_t seconds, hold_seconds; /* HELD: that are left, of how many */
		char cgroup[192];       /* HELD: the container */
	} gate[VGPU_GATES_PAGE];
};

/* Limits and weights while the agent runs: of a client, a user, or a cgroup and the containers below it. */
enum vgpu_allot_kind { VGPU_ALLOT_CLIENT = 1, VGPU_ALLOT_USER, VGPU_ALLOT_CGROUP, VGPU_ALLOT_EVERYBODY /* of whom nothing else was said */ };
/*
 * WEIGHT, CONTEXTS, KERNEL_MS and PRIORITY of each client; MEMORY of the client, else of all of them together, as WINDOW and CLIENTS are,
 * which no client has for itself. COMPUTE, permille of a device's time at most: of the client, and of all of them together. Sizes in bytes.
 */
enum vgpu_allot { VGPU_ALLOT_WEIGHT = 1, VGPU_ALLOT_MEMORY, VGPU_ALLOT_WINDOW, VGPU_ALLOT_CONTEXTS, VGPU_ALLOT_CLIENTS, VGPU_ALLOT_KERNEL_MS,
		  VGPU_ALLOT_COMPUTE, VGPU_ALLOT_PRIORITY, VGPU_ALLOTS };
struct vgpu_msg_allot {
	struct vgpu_msg_header h;
	uint32_t kind, target;          /* a client's id, or a uid */
	uint32_t what, rsvd;
	uint64_t value;                 /* 0: none of its own */
	char cgroup[192];
};
#define VGPU_ALLOTS_PAGE 16u
struct vgpu_msg_allots_r {
	struct vgpu_msg_header h;
	uint32_t status, allots;        /* all there are */
	uint32_t first, count;          /* in this page */
	struct vgpu_allotment {
		uint32_t kind, target, what, rsvd;
		uint64_t value;
		char cgroup[192];
	} allot[VGPU_ALLOTS_PAGE];
};

/* The driver that NVIDIA's CUDA 13.1 came with: what NVML and nvidia-smi say, and tools compare with. Three parts. */
#define VGPU_NVIDIA_DRIVER "590.44.01"
#define VGPU_CUDA_VERSION 13010
/* The newest whose calls all have their names here: what VGPU_CUDA_VERSION of the environment may ask for (libcuda-lite/core/asked.h). */
#define VGPU_CUDA_NEWEST 13050

/* What cuDriverGetVersion, NVML and all tools say: ours, or a host driver's that one of the devices is, where that is older. */
static inline uint32_t vgpu_cuda_version(const struct vgpu_device_info *d, uint32_t devices)
{
	uint32_t least = VGPU_CUDA_VERSION;

	for (uint32_t i = 0; i < devices; i++)
		if (d[i].driver_version && d[i].driver_version < least)
			least = d[i].driver_version;
	return least;
}

/* Where clients look, in this order (vgpu.7): $VGPU_AGENT, then these. */
#define VGPU_AGENT_SOCKET_SYSTEM "/run/vgpu/agent.sock"
#define VGPU_AGENT_SOCKET_USER   "vgpu/agent.sock"       /* under $XDG_RUNTIME_DIR */

#endif
