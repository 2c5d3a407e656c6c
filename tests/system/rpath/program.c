/* SPDX-License-Identifier: MIT */
/* Linked with RPATH $ORIGIN against the libcudart.so.12 beside it. */
#include <stdio.h>

extern int cudaRuntimeGetVersion(int *version);
extern int cudaGetDeviceCount(int *count);

int main(void)
{
	int version = 0, devices = 0;

	cudaRuntimeGetVersion(&version);
	cudaGetDeviceCount(&devices);
	printf("runtime %d\ndevices %d\n", version, devices);
	return 0;
}
