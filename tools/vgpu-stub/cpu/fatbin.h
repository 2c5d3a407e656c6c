/* SPDX-License-Identifier: MIT */
/*
 * Reader of CUDA fatbin containers: finds the PTX that fits a compute capability.
 *
 * Called by the cpu engine's module_load and by tools that list an image. The image is hostile:
 * nothing outside [image, image + bytes) is read, every size is checked before it is used, and
 * no more than FATBIN_MAX_TEXT is ever allocated. The pointer wrapper that programs carry
 * (magic 0x466243B1) was resolved by the client library; an image starts at a container.
 *
 *   image:  container [container ...] [garbage]
 *
 *   container   0 u32 magic 0xBA55ED50    4 u16 version 1    6 u16 header bytes (>= 16)
 *               8 u64 bytes of all entries
 *   entry       0 u16 kind                2 u16 version 0x101    4 u32 header bytes (>= 64)
 *               8 u64 payload bytes (padded)
 *              16 u32 compressed bytes   20 u32 offset of the options
 *              24 u16 minor, 26 u16 major (of PTX: its ISA)      28 u32 arch, 75 = sm_75
 *              32 u32, 36 u32 name offset and length             40 u64 flags
 *              48 u64 0                  56 u64 uncompressed bytes (0 if not compressed)
 */
#ifndef VGPU_FATBIN_H
#define VGPU_FATBIN_H

#include <stddef.h>
#include <stdint.h>

#define FATBIN_MAGIC 0xBA55ED50u
#define FATBIN_MAX_TEXT ((uint64_t)512 << 20)

/* Kinds that have been seen; others are listed as they are and never chosen. */
#define FATBIN_PTX 1u
#define FATBIN_ELF 2u
#define FATBIN_NVVM 8u

#define FATBIN_FLAG_LZ4 0x2000u         /* one raw block, no frame */
#define FATBIN_FLAG_ZSTD 0x8000u        /* a frame */
#define FATBIN_FLAG_SPECIFIC 0x100000u  /* sm_90a: that device only */
#define FATBIN_FLAG_FAMILY 0x200000u    /* sm_100f: same major, minor or later */

enum fatbin_compression { FATBIN_PLAIN, FATBIN_LZ4, FATBIN_ZSTD };

struct fatbin_entry {
	uint32_t kind;
	uint32_t arch;
	uint32_t isa_major, isa_minor;          /* of PTX */
	uint64_t flags;
	enum fatbin_compression compression;
	const void *payload;                    /* inside the image */
	uint64_t payload_bytes;                 /* stored, without padding where that is known */
	uint64_t text_bytes;                    /* after decompression */
};

/* True when the image starts like a container (which says nothing about the rest). */
int fatbin_probe(const void *image, size_t bytes);

/*
 * Calls each() for every entry in order until it returns non-zero. OK, or INVALID_IMAGE with a
 * reason in log when the image is malformed (entries before that place have been visited).
 */
uint32_t fatbin_list(const void *image, size_t bytes,
		     int (*each)(void *owner, const struct fatbin_entry *e), void *owner,
		     char *log, size_t log_bytes);

/*
 * The text of one entry, whatever its compression: malloc'ed, NUL-terminated; *text_bytes is
 * without the NUL and without the NULs that pad the payload.
 * OK, INVALID_IMAGE or OUT_OF_MEMORY.
 */
uint32_t fatbin_text(const struct fatbin_entry *e, char **text, size_t *text_bytes,
		     char *log, size_t log_bytes);

/* What an entry holds, whatever its compression, as it is: malloc'ed, with a NUL behind it. OK, INVALID_IMAGE or OUT_OF_MEMORY. */
uint32_t fatbin_bytes(const struct fatbin_entry *e, char **text, size_t *text_bytes, char *log, size_t log_bytes);

/* Is it an entry of kind ELF that is our own container (vgpu_cubin.h)? */
int fatbin_ours(const struct fatbin_entry *e);

/*
 * The PTX (of an entry of kind PTX, or ELF where that is our own container, vgpu_cubin.h) of the highest arch that does not exceed the device's, exact if there is one.
 * OK with *ptx_out malloc'ed as fatbin_text does; NO_BINARY with a log that names the archs in
 * the image; INVALID_IMAGE; OUT_OF_MEMORY. On failure *ptx_out is NULL.
 */
uint32_t fatbin_select(const void *image, size_t bytes, unsigned cc_major, unsigned cc_minor,
		       char **ptx_out, size_t *ptx_bytes, char *log, size_t log_bytes);

#endif
