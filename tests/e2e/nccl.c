/* SPDX-License-Identifier: MIT */
/*
 * NCCL with one rank: collectives leave in recv what was in send, in the order of the stream; unknown types and dead communicators are
 * refused. The declarations are those of NCCL 2's ABI. More ranks: tests/system/nccl.sh.
 */
#include "drv.h"

typedef struct { char internal[128]; } unique;
int ncclGetVersion(int *version);
int ncclGetUniqueId(unique *id);
int ncclCommInitRank(void **comm, int ranks, unique id, int rank);
int ncclCommInitAll(void **comms, int n, const int *devices);
int ncclCommDestroy(void *comm);
int ncclCommCount(void *comm, int *n);
int ncclCommCuDevice(void *comm, int *n);
int ncclGroupStart(void);
int ncclGroupEnd(void);
int ncclAllReduce(const void *send, void *recv, size_t count, int type, int op, void *comm, CUstream stream);
int ncclBcast(void *buffer, size_t count, int type, int root, void *comm, CUstream stream);
const char *ncclGetErrorString(int e);
const char *ncclGetLastError(void *comm);

#define OK(call) \
	do { \
		int r_ = (call); \
		if (r_) \
			e2e_fail("%s:%d: %s gave %s", __FILE__, __LINE__, #call, ncclGetErrorString(r_)); \
	} while (0)
#define GIVES(code, call) \
	do { \
		int r_ = (call); \
		if (r_ != (code)) \
			e2e_fail("%s:%d: %s gave %d, want %d", __FILE__, __LINE__, #call, r_, (code)); \
	} while (0)
enum { BAD_ARGUMENT = 4, BAD_USAGE = 5 };
#define FLOAT 7
#define N 1000

int main(void)
{
	void *comm = NULL, *other = NULL;
	CUdeviceptr send, recv;
	float in[N], out[N];
	CUstream stream;
	int n = -1, two[] = { 0, 1 };
	unique id;

	drv_start("nccl");
	CK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	CK(cuMemAlloc(&send, sizeof(in)));
	CK(cuMemAlloc(&recv, sizeof(in)));
	for (int i = 0; i < N; i++)
		in[i] = (float)i * 0.5f;
	OK(ncclGetVersion(&n));
	if (n < 20000 || n >= 30000)
		e2e_fail("version %d", n);
	OK(ncclCommInitAll(&comm, 1, NULL));
	OK(ncclCommCount(comm, &n));
	if (n != 1)
		e2e_fail("%d ranks", n);
	OK(ncclCommCuDevice(comm, &n));
	if (n)
		e2e_fail("device %d", n);
	CK(cuMemcpyHtoDAsync(send, in, sizeof(in), stream));
	CK(cuMemsetD8Async(recv, 0xee, sizeof(in), stream));
	OK(ncclGroupStart());
	OK(ncclAllReduce((void *)send, (void *)recv, N - 1, FLOAT, 0, comm, stream));
	OK(ncclBcast((void *)recv, N, FLOAT, 0, comm, stream));
	OK(ncclGroupEnd());
	CK(cuMemcpyDtoHAsync(out, recv, sizeof(out), stream));
	CK(cuStreamSynchronize(stream));
	if (memcmp(in, out, sizeof(in) - sizeof(float)))
		e2e_fail("recv is not what was sent");
	if (((unsigned char *)&out[N - 1])[0] != 0xee)
		e2e_fail("the copy went beyond count");
	OK(ncclGetUniqueId(&id));
	OK(ncclCommInitRank(&other, 1, id, 0));
	OK(ncclCommDestroy(other));

	GIVES(BAD_ARGUMENT, ncclCommInitRank(&other, 1, id, 1));
	if (!strstr(ncclGetLastError(NULL), "outside of the communicator"))
		e2e_fail("the last error is \"%s\"", ncclGetLastError(NULL));
	GIVES(BAD_ARGUMENT, ncclCommInitAll(&other, 2, two));
	GIVES(BAD_ARGUMENT, ncclAllReduce((void *)send, (void *)recv, N, 99, 0, comm, stream));
	GIVES(BAD_ARGUMENT, ncclAllReduce((void *)send, (void *)recv, SIZE_MAX, FLOAT, 0, comm, stream));
	GIVES(BAD_ARGUMENT, ncclAllReduce((void *)send, (void *)recv, N, FLOAT, 0, NULL, stream));
	GIVES(BAD_USAGE, ncclGroupEnd());
	OK(ncclCommDestroy(comm));
	return e2e_end("one rank");
}
