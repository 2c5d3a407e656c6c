/* SPDX-License-Identifier: MIT */
/*
 * Contexts: one process each, from CTX_CREATE to the reaping (ctx_proto.h has the conversation).
 *
 *   FREE -> STARTING -> RUNNING -> DYING -> DEAD -> FREE
 *               READY      kill or own death   |  DESTROY
 *
 * What a context says is client input: a message of the wrong size, type or time kills it, and it is
 * waited for with a deadline only. Reaping is the moment after which it can touch no memory; the agent's
 * files are let go then and not before.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <signal.h>
#include <unistd.h>

#include "stub.h"

#define RESEND_NS 5000000ull

static void died(struct context *c);
static void sock_ready(void *owner, uint32_t events);
#define LAST_WORDS 64                   /* log lines, then READY; its end of the socket is closed behind them */

static void pid_ready(void *owner, uint32_t events);
static void listen_ready(void *owner, uint32_t events);

void ctxproc_init(struct device *d)
{
	for (uint32_t q = 0; q < STUB_QUEUES; q++) {
		struct context *c = &d->ctx[q];

		memset(c, 0, sizeof(*c));
		c->dev = d;
		c->qid = q;
		c->pid = c->pidfd = c->sock = c->run_fd = c->phys_fd = c->code_fd = c->listener = c->err_fd = -1;
		c->sock_src = (struct source){ -1, sock_ready, c };
		c->pid_src = (struct source){ -1, pid_ready, c };
		c->listen_src = (struct source){ -1, listen_ready, c };
		c->out_tail = &c->out_head;
	}
	d->next_ack = 1;
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* ---- messages to the context ------------------------------------------------------------------ */
static int send_now(struct context *c, const struct ctx_msg *m, const int *fds, int nfds)
{
	union {
		struct cmsghdr h;
		char room[CMSG_SPACE(sizeof(int) * CTX_INIT_FDS)];
	} ctl;
	struct iovec iov = { (void *)(uintptr_t)m, sizeof(*m) };
	struct msghdr h = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (nfds) {
		memset(&ctl, 0, sizeof(ctl));
		h.msg_control = &ctl;
		h.msg_controllen = CMSG_SPACE(sizeof(int) * (size_t)nfds);
		ctl.h.cmsg_level = SOL_SOCKET;
		ctl.h.cmsg_type = SCM_RIGHTS;
		ctl.h.cmsg_len = CMSG_LEN(sizeof(int) * (size_t)nfds);
		memcpy(CMSG_DATA(&ctl.h), fds, sizeof(int) * (size_t)nfds);
	}
	return sendmsg(c->sock, &h, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -errno : 0;
}

/* It sleeps on this eventfd. */
static void kick(struct context *c)
{
	bell_ring(c->dev->doorbell[1 + c->qid]);
}

static void free_out(struct ctx_out *o)
{
	for (int i = 0; i < o->nfds; i++)
		close(o->fds[i]);
	free(o);
}

static void drop_out(struct context *c)
{
	while (c->out_head) {
		struct ctx_out *o = c->out_head;

		c->out_head = o->next;
		free_out(o);
	}
	c->out_tail = &c->out_head;
}

/* A message is out: a busy context sees the count, a sleeping one the kick. */
static void announce(struct context *c)
{
	__atomic_fetch_add(&c->run->messages, 1, __ATOMIC_RELEASE);
	kick(c);
}

/*
 * What is queued goes on when the socket has room. Descriptors that the kernel does not let go, because the user has
 * too many in flight, have no such event: they are tried again by the clock, until the context's deadline.
 */
static void wait_to_send(struct context *c, int err)
{
	c->resend_ns = err == -ETOOMANYREFS ? clock_ns() + RESEND_NS : 0;
	loop_change(&c->sock_src, err == -ETOOMANYREFS ? EPOLLIN : EPOLLIN | EPOLLOUT);
}

/* A message that cannot be sent kills the context; but one that has ended before it began may have said why, which pid_ready() reads. */
static int unheard(struct context *c, int err)
{
	drop_out(c);
	if (c->state == CTX_STARTING && (err == -EPIPE || err == -ECONNRESET))
		return 0;
	log_verbose("context %u: cannot send to it", c->qid);
	ctxproc_kill(c, VGPU_ST_CONTEXT_DEAD);
	return -EIO;
}

/* Sends, or queues while it cannot (fds are duplicated then). */
int ctxproc_send(struct context *c, const struct ctx_msg *m, const int *fds, int nfds)
{
	struct ctx_out *o;
	int waits = c->out_head != NULL, err = waits ? -EAGAIN : send_now(c, m, fds, nfds);

	if (!err) {
		announce(c);
		return 0;
	}
	if (err != -EAGAIN && err != -ETOOMANYREFS)
		return unheard(c, err);
	o = calloc(1, sizeof(*o));
	if (!o)
		return unheard(c, -ENOMEM);
	o->msg = *m;
	for (int i = 0; i < nfds; i++) {
		o->fds[i] = dup(fds[i]);
		if (o->fds[i] < 0) {
			free_out(o);
			return unheard(c, -EMFILE);
		}
		o->nfds++;
	}
	*c->out_tail = o;
	c->out_tail = &o->next;
	if (!waits)
		wait_to_send(c, err);
	return 0;
}

void ctxproc_pump(struct context *c)
{
	while (c->out_head) {
		struct ctx_out *o = c->out_head;
		int err = send_now(c, &o->msg, o->fds, o->nfds);

		if (err == -EAGAIN || err == -ETOOMANYREFS) {
			wait_to_send(c, err);
			return;
		}
		if (err) {
			unheard(c, err);
			break;
		}
		c->out_head = o->next;
		if (!c->out_head)
			c->out_tail = &c->out_head;
		free_out(o);
		announce(c);
	}
	c->resend_ns = 0;
	loop_change(&c->sock_src, EPOLLIN);
}

static int key_is_new(struct context *c, uint32_t key)
{
	for (uint32_t i = 0; i < c->keys_given_n; i++)
		if (c->keys_given[i] == key)
			return 0;
	if (c->keys_given_n == c->keys_given_room) {
		uint32_t room = c->keys_given_room ? c->keys_given_room * 2 : 16;
		uint32_t *k = realloc(c->keys_given, room * sizeof(*k));

		if (!k)
			return -ENOMEM;
		c->keys_given = k;
		c->keys_given_room = room;
	}
	c->keys_given[c->keys_given_n++] = key;
	return 1;
}

static int send_map(struct context *c, const struct ctx_piece *p, uint32_t id)
{
	struct ctx_msg m = { .type = CTX_MAP };
	int new = c->state == CTX_STARTING ? key_is_new(c, p->file->key) : 0;

	/* Later the file does not come with the message but when it is mapped (ctxguard.c). */
	if (new < 0) {
		ctxproc_kill(c, VGPU_ST_OUT_OF_MEMORY);
		return new;
	}
	m.u.map.va = p->va;
	m.u.map.bytes = p->bytes;
	m.u.map.offset = p->offset;
	m.u.map.fd_key = p->file->key;
	m.u.map.id = id;
	return ctxproc_send(c, &m, &p->file->fd, new);
}

static uint32_t next_id(struct device *d)
{
	if (!++d->next_ack)
		d->next_ack = 1;
	return d->next_ack;
}

/* One request at a time: maps first, then a changed vector. */
static void next_request(struct context *c)
{
	struct device *d = c->dev;

	if (c->state != CTX_RUNNING || c->wait_ack)
		return;
	c->deadline_ns = 0;
	if (c->next_piece < c->npieces) {
		c->wait_ack = next_id(d);
		c->map_allowed = 1;
		c->map_done = 0;
		if (send_map(c, &c->pieces[c->next_piece], c->wait_ack))
			return;
	} else if (c->irq_changed) {
		struct ctx_msg m = { .type = CTX_IRQ };

		c->irq_changed = 0;
		c->irq_by_socket = 1;
		c->wait_ack = next_id(d);
		m.u.map.id = c->wait_ack;
		if (ctxproc_send(c, &m, NULL, 0))
			return;
	} else {
		return;
	}
	c->deadline_ns = clock_ns() + STUB_DEADLINE_NS;
}

void ctxproc_vector_changed(struct device *d, uint32_t qid)
{
	struct context *c = &d->ctx[qid];

	if (c->state != CTX_STARTING && c->state != CTX_RUNNING)
		return;
	if (c->irq_by_socket)
		return;                 /* its interrupts come by way of us already */
	c->irq_changed = 1;
	next_request(c);
}

void ctxproc_set_run(struct context *c, int run)
{
	__atomic_store_n(&c->run->run, (c->run->run & ~CTX_RUN_GO) | (run ? CTX_RUN_GO : 0), __ATOMIC_RELEASE);
	kick(c);
}

void ctxproc_set_weight(struct context *c, uint32_t weight)
{
	c->create.weight = weight;
	cgroup_weight(c);
}

/* ---- creation ---------------------------------------------------------------------------------- */
/* Everything the slot holds but its state and tokens. */
static void release(struct context *c)
{
	loop_remove(&c->sock_src);
	loop_remove(&c->pid_src);
	loop_remove(&c->listen_src);
	ctxwords_end(c);
	ctxgrant_end(c);
	close_fd(&c->sock);
	close_fd(&c->listener);
	close_fd(&c->pidfd);
	close_fd(&c->run_fd);
	close_fd(&c->phys_fd);
	close_fd(&c->code_fd);
	memset(&c->own, 0, sizeof(c->own));
	if (c->run)
		munmap(c->run, VGPU_PAGE);
	c->run = NULL;
	cgroup_leave(c);
	hold_forget(c);
	drop_out(c);
	ctxpieces_drop(c, 0);
	free(c->pieces);
	c->pieces = NULL;
	c->pieces_room = 0;
	free(c->keys_given);
	c->keys_given = NULL;
	c->keys_given_n = c->keys_given_room = 0;
	c->next_piece = 0;
	c->mapped = 0;
	c->mirrored = 0;
	c->wait_ack = 0;
	c->map_allowed = c->irq_changed = c->irq_by_socket = 0;
	c->deadline_ns = c->resend_ns = 0;
	c->pid = -1;
}

static void send_init(struct context *c)
{
	struct device *d = c->dev;
	struct ctx_msg m = { .type = CTX_INIT };
	int fds[CTX_INIT_FDS];

	m.u.init.create = c->create;
	m.u.init.device = d->info;
	m.u.init.asym_fence = (d->cc & VGPU_CC_ASYM_FENCE) != 0;
	m.u.init.cores = d->config.cores;
	m.u.init.walls = c->walls;
	m.u.init.uid = ctxspawn_uid(c);
	m.u.init.overhead = d->config.overhead_bytes;
	m.u.init.kernel_timeout_s = d->config.kernel_timeout_s;
	m.u.init.qid = c->qid;
	m.u.init.cuda = d->config.cuda_library != NULL;
	m.u.init.cuda_device = d->config.cuda_device;
	if (d->config.cuda_library)
		snprintf(m.u.init.cuda_library, sizeof(m.u.init.cuda_library), "%s", d->config.cuda_library);
	if (d->config.cublas_library)
		snprintf(m.u.init.cublas_library, sizeof(m.u.init.cublas_library), "%s", d->config.cublas_library);
	m.u.init.verbose = (uint32_t)d->config.verbose;
	fds[CTX_FD_KICK] = d->doorbell[1 + c->qid];
	fds[CTX_FD_IRQ] = irq_context_fd(d, c->qid);
	fds[CTX_FD_PHYS] = c->phys_fd;
	fds[CTX_FD_RUN] = c->run_fd;
	fds[CTX_FD_CODE] = c->code_fd;
	if (ctxproc_send(c, &m, fds, CTX_INIT_FDS))
		return;
	for (; c->next_piece < c->npieces && c->state == CTX_STARTING; c->next_piece++)
		if (send_map(c, &c->pieces[c->next_piece], 0))
			return;
	m = (struct ctx_msg){ .type = CTX_START };
	ctxproc_send(c, &m, NULL, 0);
	/* Sent (or duplicated for sending). How full the others are is ours to know (ctxgrant.c, ctxown.c). */
	close_fd(&c->run_fd);
}

uint32_t ctxproc_create(struct device *d, uint32_t qid, const struct vgpu_ctx_create *create,
			const struct admin_token *token)
{
	struct context *c = &d->ctx[qid];
	uint32_t st;
	int err;

	if (c->state != CTX_FREE)
		return VGPU_ST_BUSY;
	ctxgrant_find_greedy(d);
	c->create = *create;
	c->death_status = VGPU_ST_CONTEXT_DEAD;
	c->death_pending = 0;
	c->logged = 0;
	st = ctxpieces_add_block(c, create->queue_iova);
	if (!st)
		st = ctxpieces_add(c, create->seg0_iova, VGPU_SEG0_BYTES, create->span_base);
	if (st)
		goto fail;
	c->walls = d->walls;
	err = ctxgrant_files(c);
	if (!err)
		err = ctxspawn(c);
	if (err) {
		log_line("cannot start a context process: %s", strerror(-err));
		st = err == -ENOMEM ? VGPU_ST_OUT_OF_MEMORY : VGPU_ST_INTERNAL;
		goto fail;
	}
	bell_drain(d->doorbell[1 + qid]);
	c->state = CTX_STARTING;
	c->create_token = *token;
	c->deadline_ns = clock_ns() + STUB_START_NS;
	d->live++;
	if (loop_add(&c->pid_src, c->pidfd, EPOLLIN) || loop_add(&c->sock_src, c->sock, EPOLLIN) || ctxwords_listen(c)) {
		log_line("context %u: epoll: %s", qid, strerror(errno));
		ctxproc_kill(c, VGPU_ST_INTERNAL);
		return VGPU_ST_OK;
	}
	send_init(c);
	log_verbose("context %u: process %d", qid, c->pid);
	return VGPU_ST_OK;
fail:
	release(c);
	return st;
}

uint32_t ctxproc_segment(struct context *c, uint64_t iova, uint64_t bytes, uint64_t va,
			 const struct admin_token *token)
{
	uint32_t st;

	if (c->segment_token.used)
		return VGPU_ST_BUSY;
	st = ctxpieces_add(c, iova, bytes, va);
	if (st)
		return st;
	c->segment_token = *token;
	next_request(c);
	return VGPU_ST_OK;
}

/* ---- messages from the context ------------------------------------------------------------------ */
static void deviate(struct context *c, const char *what)
{
	log_line("context %u (pid %d): %s; killed", c->qid, c->pid, what);
	ctxproc_kill(c, VGPU_ST_PROTOCOL);
}

static void on_ready(struct context *c, const struct ctx_msg *m, int *fds, int nfds)
{
	rlim_t most = c->dev->config.cuda_library ? CTX_CUDA_FDS : CTX_FDS;
	const struct rlimit few_fds = { most, most };

	/* That it does not start it may say before it has heard all. */
	if (c->state != CTX_STARTING || (c->out_head && m->status == VGPU_ST_OK)) {
		deviate(c, "READY at the wrong time");
		return;
	}
	if (m->status != VGPU_ST_OK) {
		log_line("context %u: did not start: %s", c->qid, vgpu_status_text(m->status));
		ctxproc_kill(c, m->status < VGPU_ST_COUNT || (c->dev->config.cuda_library && vgpu_status_known(m->status)) ? m->status :
				VGPU_ST_INTERNAL);
		return;
	}
	if (nfds != 1 || !ctxguard_is_listener(fds[0])) {
		deviate(c, "READY without the listener of its seccomp filter");
		return;
	}
	c->listener = fds[0];
	fds[0] = -1;
	/* Its last descriptor is here, no client has been heard: from now on it needs no more (pid: not reaped yet). */
	if (prlimit(c->pid, RLIMIT_NOFILE, &few_fds, NULL)) {
		log_line("context %u: its open files cannot be limited: %s", c->qid, strerror(errno));
		ctxproc_kill(c, VGPU_ST_INTERNAL);
		return;
	}
	if (loop_add(&c->listen_src, c->listener, EPOLLIN)) {
		ctxproc_kill(c, VGPU_ST_INTERNAL);
		return;
	}
	c->state = CTX_RUNNING;
	c->deadline_ns = 0;
	log_verbose("context %u: ready", c->qid);
	/* By message it is one only when its memory is known to be the owner's. */
	if (!c->dev->config.by_message || c->mirrored)
		admin_complete(c->dev, &c->create_token, VGPU_ST_OK, 0, 0, 0);
	next_request(c);
}

void ctxproc_mirrored(struct context *c)
{
	if (!c->mirrored && c->state == CTX_RUNNING)
		admin_complete(c->dev, &c->create_token, VGPU_ST_OK, 0, 0, 0);
	c->mirrored = 1;
}

static void on_ack(struct context *c, const struct ctx_msg *m)
{
	if (c->state != CTX_RUNNING || !c->wait_ack || m->u.map.id != c->wait_ack ||
	    m->status >= VGPU_ST_COUNT) {
		deviate(c, "ACK that was not asked for");
		return;
	}
	c->wait_ack = 0;
	if (!c->map_allowed) {
		/* A vector: what went into the old eventfd meanwhile is told on the new one. */
		irq_raise(c->dev, 1 + c->qid);
	} else {
		c->map_allowed = 0;
		c->next_piece++;
		if (m->status != VGPU_ST_OK) {
			/* It may have mapped this piece after all: keep that one, forget the rest. */
			ctxpieces_drop(c, c->next_piece);
			admin_complete(c->dev, &c->segment_token, m->status, 0, 0, 0);
		} else {
			ctxpieces_mapped(c);
			if (c->next_piece == c->npieces)
				admin_complete(c->dev, &c->segment_token, VGPU_ST_OK, 0, 0, 0);
		}
	}
	next_request(c);
}

static void receive(struct context *c)
{
	union {
		struct cmsghdr h;
		char room[CMSG_SPACE(sizeof(int) * 4)];
	} ctl;
	struct ctx_msg m;
	struct iovec iov = { &m, sizeof(m) };
	struct msghdr h = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &ctl,
			    .msg_controllen = sizeof(ctl) };
	int fds[4], nfds = 0;
	ssize_t n = recvmsg(c->sock, &h, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	/* ECONNRESET comes once, where it has ended without reading all: what it said is behind that. */
	if (n < 0 && (errno == EAGAIN || errno == EINTR || errno == ECONNRESET))
		return;
	/* also those of a message of no bytes, which is told from the end of the socket by nothing else */
	for (struct cmsghdr *k = n < 0 ? NULL : CMSG_FIRSTHDR(&h); k; k = CMSG_NXTHDR(&h, k)) {
		size_t bytes;

		if (k->cmsg_level != SOL_SOCKET || k->cmsg_type != SCM_RIGHTS)
			continue;
		bytes = k->cmsg_len - CMSG_LEN(0);
		for (size_t i = 0; i < bytes / sizeof(int) && nfds < 4; i++)
			memcpy(&fds[nfds++], CMSG_DATA(k) + i * sizeof(int), sizeof(int));
	}
	if (n <= 0) {
		/* It closed its end; the pidfd tells when it is gone, the deadline if it stays. */
		loop_remove(&c->sock_src);
		if (!c->deadline_ns)
			c->deadline_ns = clock_ns() + STUB_DEADLINE_NS;
	} else if (n != sizeof(m) || (h.msg_flags & (MSG_TRUNC | MSG_CTRUNC)))
		deviate(c, "message of the wrong size");
	else if (nfds && m.type != CTX_READY)
		deviate(c, "a file descriptor that nobody asked for");
	else if (m.type == CTX_READY)
		on_ready(c, &m, fds, nfds);
	else if (m.type == CTX_ACK)
		on_ack(c, &m);
	else if (m.type == CTX_LOG)
		ctxwords_log(c, &m);
	else if (m.type == CTX_RAISE)
		irq_raise(c->dev, 1 + c->qid);
	else if (m.type == CTX_GRANT)
		ctxgrant_asked(c, m.u.grant.bytes, m.u.grant.id);
	else
		deviate(c, "message of an unknown type");
	for (int i = 0; i < nfds; i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

static void sock_ready(void *owner, uint32_t events)
{
	struct context *c = owner;

	if (events & EPOLLOUT)
		ctxproc_pump(c);
	if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) && c->sock >= 0 && c->sock_src.fd >= 0)
		receive(c);
}

static void listen_ready(void *owner, uint32_t events)
{
	(void)events;
	ctxguard_ready(owner);
}

/* ---- death --------------------------------------------------------------------------------------- */
void ctxproc_kill(struct context *c, uint32_t status)
{
	if (c->state != CTX_STARTING && c->state != CTX_RUNNING)
		return;
	c->state = CTX_DYING;
	c->death_status = status;
	c->deadline_ns = c->resend_ns = 0;
	pidfd_send_signal(c->pidfd, SIGKILL, NULL, 0);
	loop_remove(&c->sock_src);
	loop_remove(&c->listen_src);
	close_fd(&c->sock);
	close_fd(&c->listener);
	drop_out(c);
}

/* Its own account of interrupts, before its memory is let go. */
static void count_interrupts(struct context *c)
{
	uint64_t n;

	if (c->dev->config.by_message)
		memcpy(&n, c->pieces[0].file->base + offsetof(struct vgpu_qb_head, interrupts), sizeof(n));
	else if (dma_read(&c->dev->dma, c->create.queue_iova + offsetof(struct vgpu_qb_head, interrupts), &n, sizeof(n)))
		return;
	c->dev->irqs_queues += n;
}

/* Reaps; blocks while the process is not dead yet, so only after SIGKILL or when pidfd is readable. */
static void reap(struct context *c)
{
	siginfo_t si;
	int n;

	memset(&si, 0, sizeof(si));
	do
		n = waitid(P_PIDFD, (id_t)c->pidfd, &si, WEXITED);
	while (n && errno == EINTR);
	if (c->state != CTX_DYING) {
		if (si.si_code == CLD_EXITED && si.si_status == CTX_EXIT_STUCK) {
			c->death_status = VGPU_ST_TIMEOUT;
			log_line("context %u (pid %d): a call of the host's driver takes longer than it may (--kernel-timeout, vgpu ctl set kernel-time): ended", c->qid, c->pid);
		} else if (si.si_code == CLD_EXITED)
			log_line("context %u (pid %d) ended by itself, exit status %d", c->qid, c->pid, si.si_status);
		else
			log_line("context %u (pid %d) was killed by signal %d%s", c->qid, c->pid, si.si_status,
				 si.si_status == SIGSYS ? ": a system call that its sandbox forbids" : "");
	}
	count_interrupts(c);
	release(c);
	c->dev->live--;
	c->state = CTX_DEAD;
}

/* After reaping: tells whoever waits. */
static void died(struct context *c)
{
	struct device *d = c->dev;
	int created = !c->create_token.used;

	admin_complete(d, &c->segment_token, VGPU_ST_CONTEXT_DEAD, 0, 0, 0);
	if (!created) {
		/* It never was a context: CTX_CREATE fails, the queue is free again. */
		admin_complete(d, &c->create_token, c->death_status ? c->death_status : VGPU_ST_INTERNAL, 0, 0, 0);
		c->state = CTX_FREE;
	}
	if (c->destroy_token.used) {
		c->state = CTX_FREE;
		admin_complete(d, &c->destroy_token, VGPU_ST_OK, 0, 0, 0);
	} else if (created) {
		admin_context_died(d, c);
	}
}

static void pid_ready(void *owner, uint32_t events)
{
	struct context *c = owner;

	(void)events;
	/* Its death may be seen before its last words: why it does not start. */
	for (int i = 0; i < LAST_WORDS && c->state == CTX_STARTING && c->sock_src.fd >= 0; i++)
		receive(c);
	reap(c);
	died(c);
}

void ctxproc_destroy(struct context *c, const struct admin_token *token)
{
	struct admin_token t = *token;

	switch (c->state) {
	case CTX_STARTING:
	case CTX_RUNNING:
		ctxproc_kill(c, VGPU_ST_CONTEXT_DEAD);
		c->destroy_token = t;
		return;
	case CTX_DYING:
		if (c->destroy_token.used)
			admin_complete(c->dev, &t, VGPU_ST_BUSY, 0, 0, 0);
		else
			c->destroy_token = t;
		return;
	case CTX_DEAD:
		c->state = CTX_FREE;
		c->death_pending = 0;
		admin_complete(c->dev, &t, VGPU_ST_OK, 0, 0, 0);
		return;
	case CTX_FREE:
		admin_complete(c->dev, &t, VGPU_ST_NOT_FOUND, 0, 0, 0);
		return;
	}
}

static int has_process(const struct context *c)
{
	return c->state == CTX_STARTING || c->state == CTX_RUNNING || c->state == CTX_DYING;
}

void ctxproc_kill_wait(struct context *c, uint32_t status)
{
	if (!has_process(c))
		return;
	ctxproc_kill(c, status);
	reap(c);
	died(c);
}

void ctxproc_kill_all(struct device *d)
{
	/* All first, so that they die side by side. */
	for (uint32_t q = 0; q < STUB_QUEUES; q++)
		ctxproc_kill(&d->ctx[q], VGPU_ST_DEVICE_LOST);
	for (uint32_t q = 0; q < STUB_QUEUES; q++) {
		struct context *c = &d->ctx[q];

		if (has_process(c))
			reap(c);
		c->state = CTX_FREE;
		c->death_pending = 0;
		c->create_token.used = c->segment_token.used = c->destroy_token.used = 0;
	}
}

/* Kills the contexts that have memory of the range mapped, and returns when they are reaped. */
int ctxproc_kill_range(struct device *d, uint64_t iova, uint64_t bytes)
{
	uint64_t last = iova + (bytes - 1);
	int n = 0;

	for (uint32_t q = 0; q < STUB_QUEUES; q++) {
		struct context *c = &d->ctx[q];

		for (uint32_t i = 0; has_process(c) && i < c->npieces; i++) {
			const struct ctx_piece *p = &c->pieces[i];

			if (p->iova > last || p->iova + (p->bytes - 1) < iova)
				continue;
			log_line("context %u: memory that it uses was unmapped (IOVA 0x%llx): killed", q,
				 (unsigned long long)p->iova);
			ctxproc_kill_wait(c, VGPU_ST_CONTEXT_DEAD);
			n++;
		}
	}
	return n;
}

/* ---- deadlines ------------------------------------------------------------------------------------ */
uint64_t ctxproc_next_deadline(struct device *d)
{
	uint64_t first = 0;

	for (uint32_t q = 0; d->live && q < STUB_QUEUES; q++) {
		uint64_t t = d->ctx[q].deadline_ns;

		if (d->ctx[q].resend_ns && (!t || d->ctx[q].resend_ns < t))
			t = d->ctx[q].resend_ns;
		if (d->ctx[q].words_ns && (!t || d->ctx[q].words_ns < t))
			t = d->ctx[q].words_ns;
		if (t && (!first || t < first))
			first = t;
	}
	return first;
}

void ctxproc_deadlines(struct device *d)
{
	uint64_t now = d->live ? clock_ns() : 0;

	for (uint32_t q = 0; d->live && q < STUB_QUEUES; q++) {
		struct context *c = &d->ctx[q];

		if (c->words_ns && now >= c->words_ns)
			ctxwords_again(c);
		if (c->deadline_ns && now >= c->deadline_ns && c->resend_ns) {
			log_line("context %u: %s: killed", q, vgpu_status_text(VGPU_ST_IN_FLIGHT));
			ctxproc_kill(c, VGPU_ST_IN_FLIGHT);
			continue;
		}
		if (c->resend_ns && now >= c->resend_ns)
			ctxproc_pump(c);
		if (!c->deadline_ns || now < c->deadline_ns)
			continue;
		log_line("context %u (pid %d) did not answer within %llu s: killed", q, c->pid,
			 (c->state == CTX_STARTING ? STUB_START_NS : STUB_DEADLINE_NS) / 1000000000ull);
		ctxproc_kill(c, VGPU_ST_TIMEOUT);
	}
}
