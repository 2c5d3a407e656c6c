/* SPDX-License-Identifier: MIT */
/*
 * Stands for the libcudart that a release carries beside its program: answers version 1 and no device, so that the
 * test sees which library the loader took.
 */
int cudaRuntimeGetVersion(int *version);
int cudaGetDeviceCount(int *count);

int cudaRuntimeGetVersion(int *version)
{
	*version = 1;
	return 0;
}

int cudaGetDeviceCount(int *count)
{
	*count = 0;
	return 100;     /* cudaErrorNoDevice */
}
