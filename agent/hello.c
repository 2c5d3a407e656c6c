/* SPDX-License-Identifier: MIT */
/* HELLO: who is let in, and what he gets: a window, the agent's page, descriptors. The rest of a client's life is client.c. */
#include "hello.h"
#include "about.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "allot.h"
#include "answer.h"
#include "client.h"
#include "guard.h"
#include "mailbox.h"
#include "message.h"
#include "sigbus.h"
#include "vfio_noiommu.h"

#define SEG0_TRIES 12u
#define FEATURES (VGPU_FEATURE_CORE | VGPU_FEATURE_GATES | VGPU_FEATURE_PRIORITY | VGPU_FEATURE_CLUSTERS | \
		  VGPU_FEATURE_LARGE | VGPU_FEATURE_WORK | VGPU_FEATURE_RUNS | VGPU_FEATURE_STACK)

static void refuse(struct client *c, enum vgpu_refusal why, uint32_t status, uint32_t version, const char *text)
{
	struct vgpu_msg_hello_r r = { .status = status, .version = version };

	agent.refused[why]++;
	snprintf(r.text, sizeof(r.text), "%s", text);
	if (answer_send(c, &r, sizeof(r), VGPU_MSG_HELLO, NULL, 0) == 0)
		client_drop(c, text);
}

int hello_comes_back(void)
{
	for (const struct client *c = NULL; (c = client_after(c));)
		if (c->leaving && c->window && !client_keeps(c))
			return 1;
	return 0;
}

/* Segment 0. Without an IOMMU it must lie in one piece of the machine's memory: tried some times. */
static int segment0(struct pool_mem *m)
{
	struct pool_mem tried[SEG0_TRIES];
	unsigned n = 0;
	int rc = pool_alloc(m, VGPU_SEG0_BYTES, "vgpu-window");

	if (!agent.opt.unsafe_noiommu)
		return rc;
	while (rc == 0 && !noiommu_in_one_piece(m, n % 2)) {
		if (n == SEG0_TRIES) {
			pool_free(m);
			rc = -ENOMEM;
			break;
		}
		tried[n++] = *m;        /* kept meanwhile, or it would come again */
		rc = pool_alloc(m, VGPU_SEG0_BYTES, "vgpu-window");
	}
	while (n)
		pool_free(&tried[--n]);
	return rc;
}

static int window_open(struct client *c)
{
	int rc = tenant_may_have(c, VGPU_SEG0_BYTES) ? segment0(&c->seg[0]) : hello_comes_back() ? -EAGAIN : -ENOMEM;

	if (rc < 0)
		return rc;
	c->kick_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (c->kick_fd < 0)
		goto fail;
	if (!pool_map(&c->seg[0], sigbus_window(c->index)))
		goto fail;
	c->seg0 = sigbus_window(c->index);
	c->seg_offset[0] = c->seg_on[0] = 0;
	c->segs = 1;
	c->window_bytes = VGPU_SEG0_BYTES;
	tenant_charge(c, VGPU_SEG0_BYTES);
	c->session = (struct vgpu_session *)c->seg0;
	c->ctlq = (union vgpu_slot *)(c->seg0 + VGPU_CTLQ_OFFSET);
	c->replies = (struct vgpu_reply *)(c->seg0 + VGPU_REPLY_OFFSET);
	c->window = 1;
	return 0;
fail:
	rc = -errno;
	if (c->kick_fd >= 0)
		close(c->kick_fd);
	c->kick_fd = -1;
	pool_free(&c->seg[0]);
	return rc;
}

void hello_answer(struct client *c, const struct vgpu_msg_hello *m)
{
	struct vgpu_msg_hello_r r = { .version = m->version };
	int fds[VGPU_HELLO_FDS], rc;
	enum vgpu_refusal no;
	char text[96];

	if (c->greeted) {
		client_drop(c, "a second HELLO");
		return;
	}
	snprintf(c->command, sizeof(c->command), "%.16s", m->command);
	if (!VGPU_PROTOCOL_SPEAKS(m->version)) {
		snprintf(text, sizeof(text), "client %.15s%s(protocol %u) is %s than vgpu-agent " VGPU_VERSION " (" VGPU_PROTOCOLS ")",
			 m->release, m->release[0] ? " " : "", m->version, m->version < VGPU_PROTOCOL_OLDEST ? "older" : "newer");
		refuse(c, VGPU_REFUSED_VERSION, VGPU_ST_NOT_SUPPORTED, VGPU_PROTOCOL_VERSION, text);
		return;
	}
	if (m->features >> 32) {
		refuse(c, VGPU_REFUSED_VERSION, VGPU_ST_NOT_SUPPORTED, m->version, "client requires a feature that this vgpu-agent does not know");
		return;
	}
	no = m->span_base && !c->asked ? guard_hello(c, text, sizeof(text)) : 0;
	if (no) {
		refuse(c, no, VGPU_ST_LIMIT, m->version, text);
		return;
	}
	if (m->span_base && tenant_full(c, text, sizeof(text))) {
		guard_refused(c);
		refuse(c, VGPU_REFUSED_LIMIT, VGPU_ST_LIMIT, m->version, text);
		return;
	}
	if (m->span_base && !message_span_ok(m->span_base)) {
		refuse(c, VGPU_REFUSED_REQUEST, VGPU_ST_INVALID, m->version, "the address span must start at a multiple of 1 GiB, from 16 GiB to 14 TiB, or from 0x200000000000 on and clear of 0x550000000000 to 0x580000000000");
		return;
	}
	rc = m->span_base ? window_open(c) : 0;
	if (rc == -EAGAIN) {
		c->ask_hello = *m;
		if (!c->asked)
			client_take_time(c, ASKED_HELLO);
		return;
	}
	if (rc < 0) {
		refuse(c, VGPU_REFUSED_MEMORY, VGPU_ST_OUT_OF_MEMORY, m->version, "no memory for the client's window");
		return;
	}
	c->span_base = m->span_base;
	c->greeted = 1;
	r.features = m->features & (FEATURES | (agent.asym ? VGPU_FEATURE_ASYM_FENCE : 0) |
				    (agent.opt.unsafe_noiommu ? 0 : VGPU_FEATURE_OWN_PAGES | VGPU_FEATURE_SHARE | VGPU_FEATURE_LENT));
	c->asym = (r.features & VGPU_FEATURE_ASYM_FENCE) != 0;
	allot_to(c);
	r.client_id = c->id;
	r.devices = agent.opt.devices;
	r.memory_quota = c->memory_quota;
	snprintf(r.text, sizeof(r.text), "%s", VGPU_VERSION);
	load_page();
	fds[VGPU_HELLO_FD_PIDFD] = agent.pidfd;
	fds[VGPU_HELLO_FD_AGENT_PAGE] = agent.page_fd;
	if (c->window) {
		r.window_iova = client_iova(c).v;
		r.window_quota = agent.opt.client_window;
		fds[VGPU_HELLO_FD_KICK] = c->kick_fd;
		fds[VGPU_HELLO_FD_SEG0] = c->seg[0].fd;
		c->session->magic = VGPU_SESSION_MAGIC;
		c->session->version = m->version;
		c->session->features = r.features;
		c->session->client_id = c->id;
		c->any_env = (struct vgpu_check_env){
			.window_base = c->span_base, .window_bytes = VGPU_WINDOW_SPAN, .device_base = VGPU_DEVICE_BASE(c->span_base, 0),
			.device_bytes = VGPU_MAX_DEVICES * VGPU_DEVICE_SPAN, .arena_bytes = VGPU_ARENA_BYTES };
		mailbox_call(MAILBOX_ADD_CLIENT, c, 0);
	}
	if (answer_send(c, &r, sizeof(r), VGPU_MSG_HELLO, fds, c->window ? VGPU_HELLO_FDS : VGPU_HELLO_FD_AGENT_PAGE + 1))
		return;
	if (c->window) {
		log_about(c);
		log_client(LOG_INFO, "client %u comes: %s, pid %d, uid %u, container %s, vgpu %.15s", c->id, c->command, c->pid, c->uid,
			   c->tenant[TENANT_CONTAINER] ? c->tenant[TENANT_CONTAINER]->box : "none", m->release[0] ? m->release : "before 0.1.0");
	}
	if (c->asked == ASKED_HELLO)
		client_listen_again(c);
}
