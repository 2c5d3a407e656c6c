/* SPDX-License-Identifier: MIT */
/*
 * Control ops: memory, modules, function facts. One at a time, each answered by a reply.
 *
 * Called by the dispatcher with a checked private copy. Images arrive in pieces into a private copy
 * of the size MODULE_BEGIN named; what goes back to the client is built here in private memory and
 * copied out through the engine's fault-catching copy.
 */
#include "ctx.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define INDEX_BITS 14
_Static_assert(1u << INDEX_BITS == CTX_MODULES, "module ids");
#define SMALL_BYTES 4096u               /* an image that costs less to load than to hand to another thread */
#define MAX_SYMBOLS (1u << 20)
#define NAME_BYTES 4096u                /* longest name that goes into a table */

static void reply(struct ctx *c, uint64_t ticket, uint32_t status, const uint64_t *v)
{
	struct vgpu_reply *r = (struct vgpu_reply *)((uint8_t *)c->qb + VGPU_QB_REPLIES) +
			       (ticket - 1) % VGPU_DEV_CTL_SLOTS;

	for (int i = 0; i < 5; i++)
		vgpu_store_relaxed64(&r->v[i], v[i]);
	vgpu_store_relaxed32(&r->status, status);
	vgpu_store_release32(&r->seq, (uint32_t)ticket);
	/* Partner: the agent sets reply_waiter, fences, and looks at its replies again. */
	vgpu_publisher_fence(c->asym_publish);
	if (vgpu_load_relaxed32(&c->qb->reply_waiter)) {
		vgpu_store_relaxed32(&c->qb->reply_waiter, 0);
		ctx_irq(c);
	}
}

static uint32_t put(struct ctx *c, uint64_t dst, const void *src, uint64_t bytes)
{
	return c->ops->copy(c->engine, (void *)(uintptr_t)dst, src, bytes);
}

/* The text and, where it fits, its NUL. Returns the bytes written. */
static uint64_t put_log(struct ctx *c, uint64_t dst, uint64_t room, const char *log)
{
	uint64_t n = strlen(log) + 1;

	if (n == 1 || !room)
		return 0;
	n = n < room ? n : room;
	return put(c, dst, log, n) ? 0 : n;
}

/* ---- modules --------------------------------------------------------------------------------- */

static struct ctx_module *module(struct ctx *c, uint32_t id)
{
	struct ctx_module *m = &c->modules[id % CTX_MODULES];

	return m->image && m->id == id ? m : NULL;
}

static void forget(struct ctx *c, struct ctx_module *m)
{
	munmap(m->image, m->bytes);
	c->image_bytes -= m->bytes;
	ctx_account(c, -(int64_t)m->variables);
	*m = (struct ctx_module){ 0 };
}

/*
 * A module that the engine has, and nobody else. It may keep it: kernels run that find functions by their numbers, whosever they are.
 * Then its image stays as well, until the context ends, and no id names it (its entry is another one's by that number).
 */
static void give_up(struct ctx *c, struct ctx_module *m)
{
	if (c->ops->module_unload(c->engine, m->engine_id) == VGPU_ST_OK)
		forget(c, m);
	else
		m->id ^= 1;
}

static uint32_t module_begin(struct ctx *c, uint64_t bytes, uint64_t *v)
{
	uint32_t i = 0;
	struct ctx_module *m;

	if (!ctx_image_room(c, bytes))
		return VGPU_ST_OUT_OF_MEMORY;
	while (i < c->modules_used && c->modules[i].image)
		i++;
	if (i == CTX_MODULES)
		return VGPU_ST_LIMIT;
	m = &c->modules[i];
	m->image = ctx_anon(bytes);
	if (!m->image)
		return VGPU_ST_OUT_OF_MEMORY;
	if (i == c->modules_used)
		c->modules_used++;
	m->bytes = bytes;
	m->id = ++c->module_generation << INDEX_BITS | i;
	c->image_bytes += bytes;
	ctx_account(c, 0);
	v[0] = m->id;
	return VGPU_ST_OK;
}

static uint32_t module_data(struct ctx *c, const struct vgpu_body_ctl *b)
{
	struct ctx_module *m = module(c, b->id);

	if (!m)
		return VGPU_ST_BAD_HANDLE;
	if (m->committed || b->a > m->bytes || b->c > m->bytes - b->a)
		return VGPU_ST_INVALID;
	return put(c, (uintptr_t)(m->image + b->a), (const void *)(uintptr_t)b->b, b->c);
}

struct table {
	uint64_t nsyms, names;
};

/* OK: v is filled in for every symbol; names bounded, so a hostile image cannot make it overflow. */
static uint32_t measure(struct ctx *c, const struct ctx_module *m, struct table *t)
{
	struct engine_symbol s;
	uint32_t st;

	*t = (struct table){ 0 };
	while (!(st = c->ops->module_symbol(c->engine, m->engine_id, (uint32_t)t->nsyms, &s))) {
		size_t n = strlen(s.name) + 1;

		if (n > NAME_BYTES || ++t->nsyms > MAX_SYMBOLS)
			return VGPU_ST_LIMIT;
		t->names += n;
	}
	return st == VGPU_ST_NOT_FOUND ? VGPU_ST_OK : st;
}

static uint64_t table_bytes(const struct table *t)
{
	return sizeof(struct vgpu_symtab) + t->nsyms * sizeof(struct vgpu_symbol) + t->names;
}

static uint32_t commit_begin(struct ctx *c, const struct vgpu_body_ctl *b)
{
	struct ctx_module *m = module(c, b->id);

	if (!m)
		return VGPU_ST_BAD_HANDLE;
	if (m->committed)
		return VGPU_ST_INVALID;
	c->job.m = m;
	c->ops->managed(c->engine, m->managed_va, m->managed_bytes);
	return VGPU_ST_OK;
}

static void commit_work(struct ctx *c, struct ctx_job *j)
{
	struct ctx_module *m = j->m;

	j->check = VGPU_ST_OK;
	j->status = c->ops->module_load(c->engine, m->image, m->bytes, &m->engine_id, j->log, sizeof(j->log));
	if (!j->status && (j->cmd.u.ctl.c & VGPU_MODULE_EAGER))
		j->check = c->ops->module_check(c->engine, m->engine_id, j->log, sizeof(j->log));
}

static uint32_t commit_end(struct ctx *c, struct ctx_job *j, uint64_t *v)
{
	const struct vgpu_body_ctl *b = &j->cmd.u.ctl;
	struct ctx_module *m = j->m;
	struct table t;
	uint64_t wanted;
	uint32_t st = j->status;

	wanted = c->ops->managed(c->engine, 0, 0);
	if (st == VGPU_ST_NOT_SUPPORTED && wanted > m->managed_bytes) {
		v[3] = wanted;          /* the client names a place and commits again */
		return st;
	}
	v[2] = put_log(c, b->a, b->b, j->log);
	if (st) {
		forget(c, m);
		return st;
	}
	if (j->check) {
		give_up(c, m);
		return j->check;
	}
	m->variables = c->ops->module_bytes(c->engine, m->engine_id);
	ctx_account(c, (int64_t)m->variables);
	st = ctx_account_engine(c) ? (uint32_t)VGPU_ST_OUT_OF_MEMORY : measure(c, m, &t);
	if (st) {
		give_up(c, m);
		return st;
	}
	m->committed = 1;
	v[0] = table_bytes(&t);
	v[1] = m->variables;
	return VGPU_ST_OK;
}

static uint32_t module_managed(struct ctx *c, const struct vgpu_body_ctl *b)
{
	struct ctx_module *m = module(c, b->id);

	if (!m)
		return VGPU_ST_BAD_HANDLE;
	if (m->committed || b->a % VGPU_PAGE)
		return VGPU_ST_INVALID;
	m->managed_va = b->a;
	m->managed_bytes = b->b;
	return VGPU_ST_OK;
}

static uint32_t module_table(struct ctx *c, const struct vgpu_body_ctl *b, uint64_t *v)
{
	struct ctx_module *m = module(c, b->id);
	struct vgpu_symbol *out;
	struct table t;
	uint64_t bytes, name;
	uint8_t *p;
	uint32_t st;

	if (!m || !m->committed)
		return VGPU_ST_BAD_HANDLE;
	st = measure(c, m, &t);
	if (st)
		return st;
	bytes = table_bytes(&t);
	if (bytes > b->b)
		return VGPU_ST_INVALID;
	p = calloc(1, bytes);
	if (!p)
		return VGPU_ST_OUT_OF_MEMORY;
	memcpy(p, &(struct vgpu_symtab){ (uint32_t)bytes, (uint32_t)t.nsyms }, sizeof(struct vgpu_symtab));
	out = (struct vgpu_symbol *)(void *)(p + sizeof(struct vgpu_symtab));
	name = bytes - t.names;
	for (uint32_t i = 0; i < t.nsyms && !st; i++) {
		struct engine_symbol s;
		size_t n;

		st = c->ops->module_symbol(c->engine, m->engine_id, i, &s);
		n = st ? 0 : strlen(s.name) + 1;
		if (st || name + n > bytes) {
			st = VGPU_ST_INTERNAL;          /* not what was measured a moment ago */
			break;
		}
		out[i] = (struct vgpu_symbol){ .kind = (uint32_t)s.kind, .id = s.id, .name = (uint32_t)name,
					       .address = s.address, .bytes = s.bytes };
		memcpy(p + name, s.name, n);
		name += n;
	}
	if (!st)
		st = put(c, b->a, p, bytes);
	if (!st)
		v[0] = bytes;
	free(p);
	return st;
}
_Static_assert(VGPU_SYM_FUNC == ENGINE_SYM_FUNC && VGPU_SYM_GLOBAL == ENGINE_SYM_GLOBAL &&
	       VGPU_SYM_CONST == ENGINE_SYM_CONST && VGPU_SYM_MANAGED == ENGINE_SYM_MANAGED &&
	       VGPU_SYM_TEXTURE == ENGINE_SYM_TEXTURE && VGPU_SYM_SURFACE == ENGINE_SYM_SURFACE && VGPU_SYM_SAMPLER == ENGINE_SYM_SAMPLER,
	       "one numbering");

_Static_assert(VGPU_FN_USES_HEAP == ENGINE_USES_HEAP && VGPU_FN_USES_PRINTF == ENGINE_USES_PRINTF, "one numbering");

static uint32_t module_unload(struct ctx *c, const struct vgpu_body_ctl *b)
{
	struct ctx_module *m = module(c, b->id);
	uint32_t st = VGPU_ST_OK;

	if (!m)
		return VGPU_ST_BAD_HANDLE;
	if (m->committed)
		st = c->ops->module_unload(c->engine, m->engine_id);
	c->named = 0;           /* that number may be another one's some day */
	if (!st)
		forget(c, m);
	return st;
}

static uint32_t func_info_end(struct ctx *c, struct ctx_job *j, uint64_t *v)
{
	const struct vgpu_body_ctl *b = &j->cmd.u.ctl;
	const struct engine_func_info f = j->info;
	struct vgpu_fn_info *out;
	uint64_t bytes;
	uint32_t st = j->status;

	v[1] = put_log(c, b->a + b->b, b->c, j->log);
	if (st)
		return st;
	if (f.nparams > ENGINE_MAX_PARAMS)
		return VGPU_ST_INTERNAL;
	bytes = sizeof(struct vgpu_fn_info) + f.nparams * sizeof(struct vgpu_fn_param);
	v[0] = bytes;
	if (bytes > b->b)
		return VGPU_ST_INVALID;
	out = calloc(1, bytes);
	if (!out)
		return VGPU_ST_OUT_OF_MEMORY;
	*out = (struct vgpu_fn_info){
		.id = f.id, .nparams = f.nparams, .param_bytes = f.param_bytes, .max_threads = f.max_threads,
		.reqntid = { f.reqntid[0], f.reqntid[1], f.reqntid[2] }, .regs = f.regs,
		.shared_static = f.shared_static, .local_bytes = f.local_bytes, .const_bytes = f.const_bytes,
		.ptx_version = f.ptx_version, .binary_version = f.binary_version, .uses = f.uses,
		.cluster = VGPU_LAUNCH_CLUSTER(f.cluster[0], f.cluster[1], f.cluster[2]) | (f.explicit_cluster ? VGPU_FN_CLUSTER_ASKED : 0),
		.max_cluster = f.max_cluster,
	};
	for (uint32_t i = 0; i < f.nparams; i++)
		out->params[i] = (struct vgpu_fn_param){ f.params[i].offset, f.params[i].bytes };
	st = put(c, b->a, out, bytes);
	free(out);
	return st;
}

/* ---- what takes long ------------------------------------------------------------------------------ */

void ctx_control_work(struct ctx *c)
{
	struct ctx_job *j = &c->job;

	uint64_t since = ctx_ticks();

	j->log[0] = 0;
	vgpu_store_relaxed32(&c->patient, 1);
	if (j->cmd.op == VGPU_OP_MODULE_COMMIT) {
		commit_work(c, j);
	} else {
		memset(&j->info, 0, sizeof(j->info));
		j->status = c->ops->func_info(c->engine, j->cmd.u.ctl.id, &j->info, j->log, sizeof(j->log));
	}
	j->log[sizeof(j->log) - 1] = 0;
	vgpu_store_relaxed32(&c->patient, 0);
	j->took = ctx_ticks() - since;
}

/* ILLEGAL_ADDRESS: as in ctx_control(). A context that has died meanwhile says so. */
void ctx_control_end(struct ctx *c)
{
	struct ctx_job *j = &c->job;
	uint64_t v[5] = { 0 };
	uint32_t st = j->cmd.op == VGPU_OP_MODULE_COMMIT ? commit_end(c, j, v) : func_info_end(c, j, v);

	if (!j->known)
		ctx_work_took(c, &c->work->compiles, j->took);
	ctx_job_end(c);
	ctx_engine_died(c);
	st = c->error ? c->error : st;
	reply(c, j->cmd.ticket, st == VGPU_ST_ILLEGAL_ADDRESS && !c->error ? (uint32_t)VGPU_ST_INVALID : st, v);
}

/* Which is handed over, unless it is known to be short. OK: it is under way, or answered already. */
static uint32_t control_long(struct ctx *c, const struct vgpu_cmd *cmd)
{
	int commit = cmd->op == VGPU_OP_MODULE_COMMIT;
	uint32_t st = commit ? commit_begin(c, &cmd->u.ctl) : (uint32_t)VGPU_ST_OK;

	if (st)
		return st;
	c->job.cmd = *cmd;
	c->job.known = !commit && c->ops->described && c->ops->described(c->engine, cmd->u.ctl.id);
	if (c->job.known || (commit && c->job.m->bytes <= SMALL_BYTES) || !ctx_job_give(c)) {
		ctx_control_work(c);
		ctx_control_end(c);
	}
	return VGPU_ST_OK;
}

void ctx_control_go_on(struct ctx *c)
{
	uint32_t st = ctx_commit_step(c);

	if (st != CTX_COMMITTING)
		reply(c, c->commit.ticket, st, (uint64_t[5]){ 0 });
}

/* ---- dispatch ----------------------------------------------------------------------------------- */

/* What its first fault left: for the client that it belongs to, and only once there was one. */
static uint32_t core(struct ctx *c, const struct vgpu_body_ctl *b, uint64_t *v)
{
	uint64_t bytes = 0, n;
	const uint8_t *p = c->ops->core ? c->ops->core(c->engine, &bytes) : NULL;

	if (!c->ops->core)
		return VGPU_ST_NOT_SUPPORTED;
	if (!p || !bytes)
		return VGPU_ST_NOT_FOUND;
	if (b->c > bytes)
		return VGPU_ST_INVALID;
	n = bytes - b->c < b->b ? bytes - b->c : b->b;
	if (n && put(c, b->a, p + b->c, n))
		return VGPU_ST_INVALID;
	v[0] = bytes;
	v[1] = n;
	return VGPU_ST_OK;
}

void ctx_control(struct ctx *c, const struct vgpu_cmd *cmd)
{
	const struct vgpu_body_ctl *b = &cmd->u.ctl;
	uint64_t v[5] = { 0 };
	uint32_t st = VGPU_ST_PROTOCOL;

	if (cmd->op == VGPU_OP_CORE) {
		st = core(c, b, v);
		reply(c, cmd->ticket, st, v);
		return;
	}
	if (c->error) {
		reply(c, cmd->ticket, c->error, v);
		return;
	}
	switch (cmd->op) {
	case VGPU_OP_MEM_ALLOC:
		st = ctx_mem_alloc(c, b->a, b->b, b->c);
		break;
	case VGPU_OP_MEM_FREE:
		st = ctx_mem_free(c, b->a, b->b);
		break;
	case VGPU_OP_DEVICE_HEAP:
		st = ctx_mem_heap(c, b->a, b->b);
		break;
	case VGPU_OP_STACK:
		st = c->ops->stack(c->engine, b->a);
		break;
	case VGPU_OP_PHYS_ALLOC:
		st = ctx_phys_alloc(c, b->a, b->b);
		break;
	case VGPU_OP_PHYS_FREE:
		st = ctx_phys_free(c, b->a, b->b);
		break;
	case VGPU_OP_VMM_MAP:
		st = ctx_vmm_map(c, b->a, b->b, b->c);
		break;
	case VGPU_OP_VMM_UNMAP:
		st = ctx_vmm_unmap(c, b->a, b->b);
		break;
	case VGPU_OP_MODULE_BEGIN:
		st = module_begin(c, b->a, v);
		break;
	case VGPU_OP_MODULE_DATA:
		st = module_data(c, b);
		break;
	case VGPU_OP_MODULE_COMMIT:
	case VGPU_OP_FUNC_INFO:
		st = control_long(c, cmd);
		if (!st)
			return;
		break;
	case VGPU_OP_MODULE_MANAGED:
		st = module_managed(c, b);
		break;
	case VGPU_OP_MODULE_TABLE:
		st = module_table(c, b, v);
		break;
	case VGPU_OP_MODULE_UNLOAD:
		st = module_unload(c, b);
		break;
	case VGPU_OP_PING:
		v[0] = ctx_now_ns();
		st = VGPU_ST_OK;
		break;
	}
	ctx_engine_died(c);
	if (c->error) {
		reply(c, cmd->ticket, c->error, v);
		return;
	}
	if (st == CTX_COMMITTING) {
		c->commit.ticket = cmd->ticket;
		return;
	}
	/*
	 * ILLEGAL_ADDRESS here means: the client's own buffer is not there. That is a bad argument of
	 * one call, not a fault of device code; the context lives on.
	 */
	reply(c, cmd->ticket, st == VGPU_ST_ILLEGAL_ADDRESS ? (uint32_t)VGPU_ST_INVALID : st, v);
}
