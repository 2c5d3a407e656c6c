/* SPDX-License-Identifier: MIT */
/* Sorts of few keys for a device of 10.0: for it nvcc writes reads of registers that some lanes have never defined. */
#define ONE_TILE
#include "sort.cu"
