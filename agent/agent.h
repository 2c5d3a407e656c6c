/* SPDX-License-Identifier: MIT */
/*
 * What the agent is made of. Every table is static (.agent_state), taken and locked at start.
 *
 * C (control): sockets, admin queue, memory; waits for no device and no client. D (data): copies commands and wakes
 * waiters; never blocks, never allocates. T, one a device: whatever may take that device's time (errand.h). Each field names the
 * only thread that writes it; C and D meet in mailbox.h, where C waits until D has let go of an object.
 */
#ifndef AGENT_H
#define AGENT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "vgpu_check.h"
#include "vgpu_client.h"
#include "vgpu_device.h"
#include "vgpu_fence.h"

#include "drr.h"
#include "load.h"
#include "log.h"
#include "pool.h"
#include "tenant.h"
#include "vfio.h"

#define AGENT_CLIENTS 256u              /* connections at most, whatever --max-clients says */
#define AGENT_ALSO 16u
#define AGENT_SEGMENTS 128u             /* of one client's window */

#define AGENT_HOT __attribute__((section(".agent_hot")))
#define AGENT_STATE __attribute__((section(".agent_state"), aligned(4096)))

struct options {
	const char *device[VGPU_MAX_DEVICES];
	unsigned devices;
	char listen[108];               /* sun_path */
	const char *also[AGENT_ALSO];   /* more sockets, for those who may search their folder */
	unsigned alsos;
	char pidfile[256];
	unsigned mode;                  /* of the socket, or MODE_DEFAULT */
	int cpu;                        /* >= 0, or CPU_AUTO, CPU_NONE */
	unsigned max_contexts;          /* of one client */
	unsigned max_clients, uid_clients, container_clients;
	unsigned quarantine_faults, quarantine_refusals;        /* within a minute, by one user and container; 0: never */
	unsigned quarantine_seconds;    /* the first time; each further one twice as long */
	unsigned connect_rate, context_rate;    /* a minute; 0: as they like */
	int admission;                  /* 1: only who is admitted comes in, until vgpu ctl says otherwise */
	long admin_gid;                 /* the group that may use vgpu ctl; -1: none */
	uint64_t client_memory;         /* 0: as much as the device has */
	uint64_t uid_memory, container_memory;  /* 0: the same */
	uint32_t uid_compute, container_compute;        /* thousandths of the device's time; 0: all of it */
	uint64_t client_window;
	uint64_t windows;               /* of all clients together; 0: half of the machine's memory */
	uint64_t uid_windows, container_windows;        /* 0: 7/8 of that */
	const char *limits;             /* a file with limits, read now and at SIGHUP */
	enum log_level log_level;
	unsigned spin_us;
	int huge;                       /* 0: --no-hugepages */
	int sandbox;                    /* 0: --no-seccomp */
	enum { VFIO_WAY_AUTO, VFIO_WAY_GROUP, VFIO_WAY_CDEV } vfio;
	int replace;                    /* take over from the agent that listens there */
	int unsafe_noiommu;             /* a device may be used that no IOMMU confines */
	const char *bind, *unbind;      /* do that and end */
	const char *modules;            /* folder of kernel modules to load first */
	const char *run;                /* program to start when ready; its end is ours */
};
#define MODE_DEFAULT ~0u        /* 0660, as root for a group of our name */
#define CPU_AUTO (-1)
#define CPU_NONE (-2)

struct client;
struct device;

/* A control command that the device has and has not answered. */
struct pending {
	uint64_t bytes;                 /* charged for it */
	uint32_t client_seq;            /* low word of the client's ticket */
	uint16_t reply;                 /* the client's reply slot */
	uint8_t op;
};

struct context {
	/* Hot, D. What is read from either side is copied here, checked, then used. */
	uint64_t io_index;              /* next I/O slot to take = next to fill: 1:1 */
	uint64_t io_taken;              /* device's io_head, as last believed */
	union vgpu_slot *ioq;           /* client memory */
	union vgpu_slot *ring;          /* queue block */
	struct vgpu_qb_head *qb;
	struct vgpu_ctx_head *head;     /* client memory */
	struct vgpu_timeline *timelines; /* client memory */
	struct vgpu_check_env env;
	uint64_t ctl_tail, ctl_taken, outstanding;      /* bit i: slot i of the control ring */
	union vgpu_slot *ctl;           /* queue block */
	struct vgpu_reply *replies;     /* queue block */
	int asym;                       /* fences with the device */
	int doorbell_fd;                /* -1: through the transport */
	uint32_t stalled;               /* the device's ring was full at the last look */
	struct drr share;               /* of the data thread's time */
	struct device *device;
	uint32_t qid;
	uint64_t memory_bytes;          /* charged */
	uint64_t commands;
	uint32_t dead_status;           /* what calls on it are answered when it lives no more */
	struct pending pending[VGPU_DEV_CTL_SLOTS];

	/* Cold, C. */
	struct client *client;
	/* STARTING: CTX_CREATE, then a SEGMENT for each. ENDING: CTX_DESTROY; it becomes `after` then. */
	enum { CONTEXT_FREE, CONTEXT_STARTING, CONTEXT_LIVE, CONTEXT_ENDING, CONTEXT_DEAD } state, after;
	uint32_t number;                /* in the client */
	uint32_t weight, weight_asked;  /* as the device was told; as it is being told */
	struct limit { uint64_t value, group; } limit[VGPU_LIMITS], limit_asked;        /* the same */
	uint32_t limit_which;           /* of limit_asked */
	int stopped;                    /* as its process was told */
	uint32_t place;                 /* of its device's memory in the client's span */
	int created, ending;            /* CTX_CREATE, CTX_DESTROY were posted */
	int asked;                      /* a CTX_CREATE or SEGMENT of it is not answered yet */
	int over;                       /* ENDING: the device has no process of it any more */
	int qb_on;                      /* the device has its queue block */
	unsigned errands;               /* under way for it; none may be at its end */
	uint32_t refused;               /* enum vgpu_status: why the device did not take its memory */
	unsigned segs;                  /* of the client's segments, that it has */
	uint64_t seg_done, seg_asked;   /* bytes of the next one */
	enum { MAP_NONE, MAP_WANTED, MAP_POSTED, MAP_DONE } map;        /* of client->ask_map */
	uint32_t map_result;
	uint32_t result;                /* enum vgpu_status: why it does not start */
	uint64_t since_ns;
	struct load load;
	struct pool_mem qb_mem;
	void *qb_va;
	uint32_t kill;                  /* D asks C: enum vgpu_status, why the context must die */
	char kill_text[160];            /* D, before kill (release) */
};

struct client {
	/* Hot, D. */
	uint32_t live;                  /* bit per context in D's hands */
	uint32_t dropped;               /* D asked for its end and looks at it no more */
	uint32_t quiet;                 /* turns without work */
	int asym;                       /* fences with the client */
	uint64_t ctl_index;
	union vgpu_slot *ctlq;          /* client memory */
	struct vgpu_reply *replies;     /* client memory */
	struct vgpu_session *session;   /* client memory */
	struct vgpu_check_env any_env;  /* spans of all devices: for calls on contexts that are gone */
	uint64_t memory_bytes;          /* charged, all contexts */
	uint64_t memory_quota;          /* 0: what the device has, which may come later than its clients */
	uint64_t commands;
	struct tenant *tenant[TENANT_KINDS];    /* who answers for it; the second may be NULL */
	uint32_t index;                 /* place in clients[] */
	struct context ctx[VGPU_MAX_CONTEXTS];

	/* Cold, C. */
	uint32_t poisoned;              /* SIGBUS handler: its memory was taken away under us */
	uint32_t drop;                  /* D asks C: drop_text says why */
	char drop_text[160];
	int greeted, window;
	int stopped;                    /* by the administrator: its contexts take no work */
	uint32_t weight;                /* by the administrator, of its contexts; 0: as they asked */
	uint64_t allotted[VGPU_ALLOTS]; /* to this one by vgpu ctl set; 0: nothing */
	struct limit limit[VGPU_LIMITS]; /* what its contexts' devices are to be told (allot.c) */
	int leaving;                    /* its connection is closed, its contexts are ending */
	enum { ASKED_NOTHING, ASKED_HELLO, ASKED_CREATE, ASKED_DESTROY, ASKED_GROW, ASKED_MAP_AT } asked;  /* not answered yet: not listened to meanwhile */
	struct vgpu_msg_hello ask_hello;        /* of ASKED_HELLO: it waits for memory that comes back */
	struct vgpu_msg_ctx ask;        /* of ASKED_CREATE; of ASKED_DESTROY */
	uint64_t ask_grow;              /* of ASKED_GROW, while it waits for memory that comes back; else 0 */
	uint32_t ask_type;              /* of ASKED_GROW: WINDOW_GROW, WINDOW_OWN, SHARED_OPEN or WINDOW_LENT */
	uint8_t ask_token[16];          /* of SHARED_OPEN */
	struct pool_mem ask_lent;       /* of WINDOW_LENT, until it is a segment; lent 0: nothing */
	struct vgpu_msg_map_at ask_map; /* of ASKED_MAP_AT */
	struct context *ask_ctx;        /* of ASKED_CREATE: NULL while it waits for a queue */
	int sock, pidfd, kick_fd;
	pid_t pid;
	uid_t uid;
	int in_admins;                  /* of --admin-group, since it connected */
	uint32_t id;
	uint64_t since_ns;
	char command[32];
	uint64_t span_base;
	uint8_t *seg0;                  /* agent's mapping */
	struct pool_mem seg[AGENT_SEGMENTS];
	uint64_t seg_offset[AGENT_SEGMENTS];
	struct {                        /* of those from WINDOW_OWN and SHARED_OPEN (share.c) */
		uint64_t file;          /* the same in all clients that have it; 0: none of these */
		int told;               /* its token was given out */
		uint8_t token[16];
	} share[AGENT_SEGMENTS];
	unsigned segs;
	uint64_t window_bytes;
	uint8_t seg_on[AGENT_SEGMENTS]; /* bit per device that has it in its DMA table */
	uint64_t grow_bytes, grow_done; /* a WINDOW_GROW under way, in slices */
	/* Then devices get it. UNDONE: one of them refused, the others give it back. */
	enum { GROW_NONE, GROW_MAPS, GROW_UNDONE } grow_map;
	uint32_t grow_told;             /* bit per device that was asked */
	uint32_t grow_status;
	unsigned errands;               /* under way for its window */
	struct {                        /* an answer whose descriptors the kernel did not let go yet */
		uint64_t since_ns, again_ns;    /* 0: there is none */
		uint32_t bytes;
		unsigned nfds;
		int fds[VGPU_HELLO_FDS];        /* the client's or the agent's own: not to be closed */
		union { struct vgpu_msg_hello_r hello; struct vgpu_msg_grow_r grow; } m;
	} held;
};

struct device {
	const struct vfio_ops *ops;
	struct vfio *v;
	const char *spec;
	uint32_t index;
	int ready;
	int asym;
	uint32_t queues;                /* contexts it can hold */
	uint32_t features;              /* VGPU_CAP_*, of the upper half */
	int irq_fd[1 + VGPU_MAX_QUEUES];
	int doorbell_fd[1 + VGPU_MAX_QUEUES];
	struct {                        /* T, while it is not ready: what device_ready() takes over */
		struct vgpu_device_info info;
		uint32_t queues, features;      /* VGPU_CAP_*, of the upper half */
		int asym;
	} found;
	char why[400];                  /* T: why it could not be brought up */
	volatile uint32_t *doorbells;   /* their page of BAR0, mapped; NULL: eventfds, or the transport rings */
	uint32_t doorbells_gone;        /* SIGBUS handler: that page leads nowhere any more */
	struct context *owner[VGPU_MAX_QUEUES];
	struct vgpu_device_info info;
	int drained;                    /* no new contexts */
	char place[16];                 /* where it has none on a bus: its bus id */

	/* admin queue, C */
	struct pool_mem admin_mem;
	uint8_t *admin_va;
	uint64_t admin_tail;
	struct admin_asked {
		uint64_t index;         /* + 1; 0: nobody waits on this place */
		struct context *x;      /* whom done() is about; NULL: nobody is told */
		void (*done)(struct context *x, int rc);        /* enum vgpu_status, or -ETIMEDOUT */
		uint64_t left_ns;
		uint64_t since_ns;      /* an end: since then nobody has asked whether the device is there. 0: another command */
		int given_up;
	} asked[VGPU_ADMIN_SLOTS];
	uint64_t asked_ns;              /* when their time was last counted */
	uint64_t heard_ns;              /* when it last completed a command */
	uint64_t probe;                 /* index + 1 of the question whether it is there, until that is answered */
	uint64_t async_at[VGPU_ADMIN_SLOTS];    /* index + 1 of the event in that place */
	uint64_t async_newest;          /* index + 1 */
	unsigned pump;                  /* who is served first */
	const char *trouble;            /* it is lost: seen where that may not be acted on yet */
	uint8_t died[VGPU_MAX_QUEUES];  /* by queue: status of a death that was reported */
	uint64_t retry_ns;
	uint64_t retry_in_ns;           /* how long it was waited for that */
	char last_error[400];           /* so that a retry that fails alike is said once */

	uint64_t memory_used;           /* D */
	uint64_t busy_past;             /* of contexts that are gone, C */
	uint64_t busy_told;             /* the most that was said: a claim may shrink, time does not */
	uint64_t faults, losses, refused;       /* C */
	struct vgpu_times kernels_past, compiles_past, kernels_told, compiles_told;     /* C, work.c */
	struct load load;
};

struct agent {
	struct options opt;
	struct device dev[VGPU_MAX_DEVICES];
	struct client client[AGENT_CLIENTS];
	uint64_t taken[AGENT_CLIENTS / 64];     /* C: which of them are somebody's; a look at each would miss the cache 256 times */
	struct vgpu_agent_page *page;
	int page_fd;
	int pidfd;
	int listen_fd, also_fd[AGENT_ALSO];
	int epoll_c, epoll_d;
	int wake_c;                     /* eventfd: D wants C to look at kill and drop words */
	uint8_t *windows;               /* reserved: AGENT_CLIENTS x VGPU_SEG0_BYTES */
	uint64_t window_bytes;          /* of all clients, C */
	uint32_t next_id;
	uint32_t attention;             /* D: some kill or drop word is set */
	uint64_t refused[VGPU_REFUSALS]; /* connections, C */
	uint32_t load_rests;            /* C: nothing works, so no samples are taken; D clears it when it wakes (load.h) */
	uint64_t start_ns;
	uint32_t cores;                 /* that may run us */
	int cpu;                        /* data thread's, -1: not pinned */
	int asym;                       /* this process is registered for membarrier */
	uint64_t sleeps, wakes_sent;    /* D */
	uint32_t stop;
	int draining;                   /* another agent has the socket: we end with our last client */
	int pidfile_fd;
	uid_t uid;                      /* ours: asked at boot, later the filters let nobody ask */
	int socket_given;               /* by the service manager: not ours to remove */
	int serving;                    /* boot is over: nothing may make clients wait */
};

extern struct agent agent;

uint64_t now_ns(void);                  /* CLOCK_MONOTONIC */

static inline int client_here(const struct client *c)
{
	unsigned i = (unsigned)(c - agent.client);

	return agent.taken[i / 64] >> i % 64 & 1;
}

static inline void client_place(const struct client *c, int taken)
{
	unsigned i = (unsigned)(c - agent.client);
	uint64_t bit = 1ull << i % 64;

	agent.taken[i / 64] = taken ? agent.taken[i / 64] | bit : agent.taken[i / 64] & ~bit;
}

/* The next that is somebody's; after NULL: the first. NULL: no more. What comes and goes between two calls is met or not. */
static inline struct client *client_after(const struct client *c)
{
	for (unsigned i = c ? (unsigned)(c - agent.client) + 1 : 0; i < AGENT_CLIENTS; i = (i | 63) + 1) {
		uint64_t left = agent.taken[i / 64] >> i % 64;

		if (left)
			return &agent.client[i + (unsigned)__builtin_ctzll(left)];
	}
	return NULL;
}

/* It has left, but its process lives, in memory that it got here (WINDOW_OWN): that still counts as its share. */
static inline int client_keeps(const struct client *c)
{
	return c->leaving && c->sock < 0 && c->pidfd >= 0;
}

static inline iova_t client_iova(const struct client *c)
{
	return pool_window_iova(c->index, agent.opt.client_window);
}

#endif
