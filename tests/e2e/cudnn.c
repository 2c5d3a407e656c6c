/* SPDX-License-Identifier: MIT */
/* libcudnn.so.9: handles with their streams; every call that would compute is refused. */
#include <cuda.h>

#include "common.h"

typedef struct handle *cudnnHandle_t;
int cudnnCreate(cudnnHandle_t *h);
int cudnnDestroy(cudnnHandle_t h);
int cudnnCreateDropoutDescriptor(void **d);
int cudnnDestroyDropoutDescriptor(void *d);
int cudnnSetDropoutDescriptor(void);
int cudnnSetStream(cudnnHandle_t h, CUstream s);
int cudnnGetStream(cudnnHandle_t h, CUstream *s);
int cudnnGetProperty(int type, int *value);
size_t cudnnGetVersion(void);
const char *cudnnGetErrorString(int status);
int cudnnConvolutionForward(void);
int cudnnBackendExecute(void);

int main(void)
{
	cudnnHandle_t h, second;
	CUstream s = (CUstream)2, got = NULL;
	void *d = NULL;
	int major = 0;

	e2e_begin("cudnn");
	EXPECT_EQ(cudnnCreate(&h), 0);
	EXPECT_EQ(cudnnCreate(&second), 0);
	EXPECT(h && second && h != second);
	EXPECT_EQ(cudnnSetStream(h, s), 0);
	EXPECT_EQ(cudnnGetStream(h, &got), 0);
	EXPECT(got == s);
	EXPECT_EQ(cudnnGetStream(second, &got), 0);
	EXPECT(got == NULL);
	EXPECT_EQ(cudnnGetProperty(0, &major), 0);
	EXPECT_EQ(major, cudnnGetVersion() / 10000);
	EXPECT_EQ(cudnnGetVersion() >= 91200, 1);       /* what JAX's CUDA 13 plugin wants at least */
	EXPECT_EQ(cudnnConvolutionForward(), 3000);
	EXPECT_EQ(cudnnBackendExecute(), 3000);
	EXPECT(!strcmp(cudnnGetErrorString(3000), "CUDNN_STATUS_NOT_SUPPORTED"));
	EXPECT_EQ(cudnnCreate(NULL), 2002);
	EXPECT_EQ(cudnnDestroy(NULL), 2000);
	EXPECT_EQ(cudnnCreateDropoutDescriptor(&d), 0);
	EXPECT(d != NULL);
	EXPECT_EQ(cudnnSetDropoutDescriptor(), 3000);
	EXPECT_EQ(cudnnDestroyDropoutDescriptor(d), 0);
	EXPECT_EQ(cudnnCreateDropoutDescriptor(NULL), 2002);
	EXPECT_EQ(cudnnDestroyDropoutDescriptor(NULL), 2000);
	EXPECT_EQ(cudnnDestroy(h), 0);
	EXPECT_EQ(cudnnDestroy(second), 0);
	return e2e_end("what it says it is, and refuses");
}
