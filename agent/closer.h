/* SPDX-License-Identifier: MIT */
/*
 * A thread that closes what clients left. The last close of a file runs in whoever does it, and may take as long as its owner likes:
 * a TCP socket with SO_LINGER waits for a peer that never reads (socket(7)), a large file in memory has many pages to free. Clients can
 * send such files along with a message (SCM_RIGHTS), and they lie in the queue of their connection until somebody reads it or closes it.
 * So the control thread reads no message that brings descriptors, and closes no connection itself.
 */
#ifndef VGPU_AGENT_CLOSER_H
#define VGPU_AGENT_CLOSER_H

/* Before the first client; without it closer_close() closes at once. 0 or -errno. */
int closer_start(void);

/* Never waits. */
void closer_close(int fd);

/* So much is to be closed that nobody new should come: waits a moment, and says so. */
int closer_behind(void);

#endif
