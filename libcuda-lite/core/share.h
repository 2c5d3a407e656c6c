/* SPDX-License-Identifier: MIT */
/* Memory that several processes see (share.c). */
#ifndef VG_SHARE_H
#define VG_SHARE_H

#include "core.h"

/* What a handle says: a segment of the process that made it, and a part of that. */
struct vg_share_name {
	uint8_t token[16];
	uint64_t at, bytes;
};

/* Names [addr, addr + bytes) of vg_shared_take(). A status. */
uint32_t vg_share_name(uint64_t addr, uint64_t bytes, struct vg_share_name *n);
/* Where that is here. BUSY: it is this process's own (*addr is set); NOT_FOUND: its process is gone, or another user's. */
uint32_t vg_share_open(const struct vg_share_name *n, uint64_t *addr);

/* Physical memory that can be handed on as a file: at in the window, no one else's. A status. */
uint32_t vg_share_create(uint64_t bytes, uint64_t *at, int *fd);
void vg_share_destroy(uint64_t at, uint64_t bytes, int fd);
uint32_t vg_share_import(int fd, uint64_t *at, uint64_t *bytes);
/* At va of the device's span as well; undone by VMM_UNMAP. */
uint32_t vg_share_map(struct vg_ctx *c, uint64_t va, uint64_t at, uint64_t bytes);

/*
 * An allocation's pages become ones that can be shared; its address stays. All its work must be complete. *m is changed, the
 * table is not.
 */
uint32_t vg_share_memory(struct vg_mem *m);
/* Freed: its address keeps its pages, for the next allocation of that size. */
void vg_share_keep(const struct vg_mem *m);
bool vg_share_again(struct vg_ctx *c, uint64_t mapped, struct vg_mem *m);
void vg_share_drop_ctx(struct vg_ctx *c);
void vg_share_forget(void);             /* the session is over */

#endif
