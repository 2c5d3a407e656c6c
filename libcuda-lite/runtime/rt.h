/* SPDX-License-Identifier: MIT */
/*
 * libcudart's own declarations: what every file of the runtime includes first.
 *
 * The runtime is a thin layer over the public driver API and knows nothing of queues or agents. Each
 * file is compiled once per ABI: -DCUDART_MAJOR=12 and =13 (the static library takes 12).
 *
 * Rules of the layer:
 *  - a public function ends in rt_set() or rt_cu(), so that the calling thread's last error is right;
 *  - a public function that needs a context begins with RT_ENTER();
 *  - CUresult becomes cudaError_t in rt_translate() and nowhere else;
 *  - only functions that old C libraries have (tests/abi): no threads library, locks are rt_lock().
 */
#ifndef RT_H
#define RT_H

#include "rt_version.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "../core/tls.h"
#include "rt_names.h"

/* Entry points keep default visibility whatever the build's flags say; the version map decides. */
#pragma GCC visibility push(default)
#define __CUDA_API_VERSION_INTERNAL
#define __CUDART_API_VERSION_INTERNAL
#include "cuda.h"
#include "cuda_runtime_api.h"
#pragma GCC visibility pop

#pragma GCC visibility push(hidden)

#define RT_MAX_DEVICES 64
#define RT_MAX_PUSHED 8		/* launches whose arguments are being evaluated, nested */
#define RT_NEAR_PUSHED 2	/* of them in the thread's own state, which has little room (tls.h) */
#define RT_FN_CACHED 4		/* devices whose CUfunction is kept in the kernel's record */

struct rt_call_config {
	dim3 grid;
	dim3 block;
	size_t shared;
	cudaStream_t stream;
};

struct rt_thread {
	int device;			/* what cudaGetDevice answers while no context is current */
	cudaError_t last;		/* for cudaGetLastError */
	unsigned int last_reset;	/* rt_resets when .last was set */
	CUcontext bound;		/* the primary context that is current on this thread, NULL: another one is */
	CUcontext own;			/* that one: the program's own, last seen current */
	int own_device;
	unsigned int n_pushed;
	struct rt_call_config pushed[RT_NEAR_PUSHED];
	struct rt_call_config *deeper;	/* the others, while there are some */
};

struct rt_device {
	CUdevice handle;
	_Atomic(CUcontext) primary;	/* retained by us; NULL until first use and after a reset */
	_Atomic(struct cudaDeviceProp *) prop;
};

/* A lock of one word: 0 free, 1 held, 2 held and somebody waits. */
struct rt_lock {
	atomic_uint word;
};

/* A fat binary that a program registered. Nothing goes to the driver until a symbol of it is used. */
struct rt_fatbin {
	const void *image;		/* the compiler's wrapper; the driver understands it */
	struct rt_lock lock;		/* loading */
	_Atomic(CUlibrary) library;
	struct rt_symbol_chunk *chunks;	/* newest first; written under rt_registry's lock */
	struct rt_fatbin *next, *prev;
};

enum rt_symbol_kind {
	RT_SYMBOL_KERNEL,
	RT_SYMBOL_VARIABLE,
	RT_SYMBOL_MANAGED,
	RT_SYMBOL_TEXTURE,		/* references, of CUDA 11 and before (texref.c) */
	RT_SYMBOL_SURFACE
};

/*
 * A kernel or a variable, found by the host address that stands for it. Immutable after publication
 * except for the cached handles, which are written once per value and may be written twice with the same.
 */
struct rt_symbol {
	const void *host;
	const char *name;		/* in the program's image */
	struct rt_fatbin *fatbin;	/* NULL: came from cudaLibraryGetKernel */
	enum rt_symbol_kind kind;
	int normalized;			/* textures: integers are read as 0 to 1 */
	size_t size;			/* of variables; of textures: how far before the address that was given their memory begins */
	_Atomic(CUkernel) kernel;
	_Atomic(CUfunction) fn[RT_FN_CACHED];
};

VGPU_TLS(struct rt_thread, vgpu_rt_self);
#define rt_self (*vgpu_rt_self_at())
extern struct rt_device rt_devices[RT_MAX_DEVICES];
extern atomic_uint rt_resets;

/* error.c */
cudaError_t rt_translate(CUresult result);
cudaError_t rt_set(cudaError_t error);
cudaError_t rt_describe_array(CUDA_ARRAY3D_DESCRIPTOR *d, const struct cudaChannelFormatDesc *desc, struct cudaExtent extent, unsigned int flags);
cudaError_t rt_texel_bytes(cudaArray_const_t array, size_t *bytes);     /* texture.c */
cudaError_t rt_cu(CUresult result);
cudaError_t rt_unsupported(atomic_uint *said, const char *name);
void rt_complain(const char *what, const char *name, CUresult result);

/* lock.c */
void rt_lock_slow(struct rt_lock *l);
void rt_unlock_slow(struct rt_lock *l);

/* context.c */
cudaError_t rt_init(void);
int rt_device_count(void);
cudaError_t rt_enter_slow(CUresult result, CUcontext current);
cudaError_t rt_primary(int device, CUcontext *ctx);
cudaError_t rt_check_device(int device);
int rt_index(CUdevice dev);		/* -1: none of ours */

/* newer.c: an attribute was asked for at that address. A library that takes its PTX on devices newer than itself alone is told of one. */
void rt_asked(int *value, enum cudaDeviceAttr attr, cudaError_t error, const void *caller);

/* symbols.c */
struct rt_symbol *rt_find(const void *host);
void rt_register_reference(void **handle, const void *host, const char *name, enum rt_symbol_kind kind, int normalized);
struct rt_symbol *rt_find_managed(const void *place);
cudaError_t rt_adopt_kernel(CUkernel kernel, struct rt_symbol *sym);
CUresult rt_library(struct rt_fatbin *fatbin, CUlibrary *library);
void rt_forget_functions(int device);

/* module.c */
cudaError_t rt_kernel_slow(struct rt_symbol *sym, CUkernel *kernel);
cudaError_t rt_function_slow(struct rt_symbol *sym, CUfunction *fn);
cudaError_t rt_variable(const void *symbol, CUdeviceptr *ptr, size_t *size);

/* symbols.c: what the program calls the kernel of this function; NULL: nothing */
const void *rt_host_of(CUfunction fn);

/* copy.c, copy_shaped.c */
cudaError_t rt_symbol_range(const void *symbol, size_t bytes, size_t offset, CUdeviceptr *ptr);
cudaError_t rt_copy_of(const struct cudaMemcpy3DParms *p, CUDA_MEMCPY3D *c);

#pragma GCC visibility pop

static inline void rt_lock(struct rt_lock *l)
{
	unsigned int free_word = 0;

	if (!atomic_compare_exchange_strong_explicit(&l->word, &free_word, 1, memory_order_acquire,
						     memory_order_relaxed))
		rt_lock_slow(l);
}

static inline void rt_unlock(struct rt_lock *l)
{
	if (atomic_exchange_explicit(&l->word, 0, memory_order_release) == 2)
		rt_unlock_slow(l);
}

/*
 * Make sure that a context is current: the one that the program made current through the driver API,
 * else the primary context of the thread's device. Hot path: one call and one comparison.
 */
static inline cudaError_t rt_enter(void)
{
	CUcontext current = NULL;
	CUresult result = cuCtxGetCurrent(&current);

	if (__builtin_expect(result == CUDA_SUCCESS && current && current == rt_self.bound &&
			     current == atomic_load_explicit(&rt_devices[rt_self.device].primary,
							     memory_order_relaxed), 1))
		return cudaSuccess;
	return rt_enter_slow(result, current);
}

#define RT_ENTER() \
	do { \
		cudaError_t rt_enter_error = rt_enter(); \
		if (__builtin_expect(rt_enter_error != cudaSuccess, 0)) \
			return rt_set(rt_enter_error); \
	} while (0)

/* The function of a kernel in the current context, for a thread that has entered. */
static inline cudaError_t rt_function(const void *host, CUfunction *fn)
{
	struct rt_symbol *sym = rt_find(host);
	int device = rt_self.device;

	if (__builtin_expect(!sym || sym->kind != RT_SYMBOL_KERNEL, 0))
		return cudaErrorInvalidDeviceFunction;
	/* Acquire pairs with the release in rt_function_slow. In a foreign context .bound is NULL. */
	if (__builtin_expect(device < RT_FN_CACHED && rt_self.bound, 1)) {
		*fn = atomic_load_explicit(&sym->fn[device], memory_order_acquire);
		if (__builtin_expect(*fn != NULL, 1))
			return cudaSuccess;
	}
	return rt_function_slow(sym, fn);
}

/* Enters, and finds the function that a program names by its host address. */
#define RT_FUNCTION(host, fn) \
	do { \
		cudaError_t rt_function_error; \
		RT_ENTER(); \
		rt_function_error = rt_function(host, fn); \
		if (__builtin_expect(rt_function_error != cudaSuccess, 0)) \
			return rt_set(rt_function_error); \
	} while (0)

/* The end of calls that hand out device memory: the pointer is the program's only when there is one. */
static inline cudaError_t rt_give(void **ptr, CUdeviceptr d, CUresult result)
{
	if (result == CUDA_SUCCESS)
		*ptr = (void *)(uintptr_t)d;
	return rt_cu(result);
}

/* What a NULL stream means in a _ptsz entry point. */
static inline cudaStream_t rt_per_thread(cudaStream_t stream)
{
	return stream ? stream : cudaStreamPerThread;
}

static inline CUdeviceptr rt_dptr(const void *ptr)
{
	return (CUdeviceptr)(uintptr_t)ptr;
}

#endif
