/* SPDX-License-Identifier: MIT */
/*
 * The file that a test watches, the error that it planned, and what the device is. There are two devices, which differ in name and UUID.
 */
#define _GNU_SOURCE
#include "mock.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

struct mock_file *mock_file;
struct mock_slot *mock_slot;
static struct mock_plan plan;
static CUresult lost;
static int node;
static int listening = -1;
static int contexts;

static const struct { CUresult r; const char *name; } errors[] = {
	{ CUDA_SUCCESS, "CUDA_SUCCESS" }, { CUDA_ERROR_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE" }, { CUDA_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY" },
	{ CUDA_ERROR_NO_DEVICE, "CUDA_ERROR_NO_DEVICE" }, { CUDA_ERROR_NOT_SUPPORTED, "CUDA_ERROR_NOT_SUPPORTED" },
	{ CUDA_ERROR_DEVICE_UNAVAILABLE, "CUDA_ERROR_DEVICE_UNAVAILABLE" },
};

/* The file's byte of this number is locked as long as the process lives, however it ends. */
static void attach(void)
{
	const char *path = getenv("VGPU_STUB_MOCK");
	struct flock own = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1 };
	int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
	uint32_t n, one = 1;

	if (fd < 0)
		return;
	node = open(MOCK_NODE, O_RDWR | O_CLOEXEC);
	mock_file = mmap(NULL, sizeof(*mock_file), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (mock_file == MAP_FAILED)
		abort();
	n = __atomic_fetch_add(&mock_file->slots, 1, __ATOMIC_ACQ_REL) % MOCK_SLOTS;
	mock_slot = &mock_file->slot[n];
	memset(mock_slot, 0, sizeof(*mock_slot));
	own.l_start = n;
	if (fcntl(fd, F_OFD_SETLK, &own))
		abort();
	if (__atomic_compare_exchange_n(&mock_file->take, &one, 0, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
		plan = mock_file->plan;
		__atomic_store_n(&mock_file->taker, n + 1, __ATOMIC_RELEASE);
	}
}

/* A driver opens its device once more when it needs another mapping, and has what it pins in shared memory. */
void mock_open(void)
{
	void *pinned = mmap(NULL, 2 << 20, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int again = open(MOCK_NODE, O_RDWR | O_CLOEXEC), strange = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);

	if (strange < 0)
		strange = open("/dev/full", O_RDWR | O_CLOEXEC);
	if (strange < 0)
		strange = accept(listening, NULL, NULL);        /* nobody may come; asking ends nothing */
	__atomic_add_fetch(&mock_slot->opened, node >= 0 && again >= 0 && pinned != MAP_FAILED, __ATOMIC_RELAXED);
	__atomic_add_fetch(&mock_slot->strange, strange >= 0, __ATOMIC_RELAXED);
	if (pinned != MAP_FAILED)
		munmap(pinned, 2 << 20);
	if (again >= 0)
		close(again);
	if (strange >= 0)
		close(strange);
}

static int now(enum mock_call call)
{
	return plan.mode && plan.call == call && plan.nth == __atomic_load_n(&mock_slot->calls[call], __ATOMIC_RELAXED);
}

CUresult mock_enter(enum mock_call call)
{
	if (!mock_slot)
		return CUDA_ERROR_NOT_INITIALIZED;
	__atomic_add_fetch(&mock_slot->calls[call], 1, __ATOMIC_RELAXED);
	if (mock_lost())
		return mock_lost();
	if (!now(call))
		return CUDA_SUCCESS;
	__atomic_store_n(&mock_slot->fired, 1, __ATOMIC_RELEASE);
	while (plan.mode == MOCK_STUCK)
		nanosleep(&(struct timespec){ .tv_sec = 1 }, NULL);
	if (plan.mode == MOCK_STICKY)
		mock_lose((CUresult)plan.error);
	return plan.mode <= MOCK_STICKY ? (CUresult)plan.error : CUDA_SUCCESS;
}

uint32_t mock_mode(enum mock_call call) { return now(call) ? plan.mode : 0; }
CUresult mock_planned(void) { return (CUresult)plan.error; }
CUresult mock_lost(void) { return __atomic_load_n(&lost, __ATOMIC_ACQUIRE); }
int mock_have_context(void) { return contexts; }

void mock_lose(CUresult error)
{
	__atomic_store_n(&lost, error, __ATOMIC_RELEASE);
	mock_gpu_wake();
}

/* ---- devices and contexts --------------------------------------------------------------------------------- */

/*
 * As driver 580 does: it looks itself up by its number, and listens on an abstract socket for processes that share memory with it.
 */
static int look_up(void)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d/ns/pid", (int)getpid());
	snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "mock-uvmfd-%d-%llx", (int)getpid(), (unsigned long long)(uintptr_t)mock_slot);
	listening = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	return stat(path, &st) || listening < 0 || bind(listening, (struct sockaddr *)&name, sizeof(name)) || listen(listening, 128);
}

EXPORT CUresult cuInit(unsigned flags)
{
	if (!mock_slot)
		attach();
	if (listening < 0 && look_up())
		return CUDA_ERROR_OPERATING_SYSTEM;
	ENTER(cuInit);
	return flags ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

EXPORT CUresult cuDriverGetVersion(int *version)
{
	*version = MOCK_VERSION;
	return CUDA_SUCCESS;
}

EXPORT CUresult cuGetErrorName(CUresult error, const char **name)
{
	static char text[32];

	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
		if (errors[i].r == error) {
			*name = errors[i].name;
			return CUDA_SUCCESS;
		}
	snprintf(text, sizeof(text), "CUresult %d", (int)error);
	*name = text;
	return CUDA_SUCCESS;
}

EXPORT CUresult cuDeviceGetCount(int *n)
{
	ENTER(cuDeviceGetCount);
	*n = 2;
	return CUDA_SUCCESS;
}

EXPORT CUresult cuDeviceGet(CUdevice *dev, int ordinal)
{
	ENTER(cuDeviceGet);
	if (ordinal < 0 || ordinal > 1)
		return CUDA_ERROR_INVALID_DEVICE;
	*dev = ordinal;
	return CUDA_SUCCESS;
}

EXPORT CUresult cuDeviceGetName(char *name, int room, CUdevice dev)
{
	ENTER(cuDeviceGetName);
	snprintf(name, (size_t)room, "Mock GPU %d", dev);
	return CUDA_SUCCESS;
}

EXPORT CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice dev)
{
	ENTER(cuDeviceGetUuid);
	memset(uuid, 0x40 + dev, sizeof(*uuid));
	return CUDA_SUCCESS;
}

EXPORT CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice dev)
{
	ENTER(cuDeviceTotalMem_v2);
	*bytes = dev ? (size_t)256 << 20 : (size_t)512 << 20;
	return CUDA_SUCCESS;
}

EXPORT CUresult cuDeviceGetPCIBusId(char *id, int room, CUdevice dev)
{
	ENTER(cuDeviceGetPCIBusId);
	snprintf(id, (size_t)room, "0000:%02x:00.0", 0x41 + dev);
	return CUDA_SUCCESS;
}

EXPORT CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute a, CUdevice dev)
{
	static const struct { CUdevice_attribute a; int v; } known[] = {
		{ CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 9 }, { CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0 },
		{ CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 4 }, { CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32 },
		{ CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024 }, { CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 2048 },
		{ CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, 32 }, { CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, 1024 },
		{ CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, 1024 }, { CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, 64 },
		{ CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, 0x7fffffff }, { CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, 65535 },
		{ CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, 65535 }, { CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, 65536 },
		{ CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, 65536 }, { CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, 48 << 10 },
		{ CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 227 << 10 },
		{ CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 228 << 10 },
		{ CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK, 1024 }, { CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 1755000 },
		{ CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, 2619000 }, { CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, 5120 },
		{ CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 50 << 20 },
	};

	(void)dev;
	ENTER(cuDeviceGetAttribute);
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (known[i].a == a) {
			*value = known[i].v;
			return CUDA_SUCCESS;
		}
	return CUDA_ERROR_INVALID_VALUE;
}

EXPORT CUresult cuCtxCreate_v2(CUcontext *ctx, unsigned flags, CUdevice dev)
{
	(void)flags;
	ENTER(cuCtxCreate_v2);
	if (mock_gpu_start())
		return CUDA_ERROR_OPERATING_SYSTEM;
	*ctx = (CUcontext)(uintptr_t)(0x1000 + dev);
	contexts++;
	COUNT(MOCK_CONTEXT, 1);
	return CUDA_SUCCESS;
}

EXPORT CUresult cuCtxSetCurrent(CUcontext ctx)
{
	ENTER(cuCtxSetCurrent);
	return ctx && !contexts ? CUDA_ERROR_INVALID_CONTEXT : CUDA_SUCCESS;
}

EXPORT CUresult cuCtxSetLimit(CUlimit limit, size_t value)
{
	(void)value;
	ENTER(cuCtxSetLimit);
	if (!contexts)
		return CUDA_ERROR_INVALID_CONTEXT;
	return limit == CU_LIMIT_MALLOC_HEAP_SIZE ? CUDA_SUCCESS : CUDA_ERROR_UNSUPPORTED_LIMIT;
}
