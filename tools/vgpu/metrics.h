/* SPDX-License-Identifier: MIT */
/* vgpu metrics: the text (metrics.c) and who hands it out (metrics_http.c). */
#ifndef VGPU_METRICS_H
#define VGPU_METRICS_H

#include <stdio.h>

/* One answer of the agent in Prometheus's text format; an agent that cannot be reached is vgpu_up 0. 0; -1: no memory. */
int metrics_print(FILE *out);
/* 127.0.0.1:PORT, [::1]:PORT, localhost:PORT or unix:PATH, until a signal; exit status. */
int metrics_serve(const char *where);

#endif
