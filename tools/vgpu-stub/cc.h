/* SPDX-License-Identifier: MIT */
/*
 * Which of the known compute capabilities (cc.def) code for an architecture wants: what error lines, vgpu run and
 * vgpu doctor advise. 75 is 7.5, as in sm_75.
 */
#ifndef VGPU_CC_H
#define VGPU_CC_H

/* The lowest one at or above arch; 0 where there is none. */
static inline unsigned cc_for(unsigned arch)
{
	static const unsigned known[] = {
#define CC(major, minor, threads, blocks, shared, optin, reserved) 10 * major + minor,
#include "cc.def"
#undef CC
	};

	for (unsigned i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (known[i] >= arch)
			return known[i];
	return 0;
}

static inline int cc_is_known(unsigned cc)
{
	return cc && cc_for(cc) == cc;
}

#endif
