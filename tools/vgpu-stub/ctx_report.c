/* SPDX-License-Identifier: MIT */
/*
 * What people get to read: the fault report, the printf ring, log lines to the parent.
 *
 * Also the one place where a context dies logically: ctx_die() writes the report first, then the
 * error words, then lets everything that is queued complete with the error.
 */
#include "cpu/demangle.h"
#include "ctx.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#define PRINT_LOOK_NS 100000    /* how often a kernel that prints looks for room */
#define LOG_LINES 200u          /* a client can provoke lines; the parent's log is not its playground */

/* Kernel names and engine texts come out of the client's image: printable ASCII only. */
static void plain(char *s)
{
	for (; *s; s++)
		if (*s < ' ' || *s > '~')
			*s = '?';
}

void ctx_log(struct ctx *c, const char *fmt, ...)
{
	struct ctx_msg m = { .type = CTX_LOG };
	va_list ap;

	if (c->logged >= LOG_LINES)
		return;
	va_start(ap, fmt);
	vsnprintf(m.u.log, sizeof(m.u.log), fmt, ap);
	va_end(ap);
	if (++c->logged == LOG_LINES)
		snprintf(m.u.log, sizeof(m.u.log), "more lines from this context are left out");
	plain(m.u.log);
	/* A parent that does not read loses lines, and nothing else happens. */
	ctx_send(&m, -1, MSG_DONTWAIT);
}

void ctx_why(struct ctx *c, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(c->why, sizeof(c->why), fmt, ap);
	va_end(ap);
}

/*
 * Any engine thread. The first fault is the one reported: the state word is claimed, the text
 * written, then released; partner: the acquire in ctx_die().
 */
void ctx_fault(void *owner, const struct engine_fault *f)
{
	struct ctx *c = owner;
	size_t room = sizeof(c->fault_text), n;
	uint32_t none = 0;
	char name[301];

	if (!__atomic_compare_exchange_n(&c->fault_state, &none, 1, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		return;
	n = (size_t)snprintf(c->fault_text, room, "vgpu: %s: %.200s", vgpu_status_text(f->status), f->what);
	if (f->nowhere)
		;
	else if (f->status == VGPU_ST_ILLEGAL_ADDRESS || f->status == VGPU_ST_MISALIGNED)
		n += (size_t)snprintf(c->fault_text + n, room - n, " at 0x%llx", (unsigned long long)f->address);
	if (f->kernel) {
		/* as its program has it; the short form where that is long; else as it is */
		if (!demangle(f->kernel, DEMANGLE_FULL, name, sizeof(name)))
			demangle(f->kernel, DEMANGLE_SIMPLE, name, sizeof(name));
		n += (size_t)snprintf(c->fault_text + n, room - n, " in kernel %s", name);
	}
	if (!f->nowhere)
		n += (size_t)snprintf(c->fault_text + n, room - n, ", block (%u,%u,%u), thread (%u,%u,%u)",
				      f->block[0], f->block[1], f->block[2], f->thread[0], f->thread[1], f->thread[2]);
	if (f->source) {
		size_t len = strlen(f->source);       /* of a long path, its end */

		n += (size_t)snprintf(c->fault_text + n, room - n, ", %s", f->source + (len > 100 ? len - 100 : 0));
	}
	if (f->ptx_line)
		n += (size_t)snprintf(c->fault_text + n, room - n, ", PTX line %u", f->ptx_line);
	if (f->code)
		snprintf(c->fault_text + n, room - n, ": %.160s", f->code);
	plain(c->fault_text);
	c->fault_status = f->status;
	__atomic_store_n(&c->fault_state, 2, __ATOMIC_RELEASE);
}

/* Tickets behind a malformed slot will never be seen: whoever sleeps on any stream is woken. */
static void wake_all(struct ctx *c, uint32_t status)
{
	for (unsigned i = 0; i < VGPU_MAX_STREAMS; i++) {
		struct vgpu_timeline *t = &c->timelines[i];

		vgpu_store_release32(&t->error, status);
		vgpu_publisher_fence(c->asym_client);
		if (vgpu_load_relaxed32(&t->waiter)) {
			vgpu_store_relaxed32(&t->waiter, 0);
			vgpu_or64(&c->qb->fired[i / 64], 1ull << (i % 64));
			ctx_irq(c);
		}
	}
}

static void report(struct ctx *c, uint32_t status)
{
	char text[sizeof(c->head->report)];
	size_t n;

	/* Another thread's fault may be half written: a moment, not for ever. */
	for (int i = 0; i < 100000 && __atomic_load_n(&c->fault_state, __ATOMIC_RELAXED) == 1; i++)
		vgpu_cpu_relax();
	if (__atomic_load_n(&c->fault_state, __ATOMIC_ACQUIRE) == 2 && c->fault_status == status)
		snprintf(text, sizeof(text), "%s", c->fault_text);
	else if (c->why[0])
		snprintf(text, sizeof(text), "vgpu: %s: %s", vgpu_status_text(status), c->why);
	else
		snprintf(text, sizeof(text), "vgpu: %s", vgpu_status_text(status));
	n = strlen(text);
	memcpy(c->head->report, text, n + 1);
	vgpu_store_relaxed32(&c->head->report_bytes, (uint32_t)n);
	vgpu_store_release32(&c->head->error, status);
	ctx_log(c, "%s", text);
}

/*
 * The context is dead for its client; the process lives on and answers everything with the error.
 * Order as vgpu_client.h says: report, then error words, then timelines. The first error stays; only
 * a ring that cannot be read any further is told on top of it, to the agent.
 */
void ctx_die(struct ctx *c, uint32_t status)
{
	if (!c->error) {
		/* first to the agent: a client that hears of it may be gone, and this process with it, before we get on */
		vgpu_store_release32(&c->qb->error, status);
		report(c, status);
		c->error = status;
		ctx_stream_flush(c);
	}
	if (c->io_broken) {
		vgpu_store_release32(&c->qb->error, VGPU_ST_PROTOCOL);
		wake_all(c, c->error);
	}
}

void ctx_engine_died(struct ctx *c)
{
	uint32_t status = c->engine && c->ops->died ? c->ops->died(c->engine) : (uint32_t)VGPU_ST_OK;

	if (status && !c->error) {
		if (!c->why[0] && vgpu_load_relaxed32(&c->fault_state) != 2)
			ctx_why(c, "the host's driver says so");
		ctx_die(c, status);
	}
}

int ctx_print_room(void *owner, size_t bytes)
{
	struct ctx *c = owner;
	uint64_t used = vgpu_load_relaxed64(&c->head->printf_head) - vgpu_load_acquire64(&c->head->printf_tail);

	/* A nonsense tail: the text is lost, and so counted. */
	return c->error || used > VGPU_CTX_PRINTF_BYTES || bytes <= VGPU_CTX_PRINTF_BYTES - used;
}

/*
 * Any engine thread. A text goes into the ring whole or not at all; positions count bytes for
 * ever. The release of printf_head pairs with the client's acquire. The tail is the client's word
 * and may say anything: a nonsense tail reads as "full".
 *
 * In a full ring the kernel that prints waits until the client has read, as long as the context lives. The
 * dispatcher itself never waits here: the client may need it before it reads (kernels that print run on workers).
 */
void ctx_print(void *owner, const char *text, size_t bytes)
{
	struct ctx *c = owner;
	uint64_t head, used;

	pthread_mutex_lock(&c->print_lock);
	for (;;) {
		head = vgpu_load_relaxed64(&c->head->printf_head);
		used = head - vgpu_load_acquire64(&c->head->printf_tail);
		if ((used <= VGPU_CTX_PRINTF_BYTES && bytes <= VGPU_CTX_PRINTF_BYTES - used) ||
		    bytes > VGPU_CTX_PRINTF_BYTES || pthread_equal(pthread_self(), c->dispatcher) ||
		    vgpu_load_relaxed32(&c->error) || __atomic_load_n(&c->fault_state, __ATOMIC_RELAXED))
			break;
		pthread_mutex_unlock(&c->print_lock);
		nanosleep(&(struct timespec){ .tv_nsec = PRINT_LOOK_NS }, NULL);
		pthread_mutex_lock(&c->print_lock);
	}
	if (used > VGPU_CTX_PRINTF_BYTES || bytes > VGPU_CTX_PRINTF_BYTES - used) {
		vgpu_store_relaxed64(&c->head->printf_lost, vgpu_load_relaxed64(&c->head->printf_lost) + bytes);
	} else {
		size_t at = head % VGPU_CTX_PRINTF_BYTES;
		size_t end = VGPU_CTX_PRINTF_BYTES - at < bytes ? VGPU_CTX_PRINTF_BYTES - at : bytes;

		memcpy(c->printf_ring + at, text, end);
		memcpy(c->printf_ring, text + end, bytes - end);
		vgpu_store_release64(&c->head->printf_head, head + bytes);
	}
	pthread_mutex_unlock(&c->print_lock);
}
