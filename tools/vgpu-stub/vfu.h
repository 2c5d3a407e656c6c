/* SPDX-License-Identifier: MIT */
/*
 * vfio-user, server side: vfu.c moves bytes and descriptors, vfu_cmd.c does what a request says.
 */
#ifndef VGPU_STUB_VFU_H
#define VGPU_STUB_VFU_H

#include "stub.h"
#include "vfu_msg.h"

struct vfu_session {
	int negotiated;                 /* VERSION has been answered */
	uint32_t peer_max_fds;
};

struct vfu_reply {
	int error;                      /* -errno: the header only goes out */
	uint32_t bytes;                 /* of data */
	int fds[VFU_REPLY_FDS];         /* borrowed: the device keeps them */
	uint32_t nfds;
	uint8_t *data;                  /* room for VFU_MAX_MESSAGE - 16 */
	int hang_up;                    /* the peer cannot be talked to */
};

/* fds taken by the request are set to -1; the caller closes the others. */
void vfu_execute(struct device *d, struct vfu_session *s, const struct vfu_request *r, int *fds,
		 uint32_t nfds, struct vfu_reply *out);

#endif
