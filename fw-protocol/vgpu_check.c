/* SPDX-License-Identifier: MIT */
/*
 * Checks of commands; see vgpu_check.h. Linked into agent, device and tests alike.
 */
#include "vgpu_check.h"

#include <stddef.h>

#include "vgpu_client.h"

static const struct vgpu_op_info op_table[256] = {
#define VGPU_OP(n, value, q, p, t) [value] = { #n, value, q, p, t },
#include "vgpu_ops.def"
#undef VGPU_OP
};

const struct vgpu_op_info *vgpu_op_info(unsigned op)
{
	return op < 256 && op_table[op].name ? &op_table[op] : NULL;
}

static int inside(uint64_t addr, uint64_t bytes, uint64_t base, uint64_t size)
{
	return addr >= base && addr - base <= size && bytes <= size - (addr - base);
}

int vgpu_check_range(uint64_t addr, uint64_t bytes, const struct vgpu_check_env *env)
{
	return inside(addr, bytes, env->window_base, env->window_bytes) ||
	       inside(addr, bytes, env->device_base, env->device_bytes);
}

/* height rows of width bytes, pitch apart, depth slices; zero extents touch nothing. */
static int volume(uint64_t addr, uint64_t width, uint64_t height, uint64_t depth, uint64_t pitch,
		  uint64_t slice, const struct vgpu_check_env *env)
{
	uint64_t rows, slices, all;

	if (!width || !height || !depth)
		return 1;
	if (__builtin_mul_overflow(height - 1, pitch, &rows) ||
	    __builtin_mul_overflow(depth - 1, slice, &slices) ||
	    __builtin_add_overflow(rows, slices, &all) ||
	    __builtin_add_overflow(all, width, &all))
		return 0;
	return vgpu_check_range(addr, all, env);
}

/* Device memory that a client may allocate: page-aligned, behind the engine's arena. */
static int client_pages(uint64_t va, uint64_t bytes, uint64_t page, const struct vgpu_check_env *env)
{
	return bytes && !(va % page) && !(bytes % page) &&
	       inside(va, bytes, env->device_base + env->arena_bytes,
		      env->device_bytes - env->arena_bytes);
}

static int phys_pages(uint64_t offset, uint64_t bytes)
{
	return bytes && !(offset % VGPU_HUGE) && !(bytes % VGPU_HUGE) &&
	       inside(offset, bytes, 0, VGPU_PHYS_SPAN);
}

static uint32_t check_ctl(const struct vgpu_cmd *c, const struct vgpu_check_env *env)
{
	const struct vgpu_body_ctl *b = &c->u.ctl;
	int ok = b->reply < VGPU_REPLIES && b->context < VGPU_MAX_CONTEXTS;

	if (c->flags || c->stream || c->wait_tl || c->wait_value)
		return VGPU_ST_PROTOCOL;
	switch (c->op) {
	case VGPU_OP_MEM_ALLOC:
	case VGPU_OP_MEM_FREE:
	case VGPU_OP_DEVICE_HEAP:
		ok = ok && client_pages(b->a, b->b, VGPU_PAGE, env);
		break;
	case VGPU_OP_PHYS_ALLOC:
	case VGPU_OP_PHYS_FREE:
		ok = ok && phys_pages(b->a, b->b);
		break;
	case VGPU_OP_STACK:
		ok = ok && b->a <= VGPU_MAX_STACK_BYTES;
		break;
	case VGPU_OP_VMM_MAP:
		ok = ok && client_pages(b->a, b->b, VGPU_HUGE, env) && phys_pages(b->c, b->b);
		break;
	case VGPU_OP_VMM_UNMAP:
		ok = ok && client_pages(b->a, b->b, VGPU_HUGE, env);
		break;
	case VGPU_OP_MODULE_BEGIN:
		ok = ok && b->a && b->a <= VGPU_GIB;
		break;
	case VGPU_OP_MODULE_DATA:
		ok = ok && b->a <= VGPU_GIB && b->c <= VGPU_GIB &&
		     inside(b->b, b->c, env->window_base, env->window_bytes);
		break;
	case VGPU_OP_MODULE_COMMIT:
		ok = ok && !(b->c & ~(uint64_t)VGPU_MODULE_EAGER) && inside(b->a, b->b, env->window_base, env->window_bytes);
		break;
	case VGPU_OP_MODULE_TABLE:
	case VGPU_OP_MODULE_MANAGED:
	case VGPU_OP_CORE:
		ok = ok && inside(b->a, b->b, env->window_base, env->window_bytes);
		break;
	case VGPU_OP_FUNC_INFO:
		/* info at a, room b; the log follows it, room c */
		ok = ok && b->b <= VGPU_GIB && b->c <= VGPU_GIB &&
		     inside(b->a, b->b + b->c, env->window_base, env->window_bytes);
		break;
	}
	return ok ? VGPU_ST_OK : VGPU_ST_PROTOCOL;
}

static uint32_t check_io(const struct vgpu_cmd *c, const struct vgpu_check_env *env)
{
	int ok = 1;

	if (c->flags & ~VGPU_CMD_FLAGS || (c->flags & VGPU_CMD_PRIORITY) >> VGPU_CMD_PRIORITY_SHIFT >= VGPU_PRIORITIES)
		return VGPU_ST_PROTOCOL;
	if (c->wait_tl && (!(c->wait_tl >> 31) || VGPU_WAIT_CONTEXT(c->wait_tl) >= VGPU_MAX_CONTEXTS ||
			   VGPU_WAIT_STREAM(c->wait_tl) >= VGPU_MAX_STREAMS))
		return VGPU_ST_PROTOCOL;
	switch (c->op) {
	case VGPU_OP_LAUNCH_LARGE:
		ok = c->u.launch.param_bytes > VGPU_MAX_PARAM_BYTES && c->u.launch.param_bytes <= VGPU_MAX_LARGE_BYTES;
		__attribute__((fallthrough));
	case VGPU_OP_LAUNCH:
		for (int i = 0; i < 3; i++)
			ok = ok && c->u.launch.grid[i] && c->u.launch.block[i];
		ok = ok && !(c->u.launch.attrs & ~VGPU_LAUNCH_ATTRS);
		for (int i = 0; i < 3; i++)
			ok = ok && !VGPU_LAUNCH_CLUSTER_OF(c->u.launch.attrs, i) == !(c->u.launch.attrs >> 8);
		break;
	case VGPU_OP_COPY:
		ok = vgpu_check_range(c->u.copy.dst, c->u.copy.bytes, env) &&
		     vgpu_check_range(c->u.copy.src, c->u.copy.bytes, env);
		break;
	case VGPU_OP_COPY_INLINE:
		ok = !c->u.copy.src && vgpu_check_range(c->u.copy.dst, c->u.copy.bytes, env);
		break;
	case VGPU_OP_FILL: {
		const struct vgpu_body_fill *f = &c->u.fill;
		uint64_t row;

		ok = (f->elem_bytes == 1 || f->elem_bytes == 2 || f->elem_bytes == 4) &&
		     !(f->dst % f->elem_bytes) && !__builtin_mul_overflow(f->width, (uint64_t)f->elem_bytes, &row) &&
		     (f->height <= 1 || f->pitch >= row) &&
		     volume(f->dst, row, f->height, 1, f->pitch, 0, env);
		break;
	}
	case VGPU_OP_EVENT:
		ok = !(c->u.event.record % 16) &&
		     inside(c->u.event.record, VGPU_EVENT_RECORD_BYTES, env->window_base, env->window_bytes);
		break;
	case VGPU_OP_GEMM:
	case VGPU_OP_TRSM:
		ok = c->u.gemm.batch && !(c->u.gemm.flags & ~VGPU_GEMM_POINTERS);
		break;
	case VGPU_OP_WAIT_VALUE:
	case VGPU_OP_WRITE_VALUE:
		ok = (c->u.value.bytes == 4 || c->u.value.bytes == 8) &&
		     !(c->u.value.addr % c->u.value.bytes) && c->u.value.compare <= VGPU_COMPARE_NOR &&
		     vgpu_check_range(c->u.value.addr, c->u.value.bytes, env);
		break;
	}
	return ok ? VGPU_ST_OK : VGPU_ST_PROTOCOL;
}

static unsigned slots_of(const struct vgpu_cmd *c, const struct vgpu_op_info *info)
{
	uint64_t bytes = 0;

	switch (info->payload) {
	case VGPU_P_PARAMS:
		bytes = c->u.launch.param_bytes;
		break;
	case VGPU_P_DATA:
		bytes = c->u.copy.bytes;
		break;
	case VGPU_P_COPY3D:
		bytes = sizeof(struct vgpu_copy3d);
		break;
	case VGPU_P_GEMM:
		bytes = sizeof(struct vgpu_gemm);
		break;
	case VGPU_P_PLACE:
		bytes = sizeof(struct vgpu_params_at);
		break;
	}
	if (bytes > VGPU_MAX_PARAM_BYTES)
		return 0;
	return 1 + (unsigned)((bytes + VGPU_SLOT_PAYLOAD - 1) / VGPU_SLOT_PAYLOAD);
}

uint32_t vgpu_check_cmd(const struct vgpu_cmd *c, enum vgpu_op_queue queue, uint64_t index,
			const struct vgpu_check_env *env)
{
	const struct vgpu_op_info *info = &op_table[c->op];

	if (!info->name || info->queue != queue || c->seq != (uint32_t)(index + 1) ||
	    c->ticket != index + 1 || c->stream >= VGPU_MAX_STREAMS || !c->slots || c->slots != slots_of(c, info))
		return VGPU_ST_PROTOCOL;
	return queue == VGPU_Q_IO ? check_io(c, env) : check_ctl(c, env);
}

uint32_t vgpu_check_copy3d(const struct vgpu_cmd *c, const struct vgpu_copy3d *p,
			   const struct vgpu_check_env *env)
{
	uint64_t w = c->u.copy.bytes;

	if (!volume(c->u.copy.dst, w, p->height, p->depth, p->dst_pitch, p->dst_slice, env) ||
	    !volume(c->u.copy.src, w, p->height, p->depth, p->src_pitch, p->src_slice, env))
		return VGPU_ST_PROTOCOL;
	return VGPU_ST_OK;
}

uint32_t vgpu_check_params_at(const struct vgpu_cmd *c, const struct vgpu_params_at *p, const struct vgpu_check_env *env)
{
	uint64_t rest = 0;

	for (unsigned i = 0; i < sizeof(p->rsvd) / sizeof(p->rsvd[0]); i++)
		rest |= p->rsvd[i];
	return !rest && inside(p->at, c->u.launch.param_bytes, env->window_base, env->window_bytes) ? VGPU_ST_OK : VGPU_ST_PROTOCOL;
}

/* One operand of a GEMM: rows x cols elements, once per matrix of the batch. */
static int operand(uint64_t addr, uint32_t rows, uint32_t cols, uint32_t ld, uint64_t stride, uint32_t type,
		   const struct vgpu_body_gemm *b, const struct vgpu_check_env *env)
{
	uint64_t elem = vgpu_gemm_bytes(type), slice, columns;

	/* the device computes with these products: they fit, also where the matrices lie elsewhere */
	if (ld < rows || __builtin_mul_overflow((uint64_t)ld * elem, (uint64_t)cols, &columns))
		return 0;
	if (b->flags & VGPU_GEMM_POINTERS)
		return !(addr % 8) && vgpu_check_range(addr, (uint64_t)b->batch * 8, env);
	return !(addr % elem) && !__builtin_mul_overflow(stride, elem, &slice) &&
	       volume(addr, rows * elem, cols, b->batch, ld * elem, slice, env);
}

static int scalar(uint64_t addr, uint32_t type, const struct vgpu_check_env *env)
{
	return !addr || (!(addr % vgpu_gemm_bytes(type)) && vgpu_check_range(addr, vgpu_gemm_bytes(type), env));
}

/* All of it, or nothing, is double; bytes come in pairs, and what they become is their factors' type. */
static int gemm_types(const struct vgpu_gemm *p)
{
	const uint8_t t[] = { p->type_a, p->type_b, p->type_c, p->type_scalar };
	unsigned doubles = 0;

	if (p->type_a == VGPU_GEMM_I8)
		return p->type_b == VGPU_GEMM_I8 && p->type_c == p->type_scalar &&
		       (p->type_c == VGPU_GEMM_I32 || p->type_c == VGPU_GEMM_F32);
	for (unsigned i = 0; i < sizeof(t); i++) {
		if (t[i] < VGPU_GEMM_F32 || t[i] > VGPU_GEMM_F64)
			return 0;
		doubles += t[i] == VGPU_GEMM_F64;
	}
	return doubles == 0 || doubles == sizeof(t);
}

uint32_t vgpu_check_gemm(const struct vgpu_cmd *c, const struct vgpu_gemm *p, const struct vgpu_check_env *env)
{
	const struct vgpu_body_gemm *b = &c->u.gemm;
	int ok = p->m && p->n && gemm_types(p) && scalar(p->alpha_at, p->type_scalar, env) &&
		 scalar(p->beta_at, p->type_scalar, env) &&
		 operand(b->c, p->m, p->n, p->ldc, p->stride_c, p->type_c, b, env);

	for (unsigned i = 0; i < sizeof(p->rsvd); i++)
		ok = ok && !p->rsvd[i];
	ok = ok && (p->trans_a | p->trans_b | p->right | p->upper | p->unit) <= 1;
	if (ok && c->op == VGPU_OP_TRSM) {
		uint32_t order = p->right ? p->n : p->m;

		ok = !b->b && !p->k && p->type_a == p->type_c &&
		     operand(b->a, order, order, p->lda, p->stride_a, p->type_a, b, env);
	} else if (ok) {
		ok = !p->right && !p->upper && !p->unit;
		if (ok && p->k)
			ok = operand(b->a, p->trans_a ? p->k : p->m, p->trans_a ? p->m : p->k, p->lda, p->stride_a,
				     p->type_a, b, env) &&
			     operand(b->b, p->trans_b ? p->n : p->k, p->trans_b ? p->k : p->n, p->ldb, p->stride_b,
				     p->type_b, b, env);
	}
	return ok ? VGPU_ST_OK : VGPU_ST_PROTOCOL;
}
