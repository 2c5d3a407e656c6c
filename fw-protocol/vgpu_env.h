/* SPDX-License-Identifier: MIT */
/*
 * An environment's word about where we go, what we load and what we write is the caller's: a set-uid program does not listen to
 * him (AT_SECURE). Whoever only asks which device, or how much is said, may use getenv().
 */
#ifndef VGPU_ENV_H
#define VGPU_ENV_H

#include <stdlib.h>
#include <sys/auxv.h>

static inline const char *vgpu_env(const char *name)
{
	return getauxval(AT_SECURE) ? NULL : getenv(name);
}

#endif
