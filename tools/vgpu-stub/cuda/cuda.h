/* SPDX-License-Identifier: MIT */
/*
 * The engine on NVIDIA's driver, private to cuda/: one context process, one CUDA context of the host's libcuda.
 *
 *   driver.c   the library, opened at run time; what its errors mean; the context, before the sandbox closes
 *   engine.c   the ops table; what the device looks like
 *   memory.c   device memory at the client's addresses, copies, fills
 *   module.c   modules, their functions
 *   variables.c  their variables, which the driver has elsewhere
 *   launch.c   launches
 *   run.c      launches that come again together: graphs of the driver
 *   tensormap.c  tensor maps among their parameters
 *   gemm.c     matrix products
 *   cublas.c   those that the host's cuBLAS computes
 *   print.c    what kernels print
 *   stream.c   streams: what is queued in them, and how its end is seen
 *
 * The driver is trusted with this process's life and no more: it runs inside the context's walls, and what it answers is
 * told to this client alone.
 */
#ifndef VGPU_CUDA_H
#define VGPU_CUDA_H

#include <stddef.h>
#include <stdint.h>

#define __CUDA_API_VERSION_INTERNAL
#include "../../../libcuda-lite/include/cuda.h"
#include "../../../fw-protocol/vgpu_client.h"
#include "../../../fw-protocol/vgpu_cmd.h"
#include "../../../fw-protocol/vgpu_device.h"
#include "../../../fw-protocol/vgpu_status.h"
#include "../engine.h"

/* What is asked of the driver, by the names that libcuda.so.1 exports. */
#define CUDA_CALLS(X) \
	X(cuInit) X(cuDriverGetVersion) X(cuGetErrorName) X(cuDeviceGet) X(cuDeviceGetCount) X(cuDeviceGetName) X(cuDeviceGetUuid) \
	X(cuDeviceTotalMem_v2) X(cuDeviceGetAttribute) X(cuDeviceGetPCIBusId) \
	X(cuCtxCreate_v2) X(cuCtxSetCurrent) X(cuCtxSetLimit) \
	X(cuModuleLoadDataEx) X(cuModuleUnload) X(cuModuleGetFunctionCount) X(cuModuleEnumerateFunctions) X(cuModuleGetGlobal_v2) X(cuModuleGetFunction) \
	X(cuFuncLoad) X(cuFuncGetName) X(cuFuncGetParamInfo) X(cuFuncGetAttribute) X(cuFuncSetAttribute) X(cuOccupancyMaxPotentialClusterSize) X(cuLaunchKernel) X(cuLaunchCooperativeKernel) X(cuLaunchKernelEx) X(cuLaunchHostFunc) \
	X(cuTensorMapEncodeTiled) X(cuTensorMapEncodeIm2col) \
	X(cuPointerGetAttribute) X(cuCtxGetStreamPriorityRange) X(cuStreamCreate) X(cuStreamCreateWithPriority) X(cuStreamQuery) X(cuStreamSynchronize) \
	X(cuMemcpyHtoDAsync_v2) X(cuMemcpyDtoHAsync_v2) X(cuMemcpyDtoDAsync_v2) X(cuMemsetD8Async) X(cuMemsetD16Async) X(cuMemsetD32Async) \
	X(cuStreamWriteValue64_v2) X(cuMemHostAlloc) \
	X(cuGraphCreate) X(cuGraphDestroy) X(cuGraphAddKernelNode_v2) X(cuGraphInstantiateWithFlags) X(cuGraphExecDestroy) \
	X(cuGraphExecKernelNodeSetParams_v2) X(cuGraphLaunch) \
	X(cuMemHostRegister_v2) X(cuMemHostUnregister) X(cuMemHostGetDevicePointer_v2) \
	X(cuMemAlloc_v2) X(cuMemFree_v2) X(cuMemAddressReserve) X(cuMemCreate) X(cuMemRelease) X(cuMemMap) X(cuMemUnmap) X(cuMemSetAccess)

struct cuda_driver {
#define CUDA_POINTER(name) __typeof__(&name) name;
	CUDA_CALLS(CUDA_POINTER)
#undef CUDA_POINTER
};
extern struct cuda_driver cu;

#define CUDA_PAGE VGPU_HUGE             /* the driver's granularity of physical memory */
#define CUDA_VA_BYTES (VGPU_DEVICE_SPAN - 2 * VGPU_ARENA_BYTES)  /* behind the arena; the end of the span is left to the driver */
#define CUDA_STREAMS VGPU_MAX_STREAMS
#define CUDA_WORKSPACE (32ull << 20)    /* what NVIDIA advises from compute capability 9.0 on */
#define CUDA_PRODUCTS 12u               /* kernels of ours, in so many modules */
#define CUDA_PRODUCT_MODULES 5u
#define CUDA_PHYS 4096u                 /* pieces of physical memory of a client, at once */

/* What was given to a stream is counted; the stream itself writes how far it has come. */
struct cuda_stream {
	CUstream stream;
	struct engine *e;
	uint64_t *word;                 /* the stream writes here, or the driver's thread */
	uint64_t given, written, seen;  /* so many; the last that will be written there; the last that was told */
	uint64_t bell;                  /* a host function stands behind so many; 0: none. The driver's thread clears it */
	uint32_t fn;                    /* of the launch given last */
	uint32_t priority;              /* stream is by_priority of it */
	CUstream by_priority[VGPU_PRIORITIES];
	uint32_t prints;                /* something that is out may have printed; the driver has written that */
	uint64_t workspace;             /* of cuBLAS: CUDA_WORKSPACE bytes, once it was needed */
	uint32_t no_workspace;          /* there was no memory for it */
	struct cuda_run *run;           /* given, and kept back until the run is whole; NULL: never had one */
	struct cuda_refusal *refused;   /* by the driver, behind the call that gave them; in their order */
	uint32_t nrefused, told;        /* of these */
};

struct cuda_refusal {
	uint64_t nth;                   /* as given counts */
	uint32_t status;
};

enum { CUDA_PRINTS = 1, CUDA_PRINTED };

struct cuda_func {
	CUfunction fn;
	struct cuda_module *m;
	const char *name;
	uint32_t nparams, param_bytes;
	struct engine_param *params;    /* NULL: not asked yet */
	uint32_t reqntid[3];            /* 0: as the launch says, or nobody knows */
	uint32_t shared_optin;          /* dynamic shared memory that it was allowed so far, once that is known */
	uint32_t shared_known;
	uint32_t wide_clusters;         /* it was allowed more blocks than every device has */
};

struct cuda_symbol {
	char *name;
	uint64_t address, bytes;        /* as the client knows it */
	uint64_t real;                  /* as the driver does */
	uint32_t kind;
};

struct cuda_module {
	CUmodule m;
	uint32_t prints;                /* its kernels may */
	uint64_t *last;                 /* of each stream: the last that was given of this module */
	uint32_t first, nfuncs;         /* function ids first .. first + nfuncs - 1 */
	struct cuda_symbol *var;
	uint32_t nvars;
	uint64_t var_bytes;
	uint64_t standin, standin_bytes;        /* addresses of the arena for variables that lie elsewhere */
};

struct cuda_phys {
	uint64_t offset, bytes;         /* bytes 0: free */
	CUmemGenericAllocationHandle h;
};

struct cuda_window {
	uint64_t at, bytes;
};

struct engine {
	struct engine_env env;
	CUcontext ctx;
	CUdevice dev;
	uint64_t device_base;           /* of the client's span for this device, VGPU_DEVICE_SPAN */
	CUstream copies;                /* of copies and fills: no kernel of the client's is in it */
	uint32_t unregistered;          /* parts of the window that the driver has not taken, ever */
	struct cuda_window *windows;    /* those that it has, by address */
	uint32_t nwindows;
	uint32_t died;                  /* sticky status, once the driver said so */
	struct cuda_stream stream[CUDA_STREAMS];
	int least, greatest;            /* the driver's priorities */
	uint32_t no_writes;             /* the driver has no cuStreamWriteValue64 for this device */
	uint64_t *words;                /* memory that the device writes to */
	uint64_t active[CUDA_STREAMS / 64], dirty;      /* streams with something out; is any of it unwritten? */
	struct cuda_module **modules;
	uint32_t nmodules;
	struct cuda_func *funcs;
	uint32_t nfuncs, funcs_room;
	uint32_t *users;                /* of each page behind the arena: allocations in it */
	uint32_t *run;                  /* pages of the mapping that begins here; 0: none does */
	struct cuda_phys *phys;
	struct cuda_graph *graphs;      /* run.c; NULL: none yet */
	uint64_t graph_turn;
	uint32_t standins;              /* modules that have some */
	uint64_t next_standin;
	struct {
		CUmodule module[CUDA_PRODUCT_MODULES];  /* NULL: not asked for yet */
		CUfunction fn[CUDA_PRODUCTS];
	} products;
};

/* driver.c */
struct cuda_call {
	const char *name;
	size_t at;                      /* of its pointer */
};
/* All of them by name, or the first that the library has not. */
const char *cuda_resolve(void *library, const struct cuda_call *calls, size_t n, void *to);
CUcontext cuda_context(void);
CUdevice cuda_device(void);
uint32_t cuda_status(CUresult r);
const char *cuda_error_name(CUresult r);

/* memory.c */
uint32_t cuda_memory_open(struct engine *e);
uint32_t cuda_mem(struct engine *e, uint64_t va, uint64_t bytes, int alive);
uint32_t cuda_phys(struct engine *e, uint64_t offset, uint64_t bytes, int alive);
uint32_t cuda_map(struct engine *e, uint64_t va, uint64_t bytes, uint64_t offset, int alive);
uint32_t cuda_copy(struct engine *e, void *dst, const void *src, size_t bytes);
uint32_t cuda_fill(struct engine *e, void *dst, uint32_t value, unsigned elem_bytes, size_t count);
uint32_t cuda_copy_queued(struct engine *e, uint64_t cookie, void *dst, const void *src, size_t bytes, int last);
uint32_t cuda_fill_queued(struct engine *e, uint64_t cookie, void *dst, uint32_t value, unsigned elem_bytes, size_t count, int last);
void cuda_note(struct engine *e, uint64_t addr, uint64_t bytes, int alive);
/* A call failed: its status; a sticky one is kept, for the launches that are out. */
uint32_t cuda_failed(struct engine *e, CUresult r);

/* module.c */
uint32_t cuda_module_load(struct engine *e, const void *image, size_t bytes, uint32_t *module, char *log, size_t log_bytes);
uint32_t cuda_module_check(struct engine *e, uint32_t module, char *log, size_t log_bytes);
uint32_t cuda_module_unload(struct engine *e, uint32_t module);
uint32_t cuda_module_symbol(struct engine *e, uint32_t module, uint32_t i, struct engine_symbol *out);
uint64_t cuda_module_bytes(struct engine *e, uint32_t module);
uint32_t cuda_func_info(struct engine *e, uint32_t fn, struct engine_func_info *out, char *log, size_t log_bytes);
const char *cuda_name_of(struct engine *e, uint32_t id);
struct cuda_func *cuda_func(struct engine *e, uint32_t id);
uint32_t cuda_params(struct engine *e, struct cuda_func *f);

/* variables.c */
int cuda_in_arena(const struct engine *e, uint64_t at, uint64_t bytes);
/* Of a module that is not in the table yet; away with them. */
uint32_t cuda_standins(struct engine *e, struct cuda_module *m);
void cuda_standins_end(struct engine *e, struct cuda_module *m);
/* Where the driver has it; 0: nowhere. */
int cuda_real(const struct engine *e, uint64_t at, uint64_t bytes, uint64_t *real);
/* Parameters as the driver's kernel needs them: as they are, or changed in room. */
const void *cuda_real_params(const struct engine *e, const void *params, uint32_t bytes, uint8_t *room);

/* launch.c */
uint32_t cuda_launch(struct engine *e, const struct engine_launch *l);
uint32_t cuda_launch_status(struct engine *e, CUresult r);

/* run.c */
int cuda_run_add(struct engine *e, struct cuda_stream *s, struct cuda_func *f, const struct engine_launch *l, const void *params);
int cuda_run_open(const struct cuda_stream *s);
int cuda_run_stale(const struct cuda_stream *s);
void cuda_run_flush(struct engine *e, struct cuda_stream *s);   /* before anything else is given to the stream */
void cuda_run_forget(struct engine *e, const struct cuda_module *m);

/* tensormap.c. Parameters with the driver's maps in place of ours: as they are, or changed in room. */
CUresult cuda_tensormaps(const struct engine *e, const void **params, uint32_t bytes, uint8_t *room);

/* gemm.c */
uint32_t cuda_gemm(struct engine *e, uint32_t op, const struct vgpu_body_gemm *b, const struct vgpu_gemm *p, uint64_t cookie);

/* cublas.c. place: of a, b, c, alpha and beta, as the driver knows them. CUDA_OURS: it is for kernels of ours; OK: given to the stream. */
#define CUDA_OURS 0x20000u
uint32_t cuda_cublas(struct engine *e, uint32_t op, const struct vgpu_body_gemm *b, const struct vgpu_gemm *p, const uint64_t place[5],
		     struct cuda_stream *s);

/* print.c */
int cuda_print_open(void);
int cuda_prints(const void *image, size_t bytes);
int cuda_print(struct engine *e, struct cuda_stream *s);        /* 0: the client has no room for all of it yet */

/* stream.c */
uint32_t cuda_streams_open(struct engine *e);
/* Made when it is first used. */
uint32_t cuda_stream(struct engine *e, uint64_t cookie, uint32_t priority, struct cuda_stream **s);
#define CUDA_AS_IT_IS ~0u       /* of what has no priority of its own */
void cuda_given(struct engine *e, struct cuda_stream *s);
void cuda_refused(struct cuda_stream *s, uint64_t nth, uint32_t status);
int cuda_module_busy(const struct engine *e, const struct cuda_module *m);
void cuda_settle(struct engine *e, int more);
unsigned cuda_poll(struct engine *e, int patient);
int cuda_ended(struct engine *e);

#endif
