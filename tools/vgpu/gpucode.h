/* SPDX-License-Identifier: MIT */
/*
 * The GPU code of a file, whole, for those who load it: each fatbin container of an ELF program or library, or of a fatbin
 * file, or the text of a PTX file. (fatlist.h only lists what kinds there are.)
 */
#ifndef VGPU_GPUCODE_H
#define VGPU_GPUCODE_H

#include <stddef.h>

/*
 * each() gets images that are its own until it returns; anything but 0 ends the walk and is returned. image NULL: a
 * container whose sizes are wrong, and the last call. 0, or -errno where the file cannot be read or is damaged; a file
 * without GPU code makes no call.
 */
int gpucode_each(const char *path, int (*each)(void *owner, const void *image, size_t bytes), void *owner);

#endif
