/* SPDX-License-Identifier: MIT */
/*
 * Status codes of the wire: what a device or the agent answers.
 *
 * Internal functions return 0 or -errno; a status crosses a process boundary. The client library
 * translates a status to CUresult in exactly one place, at its ABI edge.
 */
#ifndef VGPU_STATUS_H
#define VGPU_STATUS_H

/*  name, value, sticky (kills the context, CUDA driver API "CUresult" notes), text  */
#define VGPU_STATUS_LIST(X) \
	X(OK,                   0, 0, "no error") \
	X(INVALID,              1, 0, "invalid argument") \
	X(OUT_OF_MEMORY,        2, 0, "out of device memory") \
	X(NOT_FOUND,            3, 0, "no such object") \
	X(NOT_SUPPORTED,        4, 0, "not supported by this device") \
	X(BAD_HANDLE,           5, 0, "unknown handle") \
	X(INVALID_IMAGE,        6, 0, "the module image is not PTX text or a fatbin") \
	X(INVALID_PTX,          7, 0, "the PTX does not parse") \
	X(NO_BINARY,            8, 0, "no PTX in the image for this compute capability") \
	X(PTX_VERSION,          9, 0, "the PTX version is newer than the device knows") \
	X(INVALID_CONFIG,      10, 0, "launch configuration outside the device's limits") \
	X(LAUNCH_RESOURCES,    11, 0, "the launch asks for more resources than the device has") \
	X(LIMIT,               12, 0, "a limit of this client is reached") \
	X(BUSY,                13, 0, "busy") \
	X(PROTOCOL,            14, 1, "malformed command") \
	X(ILLEGAL_ADDRESS,     15, 1, "illegal address") \
	X(MISALIGNED,          16, 1, "misaligned address") \
	X(ILLEGAL_INSTRUCTION, 17, 1, "illegal instruction") \
	X(TRAP,                18, 1, "trap") \
	X(ASSERT,              19, 1, "device-side assertion") \
	X(TIMEOUT,             20, 1, "timeout") \
	X(CONTEXT_DEAD,        21, 1, "the context's process died") \
	X(DEVICE_LOST,         22, 1, "the device is gone") \
	X(AGENT_LOST,          23, 1, "vgpu-agent is gone") \
	X(INTERNAL,            24, 1, "internal error of the device") \
	X(IN_FLIGHT,           25, 0, "a process of this user leaves too many descriptors unread in sockets (ETOOMANYREFS)")

enum vgpu_status {
#define VGPU_STATUS_ENUM(name, value, sticky, text) VGPU_ST_##name = (value),
	VGPU_STATUS_LIST(VGPU_STATUS_ENUM)
#undef VGPU_STATUS_ENUM
	VGPU_ST_COUNT
};

/*
 * A device whose engine is a host's CUDA driver has errors of that driver's as well: VGPU_ST_CUDA + CUresult, where none of the list says
 * the same. They are handed to the client as they are.
 */
#define VGPU_ST_CUDA 0x1000u
#define VGPU_ST_CUDA_LAST (VGPU_ST_CUDA + 999u)

static inline int vgpu_status_known(unsigned st)
{
	return st < VGPU_ST_COUNT || (st > VGPU_ST_CUDA && st <= VGPU_ST_CUDA_LAST);
}

static inline const char *vgpu_status_text(unsigned st)
{
	if (st > VGPU_ST_CUDA && st <= VGPU_ST_CUDA_LAST)
		return "an error of the host's CUDA driver";
	switch (st) {
#define VGPU_STATUS_CASE(name, value, sticky, text) case (value): return text;
	VGPU_STATUS_LIST(VGPU_STATUS_CASE)
#undef VGPU_STATUS_CASE
	}
	return "unknown status";
}

static inline int vgpu_status_sticky(unsigned st)
{
	switch (st) {
#define VGPU_STATUS_CASE(name, value, sticky, text) case (value): return sticky;
	VGPU_STATUS_LIST(VGPU_STATUS_CASE)
#undef VGPU_STATUS_CASE
	/* driver shutting down, ECC, NVLink, contained, stack, address space, program counter, unknown */
	case VGPU_ST_CUDA + 4: case VGPU_ST_CUDA + 214: case VGPU_ST_CUDA + 220: case VGPU_ST_CUDA + 226: case VGPU_ST_CUDA + 714:
	case VGPU_ST_CUDA + 717: case VGPU_ST_CUDA + 718: case VGPU_ST_CUDA + 999:
		return 1;
	}
	return st <= VGPU_ST_CUDA || st > VGPU_ST_CUDA_LAST;
}

#endif
