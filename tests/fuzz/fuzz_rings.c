/* SPDX-License-Identifier: MIT */
/*
 * The agent's data thread between a client and a device that both lie: any words in either of the client's rings, any answers, heads
 * and interrupts of the device, turn after turn. The thread's own turn() runs (data.c is included for that), on rings in plain memory.
 *
 * What must hold: only commands that the checks let pass come into the device's rings, in their order, each with the number of its
 * place; nobody is charged more than the device has, and what is charged to the context, its client, its user and the device is one
 * number, which a model of the answers knows too; who broke a rule is named with a reason, and looked at no more.
 *
 * Sources: tests/fuzz/fuzz_rings.c, all of agent without main.c and data.c, fw-protocol
 *
 * Input: events of one byte, and what each takes of the bytes behind it.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>

#include "../../agent/data.c"

#include "vgpu_check.h"
#include "input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define NEED(x) do { if (!(x)) { fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #x); abort(); } } while (0)
#define DEVICE_BYTES (64ull << 20)
#define QUOTA (48ull << 20)

static union vgpu_slot ioq[VGPU_IOQ_SLOTS], ctlq[VGPU_CTLQ_SLOTS], ring[VGPU_DEV_IO_SLOTS], ctl[VGPU_DEV_CTL_SLOTS];
static struct vgpu_reply replies[VGPU_REPLIES], answers[VGPU_DEV_CTL_SLOTS];
static struct vgpu_timeline timelines[VGPU_MAX_STREAMS];
static struct vgpu_session session;
static struct vgpu_ctx_head head;
static struct vgpu_qb_head qb;
static struct vgpu_agent_page page;
static struct tenant user;
static struct client *c = &agent.client[0];
static struct context *x = &agent.client[0].ctx[0];
static struct device *d = &agent.dev[0];

/* The model: commands that the device has not answered, and what the answered ones left. */
static struct { uint64_t bytes; uint8_t op; int out; } flying[VGPU_DEV_CTL_SLOTS];
static uint64_t charged, ctl_seen, io_seen;

static void begin(void)
{
	static int once;

	if (!once++) {
		agent.wake_c = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
		agent.page = &page;
		agent.opt.devices = 1;
		ticks_init();
	}
	memset(ioq, 0, sizeof(ioq));
	memset(ctlq, 0, sizeof(ctlq));
	memset(ring, 0, sizeof(ring));
	memset(ctl, 0, sizeof(ctl));
	memset(answers, 0, sizeof(answers));
	memset(replies, 0, sizeof(replies));
	memset(&session, 0, sizeof(session));
	memset(&head, 0, sizeof(head));
	memset(&qb, 0, sizeof(qb));
	memset(&user, 0, sizeof(user));
	memset(c, 0, sizeof(*c));
	memset(&data, 0, sizeof(data));
	memset(flying, 0, sizeof(flying));
	d->memory_used = charged = ctl_seen = io_seen = 0;
	d->info.memory_bytes = DEVICE_BYTES;
	client_place(c, 1);
	c->window = 1;
	c->memory_quota = QUOTA;
	c->tenant[TENANT_USER] = &user;
	c->ctlq = ctlq;
	c->replies = replies;
	c->session = &session;
	c->any_env = x->env = (struct vgpu_check_env){
		.window_base = VGPU_SPAN_BASE_DEFAULT, .window_bytes = VGPU_WINDOW_SPAN,
		.device_base = VGPU_DEVICE_BASE(VGPU_SPAN_BASE_DEFAULT, 0), .device_bytes = VGPU_DEVICE_SPAN,
		.arena_bytes = VGPU_ARENA_BYTES };
	x->client = c;
	x->device = d;
	x->ioq = ioq;
	x->ring = ring;
	x->ctl = ctl;
	x->replies = answers;
	x->timelines = timelines;
	x->head = &head;
	x->qb = &qb;
	x->doorbell_fd = agent.wake_c;
	x->state = CONTEXT_LIVE;
	drr_init(&x->share, 100);
	c->live = 1;
	data.live[0] = c;
	data.n = data.lively = 1;
}

/* The answers that the turn saw: behind the commands that it took, whose charge is there then. */
static void answered(void)
{
	for (unsigned i = 0; i < VGPU_DEV_CTL_SLOTS; i++) {
		uint64_t index = x->ctl_tail - 1 - (x->ctl_tail - 1 - i) % VGPU_DEV_CTL_SLOTS;
		uint32_t status = answers[i].status;
		int alloc = flying[i].op == VGPU_OP_MEM_ALLOC || flying[i].op == VGPU_OP_PHYS_ALLOC;
		int freed = flying[i].op == VGPU_OP_MEM_FREE || flying[i].op == VGPU_OP_PHYS_FREE;

		if (!flying[i].out || answers[i].seq != (uint32_t)(index + 1))
			continue;
		flying[i].out = 0;
		if (alloc ? status != VGPU_ST_OK : freed && status == VGPU_ST_OK)
			charged -= flying[i].bytes < charged ? flying[i].bytes : charged;
	}
}

/* What has come into the device's rings since the last look. */
static void look(void)
{
	while (ctl_seen < x->ctl_tail) {
		unsigned place = ctl_seen % VGPU_DEV_CTL_SLOTS;
		struct vgpu_cmd k = ctl[place].cmd;
		int memory = k.op == VGPU_OP_MEM_ALLOC || k.op == VGPU_OP_PHYS_ALLOC || k.op == VGPU_OP_MEM_FREE || k.op == VGPU_OP_PHYS_FREE;

		NEED(k.seq == (uint32_t)(ctl_seen + 1) && k.ticket == ctl_seen + 1);
		NEED(vgpu_check_cmd(&k, VGPU_Q_CTL, ctl_seen, &x->env) == VGPU_ST_OK);
		NEED(!flying[place].out);
		flying[place].out = 1;
		flying[place].op = k.op;
		flying[place].bytes = memory ? k.u.ctl.b : 0;
		if (k.op == VGPU_OP_MEM_ALLOC || k.op == VGPU_OP_PHYS_ALLOC)
			charged += k.u.ctl.b;
		ctl_seen++;
	}
	while (io_seen < x->io_index) {
		struct vgpu_cmd k = ring[io_seen % VGPU_DEV_IO_SLOTS].cmd;

		NEED(k.seq == (uint32_t)(io_seen + 1) && vgpu_check_cmd(&k, VGPU_Q_IO, io_seen, &x->env) == VGPU_ST_OK);
		for (unsigned i = 1; i < k.slots; i++)
			NEED(ring[(io_seen + i) % VGPU_DEV_IO_SLOTS].payload.seq == (uint32_t)(io_seen + i + 1));
		io_seen += k.slots;
	}
	answered();
	NEED(io_seen == x->io_index && x->io_index - x->io_taken <= VGPU_DEV_IO_SLOTS);
	NEED(x->memory_bytes == c->memory_bytes && x->memory_bytes == user.memory_bytes && x->memory_bytes == d->memory_used);
	NEED(x->memory_bytes == charged && charged <= QUOTA);
	for (unsigned i = 0; i < VGPU_DEV_CTL_SLOTS; i++)
		NEED((x->outstanding >> i & 1) == (uint64_t)flying[i].out);
	NEED(!c->drop || (c->dropped && c->drop_text[0]));
	NEED(!x->kill || (!(c->live & 1) && x->kill_text[0] && x->kill < VGPU_ST_COUNT));
}

/* A command at the ring's end, or anywhere; as it is, or with what only its place decides put right. */
static void command(union vgpu_slot *q, unsigned slots, uint64_t end)
{
	unsigned how = byte();
	uint64_t at = how & 1 ? byte() : end;
	union vgpu_slot s;

	take(&s, sizeof(s));
	if (!(how & 2))
		s.cmd.ticket = at + 1;
	if (!(how & 4))
		s.cmd.seq = (uint32_t)(at + 1);
	if (how & 8)
		s.cmd.slots = 1;
	if (how & 16) {         /* memory of this device */
		s.cmd.op = how & 32 ? VGPU_OP_MEM_ALLOC : VGPU_OP_MEM_FREE;
		s.cmd.slots = 1;
		s.cmd.flags = 0;
		s.cmd.stream = 0;
		s.cmd.wait_tl = 0;
		s.cmd.wait_value = 0;
		s.cmd.u.ctl.reply %= VGPU_REPLIES;
		s.cmd.u.ctl.context = 0;
		s.cmd.u.ctl.id = 0;
		s.cmd.u.ctl.a = x->env.device_base + x->env.arena_bytes + s.cmd.u.ctl.a % 1024 * VGPU_PAGE;
		s.cmd.u.ctl.b = (s.cmd.u.ctl.b % 8192 + 1) * VGPU_PAGE;
		s.cmd.u.ctl.c = s.cmd.op == VGPU_OP_MEM_ALLOC ? s.cmd.u.ctl.b : 0;
	}
	q[at % slots] = s;
	for (unsigned k = 1; k < s.cmd.slots && k < slots && !(how & 64); k++) {
		take(&q[(at + k) % slots], sizeof(s));
		q[(at + k) % slots].payload.seq = (uint32_t)(at + k + 1);
		q[(at + k) % slots].payload.zero = 0;
	}
}

static void answer(void)
{
	unsigned place = byte() % VGPU_DEV_CTL_SLOTS, how = byte();
	struct vgpu_reply *r = &answers[place];
	uint64_t index = x->ctl_tail - 1 - (x->ctl_tail - 1 - place) % VGPU_DEV_CTL_SLOTS;

	take(r, sizeof(*r));
	if (!(how & 1))
		r->seq = (uint32_t)(index + 1);
	if (how & 2)
		r->status = VGPU_ST_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	in = bytes;
	left = size;
	begin();
	while (left) {
		switch (byte() % 8) {
		case 0:
			command(ioq, VGPU_IOQ_SLOTS, x->io_index);
			break;
		case 1:
			command(ctlq, VGPU_CTLQ_SLOTS, c->ctl_index);
			break;
		case 2:
			answer();
			break;
		case 3:
			qb.io_head = x->io_taken + (byte() & 1 ? byte() * 8 : x->io_index - x->io_taken);
			break;
		case 4:
			take(&qb.fired[byte() % (VGPU_MAX_STREAMS / 64)], 8);
			qb.irq_pending = byte() & 1;
			break;
		case 5:
			qb.need_wakeup = byte() & 1;
			replies[byte() % VGPU_REPLIES].waiter = 1;
			break;
		default:
			turn();
			look();
			if (!c->dropped && c->live & 1)
				break;
			return 0;       /* the control thread's from here on */
		}
	}
	return 0;
}
