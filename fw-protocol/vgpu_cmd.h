/* SPDX-License-Identifier: MIT */
/*
 * The command: one 64-byte record, the same in a client's queue and in the device's ring.
 *
 * Self-contained: fixed widths, little endian, no pointers, stdint only. Both contracts
 * (vgpu_client.h: client and agent; vgpu_device.h: agent and device) include it.
 *
 *      0        4    5      6       8         12          16        24          32          64
 *      +--------+----+------+-------+---------+-----------+---------+-----------+-----------+
 *      | seq    | op | slots| flags | stream  | wait_tl   | ticket  | wait_value| body      |
 *      +--------+----+------+-------+---------+-----------+---------+-----------+-----------+
 *      |<-------------------- header, stamped at submission ------------------->|<-stored-->|
 *
 * A command of n slots is one header slot and n - 1 payload slots:
 *
 *      0        4         8                                                              64
 *      +--------+---------+--------------------------------------------------------------+
 *      | seq    | 0       | 56 bytes of payload                                          |
 *      +--------+---------+--------------------------------------------------------------+
 *
 * Every slot, payload too, starts with its sequence word, so that no byte an application chose (a
 * kernel parameter) can ever stand where a reader looks for a publication.
 *
 * seq of the slot with index i (indices count up for ever, i % queue size is its place) is
 * (uint32_t)(i + 1) when the slot is valid. Payload slots are written first; the header's seq is
 * written last, with release order, and publishes all slots of the command. The queue starts as
 * zeroes: no lap ever makes a stale slot look valid, since its old seq is one lap behind.
 *
 * ticket = index of the header slot + 1. It is the command's timeline value: when the command is
 * complete, the timeline of its stream holds a value >= ticket. Claiming slots (one fetch_add in
 * private memory) therefore also numbers the command, and values cannot be published out of order.
 */
#ifndef VGPU_CMD_H
#define VGPU_CMD_H

#include <stdint.h>

#include "vgpu_status.h"
#include "vgpu_version.h"

#define VGPU_SLOT_BYTES 64u
#define VGPU_SLOT_PAYLOAD 56u
#define VGPU_MAX_SLOTS 75u              /* header + 74 x 56 = 4144 bytes of payload */
#define VGPU_MAX_PARAM_BYTES 4096u      /* inline kernel parameters: all there could be before compute capability 7.0 */
#define VGPU_MAX_LARGE_BYTES 32764u     /* those of LAUNCH_LARGE, which lie in the window; PTX ISA ".param" limit */

#define VGPU_MAX_STREAMS 1024u          /* per context; 0 is the legacy default stream */
#define VGPU_MAX_CONTEXTS 8u            /* per client, over all devices */
#define VGPU_MAX_STACK_BYTES (512u << 10) /* .local memory of a thread at most: CUDA guide, technical specifications by compute capability */
#define VGPU_DEVICE_HEAP_BYTES (8u << 20) /* what device malloc has in a context when nobody asks for more */
#define VGPU_STREAM_CREDITS 256u        /* commands of one stream in flight, kept by the client */

struct vgpu_cmd {
	uint32_t seq;
	uint8_t op;                     /* enum vgpu_op */
	uint8_t slots;                  /* 1..VGPU_MAX_SLOTS */
	uint16_t flags;                 /* VGPU_CMD_* and op-specific bits 8..15 */
	uint32_t stream;                /* < VGPU_MAX_STREAMS */
	uint32_t wait_tl;               /* VGPU_WAIT_TL(context, stream), 0 = no wait */
	uint64_t ticket;                /* the reader checks it against the slot index */
	uint64_t wait_value;            /* start only when that timeline is >= this */
	union {
		uint8_t body[32];
		uint64_t w[4];
		struct vgpu_body_launch {
			uint32_t fn;
			uint32_t grid[3];
			uint16_t block[3];
			uint16_t param_bytes;   /* in the payload slots, 56 bytes each; of LAUNCH_LARGE: in the window */
			uint32_t shared_bytes;  /* dynamic */
			uint32_t attrs;         /* VGPU_LAUNCH_* */
		} launch;
		struct vgpu_body_copy {
			uint64_t dst, src;      /* addresses in the client's span */
			uint64_t bytes;         /* COPY: any; COPY_INLINE: in the payload; COPY3D: width */
			uint64_t rsvd;
		} copy;
		struct vgpu_body_fill {
			uint64_t dst;
			uint64_t width;         /* elements a row */
			uint32_t pitch;         /* bytes from row to row; any when height is 1 */
			uint32_t height;        /* rows */
			uint32_t value;
			uint32_t elem_bytes;    /* 1, 2 or 4 */
		} fill;
		struct vgpu_body_event {
			uint64_t record;        /* VGPU_EVENT_RECORD_BYTES written there */
			uint64_t rsvd[3];
		} event;
		struct vgpu_body_value {
			uint64_t addr;
			uint64_t value;
			uint32_t bytes;         /* 4 or 8, naturally aligned */
			uint32_t compare;       /* WAIT_VALUE: VGPU_COMPARE_* */
			uint64_t rsvd;
		} value;
		struct vgpu_body_gemm {
			uint64_t a, b, c;       /* matrices, or with _POINTERS arrays of `batch` addresses */
			uint32_t batch;         /* >= 1 */
			uint32_t flags;         /* VGPU_GEMM_* */
		} gemm;
		/* Control calls (the small queue). Every one carries a reply slot. */
		struct vgpu_body_ctl {
			uint16_t reply;         /* reply slot of the client */
			uint16_t context;       /* the client's context number, 0..7 */
			uint32_t id;            /* module or function id, where the op has one */
			uint64_t a, b, c;       /* named per op in vgpu_ops.def */
		} ctl;
	} u;
};
_Static_assert(sizeof(struct vgpu_cmd) == VGPU_SLOT_BYTES, "one cache line");

struct vgpu_payload_slot {
	uint32_t seq;
	uint32_t zero;
	uint8_t bytes[VGPU_SLOT_PAYLOAD];
};
_Static_assert(sizeof(struct vgpu_payload_slot) == VGPU_SLOT_BYTES, "one cache line");

union vgpu_slot {
	struct vgpu_cmd cmd;
	struct vgpu_payload_slot payload;
};

/* COPY3D, its one payload slot. Bytes; a row is copy.bytes wide. 2D has depth 1. */
struct vgpu_copy3d {
	uint64_t height, depth;
	uint64_t dst_pitch, dst_slice;
	uint64_t src_pitch, src_slice;
	uint64_t rsvd;
};
_Static_assert(sizeof(struct vgpu_copy3d) == VGPU_SLOT_PAYLOAD, "fills one slot");

/*
 * LAUNCH_LARGE, its one payload slot: where in the window launch.param_bytes lie, more than VGPU_MAX_PARAM_BYTES. They stay as they
 * are until the command is complete; the device copies them into memory of its own before it looks at them.
 */
struct vgpu_params_at {
	uint64_t at;
	uint64_t rsvd[6];               /* zero */
};
_Static_assert(sizeof(struct vgpu_params_at) == VGPU_SLOT_PAYLOAD, "fills one slot");

/*
 * GEMM and TRSM, their two payload slots. Matrices are column-major: element (i, j) of a matrix with
 * leading dimension ld stands at i + j * ld. op(x) is x or its transpose; op(a) is m x k, op(b) k x n, c m x n.
 * Sums are kept in F32, or in F64 when everything is F64. Of I8 they are exact, modulo 2^32: into I32 with factors of I32, or
 * rounded into F32 with factors of F32.
 */
struct vgpu_gemm {
	double alpha, beta;             /* beta 0: c is not read. k 0: a and b are not read */
	uint64_t alpha_at, beta_at;     /* not 0: the device reads the value there, of type_scalar */
	uint64_t stride_a, stride_b, stride_c; /* elements from matrix to matrix; unused with _POINTERS */
	uint32_t m, n, k;               /* TRSM: k is 0, a is m x m (left) or n x n (right) */
	uint32_t lda, ldb, ldc;
	uint8_t type_a, type_b, type_c, type_scalar; /* enum vgpu_gemm_type */
	uint8_t trans_a, trans_b;       /* 0 or 1 */
	uint8_t right, upper, unit;     /* TRSM: a stands on the right, is upper, has ones on its diagonal */
	uint8_t rsvd[23];               /* zero */
};
_Static_assert(sizeof(struct vgpu_gemm) == 2 * VGPU_SLOT_PAYLOAD, "fills two slots");
#define VGPU_GEMM_POINTERS 0x1u
enum vgpu_gemm_type { VGPU_GEMM_F32 = 1, VGPU_GEMM_F16, VGPU_GEMM_BF16, VGPU_GEMM_F64, VGPU_GEMM_I8, VGPU_GEMM_I32 };
static inline uint32_t vgpu_gemm_bytes(uint32_t type)
{
	return type == VGPU_GEMM_F64 ? 8 : type == VGPU_GEMM_F32 || type == VGPU_GEMM_I32 ? 4 : type == VGPU_GEMM_I8 ? 1 : 2;
}

/* Written by EVENT when all earlier work of the stream is complete; 16-byte aligned. */
struct vgpu_event_record {
	uint64_t time_ns;               /* the device's monotonic clock */
	uint64_t ticket;                /* of the EVENT command, written after time_ns (release) */
};
#define VGPU_EVENT_RECORD_BYTES 16u

/* Header flags, any op of the I/O queue. */
#define VGPU_CMD_LEGACY   0x0001u  /* starts after all earlier BLOCKING work, and ends before later */
#define VGPU_CMD_BLOCKING 0x0002u  /* stream takes part in the legacy barrier (not NonBlocking) */
#define VGPU_CMD_RUN      0x0004u  /* launched together with what stands before and behind it, and likely again (a graph): says nothing of order */
#define VGPU_CMD_RUN_END  0x0008u  /* ... the last of them */
#define VGPU_CMD_PRIORITY 0x0070u  /* of its stream: 0, everybody's, to VGPU_PRIORITIES - 1, which goes first. No order is changed by it */
#define VGPU_CMD_FLAGS    0x007fu
#define VGPU_CMD_PRIORITY_SHIFT 4
#define VGPU_PRIORITIES 6u

/* launch.attrs */
#define VGPU_LAUNCH_COOPERATIVE 0x1u
#define VGPU_LAUNCH_CLUSTER(x, y, z) ((uint32_t)(x) << 8 | (uint32_t)(y) << 16 | (uint32_t)(z) << 24)   /* blocks; all 0: as the kernel says */
#define VGPU_LAUNCH_CLUSTER_OF(attrs, i) ((attrs) >> (8 + 8 * (i)) & 0xffu)
#define VGPU_LAUNCH_ATTRS       0xffffff01u
#define VGPU_CLUSTER_MAX 16u            /* blocks of a cluster; programs count on 8 */
#define VGPU_CLUSTER_PORTABLE 8u

/* WAIT_VALUE compare, as CUstreamWaitValue_flags: GEQ is cyclic (int)(*addr - value) >= 0 */
#define VGPU_COMPARE_GEQ 0u
#define VGPU_COMPARE_EQ  1u
#define VGPU_COMPARE_AND 2u
#define VGPU_COMPARE_NOR 3u

/* A timeline of the same client: bit 31 set, context number, stream. */
#define VGPU_WAIT_TL(context, stream) (0x80000000u | ((uint32_t)(context) << 16) | (uint32_t)(stream))
#define VGPU_WAIT_CONTEXT(tl) (((tl) >> 16) & 0x7fffu)
#define VGPU_WAIT_STREAM(tl)  ((tl) & 0xffffu)

/* Operation numbers come from the one table. */
enum vgpu_op {
#define VGPU_OP(name, value, queue, payload, text) VGPU_OP_##name = (value),
#include "vgpu_ops.def"
#undef VGPU_OP
};
enum vgpu_op_queue { VGPU_Q_IO, VGPU_Q_CTL };
enum vgpu_op_payload { VGPU_P_NONE, VGPU_P_PARAMS, VGPU_P_COPY3D, VGPU_P_DATA, VGPU_P_GEMM, VGPU_P_PLACE };

/*
 * A reply: 64 bytes, written by one side, polled by the other. In client memory one per control
 * call in flight (agent writes, client reads); in the agent's memory one per control-ring slot
 * (device writes, agent reads).
 */
struct vgpu_reply {
	uint32_t seq;                   /* low word of the command's ticket; written last (release) */
	uint32_t status;                /* enum vgpu_status */
	uint64_t v[5];                  /* per op, see vgpu_ops.def */
	uint32_t waiter;                /* client: 1 = asleep on `wake`; agent clears it and wakes */
	uint32_t wake;                  /* futex word, agent increments */
	uint64_t rsvd;
};
_Static_assert(sizeof(struct vgpu_reply) == 64, "one cache line");

/*
 * A timeline: one cache line per stream. The device writes value and error by DMA. Before a client
 * sleeps on wake it leaves in waiter the ticket that it waits for (vgpu_timeline_want()): the device clears
 * waiter and raises the interrupt when value has got there, and not at each command before that; the agent
 * increments wake and wakes the futex. A context that fails wakes whoever waits, for whatever.
 */
struct vgpu_timeline {
	uint64_t value;                 /* ticket of the last complete command of the stream */
	uint32_t error;                 /* enum vgpu_status, written before value; what is not sticky the client clears when it has seen it */
	uint32_t waiter;                /* 0: nobody sleeps; else low word of the earliest ticket that is waited for */
	uint32_t wake;
	uint32_t rsvd[11];
};
_Static_assert(sizeof(struct vgpu_timeline) == 64, "one cache line");

/*
 * What a device is: answered by IDENTIFY (admin queue) and handed on by the agent to clients, who
 * keep it. Little endian, text is NUL-terminated UTF-8.
 */
struct vgpu_device_info {
	char name[64];
	char engine[64];                /* "cpu: interpreter (AVX-512)", shown by vgpu smi */
	uint8_t uuid[16];
	uint32_t cc_major, cc_minor;
	uint32_t sm_count;
	uint32_t warp_size;
	uint64_t memory_bytes;
	uint32_t max_threads_per_block, max_threads_per_sm, max_blocks_per_sm;
	uint32_t max_block[3];
	uint32_t max_grid[3];
	uint32_t regs_per_block, regs_per_sm;
	uint32_t shared_per_block, shared_per_block_optin, shared_per_sm, shared_reserved;
	uint32_t clock_khz, memory_clock_khz, memory_bus_bits, l2_bytes;
	uint32_t pci_vendor, pci_device;
	char bus_id[20];                /* "0000:00:05.0"; the agent fills it in where it knows */
	uint64_t features;              /* VGPU_DEV_FEATURE_* */
	uint32_t max_contexts;          /* of the device, over all clients */
	uint32_t cores;                 /* processors the engine may use */
	uint32_t walls;                 /* VGPU_WALL_*: what stands around each context */
	uint32_t driver_version;        /* of the host's CUDA driver, as cuDriverGetVersion has it (13000); 0: there is none */
	uint8_t rsvd[216];
};
_Static_assert(sizeof(struct vgpu_device_info) == 512, "wire layout");
/*
 * Walls around a context, for people: bit i is the i-th word. A device that says nothing of them has 0 in `walls`.
 *   seccomp   the system call filter                       user pid mount net ipc   namespaces; the root is empty
 *   uid       a user of its own                            landlock  no file, no port, no signal to others
 *   cgroup    memory, processes and share, by the kernel
 */
#define VGPU_WALLS(X) X(SECCOMP, "seccomp") X(USER, "user") X(PID, "pid") X(MOUNT, "mount") X(NET, "net") X(IPC, "ipc") \
	X(UID, "uid") X(LANDLOCK, "landlock") X(CGROUP, "cgroup")
enum {
#define X(name, word) VGPU_WALL_##name##_BIT,
	VGPU_WALLS(X)
#undef X
	VGPU_WALL_COUNT
};
enum {
#define X(name, word) VGPU_WALL_##name = 1 << VGPU_WALL_##name##_BIT,
	VGPU_WALLS(X)
#undef X
	VGPU_WALLS_ALL = (1 << VGPU_WALL_COUNT) - 1
};
#define VGPU_DEV_FEATURE_COOPERATIVE 1u
#define VGPU_DEV_FEATURE_VMM 2u
#define VGPU_DEV_FEATURE_PRIORITY 4u    /* it heeds VGPU_CMD_PRIORITY */
#define VGPU_DEV_FEATURE_CLUSTERS 8u    /* of several blocks */
#define VGPU_DEV_FEATURE_LARGE 16u      /* it knows LAUNCH_LARGE */
#define VGPU_DEV_FEATURE_CUBIN 32u      /* it takes the machine code of NVIDIA's GPUs as well */
#define VGPU_DEV_FEATURE_TENSORMAPS 64u /* it knows vgpu_tensormap.h's; of engine cpu this is known without */
#define VGPU_DEV_FEATURE_RUNS 128u      /* it heeds VGPU_CMD_RUN, and is quicker for it */

/* Of MODULE_COMMIT: every body is read now and the first error is the module's, instead of when a kernel is first used. */
#define VGPU_MODULE_EAGER 1u

/*
 * Managed variables of a module live in the client's window. MODULE_COMMIT of a module that has some answers NOT_SUPPORTED
 * with their bytes in v3, and the module stays as it is; MODULE_MANAGED names the place, and the second MODULE_COMMIT
 * puts them there with their first values.
 *
 * Symbol table of a module, written by MODULE_TABLE into client memory:
 * header, nsyms x vgpu_symbol, names (NUL-terminated).
 */
struct vgpu_symtab {
	uint32_t bytes;                 /* of everything, header included */
	uint32_t nsyms;
};
struct vgpu_symbol {
	uint32_t kind;                  /* VGPU_SYM_* */
	uint32_t id;                    /* function id */
	uint32_t name;                  /* offset from the start of the table */
	uint32_t rsvd;
	uint64_t address, bytes;        /* of a variable */
};
_Static_assert(sizeof(struct vgpu_symbol) == 32, "wire layout");
#define VGPU_SYM_FUNC 1u
#define VGPU_SYM_GLOBAL 2u
#define VGPU_SYM_CONST 3u
#define VGPU_SYM_MANAGED 4u             /* in the client's window, at the same address on both sides */
#define VGPU_SYM_TEXTURE 5u             /* a reference: what vgpu_texture.h has lies there; the host writes it, no variable of the program's */
#define VGPU_SYM_SURFACE 6u
#define VGPU_SYM_SAMPLER 7u

/* How long something took, many times over. n[i]: those of at most VGPU_TIMES_NS(i), and more than the one before; the last: longer ones. */
#define VGPU_TIMES 14u
#define VGPU_TIMES_NS(i) (1024ull << 2 * (i))   /* 1 us to 17 s */
struct vgpu_times {
	uint64_t n[VGPU_TIMES];
	uint64_t ns;                    /* all together */
};
#define VGPU_KERNEL_NAME 256u           /* of one, for people; a longer one is cut */

/* Written by FUNC_INFO into client memory, nparams entries behind it. */
struct vgpu_fn_info {
	uint32_t id;
	uint32_t nparams, param_bytes;
	uint32_t max_threads;
	uint32_t reqntid[3];
	uint32_t regs;
	uint32_t shared_static, local_bytes, const_bytes;
	uint32_t ptx_version, binary_version;
	uint32_t uses;                  /* VGPU_FN_USES_* */
	uint32_t cluster;               /* VGPU_LAUNCH_CLUSTER of what the kernel says, 0: nothing; and VGPU_FN_CLUSTER_* */
	uint32_t max_cluster;           /* blocks, 0: whatever there may be */
	struct vgpu_fn_param { uint32_t offset, bytes; } params[];
};
_Static_assert(sizeof(struct vgpu_fn_info) == 64, "wire layout");
#define VGPU_FN_USES_HEAP 1u            /* device malloc or free: DEVICE_HEAP comes before its launch */
#define VGPU_FN_USES_PRINTF 2u
#define VGPU_FN_CLUSTER_ASKED 1u        /* a launch has to say what its clusters are, unless the kernel does */

#endif
