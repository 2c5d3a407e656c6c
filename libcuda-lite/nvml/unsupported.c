/* SPDX-License-Identifier: MIT */
/*
 * Names that exist and answer NVML_ERROR_NOT_SUPPORTED, the documented answer of a GPU that lacks a sensor or a feature. Nothing is
 * said: monitors ask for all of them, and show what they get. Declared with the first parameter at most: the C calling convention lets
 * the caller pass any.
 */
#include <stdbool.h>

/* nvml.h has prototypes of some of these names: ml.h cannot be included */
#define UNINITIALIZED 1
#define INVALID_ARGUMENT 2
#define NOT_SUPPORTED 3

struct nvmlDevice_st;
__attribute__((visibility("hidden"))) bool ml_ready(void);
__attribute__((visibility("hidden"))) bool ml_known(struct nvmlDevice_st *device);

#define UNSUPPORTED(fn) \
	__attribute__((visibility("default"))) int fn(void); \
	int fn(void) { return ml_ready() ? NOT_SUPPORTED : UNINITIALIZED; }

#define OF_DEVICE(fn) \
	__attribute__((visibility("default"))) int fn(struct nvmlDevice_st *device); \
	int fn(struct nvmlDevice_st *device) { return !ml_ready() ? UNINITIALIZED : ml_known(device) ? NOT_SUPPORTED : INVALID_ARGUMENT; }

#include "unsupported.def"
