/* SPDX-License-Identifier: MIT */
/* The other file of parts_a.cu. */
__device__ int offset;

__device__ int shifted(int v)
{
	return v + offset;
}
