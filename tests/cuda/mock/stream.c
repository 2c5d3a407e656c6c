/* SPDX-License-Identifier: MIT */
/*
 * Streams of the mock driver. Work of a stream runs in its order on one thread, the GPU; streams take turns, and a kernel that does not
 * end holds up its own stream alone. Behind a fault nothing runs any more, no host function either, and all calls answer the error.
 *
 * Kernels: vgpu_first, mock_nothing: nothing; mock_set(p, value, n): n words; mock_add(dst, a, b, n): words;
 * product_f32_4 and solve_any, of the engine's own: in F32;
 * mock_map(map, p): is it the driver's tensor map of p? mock_priority(p): its stream's, less than nothing; mock_wait(p): until *p is not 0, the program's memory; mock_fault: an illegal address; mock_trap: a trap; mock_endless.
 */
#include "mock.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "../../../tools/vgpu-stub/cuda/kernels/product.h"

enum kind { KERNEL, COPY_IN, COPY_OUT, COPY, FILL, HOST };

struct item {
	struct item *next;
	enum kind kind;
	char name[64];
	uint8_t params[256];
	CUdeviceptr dst, src;
	void *host;
	size_t bytes;
	uint32_t value, elem;
	uint32_t mode;
	int priority;                   /* its stream's */
	CUhostFn fn;
	void *user;
};

struct stream {
	struct stream *next;
	int priority;
	struct item *head, *tail;
};

static struct stream first;             /* the NULL stream, and the list of all */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t given = PTHREAD_COND_INITIALIZER, ended = PTHREAD_COND_INITIALIZER;
static int started;                     /* 2: a kernel of the client's was seen, so the walls stand */

/* ---- what kernels do -------------------------------------------------------------------------------------- */

static uint32_t *wordp(CUdeviceptr at)
{
	size_t piece;
	void *p = mock_memory(at, 4, &piece);

	return p && piece >= 4 ? p : NULL;
}

static float *floatp(CUdeviceptr at, unsigned i) { return (float *)(void *)wordp(at + 4ull * i); }

/* One matrix, factors by value. */
static int multiply(const struct product_call *q)
{
	for (unsigned j = 0; j < q->n; j++)
		for (unsigned i = 0; i < q->m; i++) {
			float *c = floatp(q->c, i + j * q->ldc), sum = 0;

			for (unsigned l = 0; l < q->k && c; l++) {
				float *a = floatp(q->a, q->flags & PRODUCT_TRANS_A ? l + i * q->lda : i + l * q->lda);
				float *b = floatp(q->b, q->flags & PRODUCT_TRANS_B ? j + l * q->ldb : l + j * q->ldb);

				if (!a || !b)
					return 0;
				sum += *a * *b;
			}
			if (!c)
				return 0;
			*c = (float)q->alpha * sum + (q->beta != 0 ? (float)q->beta * *c : 0);
		}
	return 1;
}

/* From the left, lower, not transposed, ones on the diagonal: all that is asked of it. */
static int solve(const struct product_call *q)
{
	if (q->flags != PRODUCT_UNIT)
		abort();
	for (unsigned j = 0; j < q->n; j++)
		for (unsigned i = 0; i < q->m; i++) {
			float *x = floatp(q->c, i + j * q->ldc);

			if (!x)
				return 0;
			*x *= (float)q->alpha;
			for (unsigned l = 0; l < i; l++) {
				float *a = floatp(q->a, i + l * q->lda), *y = floatp(q->c, l + j * q->ldc);

				if (!a || !y)
					return 0;
				*x -= *a * *y;
			}
		}
	return 1;
}

/* 1: done, 0: not yet, -1: a fault */
static int kernel(const struct item *i)
{
	struct { uint64_t p; uint32_t value, n; } set;
	struct { uint64_t dst, a, b; uint32_t n; } add;
	uint32_t *d, *a, *b;
	uint64_t at;

	if (i->mode == MOCK_HANG || !strcmp(i->name, "mock_endless"))
		return 0;
	if (i->mode == MOCK_LATER) {
		mock_lose(mock_planned());
		return -1;
	}
	if (!strcmp(i->name, "vgpu_first") || !strcmp(i->name, "mock_nothing"))
		return 1;
	if (!strcmp(i->name, "mock_set") || !strcmp(i->name, "mock_full")) {
		memcpy(&set, i->params, sizeof(set));
		for (uint32_t k = 0; k < set.n; k++) {
			if (!(d = wordp(set.p + 4 * k)))
				goto illegal;
			*d = set.value;
		}
		return 1;
	}
	if (!strcmp(i->name, "mock_priority")) {
		memcpy(&at, i->params, sizeof(at));
		if (!(d = wordp(at)))
			goto illegal;
		*d = (uint32_t)-i->priority;
		return 1;
	}
	if (!strcmp(i->name, "mock_map")) {
		struct { uint64_t map[16], at; } m;

		memcpy(&m, i->params, sizeof(m));
		if (!(d = wordp(m.at)))
			goto illegal;
		*d = (m.map[0] ^ m.at) == MOCK_MAP;
		return 1;
	}
	if (!strcmp(i->name, "mock_add")) {
		memcpy(&add, i->params, sizeof(add));
		for (uint32_t k = 0; k < add.n; k++) {
			if (!(d = wordp(add.dst + 4 * k)) || !(a = wordp(add.a + 4 * k)) || !(b = wordp(add.b + 4 * k)))
				goto illegal;
			*d = *a + *b;
		}
		return 1;
	}
	if (!strcmp(i->name, "mock_wait")) {
		memcpy(&at, i->params, sizeof(at));
		if (!(d = wordp(at)))
			goto illegal;
		return __atomic_load_n(d, __ATOMIC_ACQUIRE) != 0;
	}
	if (!strcmp(i->name, "product_f32_4") || !strcmp(i->name, "solve_any")) {
		struct product_call q;

		memcpy(&q, i->params, sizeof(q));
		if (!(i->name[0] == 's' ? solve(&q) : multiply(&q)))
			goto illegal;
		return 1;
	}
	mock_lose(!strcmp(i->name, "mock_trap") ? CUDA_ERROR_LAUNCH_FAILED : !strcmp(i->name, "mock_fault") ? CUDA_ERROR_ILLEGAL_ADDRESS :
		  CUDA_ERROR_ILLEGAL_INSTRUCTION);
	return -1;
illegal:
	mock_lose(CUDA_ERROR_ILLEGAL_ADDRESS);
	return -1;
}

/* Between memory of the process (host) and the device's, piece by piece. */
static int copy(CUdeviceptr at, uint8_t *host, size_t bytes, int in)
{
	size_t n;

	for (; bytes; at += n, host += n, bytes -= n) {
		uint8_t *p = mock_memory(at, bytes, &n);

		if (!p)
			return -1;
		memcpy(in ? p : host, in ? host : p, n);
	}
	return 1;
}

static int fill_memory(CUdeviceptr at, const struct item *i)
{
	size_t n;

	for (size_t left = i->bytes; left; at += n, left -= n) {
		uint8_t *p = mock_memory(at, left, &n);

		if (!p)
			return -1;
		for (size_t k = 0; k < n; k += i->elem)
			memcpy(p + k, &i->value, i->elem);
	}
	return 1;
}

static int run(struct item *i)
{
	int r = 1;

	switch (i->kind) {
	case KERNEL:
		return kernel(i);
	case COPY_IN:
		r = copy(i->dst, i->host, i->bytes, 1);
		break;
	case COPY_OUT:
		r = copy(i->src, i->host, i->bytes, 0);
		break;
	case COPY: {
		uint8_t *tmp = malloc(i->bytes);

		r = !tmp || copy(i->src, tmp, i->bytes, 0) < 0 || copy(i->dst, tmp, i->bytes, 1) < 0 ? -1 : 1;
		free(tmp);
		break;
	}
	case FILL:
		r = fill_memory(i->dst, i);
		break;
	case HOST:
		i->fn(i->user);
		break;
	}
	if (r < 0)
		mock_lose(CUDA_ERROR_ILLEGAL_ADDRESS);
	return r;
}

static void *gpu(void *arg)
{
	struct timespec t;
	int did, waits;

	(void)arg;
	pthread_mutex_lock(&lock);
	for (;;) {
		did = waits = 0;
		for (struct stream *s = &first; s && !mock_lost(); s = s->next) {
			struct item *i = s->head;
			int r;

			if (!i)
				continue;
			pthread_mutex_unlock(&lock);
			r = run(i);
			pthread_mutex_lock(&lock);
			waits += !r;
			if (r <= 0)
				continue;
			s->head = i->next;
			free(i);
			did = 1;
		}
		if (did || mock_lost())
			pthread_cond_broadcast(&ended);
		if (did)
			continue;
		clock_gettime(CLOCK_REALTIME, &t);
		t.tv_nsec += 500000;
		t.tv_sec += t.tv_nsec / 1000000000;
		t.tv_nsec %= 1000000000;
		if (waits)
			pthread_cond_timedwait(&given, &lock, &t);
		else
			pthread_cond_wait(&given, &lock);
	}
	return NULL;
}

int mock_gpu_start(void)
{
	pthread_t t;

	if (started)
		return 0;
	started = 1;
	return pthread_create(&t, NULL, gpu, NULL);
}

void mock_gpu_wake(void)
{
	/* By the thread that holds the lock, or none: it only wakes. */
	pthread_cond_broadcast(&ended);
	pthread_cond_signal(&given);
}

/* ---- calls -------------------------------------------------------------------------------------------------- */

static struct stream *stream_of(CUstream s) { return s ? (struct stream *)s : &first; }

static struct item *item_new(enum kind kind)
{
	struct item *i = calloc(1, sizeof(*i));

	if (!i)
		abort();
	i->kind = kind;
	return i;
}

static CUresult give(CUstream stream, struct item *i)
{
	struct stream *s = stream_of(stream);

	i->priority = s->priority;
	pthread_mutex_lock(&lock);
	if (s->head)
		s->tail->next = i;
	else
		s->head = i;
	s->tail = i;
	pthread_cond_signal(&given);
	pthread_mutex_unlock(&lock);
	return CUDA_SUCCESS;
}

void mock_product(const char *kernel, const void *params, size_t bytes, CUstream stream)
{
	struct item *i = item_new(KERNEL);

	strcpy(i->name, kernel);
	memcpy(i->params, params, bytes);
	give(stream, i);
}

#define LEAST 0
#define GREATEST (-4)

EXPORT CUresult cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
	ENTER(cuCtxGetStreamPriorityRange);
	*least = LEAST;
	*greatest = GREATEST;
	return CUDA_SUCCESS;
}

static CUresult stream_new(CUstream *stream, int priority)
{
	struct stream *s;

	if (!mock_have_context())
		return CUDA_ERROR_INVALID_CONTEXT;
	s = calloc(1, sizeof(*s));
	if (!s)
		return CUDA_ERROR_OUT_OF_MEMORY;
	/* what is out of the range is brought into it */
	s->priority = priority > LEAST ? LEAST : priority < GREATEST ? GREATEST : priority;
	if (started > 1)
		mock_open();
	pthread_mutex_lock(&lock);
	s->next = first.next;
	first.next = s;
	pthread_mutex_unlock(&lock);
	COUNT(MOCK_STREAM, 1);
	*stream = (CUstream)s;
	return CUDA_SUCCESS;
}

EXPORT CUresult cuStreamCreate(CUstream *stream, unsigned flags)
{
	(void)flags;
	ENTER(cuStreamCreate);
	return stream_new(stream, 0);
}

EXPORT CUresult cuStreamCreateWithPriority(CUstream *stream, unsigned flags, int priority)
{
	(void)flags;
	ENTER(cuStreamCreateWithPriority);
	return stream_new(stream, priority);
}

EXPORT CUresult cuStreamQuery(CUstream stream)
{
	int busy;

	ENTER(cuStreamQuery);
	pthread_mutex_lock(&lock);
	busy = stream_of(stream)->head != NULL;
	pthread_mutex_unlock(&lock);
	return mock_lost() ? mock_lost() : busy ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
}

EXPORT CUresult cuStreamSynchronize(CUstream stream)
{
	struct timespec t;

	ENTER(cuStreamSynchronize);
	pthread_mutex_lock(&lock);
	while (stream_of(stream)->head && !mock_lost()) {
		clock_gettime(CLOCK_REALTIME, &t);
		t.tv_sec++;
		pthread_cond_timedwait(&ended, &lock, &t);
	}
	pthread_mutex_unlock(&lock);
	return mock_lost();
}

EXPORT CUresult cuLaunchHostFunc(CUstream stream, CUhostFn fn, void *user)
{
	struct item *i;

	ENTER(cuLaunchHostFunc);
	i = item_new(HOST);
	i->fn = fn;
	i->user = user;
	return give(stream, i);
}

static CUresult launch(enum mock_call call, CUfunction fn, const unsigned grid[3], const unsigned block[3], unsigned shared, CUstream stream,
		       void **params, void **extra)
{
	const struct mock_function *f = (struct mock_function *)fn;
	const uint8_t *buffer = NULL;
	size_t bytes = 0;
	struct item *i;

	for (int k = 0; k < 3; k++)
		if (!grid[k] || !block[k] || grid[k] > (k ? 65535 : 0x7fffffff))
			return CUDA_ERROR_INVALID_VALUE;
	if ((uint64_t)block[0] * block[1] * block[2] > 1024 || ((unsigned)f->own_shared + shared > 48u << 10 && shared > (unsigned)f->dynamic_shared) || (params && extra))
		return CUDA_ERROR_INVALID_VALUE;
	if (call == MOCK_cuLaunchCooperativeKernel && (uint64_t)grid[0] * grid[1] * grid[2] > 8)
		return CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
	for (; extra && *extra != CU_LAUNCH_PARAM_END; extra += 2) {
		if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER)
			buffer = extra[1];
		else if (*extra == CU_LAUNCH_PARAM_BUFFER_SIZE)
			bytes = *(size_t *)extra[1];
	}
	if (f->nparams && !params && (!buffer || bytes < f->param_bytes))
		return CUDA_ERROR_INVALID_VALUE;
	i = item_new(KERNEL);
	memcpy(i->name, f->name, sizeof(i->name));
	for (uint32_t k = 0; k < f->nparams; k++)
		memcpy(i->params + f->offset[k], params ? params[k] : buffer + f->offset[k], f->bytes[k]);
	i->mode = mock_mode(call);
	if (strcmp(f->name, "vgpu_first"))
		started = 2;
	return give(stream, i);
}

EXPORT CUresult cuLaunchKernel(CUfunction fn, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,
			       CUstream stream, void **params, void **extra)
{
	ENTER(cuLaunchKernel);
	return launch(MOCK_cuLaunchKernel, fn, (unsigned[]){ gx, gy, gz }, (unsigned[]){ bx, by, bz }, shared, stream, params, extra);
}

CUresult mock_launch(CUfunction fn, const unsigned *grid, const unsigned *block, unsigned shared, CUstream stream, void **extra)
{
	return launch(MOCK_cuGraphLaunch, fn, grid, block, shared, stream, NULL, extra);
}

EXPORT CUresult cuLaunchCooperativeKernel(CUfunction fn, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
					  unsigned shared, CUstream stream, void **params)
{
	ENTER(cuLaunchCooperativeKernel);
	return launch(MOCK_cuLaunchCooperativeKernel, fn, (unsigned[]){ gx, gy, gz }, (unsigned[]){ bx, by, bz }, shared, stream, params, NULL);
}

EXPORT CUresult cuLaunchKernelEx(const CUlaunchConfig *c, CUfunction fn, void **params, void **extra)
{
	const unsigned *cluster = NULL;
	unsigned grid[] = { c->gridDimX, c->gridDimY, c->gridDimZ };

	ENTER(cuLaunchKernelEx);
	for (unsigned i = 0; i < c->numAttrs; i++)
		if (c->attrs[i].id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
			cluster = &c->attrs[i].value.clusterDim.x;
	if (!cluster || cluster[0] * cluster[1] * cluster[2] > 8)
		return CUDA_ERROR_INVALID_CLUSTER_SIZE;
	for (int k = 0; k < 3; k++)
		if (!cluster[k] || grid[k] % cluster[k])
			return CUDA_ERROR_INVALID_CLUSTER_SIZE;
	return launch(MOCK_cuLaunchKernelEx, fn, grid, (unsigned[]){ c->blockDimX, c->blockDimY, c->blockDimZ }, c->sharedMemBytes, c->hStream,
		      params, extra);
}

/* An address that is nobody's is found before the copy begins. */
static int known(CUdeviceptr at, size_t bytes)
{
	size_t n = 1;

	for (; bytes && n; at += n, bytes -= n)
		if (!mock_memory(at, bytes, &n))
			return 0;
	return 1;
}

static CUresult transfer(enum kind kind, CUdeviceptr dst, CUdeviceptr src, void *host, size_t bytes, CUstream stream)
{
	struct item *i;

	if ((kind != COPY_OUT && !known(dst, bytes)) || (kind != COPY_IN && !known(src, bytes)))
		return CUDA_ERROR_INVALID_VALUE;
	if (kind != COPY && !mock_one_kind(host, bytes))
		return CUDA_ERROR_INVALID_VALUE;
	i = item_new(kind);
	i->dst = dst;
	i->src = src;
	i->host = host;
	i->bytes = bytes;
	return give(stream, i);
}

EXPORT CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr dst, const void *src, size_t bytes, CUstream stream)
{
	ENTER(cuMemcpyHtoDAsync_v2);
	return transfer(COPY_IN, dst, 0, (void *)(uintptr_t)src, bytes, stream);
}

EXPORT CUresult cuMemcpyDtoHAsync_v2(void *dst, CUdeviceptr src, size_t bytes, CUstream stream)
{
	ENTER(cuMemcpyDtoHAsync_v2);
	return transfer(COPY_OUT, 0, src, dst, bytes, stream);
}

EXPORT CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream stream)
{
	ENTER(cuMemcpyDtoDAsync_v2);
	return transfer(COPY, dst, src, NULL, bytes, stream);
}

static CUresult fill(CUdeviceptr dst, uint32_t value, uint32_t elem, size_t n, CUstream stream)
{
	struct item *i;

	if (dst % elem || !known(dst, n * elem))
		return CUDA_ERROR_INVALID_VALUE;
	i = item_new(FILL);
	i->dst = dst;
	i->value = value;
	i->elem = elem;
	i->bytes = n * elem;
	return give(stream, i);
}

EXPORT CUresult cuStreamWriteValue64_v2(CUstream stream, CUdeviceptr at, cuuint64_t value, unsigned flags)
{
	struct item *i;

	(void)flags;
	ENTER(cuStreamWriteValue64_v2);
	if (at % 8 || !known(at, 8))
		return CUDA_ERROR_INVALID_VALUE;
	i = item_new(COPY_IN);
	i->dst = at;
	i->bytes = sizeof(value);
	memcpy(i->params, &value, sizeof(value));
	i->host = i->params;
	return give(stream, i);
}

EXPORT CUresult cuMemsetD8Async(CUdeviceptr dst, unsigned char v, size_t n, CUstream stream)
{
	ENTER(cuMemsetD8Async);
	return fill(dst, v, 1, n, stream);
}

EXPORT CUresult cuMemsetD16Async(CUdeviceptr dst, unsigned short v, size_t n, CUstream stream)
{
	ENTER(cuMemsetD16Async);
	return fill(dst, v, 2, n, stream);
}

EXPORT CUresult cuMemsetD32Async(CUdeviceptr dst, unsigned v, size_t n, CUstream stream)
{
	ENTER(cuMemsetD32Async);
	return fill(dst, v, 4, n, stream);
}
