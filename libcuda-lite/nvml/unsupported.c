/* SPDX-License-Identifier: MIT */
/*
 * Names that exist and answer NVML_ERROR_NOT_SUPPORTED, the documented answer of a GPU that lacks a sensor or a feature. Nothing is
 * said: monitors ask for all of them, and show what they get. Declared without parameters: the C calling convention lets the
 * caller pass any.
 */
#define NOT_SUPPORTED 3         /* NVML_ERROR_NOT_SUPPORTED: nvml.h has prototypes of some of these names */

#define UNSUPPORTED(fn) \
	__attribute__((visibility("default"))) int fn(void); \
	int fn(void) { return NOT_SUPPORTED; }

#include "unsupported.def"
