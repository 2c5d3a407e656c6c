/* SPDX-License-Identifier: MIT */
/*
 * Memory and events of another process: what one writes the other sees, in the order of their streams; handles are refused
 * where they mean nothing; who has opened memory keeps it when its owner dies.
 *
 * The other process is this program again: `ipc peer`, which does what comes on its standard input, a struct order each.
 */
#include <errno.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "drv.h"

E2E_PTX(misc);

struct order {
	char what;              /* p import a pool, P a pointer of it, f free that, i import the descriptor that comes with it, o open, m multiply by 3 and add 1, e open the event, w wait for it and multiply, r record, c close, q quit */
	int which, n;
	CUipcMemHandle mem;
	CUipcEventHandle event;
	CUmemPoolPtrExportData data;
};
struct answer {
	CUresult r;
	uint32_t first, last;
};

static CUfunction affine;

static void times(CUdeviceptr d, int n, CUstream s)
{
	uint32_t mul = 3, add = 1;

	LAUNCH(affine, (n + 127) / 128, 128, 0, s, &d, &mul, &add, &n);
}

static int side[2];             /* a socket beside the pipes: descriptors */

static void give_fd(int fd)
{
	char b = 0;
	union { struct cmsghdr h; char room[CMSG_SPACE(sizeof(int))]; } u = { 0 };
	struct iovec v = { &b, 1 };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1, .msg_control = &u, .msg_controllen = sizeof u.room };

	u.h.cmsg_level = SOL_SOCKET;
	u.h.cmsg_type = SCM_RIGHTS;
	u.h.cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(&u.h), &fd, sizeof fd);
	if (sendmsg(side[0], &m, 0) != 1)
		e2e_fail("sendmsg: %s", strerror(errno));
}

static int take_fd(void)
{
	char b;
	union { struct cmsghdr h; char room[CMSG_SPACE(sizeof(int))]; } u = { 0 };
	struct iovec v = { &b, 1 };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1, .msg_control = &u, .msg_controllen = sizeof u.room };
	int fd = -1;

	if (recvmsg(3, &m, 0) == 1 && CMSG_FIRSTHDR(&m))
		memcpy(&fd, CMSG_DATA(&u.h), sizeof fd);
	return fd;
}

static CUresult map_phys(CUdeviceptr *d, CUmemGenericAllocationHandle h, size_t bytes)
{
	CUmemAccessDesc access = { .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE }, .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE };

	CK(cuMemAddressReserve(d, bytes, 0, 0, 0));
	CK(cuMemMap(*d, bytes, 0, h, 0));
	return cuMemSetAccess(*d, bytes, &access, 1);
}

static CUresult import_fd(CUdeviceptr *d, int fd, int mib)
{
	CUmemGenericAllocationHandle h;
	CUresult r = cuMemImportFromShareableHandle(&h, (void *)(intptr_t)fd, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);

	close(fd);
	if (!r)
		r = map_phys(d, h, (size_t)mib << 20);
	if (!r)
		r = cuMemRelease(h);    /* it lives by its mapping */
	return r;
}

static CUresult import_pool(CUmemoryPool *pool, int fd)
{
	CUresult r = cuMemPoolImportFromShareableHandle(pool, (void *)(intptr_t)fd, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
	CUdeviceptr none;

	close(fd);
	if (!r)
		WANT(CUDA_ERROR_INVALID_VALUE, cuMemAllocFromPoolAsync(&none, 100, *pool, NULL));
	return r;
}

static int peer(void)
{
	CUmemoryPool pool = NULL;
	CUdeviceptr d[4] = { 0 };
	struct answer a;
	struct order o;
	CUevent event = NULL;
	CUstream s;

	drv_start("ipc peer");
	affine = drv_kernel(drv_module(ptx_misc), "affine");
	CK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	while (read(0, &o, sizeof o) == sizeof o && o.what != 'q') {
		CUdeviceptr *p = &d[o.which & 3];

		memset(&a, 0, sizeof a);
		switch (o.what) {
		case 'p':
			a.r = import_pool(&pool, take_fd());
			break;
		case 'P':
			a.r = cuMemPoolImportPointer(p, pool, &o.data);
			break;
		case 'f':
			a.r = cuMemFreeAsync(*p, s);
			break;
		case 'i':
			a.r = import_fd(p, take_fd(), o.n);
			break;
		case 'o':
			a.r = cuIpcOpenMemHandle(p, o.mem, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
			break;
		case 'e':
			a.r = cuIpcOpenEventHandle(&event, o.event);
			break;
		case 'm':
			times(*p, o.n, NULL);
			break;
		case 'w':       /* behind the other's work, without a look by the processor */
			a.r = cuStreamWaitEvent(s, event, 0);
			times(*p, o.n, s);
			break;
		case 'r':
			a.r = cuEventRecord(event, s);
			break;
		case 'c':
			a.r = cuIpcCloseMemHandle(*p);
			break;
		}
		if (o.what == 'm' && *p) {
			CK(cuMemcpyDtoH(&a.first, *p, 4));
			CK(cuMemcpyDtoH(&a.last, *p + 4 * ((size_t)o.n - 1), 4));
		}
		if (write(1, &a, sizeof a) != sizeof a)
			return 1;
	}
	CK(cuCtxSynchronize());
	return 0;
}

static int to[2], from[2];

static pid_t start(const char *self)
{
	pid_t pid;

	if (pipe(to) || pipe(from) || socketpair(AF_UNIX, SOCK_STREAM, 0, side))
		e2e_skip("no pipe");
	pid = fork();
	if (pid == 0) {
		dup2(to[0], 0);
		dup2(from[1], 1);
		dup2(side[1], 63);
		dup2(63, 3);
		for (int i = 4; i < 64; i++)
			close(i);
		execl(self, self, "peer", (char *)NULL);
		_exit(127);
	}
	close(to[0]);
	close(from[1]);
	return pid;
}

static struct answer ask(struct order o)
{
	struct answer a = { .r = CUDA_ERROR_UNKNOWN };

	if (write(to[1], &o, sizeof o) != sizeof o || read(from[0], &a, sizeof a) != sizeof a)
		e2e_fail("the other process does not answer to %c", o.what);
	return a;
}

/* Physical memory that goes to the other process as a file. */
static void as_file(void)
{
	enum { MIB = 4 };
	CUmemAllocationProp prop = { .type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE },
				     .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR }, got;
	CUmemGenericAllocationHandle h, plain, again;
	struct order o = { .which = 2, .n = MIB };
	CUdeviceptr d, twice;
	CUcontext ctx;
	struct answer a;
	int fd = -1, n = MIB << 18;
	uint32_t v;

	CK(cuMemCreate(&h, MIB << 20, &prop, 0));
	CK(cuMemGetAllocationPropertiesFromHandle(&got, h));
	EXPECT(got.requestedHandleTypes == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
	CK(map_phys(&d, h, MIB << 20));
	CK(cuMemsetD32(d, 5, n));
	CK(cuMemExportToShareableHandle(&fd, h, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
	/* in this process too, at another address */
	CK(cuMemImportFromShareableHandle(&again, (void *)(intptr_t)fd, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
	CK(map_phys(&twice, again, MIB << 20));
	CK(cuMemcpyDtoH(&v, twice + (MIB << 20) - 4, 4));
	EXPECT_EQ(v, 5);
	CK(cuMemUnmap(twice, MIB << 20));
	CK(cuMemRelease(again));
	/* unmapped, mapped again in its place, and elsewhere */
	CK(cuMemMap(twice, MIB << 20, 0, h, 0));
	CK(cuMemSetAccess(twice, MIB << 20, &(CUmemAccessDesc){ .location = prop.location, .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE }, 1));
	times(twice, n, NULL);
	CK(cuMemUnmap(twice, MIB << 20));
	CK(cuMemAddressFree(twice, MIB << 20));
	o.what = 'i';
	give_fd(fd);
	EXPECT_EQ(ask(o).r, CUDA_SUCCESS);
	o.what = 'm';
	o.n = n;
	a = ask(o);
	EXPECT_EQ(a.first, 49);
	EXPECT_EQ(a.last, 49);
	CK(cuMemcpyDtoH(&v, d + (MIB << 20) - 4, 4));
	EXPECT_EQ(v, 49);
	/* it lives on there when it is gone here */
	CK(cuMemUnmap(d, MIB << 20));
	CK(cuMemRelease(h));
	CK(cuMemAddressFree(d, MIB << 20));
	CK(cuMemCreate(&h, MIB << 20, &prop, 0));
	CK(map_phys(&d, h, MIB << 20));
	CK(cuMemsetD32(d, 1, n));
	a = ask(o);
	EXPECT_EQ(a.first, 148);
	CK(cuMemUnmap(d, MIB << 20));
	CK(cuMemRelease(h));
	/* no handle of what was not made for it; no memory of what is none */
	prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_NONE;
	CK(cuMemCreate(&plain, MIB << 20, &prop, 0));
	WANT(CUDA_ERROR_INVALID_VALUE, cuMemExportToShareableHandle(&fd, plain, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
	CK(cuMemRelease(plain));
	WANT(CUDA_ERROR_INVALID_VALUE, cuMemImportFromShareableHandle(&again, (void *)(intptr_t)side[0], CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
	WANT(CUDA_ERROR_INVALID_VALUE, cuMemImportFromShareableHandle(&again, (void *)(intptr_t)9999, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
	close(fd);
	/* a thread without a context makes memory for others, as a parent does that gives its children work */
	CK(cuCtxGetCurrent(&ctx));
	CK(cuCtxSetCurrent(NULL));
	prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
	CK(cuMemCreate(&h, MIB << 20, &prop, 0));
	CK(cuMemExportToShareableHandle(&fd, h, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
	CK(cuMemRelease(h));
	CK(cuCtxSetCurrent(ctx));
	CK(cuMemImportFromShareableHandle(&again, (void *)(intptr_t)fd, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
	CK(map_phys(&d, again, MIB << 20));
	CK(cuMemsetD32(d, 77, n));
	CK(cuMemcpyDtoH(&v, d + (MIB << 20) - 4, 4));
	EXPECT_EQ(v, 77);
	CK(cuMemUnmap(d, MIB << 20));
	CK(cuMemRelease(again));
	CK(cuDevicePrimaryCtxRelease(0));
	close(fd);
}

/* Allocations of a pool, one by one. */
static void of_pool(void)
{
	CUmemPoolProps props = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED, .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE },
				 .handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR };
	struct order o = { .what = 'p', .which = 3, .n = 3000 };
	CUmemPoolPtrExportData none;
	CUmemoryPool pool, plain;
	CUdeviceptr d, again;
	struct answer a;
	int fd = -1;
	uint32_t v;

	CK(cuMemPoolCreate(&pool, &props));
	CK(cuMemPoolExportToShareableHandle(&fd, pool, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
	give_fd(fd);
	close(fd);
	EXPECT_EQ(ask(o).r, CUDA_SUCCESS);
	for (int round = 0; round < 2; round++) {
		CK(cuMemAllocFromPoolAsync(&d, 3000 * 4, pool, NULL));
		CK(cuMemsetD32Async(d, 2, 3000, NULL));
		CK(cuMemPoolExportPointer(&o.data, d));
		o.what = 'P';
		EXPECT_EQ(ask(o).r, CUDA_SUCCESS);
		EXPECT_EQ(ask(o).r, CUDA_ERROR_INVALID_VALUE);
		o.what = 'm';
		a = ask(o);
		EXPECT_EQ(a.first, 7);
		CK(cuMemcpyDtoH(&v, d + 4 * 2999, 4));
		EXPECT_EQ(v, 7);
		o.what = 'c';           /* that is for the other kind of handle */
		EXPECT_EQ(ask(o).r, CUDA_ERROR_INVALID_VALUE);
		o.what = 'f';
		EXPECT_EQ(ask(o).r, CUDA_SUCCESS);
		EXPECT_EQ(ask(o).r, CUDA_ERROR_INVALID_VALUE);
		CK(cuMemFreeAsync(d, NULL));
		CK(cuCtxSynchronize());
	}
	CK(cuMemPoolDestroy(pool));
	/* what is not for others */
	props.handleTypes = CU_MEM_HANDLE_TYPE_NONE;
	CK(cuMemPoolCreate(&plain, &props));
	WANT(CUDA_ERROR_INVALID_VALUE, cuMemPoolExportToShareableHandle(&fd, plain, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
	CK(cuMemAllocFromPoolAsync(&again, 100, plain, NULL));
	WANT(CUDA_ERROR_INVALID_VALUE, cuMemPoolExportPointer(&none, again));
	CK(cuMemFree(again));
	CK(cuMemPoolDestroy(plain));
}

static volatile int go;

static void CUDA_CB stand_still(void *arg)
{
	(void)arg;
	while (!go)
		e2e_sleep_ms(1);
}

int main(int argc, char **argv)
{
	static const int sizes[] = { 1000, 1300000 };
	struct order o = { 0 }, bad;
	CUdeviceptr d[2], again;
	unsigned int capable;
	struct answer a;
	CUevent event, no;
	uint32_t v, *host;
	int supported = 0, st = -1;
	CUcontext ctx;
	CUresult r;
	CUstream s;
	pid_t pid;

	if (argc > 1)
		return peer();
	ctx = drv_start("ipc");
	affine = drv_kernel(drv_module(ptx_misc), "affine");
	CK(cuDeviceGetAttribute(&supported, CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED, 0));
	if (!supported)
		e2e_skip("IPC_EVENT_SUPPORTED is 0");
	CK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	pid = start(argv[0]);
	for (int i = 0; i < 2; i++) {
		host = e2e_malloc((size_t)sizes[i] * 4);
		for (int k = 0; k < sizes[i]; k++)
			host[k] = (uint32_t)k;
		d[i] = drv_upload(host, (size_t)sizes[i] * 4);
		CK(cuPointerGetAttribute(&capable, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, d[i]));
		times(d[i], sizes[i], s);
		r = cuIpcGetMemHandle(&o.mem, d[i] + 8);        /* of any place in it: the whole */
		EXPECT(capable == (r == CUDA_SUCCESS));
		if (r == CUDA_ERROR_NOT_SUPPORTED && i == 0) {
			CK(cuMemcpyDtoH(&v, d[i] + 4 * ((size_t)sizes[i] - 1), 4));
			EXPECT_EQ(v, (uint32_t)(sizes[i] - 1) * 3 + 1);
			o.what = 'q';
			if (write(to[1], &o, sizeof o) != sizeof o)
				return 1;
			waitpid(pid, &st, 0);
			if (e2e_failures)
				return 1;
			e2e_skip("this device's memory is not shared");
		}
		CK(r);
		/* what was there is there still, at the same address */
		times(d[i], sizes[i], s);
		CK(cuStreamSynchronize(s));
		CK(cuMemcpyDtoH(&v, d[i] + 4 * ((size_t)sizes[i] - 1), 4));
		EXPECT_EQ(v, (uint32_t)(sizes[i] - 1) * 9 + 4);
		o.what = 'o';
		o.which = i;
		EXPECT_EQ(ask(o).r, CUDA_SUCCESS);
		o.what = 'm';
		o.n = sizes[i];
		a = ask(o);
		EXPECT_EQ(a.first, 13);
		EXPECT_EQ(a.last, (uint32_t)(sizes[i] - 1) * 27 + 13);
		CK(cuMemcpyDtoH(host, d[i], (size_t)sizes[i] * 4));
		for (int k = 0; k < sizes[i]; k++)
			if (host[k] != (uint32_t)k * 27 + 13) {
				e2e_fail("size %d: element %d is %u", sizes[i], k, host[k]);
				break;
			}
		/* opened twice it is counted, closed too often it is an error */
		o.what = 'o';
		EXPECT_EQ(ask(o).r, CUDA_SUCCESS);
		o.what = 'c';
		EXPECT_EQ(ask(o).r, CUDA_SUCCESS);
		o.what = 'm';
		EXPECT_EQ(ask(o).r, CUDA_SUCCESS);
		WANT(CUDA_ERROR_INVALID_CONTEXT, cuIpcOpenMemHandle(&again, o.mem, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
		bad = o;
		bad.what = 'o';
		bad.which = 3;
		bad.mem.reserved[12] ^= 1;      /* a bit of the name */
		EXPECT_EQ(ask(bad).r, CUDA_ERROR_INVALID_HANDLE);
		memset(&bad.mem, 0xff, sizeof bad.mem);
		EXPECT_EQ(ask(bad).r, CUDA_ERROR_INVALID_HANDLE);
		free(host);
	}
	WANT(CUDA_ERROR_INVALID_VALUE, cuIpcGetMemHandle(&o.mem, 4096));
	WANT(CUDA_ERROR_INVALID_VALUE, cuIpcCloseMemHandle(d[0]));
	WANT(CUDA_ERROR_INVALID_VALUE, cuIpcGetMemHandle(NULL, d[0]));

	as_file();
	of_pool();
	/* events: the other one's work starts behind ours, and ours goes on behind his */
	CK(cuEventCreate(&no, CU_EVENT_DISABLE_TIMING));
	WANT(CUDA_ERROR_INVALID_VALUE, cuIpcGetEventHandle(&o.event, no));
	WANT(CUDA_ERROR_INVALID_VALUE, cuEventCreate(&event, CU_EVENT_INTERPROCESS));
	CK(cuEventCreate(&event, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING));
	CK(cuIpcGetEventHandle(&o.event, event));
	WANT(CUDA_ERROR_INVALID_CONTEXT, cuIpcOpenEventHandle(&no, o.event));
	CK(cuEventQuery(event));
	o.what = 'e';
	EXPECT_EQ(ask(o).r, CUDA_SUCCESS);
	CK(cuMemsetD32(d[0], 1, sizes[0]));
	CK(cuCtxSynchronize());
	for (int round = 0; round < 3; round++) {
		go = 0;
		CK(cuLaunchHostFunc(s, stand_still, NULL));
		CK(cuMemsetD32Async(d[0], 10 + round, sizes[0], s));
		CK(cuEventRecord(event, s));
		WANT(CUDA_ERROR_NOT_READY, cuEventQuery(event));
		o.which = 0;
		o.n = sizes[0];
		o.what = 'w';
		EXPECT_EQ(ask(o).r, CUDA_SUCCESS);
		o.what = 'r';
		EXPECT_EQ(ask(o).r, CUDA_SUCCESS);
		CK(cuStreamWaitEvent(s, event, 0));
		times(d[0], sizes[0], s);
		go = 1;
		CK(cuEventSynchronize(event));
		CK(cuStreamSynchronize(s));
		CK(cuMemcpyDtoH(&v, d[0], 4));
		EXPECT_EQ(v, (uint32_t)(10 + round) * 9 + 4);
	}
	CK(cuEventDestroy(event));
	/* freed and allocated again: the same pages, its own address */
	CK(cuMemFree(d[0]));
	again = drv_alloc((size_t)sizes[0] * 4);
	EXPECT(again == d[0]);
	CK(cuMemsetD32(again, 7, sizes[0]));
	CK(cuMemcpyDtoH(&v, again + 4 * ((size_t)sizes[0] - 1), 4));
	EXPECT_EQ(v, 7);
	o.what = 'c';
	EXPECT_EQ(ask(o).r, CUDA_SUCCESS);
	EXPECT_EQ(ask(o).r, CUDA_ERROR_INVALID_VALUE);
	/* the owner's context ends: what the other one has opened is there still */
	CK(cuCtxDestroy(ctx));
	o.what = 'm';
	o.which = 1;
	o.n = sizes[1];
	EXPECT_EQ(ask(o).r, CUDA_SUCCESS);
	o.what = 'q';
	if (write(to[1], &o, sizeof o) != sizeof o)
		e2e_fail("pipe");
	waitpid(pid, &st, 0);
	EXPECT_EQ(st, 0);
	return e2e_end("memory and events of two processes");
}
