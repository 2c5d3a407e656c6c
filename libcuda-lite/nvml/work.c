/* SPDX-License-Identifier: MIT */
/* What happens on a device now: memory, how busy it is, and who uses it. Shares are of the last second, as the agent counts them. */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "ml.h"

#define NONE 0xffffffffu        /* no GPU instances: NVML's word where there are none */

static nvmlReturn_t load_of(nvmlDevice_t device, struct vgpu_msg_load_r *r, struct vgpu_load **l)
{
	struct vgpu_msg_hello_r hello;
	int fd = ml_agent_open(&hello), err = fd < 0 ? fd : ml_agent_load(fd, r);

	if (fd >= 0)
		close(fd);
	if (err)
		return ml_error(err);
	*l = &r->device[device->index];
	return (*l)->state == 1 ? NVML_SUCCESS : NVML_ERROR_GPU_IS_LOST;
}

static nvmlReturn_t memory(nvmlDevice_t device, unsigned long long *total, unsigned long long *used)
{
	struct vgpu_msg_load_r r;
	struct vgpu_load *l;
	nvmlReturn_t e = load_of(device, &r, &l);

	if (e != NVML_SUCCESS)
		return e;
	*total = device->info.memory_bytes;
	*used = l->memory_used < *total ? l->memory_used : *total;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *m)
{
	nvmlReturn_t r;

	ML_DEVICE(device, m);
	r = memory(device, &m->total, &m->used);
	if (r == NVML_SUCCESS)
		m->free = m->total - m->used;
	return r;
}

nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device, nvmlMemory_v2_t *m)
{
	nvmlReturn_t r;

	ML_DEVICE(device, m);
	if (m->version != nvmlMemory_v2)
		return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
	r = memory(device, &m->total, &m->used);
	if (r != NVML_SUCCESS)
		return r;
	m->reserved = 0;
	m->free = m->total - m->used;
	return NVML_SUCCESS;
}

/* Memory is said to be busy as long: kernels and copies are what reads and writes it. */
nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t device, nvmlUtilization_t *u)
{
	struct vgpu_msg_load_r r;
	struct vgpu_load *l;
	nvmlReturn_t e;

	ML_DEVICE(device, u);
	e = load_of(device, &r, &l);
	if (e == NVML_SUCCESS)
		u->gpu = u->memory = (l->permille + 5) / 10;
	return e;
}

/* NVML's times are of the wall clock, the agent's are of CLOCK_MONOTONIC. */
static unsigned long long wall_us(uint64_t monotonic_ns)
{
	struct timespec m, w;

	clock_gettime(CLOCK_MONOTONIC, &m);
	clock_gettime(CLOCK_REALTIME, &w);
	return ((unsigned long long)w.tv_sec * 1000000000u + (unsigned long long)w.tv_nsec -
		((unsigned long long)m.tv_sec * 1000000000u + (unsigned long long)m.tv_nsec) + monotonic_ns) / 1000;
}

/* A sample is what was worked since the one before it. */
nvmlReturn_t nvmlDeviceGetSamples(nvmlDevice_t device, nvmlSamplingType_t type, unsigned long long last, nvmlValueType_t *value_type,
				  unsigned int *count, nvmlSample_t *samples)
{
	struct vgpu_msg_load_r r;
	struct vgpu_load *l;
	unsigned int n = 0;
	nvmlReturn_t e;

	ML_DEVICE(device, value_type && count);
	if (type != NVML_GPU_UTILIZATION_SAMPLES && type != NVML_MEMORY_UTILIZATION_SAMPLES)
		return NVML_ERROR_NOT_SUPPORTED;
	e = load_of(device, &r, &l);
	if (e != NVML_SUCCESS)
		return e;
	*value_type = NVML_VALUE_TYPE_UNSIGNED_INT;
	for (unsigned int i = 1; i < l->samples; i++) {
		const struct vgpu_load_sample *a = &l->sample[i - 1], *b = &l->sample[i];
		uint64_t span = b->at_ns - a->at_ns, worked = b->busy_ns - a->busy_ns, percent;
		unsigned long long at = wall_us(b->at_ns);

		if (at <= last || b->at_ns <= a->at_ns)
			continue;
		percent = worked >= span ? 100 : worked * 100 / span;
		if (samples && n < *count)
			samples[n] = (nvmlSample_t){ .timeStamp = at, .sampleValue.uiVal = (unsigned int)percent };
		n++;
	}
	if (samples && n > *count)
		return NVML_ERROR_INSUFFICIENT_SIZE;
	*count = n;
	return n ? NVML_SUCCESS : NVML_ERROR_NOT_FOUND;
}

/* ---- processes ---- */

/* A process with its contexts on one device; the agent has at most so many contexts a device. */
#define MOST 1024u
struct process {
	unsigned int pid, permille;
	unsigned long long memory;
};

static nvmlReturn_t processes(nvmlDevice_t device, struct process *p, unsigned int *count, uint64_t *now_ns)
{
	struct vgpu_msg_hello_r hello;
	struct vgpu_msg_contexts_r r;
	unsigned int first = 0, n = 0;
	int fd = ml_agent_open(&hello), err;

	if (fd < 0)
		return ml_error(fd);
	do {
		err = ml_agent_contexts(fd, first, &r);
		for (unsigned int i = 0, k; !err && i < r.count; i++) {
			const struct vgpu_msg_context *x = &r.context[i];

			if (x->device != device->index)
				continue;
			for (k = 0; k < n && p[k].pid != x->pid; k++)
				;
			if (k == MOST)
				continue;
			if (k == n)
				p[n++] = (struct process){ .pid = x->pid };
			p[k].memory += x->memory_bytes;
			p[k].permille += x->permille;
		}
		first += err ? 0 : r.count;
	} while (!err && r.count && first < r.contexts);
	close(fd);
	*count = n;
	if (!err)
		*now_ns = r.now_ns;
	return ml_error(err);
}

static void put_v1(void *infos, unsigned int i, const struct process *p)
{
	((nvmlProcessInfo_v1_t *)infos)[i] = (nvmlProcessInfo_v1_t){ p->pid, p->memory };
}

static void put_v2(void *infos, unsigned int i, const struct process *p)
{
	((nvmlProcessInfo_t *)infos)[i] = (nvmlProcessInfo_t){ p->pid, p->memory, NONE, NONE };
}

/* *count: room in, number out; too little room is INSUFFICIENT_SIZE with the number needed. */
static nvmlReturn_t running(nvmlDevice_t device, unsigned int *count, void *infos, void (*put)(void *, unsigned int, const struct process *))
{
	struct process p[MOST];
	unsigned int n, room = *count;
	uint64_t now;
	nvmlReturn_t e = processes(device, p, &n, &now);

	if (e != NVML_SUCCESS)
		return e;
	*count = n;
	if (n > room || (n && !infos))
		return NVML_ERROR_INSUFFICIENT_SIZE;
	for (unsigned int i = 0; i < n; i++)
		put(infos, i, &p[i]);
	return NVML_SUCCESS;
}

#define RUNNING(name, type, put) \
	nvmlReturn_t name(nvmlDevice_t device, unsigned int *count, type *infos) \
	{ \
		ML_DEVICE(device, count); \
		return running(device, count, infos, put); \
	}
RUNNING(nvmlDeviceGetComputeRunningProcesses, nvmlProcessInfo_v1_t, put_v1)
RUNNING(nvmlDeviceGetComputeRunningProcesses_v2, nvmlProcessInfo_v2_t, put_v2)
RUNNING(nvmlDeviceGetComputeRunningProcesses_v3, nvmlProcessInfo_t, put_v2)

/* Nobody draws, and no MPS server is between: there are none of these. */
#define NOBODY(name, type) \
	nvmlReturn_t name(nvmlDevice_t device, unsigned int *count, type *infos) \
	{ \
		(void)infos; \
		ML_DEVICE(device, count); \
		*count = 0; \
		return NVML_SUCCESS; \
	}
NOBODY(nvmlDeviceGetGraphicsRunningProcesses, nvmlProcessInfo_v1_t)
NOBODY(nvmlDeviceGetGraphicsRunningProcesses_v2, nvmlProcessInfo_v2_t)
NOBODY(nvmlDeviceGetGraphicsRunningProcesses_v3, nvmlProcessInfo_t)
NOBODY(nvmlDeviceGetMPSComputeRunningProcesses, nvmlProcessInfo_v1_t)
NOBODY(nvmlDeviceGetMPSComputeRunningProcesses_v2, nvmlProcessInfo_v2_t)
NOBODY(nvmlDeviceGetMPSComputeRunningProcesses_v3, nvmlProcessInfo_t)

nvmlReturn_t nvmlDeviceGetRunningProcessDetailList(nvmlDevice_t device, nvmlProcessDetailList_t *list)
{
	struct process p[MOST];
	unsigned int n = 0, room;
	uint64_t now;
	nvmlReturn_t e = NVML_SUCCESS;

	ML_DEVICE(device, list);
	if (list->version != NVML_VERSION_OF(nvmlProcessDetailList_t, 1))
		return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
	if (list->mode > 2)
		return NVML_ERROR_INVALID_ARGUMENT;
	if (!list->mode)
		e = processes(device, p, &n, &now);
	if (e != NVML_SUCCESS)
		return e;
	room = list->numProcArrayEntries;
	list->numProcArrayEntries = n;
	if (n > room || (n && !list->procArray))
		return NVML_ERROR_INSUFFICIENT_SIZE;
	for (unsigned int i = 0; i < n; i++)
		list->procArray[i] = (nvmlProcessDetail_v1_t){ p[i].pid, p[i].memory, NONE, NONE, 0 };
	return NVML_SUCCESS;
}

/* The time stamp is now: what is said is of the second before, whatever the caller has seen last. */
nvmlReturn_t nvmlDeviceGetProcessUtilization(nvmlDevice_t device, nvmlProcessUtilizationSample_t *u, unsigned int *count,
					     unsigned long long last)
{
	struct process p[MOST];
	unsigned int n, room;
	uint64_t now;
	nvmlReturn_t e;

	ML_DEVICE(device, count);
	e = processes(device, p, &n, &now);
	if (e != NVML_SUCCESS)
		return e;
	if (!n || wall_us(now) <= last)
		return NVML_ERROR_NOT_FOUND;
	room = *count;
	*count = n;
	if (!u || n > room)
		return NVML_ERROR_INSUFFICIENT_SIZE;
	for (unsigned int i = 0; i < n; i++) {
		unsigned int percent = p[i].permille >= 1000 ? 100 : (p[i].permille + 5) / 10;

		u[i] = (nvmlProcessUtilizationSample_t){ .pid = p[i].pid, .timeStamp = wall_us(now), .smUtil = percent, .memUtil = percent };
	}
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetProcessesUtilizationInfo(nvmlDevice_t device, nvmlProcessesUtilizationInfo_t *info)
{
	struct process p[MOST];
	unsigned int n, room;
	uint64_t now;
	nvmlReturn_t e;

	ML_DEVICE(device, info);
	if (info->version != NVML_VERSION_OF(nvmlProcessesUtilizationInfo_t, 1))
		return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
	e = processes(device, p, &n, &now);
	if (e != NVML_SUCCESS)
		return e;
	if (!n || wall_us(now) <= info->lastSeenTimeStamp)
		return NVML_ERROR_NOT_FOUND;
	room = info->processSamplesCount;
	info->processSamplesCount = n;
	if (!info->procUtilArray || n > room)
		return NVML_ERROR_INSUFFICIENT_SIZE;
	for (unsigned int i = 0; i < n; i++) {
		unsigned int percent = p[i].permille >= 1000 ? 100 : (p[i].permille + 5) / 10;

		info->procUtilArray[i] = (nvmlProcessUtilizationInfo_v1_t){ .pid = p[i].pid, .timeStamp = wall_us(now), .smUtil = percent,
									    .memUtil = percent };
	}
	return NVML_SUCCESS;
}

/* None of the fields is known here; each says so for itself. */
nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t device, int count, nvmlFieldValue_t *values)
{
	ML_DEVICE(device, values && count > 0);
	for (int i = 0; i < count; i++)
		values[i].nvmlReturn = NVML_ERROR_NOT_SUPPORTED;
	return NVML_SUCCESS;
}
