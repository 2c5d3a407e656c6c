/* SPDX-License-Identifier: MIT */
/* libgomp goes to the host without a word when it finds no device: each program says where it was. */
#include <omp.h>

static int on_device(void)
{
	int there = 0;

#pragma omp target map(from : there)
	there = !omp_is_initial_device();
	return there;
}
