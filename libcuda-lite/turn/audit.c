/* SPDX-License-Identifier: MIT */
/*
 * libvgpu-turn.so, an audit library (rtld-audit(7)): LD_AUDIT=/path/libvgpu-turn.so, which vgpu run sets. nvcc links its
 * runtime into programs by default, and NVIDIA's runtime works with NVIDIA's driver only. Programs that kept their symbol
 * table say where its entry points are, and so, with more care, does what strip leaves: each is turned into a jump to our libcudart of the same major.
 *
 * la_objopen is called when an object is mapped and before anything of it runs or is relocated, for the program, for what
 * it is linked with and for whatever it opens later; so its constructors, which register kernels, meet our runtime already.
 * (la_activity's LA_ACT_CONSISTENT comes before an opened object's constructors too, but says not which object it is.)
 */
#define _GNU_SOURCE
#include "turn.h"

#define EXPORT __attribute__((visibility("default")))

/* Loaders before glibc 2.35 know version 1 and refuse a higher one; the two calls here are in both. */
EXPORT unsigned int la_version(unsigned int version)
{
	return version < 2 ? version : 2;
}

EXPORT unsigned int la_objopen(struct link_map *map, Lmid_t lmid, uintptr_t *cookie)
{
	(void)cookie;           /* the loader's default: the map */
	if (lmid == LM_ID_BASE) {
		turn_note(map);
		place_opened(map);
	}
	own_names(map);
	turn_object(map);
	return 0;               /* no symbol binding is of interest: the loader binds as ever */
}

/* Asked for each name as it was given, then for each file that a search comes to. */
EXPORT char *la_objsearch(const char *name, uintptr_t *cookie, unsigned int flag)
{
	return place_instead(name, (const struct link_map *)*cookie, flag);
}
