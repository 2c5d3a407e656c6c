/* SPDX-License-Identifier: MIT */
/*
 * A CUDA driver for tests, and what it shares with them: a file that the test makes and each process with the driver in it maps.
 *
 *   mock.c     the file, the plan, contexts, what the device is
 *   memory.c   reservations, physical memory, mappings, registered memory
 *   module.c   PTX: entries, their parameters, variables; cubins by their symbols, fatbins of both
 *   stream.c   streams, copies, launches: a thread stands for the GPU
 *   graph.c    graphs of kernels
 *   blas.c     cuBLAS, which the test has the engine find in the same library
 *   sweep.c    the test: a client for each error of each call
 *
 * The driver answers as NVIDIA's documentation says. Its memory is memory, at another place than its addresses say, so that who touches
 * a device address with the processor dies of it. Its kernels are known by name (stream.c).
 */
#ifndef MOCK_H
#define MOCK_H

#include <stdint.h>

#include "../../../tools/vgpu-stub/cuda/cuda.h"
#include "../../../tools/vgpu-stub/cuda/cublas.h"

#define MOCK_NAME(name) MOCK_##name,
enum mock_call { CUDA_CALLS(MOCK_NAME) CUBLAS_CALLS(MOCK_NAME) MOCK_CALLS };
#undef MOCK_NAME

enum mock_mode {
	MOCK_ERROR = 1,         /* the call fails, and nothing else is changed */
	MOCK_STICKY,            /* so does every call behind it: the context is lost */
	MOCK_ELSEWHERE,         /* an address that was asked for is not the one that is given */
	MOCK_LATER,             /* the launch begins, and its kernel ends the context with the error */
	MOCK_HANG,              /* the launch begins, and its kernel never ends */
	MOCK_STUCK,             /* the call does not come back */
};

/* The nth call (1: the first) of the process that starts next. */
struct mock_plan {
	uint32_t call, nth, mode, error;
};

enum mock_object { MOCK_CONTEXT, MOCK_RESERVED, MOCK_PHYSICAL, MOCK_MAPPED, MOCK_REGISTERED, MOCK_MODULE, MOCK_STREAM, MOCK_GRAPH, MOCK_OBJECTS };

/* One process with the driver in it; while it lives it has a lock on the file's byte of its number. */
struct mock_slot {
	uint32_t live[MOCK_OBJECTS];
	uint32_t calls[MOCK_CALLS];
	uint32_t fired;                 /* its plan was carried out */
	uint32_t opened, strange;       /* behind the walls: its own device node once more; a file that is none of its own */
};

#define MOCK_SLOTS 4096u
struct mock_file {
	uint32_t slots;                 /* ever */
	uint32_t take;                  /* 1: the plan is the next process's */
	uint32_t taker;                 /* its slot + 1 */
	uint32_t go;                    /* kernels that wait go on */
	struct mock_plan plan;
	struct mock_slot slot[MOCK_SLOTS];
};

/* ---- inside the driver ------------------------------------------------------------------------------------ */

#define EXPORT __attribute__((visibility("default")))
#define COUNT(object, n) __atomic_add_fetch(&mock_slot->live[object], (uint32_t)(n), __ATOMIC_RELAXED)
/* A call that may fail by plan, and that a lost context answers with its error. */
#define ENTER(name) do { CUresult r_ = mock_enter(MOCK_##name); if (r_) return r_; } while (0)

extern struct mock_file *mock_file;
extern struct mock_slot *mock_slot;

CUresult mock_enter(enum mock_call call);
/* The plan's mode for the call that has just been entered, 0: none. */
uint32_t mock_mode(enum mock_call call);
CUresult mock_lost(void);
void mock_lose(CUresult error);
CUresult mock_planned(void);
int mock_have_context(void);
#define MOCK_VERSION 12080      /* of CUDA; older than ours */
#define MOCK_NODE "/dev/zero"
void mock_open(void);

/* memory.c: what lies at an address of the device or of registered memory, and how much of it in one piece; NULL: nobody's */
void *mock_memory(CUdeviceptr at, size_t bytes, size_t *piece);
int mock_one_kind(const void *p, size_t bytes);
CUdeviceptr mock_own(size_t bytes);
void mock_disown(CUdeviceptr at);

/* module.c */
#define MOCK_MAP 0x6d61702d6b636f6dull   /* a tensor map begins with this, by its address */
int mock_managed(CUdeviceptr at);
struct mock_function {
	char name[64];
	CUmodule module;
	uint32_t nparams, param_bytes, offset[16], bytes[16];
	int dynamic_shared, own_shared, loaded;
};

/* stream.c */
void mock_product(const char *kernel, const void *params, size_t bytes, CUstream stream);
int mock_gpu_start(void);
void mock_gpu_wake(void);
/* of a graph */
CUresult mock_launch(CUfunction fn, const unsigned *grid, const unsigned *block, unsigned shared, CUstream stream, void **extra);

#endif
