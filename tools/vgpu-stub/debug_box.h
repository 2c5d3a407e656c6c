/* SPDX-License-Identifier: MIT */
/*
 * Between vgpu debug and the engines of its private device (ENGINE_MODE_DEBUG): a file that $VGPU_VERIFY_COUNTS names, which both map.
 * A context opens nothing, so its parent opens the file for it, as it does for counts.
 *
 * One context at a time stops, and holds `lock` while it does. `state` says whose turn it is; both sleep on it (futex). What the tool
 * writes outside its turn is `interrupt` alone. The tool believes nothing of what it reads here: a context is hostile.
 */
#ifndef VGPU_DEBUG_BOX_H
#define VGPU_DEBUG_BOX_H

#include <stdint.h>

#include "../../fw-protocol/vgpu_core.h"

#define DBG_MAGIC 0x67626476u
#define DBG_BREAKS 64u
#define DBG_WATCHES 8u
#define DBG_NAME 256u
#define DBG_DATA_BYTES VGPU_CORE_MOST

enum { DBG_IDLE, DBG_STOPPED, DBG_ASKED };      /* nobody stopped; the tool's turn; the engine's, with `request` */
enum { DBG_GO = 1, DBG_STEP, DBG_STEPI, DBG_NEXT, DBG_FINISH, DBG_READ };
enum { DBG_AT_KERNEL = 1, DBG_AT_PTX, DBG_AT_SOURCE };
enum { DBG_HAS_BLOCK = 1, DBG_HAS_THREAD = 2, DBG_EVERY = 4, DBG_ONCE = 8, DBG_HAS_IF = 16 };
enum { DBG_EQ, DBG_NE, DBG_LT, DBG_LE, DBG_GT, DBG_GE };

struct dbg_break {
	uint32_t id;                    /* 0: none */
	uint32_t kind, flags, line;
	uint32_t block[3], thread[3];
	uint32_t compare;
	int64_t value;
	char name[DBG_NAME];            /* kernel's or function's name, * and ?; a file; PTX: may be empty */
	char reg[64];
	uint32_t places, hits;          /* the engine's: where it is in what was compiled so far, by its last look; how often it held */
	uint32_t at_line;               /* the first of these places */
};

struct dbg_watch { uint32_t id, bytes; uint64_t address; };     /* 0: none; 1, 2, 4 or 8 */

struct dbg_box {
	uint32_t magic;
	uint32_t lock;                  /* a context talks with the tool */
	uint32_t state;
	uint32_t interrupt;             /* the next instruction stops */
	uint32_t changed;               /* counts changes of breaks[] */
	uint32_t request, status;       /* DBG_GO ...; of READ: bytes that could be read */
	uint32_t focus;                 /* of a step: the thread's lane, by the tool */
	uint64_t a, b;                  /* READ: address, bytes; STEP...: how often */
	uint64_t core_bytes;            /* of data[], at a stop */
	struct dbg_break breaks[DBG_BREAKS];
	struct dbg_watch watches[DBG_WATCHES];
	_Alignas(4096) uint8_t data[DBG_DATA_BYTES];
};

#endif
