/* SPDX-License-Identifier: MIT */
/*
 * Who answers for a client: its user, and the container that its process lives in. Both have limits of their own, so that
 * neither many processes nor many user ids (a container's subordinate ones) are more than one share.
 *
 * Control thread, but for tenant.memory_bytes, which the data thread counts.
 */
#ifndef AGENT_TENANT_H
#define AGENT_TENANT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define TENANT_BOX 160u

enum { TENANT_USER, TENANT_CONTAINER, TENANT_KINDS };

struct tenant {
	unsigned clients;               /* that hold it: 0: free */
	int kind;
	uid_t uid;                      /* of a user */
	char box[TENANT_BOX];           /* of a container: the part of its cgroup's path that is not its own to choose */
	uint64_t window_bytes;
	uint64_t memory_bytes;          /* device memory, D */
	uint64_t memory_limit;          /* of that, by vgpu ctl set; 0: as the command line has it. Atomic */
};

struct client;

/* Names c's user and, where the kernel tells, its container. Never fails: there are as many as connections can need. */
void tenant_take(struct client *c);
uint32_t tenant_number(const struct tenant *t);         /* no other that is there has it */
void tenant_drop(struct client *c);
/* Window memory: 0: it would be more than somebody's share. */
int tenant_may_have(const struct client *c, uint64_t bytes);
void tenant_charge(struct client *c, int64_t bytes);
/* One more connection that has said HELLO; why not, in words, or 0. Monitors do not count. */
int tenant_full(const struct client *c, char *why, size_t n);
/* d's queues: a few stay for others, whatever one of them does. */
struct device;
int tenant_has_enough(const struct client *c, const struct device *d);
/* The text of /proc/PID/cgroup, by its own descriptor's word its own; empty where it cannot be had. */
void tenant_cgroup(const struct client *c, char *text, size_t n);
/*
 * May it rule over others? Root and the agent's own user may, in the agent's own PID namespace: root of a container has root's number
 * as well, and is a tenant.
 */
int tenant_rules(const struct client *c);
/* Are both the same user's, or out of one container? */
int tenant_same(const struct client *a, const struct client *b);

/*
 * The container out of the text of /proc/PID/cgroup, "" when it says none. What a systemd unit, a pod or a user's
 * session was given to arrange for itself below its own place is left off: nobody becomes two by making groups.
 */
void tenant_box(const char *cgroup, char *box, size_t n);

#endif
