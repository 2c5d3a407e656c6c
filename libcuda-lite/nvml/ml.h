/* SPDX-License-Identifier: MIT */
/*
 * libnvidia-ml's own declarations. The library asks the agent as a monitor does (fw-protocol/vgpu_client.h: HELLO
 * without a span): one connection per question, so that a restarted agent, a fork or many threads need no care.
 * Only functions that old C libraries have; no libcuda.
 */
#ifndef ML_H
#define ML_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(default)
#include "nvml.h"
#pragma GCC visibility pop
#include "../../fw-protocol/vgpu_client.h"

#pragma GCC visibility push(hidden)

struct nvmlDevice_st {
	unsigned int index;             /* the agent's */
	struct vgpu_device_info info;   /* as of the first nvmlInit; every text ends within its field */
};

/* Everything here answers 0 or -errno; ml_error() translates, and nothing else does. */
nvmlReturn_t ml_error(int err);
int ml_agent_open(struct vgpu_msg_hello_r *r);  /* a socket */
int ml_agent_device(int fd, unsigned int index, struct vgpu_device_info *info);
int ml_agent_load(int fd, struct vgpu_msg_load_r *r);
int ml_agent_contexts(int fd, unsigned int first, struct vgpu_msg_contexts_r *r);

/* init.c */
bool ml_ready(void);
unsigned int ml_devices(void);
struct nvmlDevice_st *ml_device(unsigned int index);
/* The handle is one of ours. */
bool ml_known(nvmlDevice_t device);

/* Copies with the NUL, or INSUFFICIENT_SIZE. */
nvmlReturn_t ml_text(char *out, unsigned int length, const char *text);

#pragma GCC visibility pop

/* First lines of a call on a device. */
#define ML_DEVICE(device, out) \
	do { \
		if (!ml_ready()) \
			return NVML_ERROR_UNINITIALIZED; \
		if (!ml_known(device) || !(out)) \
			return NVML_ERROR_INVALID_ARGUMENT; \
	} while (0)

#endif
