// SPDX-License-Identifier: MIT
// NCCL's header brings the runtime's, as its users count on, and one rank adds up by itself.
#include <nccl.h>

#include <cstdio>

int main()
{
	float in[4] = { 1, 2, 3, 4 }, out[4] = {}, *mem;
	int device = 0, version = 0;
	ncclComm_t comm;

	if (ncclGetVersion(&version) || version < NCCL_VERSION(2, 20, 0) || ncclCommInitAll(&comm, 1, &device) || cudaMalloc(&mem, sizeof in) ||
	    cudaMemcpy(mem, in, sizeof in, cudaMemcpyHostToDevice) || ncclAllReduce(mem, mem, 4, ncclFloat, ncclSum, comm, 0) ||
	    cudaMemcpy(out, mem, sizeof out, cudaMemcpyDeviceToHost) || ncclCommDestroy(comm))
		return 1;
	for (int i = 0; i < 4; i++)
		if (out[i] != in[i])
			return 2;
	return 0;
}
