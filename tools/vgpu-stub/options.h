/* SPDX-License-Identifier: MIT */
/* Command line of vgpu-stub. */
#ifndef VGPU_STUB_OPTIONS_H
#define VGPU_STUB_OPTIONS_H

#include "stub.h"

/* Fills c, with defaults for what is not given. 0: go on; else *status is the exit status. */
int options_parse(int argc, char **argv, struct stub_config *c, int *status);

#endif
