/* SPDX-License-Identifier: MIT */
/*
 * An engine computes. One context process (context.c) owns exactly one engine and is its only
 * caller; everything here runs inside the context's sandbox, so an engine may trust nothing that
 * reaches it (images, parameters, addresses) and opens no file, socket or process.
 *
 * Threads: open() starts its workers (before the sandbox closes: no thread is created later).
 * All other calls come from one thread, the context's dispatcher; done/print/fault are called
 * from any thread of the engine. Errors are enum vgpu_status values (vgpu_status.h), never errno.
 *
 * Addresses: one 64-bit generic address space. A global address is the virtual address itself.
 * Only [span_base, span_base + span_bytes) may be touched by a kernel; the context reserved it
 * PROT_NONE; allocations and window segments appear and vanish inside it under the engine's feet
 * (never while a command that names them runs, if the client is honest). Inside it,
 * [arena_base, arena_base + arena_bytes) is the engine's own: module globals, shared and
 * local windows, printf buffers, the device heap. Everything else belongs to others.
 */
#ifndef VGPU_ENGINE_H
#define VGPU_ENGINE_H

#include <stddef.h>
#include <stdint.h>

struct vgpu_body_gemm;
struct vgpu_gemm;
struct engine;          /* opaque, per engine implementation */

struct engine_fault {
	uint32_t status;        /* enum vgpu_status, one of the sticky ones */
	uint32_t fn;            /* function id, 0 if none */
	const char *kernel;     /* name or NULL */
	uint32_t block[3], thread[3];
	uint64_t address;       /* faulting address, for ILLEGAL_ADDRESS / MISALIGNED */
	uint32_t ptx_line;      /* 0 = unknown */
	const char *code;       /* the instruction as the engine knows it, NULL = unknown */
	const char *source;     /* "FILE:LINE" that the compiler left in the PTX, NULL = unknown */
	const char *what;       /* "read of 4 bytes", "trap", ... never NULL */
	int nowhere;            /* block, thread and address are not known */
};

#define ENGINE_HELD 2u

struct engine_env {
	uint64_t span_base, span_bytes;
	uint64_t arena_base, arena_bytes;       /* >= 64 GiB of reserved address space */
	unsigned cores;                         /* worker threads to use, >= 1, dispatcher included */
	uint32_t cc_major, cc_minor;
	uint32_t sm_count;
	uint32_t shared_per_block_optin;        /* bytes: static + dynamic limit of one block */
	uint64_t printf_bytes;                  /* 0 = default */
	uint64_t memory_limit;                  /* device memory this context may commit: no module's variables
						   are larger. 0: no limit */
	uint64_t code_bytes;                    /* compiled code: an RW and an RX view that open() maps, since
						   PROT_EXEC ends with the sandbox. 0: none */
	int code_fd;                            /* of the file for it, which has that size; 0: a new one */
	uint32_t mode;                          /* ENGINE_MODE_*: how kernels are run */
	const uint32_t *run;            /* while ENGINE_HELD is set no turn of a grid begins; a futex, woken when it is not. NULL: never */
	void *owner;
	/* Something has ended that poll() will tell. Any thread of the engine. */
	void (*wake)(void *owner);
	/* The dispatcher asks in the middle of launch(): is somebody else waiting for it? NULL: nobody. */
	int (*wanted)(void *owner);
	/*
	 * The dispatcher asks at a launch: which memory of the span has this address? Its bytes, and where it begins; 0: none, or nobody knows. plain: an
	 * allocation of this context that nobody outside of it writes to or reads. NULL: nobody knows of any.
	 */
	uint64_t (*allocation)(void *owner, uint64_t address, uint64_t *base, int *plain);
	/* A pending launch has ended (all blocks done, or a fault). Any engine thread. */
	void (*done)(void *owner, uint64_t cookie, uint32_t status);
	/* Once per faulting launch, before its done(). Any engine thread. */
	void (*fault)(void *owner, const struct engine_fault *f);
	/* Device printf: formatted text, complete calls only. Any engine thread; may wait for the reader. */
	void (*print)(void *owner, const char *text, size_t bytes);
	/* Would print() take so much now? For an engine that prints on the dispatcher, where it does not wait. */
	int (*print_room)(void *owner, size_t bytes);
};

/*
 * ENGINE_MODE_AUTO takes what $VGPU_ENGINE names (jit, interp, memcheck, ops, verify, debug), else the fastest there is. OPS prints what
 * one warp executes, the one that $VGPU_OPS names. VERIFY has each launch run on the interpreter and on the JIT and compares
 * what they write; where there is no JIT it is INTERP. DEBUG stops where vgpu debug wants it to: $VGPU_VERIFY_COUNTS is its box (debug_box.h). The file that $VGPU_VERIFY_COUNTS names, if any, begins with a
 * struct verify_counts that all engines of VERIFY and MEMCHECK add to.
 */
enum { ENGINE_MODE_AUTO, ENGINE_MODE_JIT, ENGINE_MODE_INTERP, ENGINE_MODE_MEMCHECK, ENGINE_MODE_OPS, ENGINE_MODE_VERIFY, ENGINE_MODE_DEBUG };

struct verify_counts {          /* launches */
	uint64_t compared;      /* of these: */
	uint64_t differ, order; /* another result; another only by the rounding of sums that atomics made */
	uint64_t skipped;       /* not comparable */
	uint64_t checked, errors;       /* of the memory checker */
};

/* The words of $VGPU_ENGINE, in the order of the modes. */
#define ENGINE_MODE_WORDS "jit, interp, memcheck, ops, verify or debug"
static inline uint32_t engine_mode_named(const char *word)
{
	static const char *const words[] = { "jit", "interp", "memcheck", "ops", "verify", "debug" };

	for (uint32_t i = 0; i < 6; i++) {
		const char *a = word, *b = words[i];

		while (*a && *a == *b)
			a++, b++;
		if (*a == *b)
			return ENGINE_MODE_JIT + i;
	}
	return ENGINE_MODE_AUTO;
}

struct engine_launch {
	uint32_t fn;
	uint32_t grid[3], block[3];     /* all >= 1; checked by the engine against its limits */
	uint32_t cluster[3];            /* blocks that run together and see each other's shared memory; 0: as the kernel says */
	uint32_t shared_bytes;          /* dynamic shared memory */
	uint32_t flags;                 /* ENGINE_LAUNCH_* */
	uint32_t priority;              /* of its stream: 0 to VGPU_PRIORITIES - 1, which goes first */
	const void *params;             /* laid out as func_info says; valid during the call only */
	uint32_t param_bytes;
	uint64_t cookie;                /* handed back by done() */
};
#define ENGINE_LAUNCH_COOPERATIVE 1u    /* all blocks resident at once; grid sync allowed */
#define ENGINE_LAUNCH_RUN 2u            /* one of several that the client gives together, and likely again */
#define ENGINE_LAUNCH_RUN_END 4u        /* ... the last of them */

struct engine_param {
	uint32_t offset, bytes;         /* PTX .param layout: natural alignment, declaration order */
};

#define ENGINE_MAX_PARAMS 1024

struct engine_func_info {               /* the numbers behind cuFuncGetAttribute */
	uint32_t id;
	const char *name;               /* valid until its module is unloaded */
	uint32_t nparams, param_bytes;
	const struct engine_param *params;
	uint32_t max_threads;           /* .maxntid product or the device's 1024 */
	uint32_t reqntid[3];            /* .reqntid, 0 = none */
	uint32_t regs;                  /* 32-bit registers a thread, an estimate, 16..255 */
	uint32_t shared_static;         /* bytes of .shared that this kernel uses */
	uint32_t local_bytes;           /* .local bytes a thread */
	uint32_t const_bytes;
	uint32_t ptx_version;           /* 84 for .version 8.4 */
	uint32_t binary_version;        /* 61 for sm_61 */
	uint32_t uses;                  /* ENGINE_USES_*: of it or of what it may call */
	uint32_t cluster[3];            /* .reqnctapercluster, 0 = none */
	uint32_t max_cluster;           /* .maxclusterrank, 0 = none */
	uint32_t explicit_cluster;      /* .explicitcluster: a launch has to ask for clusters, unless the kernel does */
};
#define ENGINE_USES_HEAP 1u             /* device malloc or free */
#define ENGINE_USES_PRINTF 2u

struct engine_symbol {
	enum { ENGINE_SYM_FUNC = 1, ENGINE_SYM_GLOBAL, ENGINE_SYM_CONST, ENGINE_SYM_MANAGED, ENGINE_SYM_TEXTURE,
	       ENGINE_SYM_SURFACE, ENGINE_SYM_SAMPLER } kind;
	uint32_t id;                    /* function id (unique in the context, never 0), else 0 */
	const char *name;
	uint64_t address, bytes;        /* of a variable */
};

struct engine_ops {
	const char *name;               /* "cpu" */
	/* What an engine opened with mode AUTO in this environment would be, for people. Any process. */
	void (*describe)(char *text, size_t bytes);

	uint32_t (*open)(const struct engine_env *env, struct engine **out);
	void (*close)(struct engine *e);        /* after the last launch is done */

	/*
	 * PTX text (with or without the final NUL) or a fatbin container (raw 0xBA55ED50 header, or
	 * bytes of it). image is the caller's private copy and stays valid and unchanged until
	 * module_unload: an engine indexes it in place and decompresses and compiles on first use.
	 * log gets a NUL-terminated text on failure ("line:column: reason"), and may get warnings.
	 */
	uint32_t (*module_load)(struct engine *e, const void *image, size_t bytes,
				uint32_t *module, char *log, size_t log_bytes);
	/*
	 * Where the next module_load puts managed variables: memory of the span that the client sees as well. With less
	 * than they take, module_load answers NOT_SUPPORTED. Returns what the latest module_load wanted. An engine that was
	 * never told keeps them in its arena.
	 */
	uint64_t (*managed)(struct engine *e, uint64_t va, uint64_t bytes);
	/*
	 * Reads the bodies of a loaded module: INVALID_PTX with the first error in log, which is then as module_load leaves it.
	 * What is legal and not supported refuses nothing here. module_load does it for PTX text, whose errors are a person's;
	 * a container came out of a compiler, and its kernels are read when they are asked for.
	 */
	uint32_t (*module_check)(struct engine *e, uint32_t module, char *log, size_t log_bytes);
	uint32_t (*module_unload)(struct engine *e, uint32_t module);
	/* Iterates: symbol i of the module, NOT_FOUND behind the last one. */
	uint32_t (*module_symbol)(struct engine *e, uint32_t module, uint32_t i,
				  struct engine_symbol *out);
	/* Bytes of arena memory that the module's variables take (for accounting). */
	uint64_t (*module_bytes)(struct engine *e, uint32_t module);

	/* Bytes that the engine has taken for itself: code, and what it has allocated in the process (for accounting). */
	uint64_t (*own_bytes)(struct engine *e);

	/* Parses (and compiles) the kernel if that has not happened; log as in module_load. */
	uint32_t (*func_info)(struct engine *e, uint32_t fn, struct engine_func_info *out,
			      char *log, size_t log_bytes);

	/* Of a function that was launched: valid until its module is unloaded, NULL: unknown. Beside func_info as well. */
	const char *(*name_of)(struct engine *e, uint32_t fn);

	/* Has that happened, so that func_info only looks it up? NULL: nobody knows. */
	int (*described)(struct engine *e, uint32_t fn);
	/*
	 * May module_load, module_check and func_info run on a thread of their own, one call at a time, while launch, gemm, copy, fill and
	 * note_alloc are called beside them? NULL: no.
	 */
	int (*apart)(struct engine *e);

	/*
	 * Starts a grid. OK: it is complete already (small grids run in place, within a budget: a
	 * kernel that does not end soon is handed to the workers). PENDING: done() will come.
	 * Any other value: not started. Launches given while others are pending run concurrently
	 * and make progress independently (a block that spins on memory written by another grid
	 * must not starve that grid: workers time-slice when blocks are more than threads).
	 */
	uint32_t (*launch)(struct engine *e, const struct engine_launch *l);

	/*
	 * GEMM and TRSM of vgpu_cmd.h (op: enum vgpu_op), checked by vgpu_check_gemm; b and p are valid
	 * during the call only. Results as of launch; a fault is told with fn 0.
	 */
	uint32_t (*gemm)(struct engine *e, uint32_t op, const struct vgpu_body_gemm *b,
			 const struct vgpu_gemm *p, uint64_t cookie);

	/*
	 * memcpy and fill between any two places of the span or the caller's memory, with faults
	 * caught: OK or ILLEGAL_ADDRESS. Synchronous, any thread of the context.
	 */
	uint32_t (*copy)(struct engine *e, void *dst, const void *src, size_t bytes);
	uint32_t (*fill)(struct engine *e, void *dst, uint32_t value, unsigned elem_bytes,
			 size_t count);

	/*
	 * The caller writes device memory by itself: beside(e, -1) before that, and beside(e, its result) after. NULL: no engine cares.
	 */
	int (*beside)(struct engine *e, int entered);

	/*
	 * Memory of the context that kernels may touch from now on (an allocation with the bytes that the
	 * program asked for, a mapping), or no longer (alive 0). ENGINE_WINDOW: a window segment, which the client writes to as well.
	 * ENGINE_FRESH: an allocation that nobody has written yet. ENGINE_MAPPED: of a file that other processes may have mapped, too.
	 * For the memory checker and verify; and where memory is shared, atomics are locked from then on.
	 */
	void (*note_alloc)(struct engine *e, uint64_t addr, uint64_t bytes, int alive);

	/*
	 * Where device malloc takes its memory: committed memory of the span, once (BUSY: there is a heap already, or a kernel
	 * has called malloc). An engine that was never told has VGPU_DEVICE_HEAP_BYTES in its arena.
	 */
	uint32_t (*heap)(struct engine *e, uint64_t va, uint64_t bytes);

	/* What a thread has for calls that nobody can foresee (CU_LIMIT_STACK_SIZE): kernels have it that are launched from now on. */
	uint32_t (*stack)(struct engine *e, uint64_t bytes);

	/* The core of the first fault (fw-protocol/vgpu_core.h), NULL: none, or there was no room for it. It stays. NULL: this engine makes none. */
	const void *(*core)(struct engine *e, uint64_t *bytes);

	/*
	 * Device memory where the engine has it and not this process: all NULL in an engine whose device memory is this process's.
	 * An allocation at va; physical memory under the client's name for it, offset; a mapping of it. Alive 0: away with it.
	 */
	uint32_t (*memory)(struct engine *e, uint64_t va, uint64_t bytes, int alive);
	uint32_t (*physical)(struct engine *e, uint64_t offset, uint64_t bytes, int alive);
	uint32_t (*mapping)(struct engine *e, uint64_t va, uint64_t bytes, uint64_t offset, int alive);

	/* Sticky status of an engine that can do nothing any more, whichever call it learnt that from; OK: it lives. NULL: it always does. */
	uint32_t (*died)(struct engine *e);

	/*
	 * An engine that queues: all NULL in one that does not. launch(), and copies and fills of device memory by these two, may be called for
	 * a stream (cookie) while others of it are out: they run in the order of the calls. Each that was PENDING ends with one done(), in that
	 * order, called by poll() alone. A copy is one command whose last piece says so; what it reads of this process stays until it ends.
	 */
	uint32_t (*copy_queued)(struct engine *e, uint64_t cookie, void *dst, const void *src, size_t bytes, int last);
	uint32_t (*fill_queued)(struct engine *e, uint64_t cookie, void *dst, uint32_t value, unsigned elem_bytes, size_t count, int last);
	/* Can the device read and write the client's window by itself? Else copies from it and to it are not queued. */
	int (*reaches)(struct engine *e);
	/* Behind a burst of them: from now on their end can be seen. More: others come at once, so this may wait for a few of them. */
	void (*settle)(struct engine *e, int more);
	/*
	 * How many have ended. Patient: nothing else is to be done, so the dispatcher will sleep, ENGINE_POLL_NS at most; what ends
	 * meanwhile is told by wake(). ended(): would poll tell of any? A look at memory.
	 */
	unsigned (*poll)(struct engine *e, int patient);
	int (*ended)(struct engine *e);
};
#define ENGINE_POLL_NS 2000000u
#define ENGINE_PENDING 0x10000u
#define ENGINE_WINDOW 2
#define ENGINE_FRESH 3
#define ENGINE_MAPPED 4

extern const struct engine_ops engine_cpu, engine_cuda;

/*
 * cuda/ before its engine opens, in order; each OK, or a status with the reason. The first two in any process; the context is of the client
 * whose device memory begins at device_base, of which so many bytes are kept for it (0: as many as a client may have).
 */
struct vgpu_device_info;
uint32_t cuda_open_library(const char *path, int ordinal, char *why, size_t room);
uint32_t cuda_identify(struct vgpu_device_info *info, char *why, size_t room);
uint32_t cuda_open_context(uint64_t device_base, uint64_t bytes, char *why, size_t room);
/* And the host's cuBLAS: any process; in the context. Without it, or when this fails, products are computed by kernels of the engine's. */
uint32_t cuda_open_cublas(const char *path, char *why, size_t room);
uint32_t cuda_start_cublas(char *why, size_t room);

#endif
