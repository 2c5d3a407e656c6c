/* SPDX-License-Identifier: MIT */
/*
 * libcudnn.so.9: handles and empty descriptors, and no computation. XLA (JAX, TensorFlow) asks for a cuDNN handle before it compiles anything at all, and
 * NVIDIA's own library works with NVIDIA's driver only. With this one, programs that use no convolution run; each call that would
 * compute, or describe what is to be computed, answers CUDNN_STATUS_NOT_SUPPORTED and says its name once.
 * vgpu run puts it before a Python that has JAX's CUDA plugin, and nobody else.
 */
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cuda.h"

#define PUBLIC __attribute__((visibility("default")))

/* cudnn_graph.h of version 9 */
#define SUCCESS 0
#define NOT_INITIALIZED 1001
#define BAD_PARAM 2000
#define BAD_PARAM_NULL_POINTER 2002
#define NOT_SUPPORTED 3000
#define HOST_ALLOCATION_FAILED 4003

/* 9.99: programs want the minor that they were compiled with or a later one (JAX's CUDA 13 plugin 9.12), and what they would compute is refused in any */
#define VERSION 99900

#define ALIVE 0x646e6e75u
#define DESCRIPTOR 0x64736300u      /* and its kind */
struct handle {
	uint32_t alive;
	CUstream stream;
};

static int unsupported(atomic_uint *said, const char *name)
{
	char line[340];
	int n;

	if (!atomic_exchange_explicit(said, 1, memory_order_relaxed)) {
		n = snprintf(line, sizeof(line), "vgpu libcudnn: %s is not supported: no convolutions and nothing else of cuDNN; the CPU has them: "
			     "with tf.device(\"CPU:0\"), with jax.default_device(jax.devices(\"cpu\")[0]); keras.layers.LSTM and GRU: use_cudnn=False\n", name);
		if (n > 0 && write(STDERR_FILENO, line, (size_t)n < sizeof(line) ? (size_t)n : sizeof(line) - 1) < 0)
			return NOT_SUPPORTED;
	}
	return NOT_SUPPORTED;
}

#define UNSUPPORTED(fn) \
	PUBLIC int fn(void); \
	int fn(void) \
	{ \
		static atomic_uint said; \
		return unsupported(&said, #fn); \
	}
#include "unsupported.def"

PUBLIC int cudnnCreate(struct handle **out);
PUBLIC int cudnnDestroy(struct handle *h);
PUBLIC int cudnnSetStream(struct handle *h, CUstream stream);
PUBLIC int cudnnGetStream(struct handle *h, CUstream *stream);
PUBLIC int cudnnGetProperty(int type, int *value);
PUBLIC size_t cudnnGetVersion(void);
PUBLIC size_t cudnnGetCudartVersion(void);
PUBLIC size_t cudnnGetMaxDeviceVersion(void);
PUBLIC const char *cudnnGetErrorString(int status);
PUBLIC void cudnnGetLastErrorString(char *message, size_t bytes);

int cudnnCreate(struct handle **out)
{
	struct handle *h;

	if (!out)
		return BAD_PARAM_NULL_POINTER;
	*out = NULL;
	if (cuInit(0) != CUDA_SUCCESS)
		return NOT_INITIALIZED;
	h = malloc(sizeof *h);
	if (!h)
		return HOST_ALLOCATION_FAILED;
	*h = (struct handle){ .alive = ALIVE };
	*out = h;
	return SUCCESS;
}

static int live(const struct handle *h)
{
	return h && h->alive == ALIVE;
}

int cudnnDestroy(struct handle *h)
{
	if (!live(h))
		return BAD_PARAM;
	h->alive = 0;
	free(h);
	return SUCCESS;
}

/*
 * TensorFlow takes it for granted that there are descriptors, and ends the process otherwise. They are there, of nothing: what one is to
 * describe is refused, which is an error that the program gets.
 */
static int describe(uint32_t **out, uint32_t kind)
{
	if (!out)
		return BAD_PARAM_NULL_POINTER;
	*out = malloc(sizeof **out);
	if (!*out)
		return HOST_ALLOCATION_FAILED;
	**out = DESCRIPTOR | kind;
	return SUCCESS;
}

static int forget(uint32_t *d, uint32_t kind)
{
	if (!d || *d != (DESCRIPTOR | kind))
		return BAD_PARAM;
	*d = 0;
	free(d);
	return SUCCESS;
}

enum { CTC_LOSS, CONVOLUTION, DROPOUT, FILTER, LRN, POOLING, ACTIVATION, RNN, RNN_DATA, TENSOR };
#define KIND(name, kind) \
	PUBLIC int cudnnCreate##name##Descriptor(uint32_t **out); \
	PUBLIC int cudnnDestroy##name##Descriptor(uint32_t *d); \
	int cudnnCreate##name##Descriptor(uint32_t **out) { return describe(out, kind); } \
	int cudnnDestroy##name##Descriptor(uint32_t *d) { return forget(d, kind); }
KIND(CTCLoss, CTC_LOSS)
KIND(Convolution, CONVOLUTION)
KIND(Dropout, DROPOUT)
KIND(Filter, FILTER)
KIND(LRN, LRN)
KIND(Pooling, POOLING)
KIND(Activation, ACTIVATION)
KIND(RNN, RNN)
KIND(RNNData, RNN_DATA)
KIND(Tensor, TENSOR)

int cudnnSetStream(struct handle *h, CUstream stream)
{
	if (!live(h))
		return BAD_PARAM;
	h->stream = stream;
	return SUCCESS;
}

int cudnnGetStream(struct handle *h, CUstream *stream)
{
	if (!live(h) || !stream)
		return BAD_PARAM;
	*stream = h->stream;
	return SUCCESS;
}

int cudnnGetProperty(int type, int *value)
{
	if (!value || type < 0 || type > 2)
		return BAD_PARAM;
	*value = type == 0 ? VERSION / 10000 : type == 1 ? VERSION / 100 % 100 : VERSION % 100;
	return SUCCESS;
}

size_t cudnnGetVersion(void) { return VERSION; }
size_t cudnnGetCudartVersion(void) { return 12090; }
size_t cudnnGetMaxDeviceVersion(void) { return 1200; }

const char *cudnnGetErrorString(int status)
{
	switch (status) {
	case SUCCESS: return "CUDNN_STATUS_SUCCESS";
	case NOT_INITIALIZED: return "CUDNN_STATUS_NOT_INITIALIZED";
	case BAD_PARAM: return "CUDNN_STATUS_BAD_PARAM";
	case BAD_PARAM_NULL_POINTER: return "CUDNN_STATUS_BAD_PARAM_NULL_POINTER";
	case NOT_SUPPORTED: return "CUDNN_STATUS_NOT_SUPPORTED";
	case HOST_ALLOCATION_FAILED: return "CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED";
	}
	return "CUDNN_UNKNOWN_STATUS";
}

void cudnnGetLastErrorString(char *message, size_t bytes)
{
	if (message && bytes)
		snprintf(message, bytes, "this libcudnn is vgpu's: handles, and no computation");
}
