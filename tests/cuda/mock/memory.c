/* SPDX-License-Identifier: MIT */
/*
 * Memory of the mock driver. An address of the device is a reservation without access; what is mapped there lies elsewhere.
 * One lock for all of it: the GPU's thread looks here as well.
 */
#include "mock.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

#define MOST 4096

struct physical {
	uint8_t *bytes;
	size_t size;
	int refs;               /* its handle, its mappings */
	int released;
};
static struct reserved { uint64_t at, size; } reserved[16];
static struct mapped { uint64_t at, size, offset; struct physical *p; int access; } mapped[MOST];
static struct registered { uint64_t at, size; } registered[MOST];
static size_t used;
static unsigned most;                   /* entries of the tables that were ever in use */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

#define HUGE_BYTES ((size_t)2 << 20)
#define DEVICE_BYTES ((size_t)512 << 20)

static int overlap(uint64_t a, uint64_t an, uint64_t b, uint64_t bn) { return a < b + bn && b < a + an; }

EXPORT CUresult cuMemAddressReserve(CUdeviceptr *ptr, size_t size, size_t alignment, CUdeviceptr addr, unsigned long long flags)
{
	const int how = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
	void *p = MAP_FAILED;
	unsigned i = 0;

	ENTER(cuMemAddressReserve);
	if (!ptr || !size || size % HUGE_BYTES || alignment & (alignment - 1) || flags)
		return CUDA_ERROR_INVALID_VALUE;
	while (i < 16 && reserved[i].size)
		i++;
	if (i == 16)
		return CUDA_ERROR_OUT_OF_MEMORY;
	/* A hint: addresses of the process are the device's as well, so what somebody has already is given to nobody else. */
	if (addr && mock_mode(MOCK_cuMemAddressReserve) != MOCK_ELSEWHERE)
		p = mmap((void *)(uintptr_t)addr, size, PROT_NONE, how | MAP_FIXED_NOREPLACE, -1, 0);
	if (p == MAP_FAILED)
		p = mmap(NULL, size, PROT_NONE, how, -1, 0);
	if (p == MAP_FAILED)
		return CUDA_ERROR_OUT_OF_MEMORY;
	reserved[i] = (struct reserved){ (uintptr_t)p, size };
	*ptr = (uintptr_t)p;
	COUNT(MOCK_RESERVED, 1);
	return CUDA_SUCCESS;
}

EXPORT CUresult cuMemCreate(CUmemGenericAllocationHandle *handle, size_t size, const CUmemAllocationProp *prop, unsigned long long flags)
{
	struct physical *p;

	ENTER(cuMemCreate);
	if (!handle || !size || size % HUGE_BYTES || flags || prop->type != CU_MEM_ALLOCATION_TYPE_PINNED ||
	    prop->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
		return CUDA_ERROR_INVALID_VALUE;
	if (size > DEVICE_BYTES - used)
		return CUDA_ERROR_OUT_OF_MEMORY;
	p = calloc(1, sizeof(*p));
	if (!p)
		return CUDA_ERROR_OUT_OF_MEMORY;
	p->bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p->bytes == MAP_FAILED) {
		free(p);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	/* what was there before is nobody's business, and nobody may count on zeros */
	memset(p->bytes, 0xdb, 4096);
	p->size = size;
	p->refs = 1;
	used += size;
	COUNT(MOCK_PHYSICAL, 1);
	*handle = (CUmemGenericAllocationHandle)(uintptr_t)p;
	return CUDA_SUCCESS;
}

/* Lock held. */
static void drop(struct physical *p)
{
	if (--p->refs)
		return;
	munmap(p->bytes, p->size);
	used -= p->size;
	COUNT(MOCK_PHYSICAL, -1);
	free(p);
}

EXPORT CUresult cuMemRelease(CUmemGenericAllocationHandle handle)
{
	struct physical *p = (struct physical *)(uintptr_t)handle;

	ENTER(cuMemRelease);
	if (!p || p->released)
		return CUDA_ERROR_INVALID_VALUE;
	p->released = 1;
	pthread_mutex_lock(&lock);
	drop(p);
	pthread_mutex_unlock(&lock);
	return CUDA_SUCCESS;
}

static int in_reservation(uint64_t at, uint64_t size)
{
	for (unsigned i = 0; i < 16; i++)
		if (reserved[i].size && at >= reserved[i].at && size <= reserved[i].size && at - reserved[i].at <= reserved[i].size - size)
			return 1;
	return 0;
}

EXPORT CUresult cuMemMap(CUdeviceptr at, size_t size, size_t offset, CUmemGenericAllocationHandle handle, unsigned long long flags)
{
	struct physical *p = (struct physical *)(uintptr_t)handle;
	CUresult r = CUDA_SUCCESS;
	unsigned free_one = MOST;

	ENTER(cuMemMap);
	/* "offset: must be zero" */
	if (!p || p->released || !size || at % HUGE_BYTES || size % HUGE_BYTES || offset || size > p->size || flags || !in_reservation(at, size))
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&lock);
	for (unsigned i = MOST; i--;) {
		if (!mapped[i].size)
			free_one = i;
		else if (overlap(mapped[i].at, mapped[i].size, at, size))
			r = CUDA_ERROR_INVALID_VALUE;
	}
	if (!r && free_one == MOST)
		r = CUDA_ERROR_OUT_OF_MEMORY;
	if (!r) {
		mapped[free_one] = (struct mapped){ at, size, offset, p, 0 };
		most = free_one + 1 > most ? free_one + 1 : most;
		p->refs++;
		COUNT(MOCK_MAPPED, 1);
	}
	pthread_mutex_unlock(&lock);
	return r;
}

/* "The range must be the entire contiguous address range that was mapped to." */
EXPORT CUresult cuMemUnmap(CUdeviceptr at, size_t size)
{
	CUresult r = CUDA_ERROR_INVALID_VALUE;

	ENTER(cuMemUnmap);
	pthread_mutex_lock(&lock);
	for (unsigned i = 0; i < MOST && r; i++)
		if (size && mapped[i].at == at && mapped[i].size == size) {
			drop(mapped[i].p);
			mapped[i] = (struct mapped){ 0 };
			COUNT(MOCK_MAPPED, -1);
			r = CUDA_SUCCESS;
		}
	pthread_mutex_unlock(&lock);
	return r;
}

EXPORT CUresult cuMemSetAccess(CUdeviceptr at, size_t size, const CUmemAccessDesc *desc, size_t n)
{
	uint64_t covered = 0;

	ENTER(cuMemSetAccess);
	if (!desc || n != 1 || desc->flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&lock);
	for (unsigned i = 0; i < MOST; i++)
		if (mapped[i].size && mapped[i].at >= at && mapped[i].at + mapped[i].size <= at + size)
			covered += mapped[i].size;
	for (unsigned i = 0; i < MOST && covered == size; i++)
		if (mapped[i].size && overlap(mapped[i].at, mapped[i].size, at, size))
			mapped[i].access = 1;
	pthread_mutex_unlock(&lock);
	return covered == size ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* ---- memory of the process -------------------------------------------------------------------------------- */

EXPORT CUresult cuMemHostRegister_v2(void *ptr, size_t bytes, unsigned flags)
{
	uint64_t at = (uintptr_t)ptr;
	unsigned free_one = MOST;
	CUresult r = CUDA_SUCCESS;

	ENTER(cuMemHostRegister_v2);
	if (!ptr || !bytes || flags & ~(unsigned)(CU_MEMHOSTREGISTER_DEVICEMAP | CU_MEMHOSTREGISTER_PORTABLE))
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&lock);
	for (unsigned i = MOST; i--;) {
		if (!registered[i].size)
			free_one = i;
		else if (overlap(registered[i].at, registered[i].size, at, bytes))
			r = CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
	}
	if (!r && free_one == MOST)
		r = CUDA_ERROR_OUT_OF_MEMORY;
	if (!r) {
		registered[free_one] = (struct registered){ at, bytes };
		most = free_one + 1 > most ? free_one + 1 : most;
		COUNT(MOCK_REGISTERED, 1);
	}
	pthread_mutex_unlock(&lock);
	return r;
}

/* By the address that was registered, and by no other. */
EXPORT CUresult cuMemHostUnregister(void *ptr)
{
	CUresult r = CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;

	ENTER(cuMemHostUnregister);
	pthread_mutex_lock(&lock);
	for (unsigned i = 0; i < MOST && r; i++)
		if (registered[i].size && registered[i].at == (uintptr_t)ptr) {
			registered[i] = (struct registered){ 0 };
			COUNT(MOCK_REGISTERED, -1);
			r = CUDA_SUCCESS;
		}
	pthread_mutex_unlock(&lock);
	return r;
}

EXPORT CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *dptr, void *ptr, unsigned flags)
{
	CUresult r = CUDA_ERROR_INVALID_VALUE;

	ENTER(cuMemHostGetDevicePointer_v2);
	if (flags)
		return r;
	pthread_mutex_lock(&lock);
	for (unsigned i = 0; i < MOST && r; i++)
		if ((uintptr_t)ptr - registered[i].at < registered[i].size) {
			*dptr = (uintptr_t)ptr + (mock_mode(MOCK_cuMemHostGetDevicePointer_v2) == MOCK_ELSEWHERE ? 1u << 20 : 0);
			r = CUDA_SUCCESS;
		}
	pthread_mutex_unlock(&lock);
	return r;
}

void *mock_memory(CUdeviceptr at, size_t bytes, size_t *piece)
{
	void *p = NULL;

	pthread_mutex_lock(&lock);
	for (unsigned i = 0; i < most && !p; i++) {
		if (mapped[i].access && at - mapped[i].at < mapped[i].size) {
			*piece = mapped[i].size - (at - mapped[i].at);
			p = mapped[i].p->bytes + mapped[i].offset + (at - mapped[i].at);
		} else if (at - registered[i].at < registered[i].size) {
			*piece = registered[i].size - (at - registered[i].at);
			p = (void *)(uintptr_t)at;
		}
	}
	pthread_mutex_unlock(&lock);
	*piece = p && *piece > bytes ? bytes : *piece;
	return p;
}

/* NVIDIA's driver: memory of the host is of one registration, or of none. */
int mock_one_kind(const void *p, size_t bytes)
{
	uint64_t at = (uintptr_t)p;
	int ok = 1;

	pthread_mutex_lock(&lock);
	for (unsigned i = 0; i < most && ok; i++)
		if (registered[i].size && at < registered[i].at + registered[i].size && registered[i].at < at + bytes)
			ok = registered[i].at <= at && at + bytes <= registered[i].at + registered[i].size;
	pthread_mutex_unlock(&lock);
	return ok;
}

EXPORT CUresult cuMemHostAlloc(void **ptr, size_t bytes, unsigned flags)
{
	(void)flags;
	ENTER(cuMemHostAlloc);
	*ptr = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (*ptr == MAP_FAILED)
		return CUDA_ERROR_OUT_OF_MEMORY;
	pthread_mutex_lock(&lock);
	for (unsigned i = 0; i < MOST; i++)
		if (!registered[i].size) {
			registered[i] = (struct registered){ (uintptr_t)*ptr, bytes };
			most = i + 1 > most ? i + 1 : most;
			break;
		}
	pthread_mutex_unlock(&lock);
	return CUDA_SUCCESS;
}

/* ---- the driver's own: variables of modules, where it likes to have them ----------------------------------- */

CUdeviceptr mock_own(size_t bytes)
{
	size_t size = (bytes + HUGE_BYTES - 1) & ~(HUGE_BYTES - 1);
	void *at = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	struct physical *p = calloc(1, sizeof(*p));

	if (at == MAP_FAILED || !p)
		abort();
	*p = (struct physical){ .size = size, .refs = 1 };
	p->bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p->bytes == MAP_FAILED)
		abort();
	pthread_mutex_lock(&lock);
	for (unsigned i = 0; i < MOST; i++)
		if (!mapped[i].size) {
			mapped[i] = (struct mapped){ (uintptr_t)at, size, 0, p, 1 };
			most = i + 1 > most ? i + 1 : most;
			break;
		}
	pthread_mutex_unlock(&lock);
	return (uintptr_t)at;
}

void mock_disown(CUdeviceptr at)
{
	pthread_mutex_lock(&lock);
	for (unsigned i = 0; i < MOST; i++)
		if (mapped[i].size && mapped[i].at == at) {
			munmap((void *)(uintptr_t)at, mapped[i].size);
			munmap(mapped[i].p->bytes, mapped[i].p->size);
			free(mapped[i].p);
			mapped[i] = (struct mapped){ 0 };
		}
	pthread_mutex_unlock(&lock);
}

/* ---- allocations of the engine's own, which are no client's --------------------------------------------------- */

EXPORT CUresult cuMemAlloc_v2(CUdeviceptr *at, size_t bytes)
{
	ENTER(cuMemAlloc_v2);
	*at = mock_own(bytes);
	return CUDA_SUCCESS;
}

EXPORT CUresult cuMemFree_v2(CUdeviceptr at)
{
	ENTER(cuMemFree_v2);
	mock_disown(at);
	return CUDA_SUCCESS;
}

/* Of what is known here nothing is managed, but for a variable that says so (module.c). */
EXPORT CUresult cuPointerGetAttribute(void *data, CUpointer_attribute a, CUdeviceptr at)
{
	size_t piece;

	ENTER(cuPointerGetAttribute);
	if (a != CU_POINTER_ATTRIBUTE_IS_MANAGED || !mock_memory(at, 1, &piece))
		return CUDA_ERROR_INVALID_VALUE;
	*(uint32_t *)data = (uint32_t)mock_managed(at);
	return CUDA_SUCCESS;
}
